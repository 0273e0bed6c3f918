//! What a list of filters frees after removals, and how long that takes: Figs. 16 and 17 of the
//! Dynamic Cuckoo Filter paper.

use std::time::Duration;

use cuculus::{Filter, Remove};
use cuculus_papers::DynamicCuckooFilter;

use super::dcf_list::{FILTERS, KEYS, LINEAR, buckets_for, paper_list};
use crate::line::Line;
use crate::prelude::*;

pub(super) const COMPACT: Experiment = Experiment::paper(
    ("dcf-compact", "Memory that a list frees"),
    "How many filters are freed, and how long does that take, by the share of the keys that is \
     removed? (DCF Figs. 16 and 17; six filters, 46,080 keys)",
    Chance::Seed,
    run,
);

/// The lists that the paper draws beside the one of six.
const LENGTHS: [usize; 4] = [FILTERS, 3, 12, 24];

/// The paper's share of the time that looking up every key takes.
const OF_A_QUERY: f64 = 0.0112;

/// The paper's two shares on either side of a sixth are among them.
const SHARES: [f64; 22] = [
    0.05, 0.10, 0.15, 0.1666, 0.1667, 0.20, 0.25, 0.30, 0.34, 0.40, 0.45, 0.51, 0.55, 0.60, 0.65,
    0.67, 0.70, 0.75, 0.80, 0.84, 0.90, 0.95,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    OldestFirst,
    AtRandom,
}

impl Order {
    fn name(self) -> &'static str {
        match self {
            Self::OldestFirst => "oldest first",
            Self::AtRandom => "at random",
        }
    }
}

type Shorten = fn(&mut DynamicCuckooFilter) -> usize;

/// Algorithm 4 as printed, called until it frees no filter; and ours.
const WAYS: [(&str, Shorten); 3] = [
    ("as printed", as_printed),
    ("compact", DynamicCuckooFilter::compact),
    ("shrink_to_fit", DynamicCuckooFilter::shrink_to_fit),
];
const PRINTED: usize = 0;
const SHRINK: usize = 2;

fn as_printed(list: &mut DynamicCuckooFilter) -> usize {
    std::iter::from_fn(|| (list.compact_as_printed() > 0).then_some(())).count()
}

/// What was freed after one share of the keys was removed.
struct Freed {
    order: Order,
    share: f64,
    /// Filters that the remaining keys do not need.
    ideal: usize,
    /// By each of the ways, and the time that it took.
    freed: [usize; WAYS.len()],
    microseconds: [f64; WAYS.len()],
    false_negatives: usize,
}

struct Course {
    filters: usize,
    rows: Vec<Freed>,
    query: Duration,
}

fn run(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let courses = LENGTHS.iter().map(|&filters| course(settings, filters));
    let courses = courses.collect::<anyhow::Result<Vec<_>>>()?;
    let Course { rows, query, .. } = &courses[0];
    let table =
        |of: &Course| (format!("{KEYS} keys, {} filters", of.filters), table(&of.rows, of.filters));
    Ok(Outcome::of(findings(rows, *query).into_iter().chain(by_length(&courses)))
        .plots(plots(rows, *query))
        .plots(plots_by_length(&courses))
        .tables(courses.iter().map(table))
        .note(
            "As printed, Algorithm 4 moves what fits even where it frees no filter; it is called \
             until it frees none. compact moves nothing that frees no filter, and shrink_to_fit \
             kicks entries to make room.",
        )
        .wrong(courses.iter().flat_map(|of| &of.rows).map(|row| row.false_negatives).sum()))
}

fn course(settings: &Settings<'_>, filters: usize) -> anyhow::Result<Course> {
    let (each, rounds) = (KEYS.div_ceil(filters), settings.pick(3, 9));
    let work = Workload::new(settings.seed, KEYS, KEYS);
    let list = paper_list(KEYS, filters, buckets_for(each));
    let mut list = list.seed(settings.seed).build()?;
    list.extend(work.keys.iter().copied());
    let (query, _) = timed(|| work.present.iter().filter(|key| list.contains(*key)).count());
    let mut rows = Vec::new();
    for (order, keys) in [(Order::OldestFirst, &work.keys[..]), (Order::AtRandom, &work.shuffled)] {
        (settings.progress)(&format!("{filters} filters, {}", order.name()));
        rows.extend(SHARES.map(|share| freed(&list, keys, order, share, each, rounds)));
    }
    Ok(Course { filters, rows, query })
}

