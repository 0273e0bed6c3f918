//! What a list of filters gives back after removals, and how long that takes (Figs. 16 and 17).

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use cuculus::papers::DynamicCuckooFilter;
use cuculus::{Filter, Remove};
use serde::Serialize;
use serde_json::json;

use super::{Line, buckets_for, paper_list};
use crate::clock::timed;
use crate::keys::Workload;
use crate::report;
use crate::verdict::{self, Verdict};
use cuculus_page::table::{Table, number, percent};

/// How many.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The keys of the list.
    #[arg(long, default_value_t = 46_080)]
    pub items: usize,
    /// Its filters.
    #[arg(long, default_value_t = 6)]
    pub filters: usize,
    /// Rounds; the shortest time counts.
    #[arg(long, default_value_t = 3)]
    pub rounds: usize,
    /// The seed of the keys and of the filter.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Writes all numbers to this file too.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// The paper's two shares on either side of a sixth are among them.
const SHARES: [f64; 22] = [
    0.05, 0.10, 0.15, 0.1666, 0.1667, 0.20, 0.25, 0.30, 0.34, 0.40, 0.45, 0.51, 0.55, 0.60, 0.65,
    0.67, 0.70, 0.75, 0.80, 0.84, 0.90, 0.95,
];

/// Which keys go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Order {
    OldestFirst,
    AtRandom,
}

/// What was given back after one share of the keys was removed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Freed {
    pub(crate) order: Order,
    pub(crate) share: f64,
    /// Filters that the keys left do not need.
    pub(crate) ideal: usize,
    pub(crate) compact: usize,
    pub(crate) shrink_to_fit: usize,
    pub(crate) compact_seconds: f64,
    pub(crate) shrink_seconds: f64,
    pub(crate) false_negatives: usize,
}

/// Removes more and more and prints what is given back.
///
/// Returns whether no key was lost.
///
/// # Errors
/// If the list cannot be built, or the report cannot be written.
pub fn run(options: &Options) -> anyhow::Result<bool> {
    let filters = options.filters.max(1);
    let each = options.items.div_ceil(filters).max(1);
    let buckets = buckets_for(each);
    println!(
        "How many of {filters} filters of {buckets} buckets are given back, by the share of {} keys\n\
         that is removed? Best of {}; the ideal is what the keys left do not need.\n",
        options.items,
        options.rounds.max(1)
    );
    let (rows, query) = measure(options, &|part| eprintln!("{part}"))?;
    println!("{}", table(&rows, filters));
    let verdicts = verdicts(&rows, query);
    println!("{}", verdict::table(&verdicts));
    println!("{}", line(&rows));
    if let Some(path) = &options.json {
        let asked = json!({ "keys": options.items, "filters": filters, "buckets": buckets,
            "seed": options.seed });
        report::write(path, &asked, &json!(rows), &verdicts)?;
    }
    Ok(rows.iter().all(|row| row.false_negatives == 0))
}

/// What is given back for each share in both orders, and how long asking for every key takes.
pub(crate) fn measure(
    options: &Options,
    told: &dyn Fn(&str),
) -> anyhow::Result<(Vec<Freed>, Duration)> {
    let filters = options.filters.max(1);
    let each = options.items.div_ceil(filters).max(1);
    let work = Workload::<u64>::new(options.seed, options.items, options.items);
    let list = paper_list(options.items, filters, buckets_for(each));
    let mut list = list.seed(options.seed).build()?;
    list.extend(work.keys.iter().copied());
    let (query, _) = timed(|| work.present.iter().filter(|key| list.contains(*key)).count());
    let mut rows = Vec::new();
    for (order, keys) in [(Order::OldestFirst, &work.keys[..]), (Order::AtRandom, work.shuffled())]
    {
        told(&format!("{order:?}"));
        rows.extend(SHARES.map(|share| freed(&list, keys, order, share, each, options.rounds)));
    }
    Ok((rows, query))
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
    let mut best = |shorten: fn(&mut DynamicCuckooFilter) -> usize| {
        let mut best = (Duration::MAX, 0);
        for _ in 0..rounds.max(1) {
            let mut shorter = sparse.clone();
            let (time, freed) = timed(|| shorten(&mut shorter));
            best = (best.0.min(time), freed);
            false_negatives += left.iter().filter(|key| !shorter.contains(*key)).count();
        }
        (best.0.as_secs_f64(), best.1)
    };
    let (compact_seconds, compact) = best(DynamicCuckooFilter::compact);
    let (shrink_seconds, shrink_to_fit) = best(DynamicCuckooFilter::shrink_to_fit);
    let ideal = list.filters() - left.len().div_ceil(each).max(1);
    Freed {
        order,
        share,
        ideal,
        compact,
        shrink_to_fit,
        compact_seconds,
        shrink_seconds,
        false_negatives,
    }
}