fn freed(
    list: &DynamicCuckooFilter,
    keys: &[u64],
    order: Order,
    share: f64,
    each: usize,
    rounds: usize,
) -> Freed {
    let (gone, left) = keys.split_at((keys.len() as f64 * share) as usize);
    let mut sparse = list.clone();
    let removed = gone.iter().filter(|key| sparse.remove(*key)).count();
    let mut false_negatives = gone.len() - removed;
    let (mut freed, mut microseconds) = ([0; WAYS.len()], [f64::INFINITY; WAYS.len()]);
    for (at, (_, shorten)) in WAYS.iter().enumerate() {
        for _ in 0..rounds {
            let mut shorter = sparse.clone();
            let (time, count) = timed(|| shorten(&mut shorter));
            freed[at] = count;
            microseconds[at] = microseconds[at].min(1e6 * time.as_secs_f64());
            false_negatives += left.iter().filter(|key| !shorter.contains(*key)).count();
        }
    }
    let ideal = list.filters() - left.len().div_ceil(each).max(1);
    Freed { order, share, ideal, freed, microseconds, false_negatives }
}

fn table(rows: &[Freed], filters: usize) -> Table {
    let rate = |freed: usize| percent(freed as f64 / filters as f64, 1);
    let time = |row: &Freed, way: usize| number(row.microseconds[way], 1);
    table!(rows, |row| {
        "removed": row.order.name().to_owned();
        "%": percent(row.share, 2);
        "ideal %": rate(row.ideal);
        "as printed %": rate(row.freed[PRINTED]);
        "compact %": rate(row.freed[1]);
        "shrink %": rate(row.freed[SHRINK]);
        "as printed µs": time(row, PRINTED);
        "compact µs": time(row, 1);
        "shrink µs": time(row, SHRINK);
        "false neg": row.false_negatives.to_string();
    })
}

fn line(rows: &[Freed], order: Order, of: impl Fn(&Freed) -> f64) -> Vec<(f64, f64)> {
    rows.iter().filter(|row| row.order == order).map(|row| (row.share, of(row))).collect()
}

fn plots(rows: &[Freed], query: Duration) -> [Plot; 2] {
    let share = |freed: usize| freed as f64 / FILTERS as f64;
    let query = 1e6 * query.as_secs_f64();
    let x = || Axis::from_zero("share of the keys removed");
    let title = "share of the filters that is freed (Fig. 16)";
    let mut shares = Plot::new(title, x(), Axis::from_zero("share"))
        .dashed("ideal", line(rows, Order::AtRandom, |row| share(row.ideal)));
    let mut times = Plot::new("time (Fig. 17)", x(), Axis::logarithmic("microseconds"));
    let ours = (1..WAYS.len()).map(|way| (way, Order::AtRandom));
    let printed = [Order::OldestFirst, Order::AtRandom].map(|order| (PRINTED, order));
    for (way, order) in printed.into_iter().chain(ours) {
        let name = format!("{}, {}", WAYS[way].0, order.name());
        shares = shares.line(&name, line(rows, order, |row| share(row.freed[way])));
        times = times.line(&name, line(rows, order, |row| row.microseconds[way]));
    }
    let sixth = [(0.1666, 0.0), (0.1667, 1.0 / FILTERS as f64)];
    let times = times.mark("the paper: 1.12 % of that", OF_A_QUERY * query);
    [
        shares.paper("as printed, oldest first: the paper", sixth),
        times.mark("looking up every key", query),
    ]
}

/// Figs. 16 and 17 for every length of the list.
fn plots_by_length(courses: &[Course]) -> [Plot; 2] {
    let x = || Axis::from_zero("share of the keys removed");
    let title = "share of the filters that is freed, as printed, oldest first, by s (Fig. 16)";
    let shares = Plot::new(title, x(), Axis::from_zero("share"));
    let title = "time of compacting as printed, oldest first, by s (Fig. 17)";
    let times = Plot::new(title, x(), Axis::from_zero("microseconds"));
    let each = |plot: Plot, of: &dyn Fn(&Course, &Freed) -> f64| {
        courses.iter().fold(plot, |plot, course| {
            let points = line(&course.rows, Order::OldestFirst, |row| of(course, row));
            plot.line(format!("s = {}", course.filters), points)
        })
    };
    [
        each(shares, &|course, row| row.freed[PRINTED] as f64 / course.filters as f64),
        each(times, &|_, row| row.microseconds[PRINTED]),
    ]
}