pub(crate) fn table(rows: &[Freed], filters: usize) -> Table {
    let mut table = Table::new([
        "removed",
        "%",
        "ideal %",
        "compact %",
        "shrink %",
        "compact µs",
        "shrink µs",
        "false neg",
    ]);
    for row in rows {
        let rate = |freed: usize| percent(freed as f64 / filters as f64, 1);
        let name = match row.order {
            Order::OldestFirst => "oldest first",
            Order::AtRandom => "at random",
        };
        table.row([
            name.to_owned(),
            percent(row.share, 2),
            rate(row.ideal),
            rate(row.compact),
            rate(row.shrink_to_fit),
            number(Some(row.compact_seconds * 1e6), 1),
            number(Some(row.shrink_seconds * 1e6), 1),
            row.false_negatives.to_string(),
        ]);
    }
    table
}

fn verdicts(rows: &[Freed], query: Duration) -> Vec<Verdict> {
    let missing = |order: Order, freed: fn(&Freed) -> usize| {
        let of = rows.iter().filter(|row| row.order == order);
        of.map(|row| row.ideal as f64 - freed(row) as f64).max_by(f64::total_cmp)
    };
    let short = |text: &str, order, freed| {
        Verdict::at_most(format!("{text}: filters short of the ideal"), missing(order, freed), 0.0)
    };
    let longest = rows.iter().map(|row| row.compact_seconds).max_by(f64::total_cmp);
    let longest = longest.map(|seconds| 100.0 * seconds / query.as_secs_f64());
    let lost: usize = rows.iter().map(|row| row.false_negatives).sum();
    vec![
        short("compact, oldest first", Order::OldestFirst, |row| row.compact),
        short("compact, at random (the paper's claim)", Order::AtRandom, |row| row.compact),
        short("shrink_to_fit, oldest first", Order::OldestFirst, |row| row.shrink_to_fit),
        short("shrink_to_fit, at random", Order::AtRandom, |row| row.shrink_to_fit),
        Verdict::at_most(
            "longest compact in % of a query for every key (the paper's)",
            longest,
            1.12,
        ),
        Verdict::at_most("false negatives", Some(lost as f64), 0.0),
    ]
}

/// The paper has the time of compacting linear in the share that is empty: how much of the
/// variance a line explains.
pub(crate) fn linear(rows: &[Freed], order: Order) -> Option<f64> {
    let rows = rows.iter().filter(|row| row.order == order);
    let points: Vec<_> = rows.map(|row| (row.share, row.compact_seconds * 1e6)).collect();
    Line::through(&points).map(|line| line.r_squared)
}

fn line(rows: &[Freed]) -> String {
    let of = |order: Order| number(linear(rows, order), 3);
    format!(
        "Time of compact against the share removed, R² of a line: oldest first {}, at random {}.\n\
         Ours knows before it moves anything whether a filter can be emptied, so its time is that\n\
         of what it frees.",
        of(Order::OldestFirst),
        of(Order::AtRandom)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_keys_free_their_filter_and_random_ones_do_not() {
        let work = Workload::<u64>::new(1, 46_080, 1);
        let mut list = paper_list(46_080, 6, 2048).seed(1).build().unwrap();
        list.extend(work.keys.iter().copied());
        let third = freed(&list, &work.keys, Order::OldestFirst, 0.34, 7680, 1);
        assert_eq!((third.ideal, third.compact, third.shrink_to_fit), (2, 2, 2));
        let third = freed(&list, work.shuffled(), Order::AtRandom, 0.34, 7680, 1);
        assert_eq!((third.ideal, third.compact, third.shrink_to_fit), (2, 0, 2));
        assert_eq!(third.false_negatives, 0);
        let words: Vec<_> =
            verdicts(&[third], Duration::from_secs(1)).iter().map(Verdict::word).collect();
        assert_eq!(words, ["n/a", "MISS", "n/a", "PASS", "PASS", "PASS"]);
    }
}