fn by_length(courses: &[Course]) -> Vec<Finding> {
    let short = |course: &Course| {
        let rows = course.rows.iter().filter(|row| row.order == Order::OldestFirst);
        rows.map(|row| row.ideal.saturating_sub(row.freed[PRINTED])).max().unwrap_or(0)
    };
    let reached = courses.iter().filter(|course| short(course) == 0).count();
    let shown = |of: &dyn Fn(&Course) -> String| {
        let texts: Vec<String> = courses
            .iter()
            .map(|course| format!("s = {}: {}", course.filters, of(course)))
            .collect();
        texts.join(", ")
    };
    let slowest =
        |course: &Course| range(course.rows.iter().map(|row| row.microseconds[PRINTED])).1;
    let (least, most) = range(courses.iter().map(slowest));
    vec![
        claim!("the rate of compacting is close to the ideal for every s, oldest first (never a \
             filter short)";
            "{}", shown(&|course| format!("{} short", short(course)));
            Holds::in_cases(reached, courses.len()) => reached as f64),
        claim!("the time of compacting has no distinct relation to s (the slowest list at most \
             twice the fastest)";
            "{}", shown(&|course| format!("{:.0} µs", slowest(course))); most <= 2.0 * least;
            "the buckets are as many in all, but as printed each filter that is not full is looked \
             at for each that is freed")
        .timed(),
    ]
}

fn findings(rows: &[Freed], query: Duration) -> Vec<Finding> {
    let of = |order: Order| rows.iter().filter(move |row| row.order == order);
    let ideal = |claim: &str, order: Order, way: usize| {
        let short = of(order).map(|row| row.ideal.saturating_sub(row.freed[way])).max();
        let short = short.unwrap_or(0);
        claim!("{claim}, {} (never a filter short of the ideal)", order.name();
            "at most {short} of {FILTERS} filters short"; short == 0 => short as f64)
    };
    let sixth: Vec<usize> = of(Order::OldestFirst)
        .filter(|row| [0.1666, 0.1667].contains(&row.share))
        .map(|row| row.freed[PRINTED])
        .collect();
    let longest = range(rows.iter().map(|row| row.microseconds[PRINTED])).1;
    let longest = longest / (1e6 * query.as_secs_f64());
    let explained = [Order::OldestFirst, Order::AtRandom].map(|order| {
        let points = line(rows, order, |row| row.microseconds[PRINTED]);
        Line::through(&points).map_or(0.0, |line| line.r_squared)
    });
    vec![
        ideal("compacting frees nearly the ideal", Order::OldestFirst, PRINTED),
        ideal("compacting frees nearly the ideal", Order::AtRandom, PRINTED).because(
            "an entry can only move to the same bucket of another filter, and one of many buckets \
             is full there; shrink_to_fit kicks entries to make room",
        ),
        ideal("shrink_to_fit (ours) frees the ideal", Order::OldestFirst, SHRINK)
            .of(Claimant::Ours),
        ideal("shrink_to_fit (ours) frees the ideal", Order::AtRandom, SHRINK).of(Claimant::Ours),
        claim!("the time is linear in the share that is empty (R² at least {LINEAR})";
            "R² {:.2} oldest first, {:.2} at random", explained[0], explained[1];
            explained.iter().all(|&explained| explained >= LINEAR);
            "the time is that of the entries that move, of which there are most where many filters \
             are half full, and fewer where few keys are left")
        .timed(),
        claim!("compacting takes at most 1.12 % of the time of looking up every key";
            "at most {:.2} %", 100.0 * longest; longest <= OF_A_QUERY;
            "a lookup is much faster here than in the paper, and moving entries is not faster by \
             as much")
        .timed(),
        Finding::never("no false negatives", rows.iter().map(|row| row.false_negatives).sum())
            .of(Claimant::Ours),
        claim!("no filter is freed with .1666 of the keys removed, one with .1667";
            "oldest first: {sixth:?}"; sixth == [0, 1]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_keys_free_their_filter_and_random_ones_do_not() {
        let work = Workload::new(1, 46_080, 1);
        let mut list = paper_list(46_080, 6, 2048).seed(1).build().unwrap();
        list.extend(work.keys.iter().copied());
        let oldest = freed(&list, &work.keys, Order::OldestFirst, 0.34, 7680, 1);
        assert_eq!((oldest.ideal, oldest.freed), (2, [2, 2, 2]));
        let random = freed(&list, &work.shuffled, Order::AtRandom, 0.34, 7680, 1);
        assert_eq!((random.ideal, &random.freed[1..]), (2, &[0, 2][..]));
        assert_eq!(random.false_negatives, 0);
        let findings = findings(&[oldest, random], Duration::from_secs(1));
        let holds: Vec<_> = findings[..4].iter().map(|finding| finding.holds).collect();
        assert_eq!(holds, [Holds::Yes, Holds::No, Holds::Yes, Holds::Yes]);
    }
}
