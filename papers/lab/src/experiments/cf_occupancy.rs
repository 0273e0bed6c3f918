//! Figs. 6 to 8 of the Cuckoo Filter paper: lookups, insertions and deletions while filters fill
//! and empty.

use super::cf_filters::{KINDS, Kind, SpeedScale, drawn, false_positive_rate};
use crate::prelude::*;
use crate::subject::Subject;

pub(super) const OCCUPANCY: Experiment = Experiment::paper(
    ("cf-occupancy", "Speed by occupancy"),
    "How fast are lookups, insertions and deletions as a filter gets full? (CF Figs. 6-8)",
    Chance::Clock,
    |settings| occupancy(SpeedScale::of(settings), settings),
);

const STEPS: usize = 10;

/// What is timed: its place in a list of times, and its title.
type Act = usize;
const NEGATIVE: Act = 0;
const POSITIVE: Act = 1;
const INSERT: Act = 2;
const DELETE: Act = 3;
const ACTS: [&str; 4] = [
    "negative lookups (Fig. 6a)",
    "positive lookups (Fig. 6b)",
    "insertions (Fig. 7)",
    "deletions (Fig. 8)",
];

/// The speeds of a filter, in millions per second, by the tenth of its capacity; no deletions from a
/// filter that has none.
struct Course {
    kind: Kind,
    speeds: [[f64; STEPS]; ACTS.len()],
    bits_per_item: f64,
    rate: f64,
}

impl Course {
    fn keep(&mut self, act: Act, step: usize, mops: f64) {
        let best = &mut self.speeds[act][step];
        *best = best.max(mops);
    }

    fn round(&mut self, scale: SpeedScale, seed: u64) -> anyhow::Result<()> {
        let name = self.kind.name();
        let capacity = self.kind.capacity(scale.buckets);
        let step_keys = |step: usize| {
            let part = |step: usize| capacity * step as u64 / STEPS as u64;
            keys(seed, part(step)..part(step + 1))
        };
        let absent = absent_keys(seed, 0..scale.lookups);
        let mut random = fastrand::Rng::with_seed(seed);
        let mut contender = self.kind.empty(scale.buckets, seed)?;
        for step in 0..STEPS {
            let new = step_keys(step);
            let (time, inserted) = timed(|| contender.insert_until_refused(&new));
            anyhow::ensure!(inserted == new.len(), "{name} refused a key");
            self.keep(INSERT, step, mops(inserted, time));
            let (time, _) = timed(|| contender.count(&absent));
            self.keep(NEGATIVE, step, mops(absent.len(), time));
            let held = contender.held() as u64;
            let asked = (0..scale.lookups).map(|_| nth_key(seed, random.u64(..held)));
            let asked: Vec<u64> = asked.collect();
            let (time, found) = timed(|| contender.count(&asked));
            anyhow::ensure!(found == asked.len(), "{name} has lost a key");
            self.keep(POSITIVE, step, mops(found, time));
        }
        self.full(&*contender, scale, seed);
        for step in (0..STEPS).rev() {
            let old = step_keys(step);
            let (time, removed) = timed(|| contender.remove_all(&old));
            let Some(removed) = removed else { break };
            anyhow::ensure!(removed == old.len(), "{name} has lost a key");
            self.keep(DELETE, step, mops(removed, time));
        }
        Ok(())
    }

    /// What is the same in every round.
    fn full(&mut self, contender: &dyn Subject, scale: SpeedScale, seed: u64) {
        if self.bits_per_item == 0.0 {
            self.bits_per_item = contender.bits_per_key();
            self.rate = false_positive_rate(contender, seed, scale.rate_lookups);
        }
    }
}

fn occupancy(scale: SpeedScale, settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let empty = |kind| Course { kind, speeds: [[0.0; STEPS]; 4], bits_per_item: 0.0, rate: 0.0 };
    let mut courses = KINDS.map(empty);
    for round in 0..scale.rounds {
        for course in &mut courses {
            let name = course.kind.name();
            (settings.progress)(&format!("round {} of {}: {name}", round + 1, scale.rounds));
            course.round(scale, settings.seed)?;
        }
    }
    let (mut plots, mut tables) = (Vec::new(), Vec::new());
    for (act, title) in ACTS.into_iter().enumerate() {
        let (plot, table) = shown(&courses, act, title);
        plots.push(plot);
        tables
            .push((format!("million {title} per second, by the share of capacity in use"), table));
    }
    Ok(Outcome::of(findings(&courses).into_iter().map(|finding| scale.judge(finding)))
        .plots(plots)
        .tables(tables)
        .note(format!(
            "One thread, one key at a time, hashing included, the best of {} rounds; {} buckets \
             of four entries. An insertion belongs to the load that it leads to, a deletion to the \
             one that it starts from. Bits and rate are those of the full filter. The elastic \
             filter starts empty and has grown to the keys of the CF.",
            scale.rounds, scale.buckets
        )))
}

fn shown(courses: &[Course], act: Act, title: &str) -> (Plot, Table) {
    let columns = (1..=STEPS).map(|step| 100.0 * step as f64 / STEPS as f64);
    let columns: Vec<_> = columns.map(|share| (share, format!("{share:.0} %"))).collect();
    let x = Axis::linear("share of capacity in use, %");
    let plot = Plot::new(title, x, Axis::from_zero("million per second"));
    let able = courses.iter().filter(|of| of.speeds[act].iter().any(|&mops| mops > 0.0));
    drawn(plot, &columns, able.map(|of| (of.kind, of.bits_per_item, of.rate, &of.speeds[act][..])))
}

/// The speeds of a filter of this kind.
fn line(courses: &[Course], wanted: Kind, act: Act) -> &[f64] {
    let course = courses.iter().find(|course| course.kind == wanted);
    course.map_or(&[], |course| &course.speeds[act])
}

fn cuckoo_fastest(courses: &[Course], act: Act, what: &str, others: &[Kind]) -> Finding {
    let cuckoo = line(courses, Kind::Cuckoo, act);
    let mut held = 0;
    let mut lost = Vec::new();
    for &other in others {
        let above = points_above(cuckoo, line(courses, other, act));
        held += above;
        if above < STEPS {
            lost.push(format!("{} at {} loads of {STEPS}", other.name(), STEPS - above));
        }
    }
    let names: Vec<&str> = others.iter().map(|kind| kind.name()).collect();
    let measured = match lost.is_empty() {
        true => "at all of them".to_owned(),
        false => format!("not faster than {}", lost.join(", ")),
    };
    let why = "a filter that is nearly empty answers at its first look; the CF always reads two \
               buckets";
    claim!("{what}: CF is faster than {} at every load", names.join(", "); "{measured}";
        Holds::in_cases(held, STEPS * others.len());
        if act == NEGATIVE && !lost.is_empty() { why } else { "" })
}

fn findings(courses: &[Course]) -> Vec<Finding> {
    let line = |wanted, act| line(courses, wanted, act);
    let (cuckoo, sorted, bloom) = (Kind::Cuckoo, Kind::SemiSorted, Kind::Bloom);
    let dleft = Kind::Dleft { counter_bits: 2 };
    let others = [sorted, bloom, Kind::Quotient, dleft];
    let deleting = [sorted, Kind::Quotient, dleft];
    let mut findings = vec![
        level("CF, negative lookups over loads", line(cuckoo, NEGATIVE), 0.8),
        level("CF, positive lookups over loads", line(cuckoo, POSITIVE), 0.8),
        level("ss-CF, negative lookups", line(sorted, NEGATIVE), 0.8),
        level("ss-CF, positive lookups", line(sorted, POSITIVE), 0.8),
        falls("QF, positive lookups as it fills", line(Kind::Quotient, POSITIVE), 0.6),
        falls("BF, negative lookups as it fills", line(bloom, NEGATIVE), 0.7),
        level("BF, positive lookups over loads", line(bloom, POSITIVE), 0.8),
        level("dl-CBF, negative lookups", line(dleft, NEGATIVE), 0.8),
        cuckoo_fastest(courses, NEGATIVE, "negative lookups", &others),
        cuckoo_fastest(courses, POSITIVE, "positive lookups", &others),
        falls("CF, insertions as it fills", line(cuckoo, INSERT), 0.7),
        falls("ss-CF, insertions as it fills", line(sorted, INSERT), 0.7),
        falls("QF, insertions as it fills", line(Kind::Quotient, INSERT), 0.7),
        level("BF, insertions over loads", line(bloom, INSERT), 0.7),
        level("blk-BF, insertions over loads", line(Kind::Blocked, INSERT), 0.7),
        level("dl-CBF, insertions over loads", line(dleft, INSERT), 0.7),
        cuckoo_fastest(courses, DELETE, "deletions", &deleting),
        level("CF, deletions over loads", line(cuckoo, DELETE), 0.7),
    ];
    let last = |kind| line(kind, DELETE).last().copied().unwrap_or(0.0);
    let slowest = [cuckoo, sorted, dleft].iter().all(|&kind| last(kind) > last(Kind::Quotient));
    let speed = |kind: Kind| format!("{} {:.1}", kind.name(), last(kind));
    let speeds = [cuckoo, sorted, dleft, Kind::Quotient].map(speed).join(", ");
    findings.push(claim!("deletions: QF is the slowest when full"; "{speeds}"; slowest));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::QUICK;

    #[test]
    fn it_runs_and_deletions_are_of_those_that_can() {
        let outcome = occupancy(SpeedScale::tiny(), &QUICK).unwrap();
        let series = outcome.plots.iter().map(|plot| plot.series.len());
        assert_eq!(series.collect::<Vec<_>>(), [7, 7, 7, 5]);
        assert_eq!(outcome.findings.len(), 19);
    }

    #[test]
    fn faster_at_some_loads_is_partly() {
        let course =
            |kind, mops| Course { kind, speeds: [[mops; STEPS]; 4], bits_per_item: 1.0, rate: 0.1 };
        let mut courses = [course(Kind::Cuckoo, 5.0), course(Kind::Bloom, 4.0)];
        let verdict = |courses: &[Course]| {
            cuckoo_fastest(courses, INSERT, "insertions", &[Kind::Bloom]).holds
        };
        assert_eq!(verdict(&courses), Holds::Yes);
        courses[1].keep(INSERT, 3, 6.0);
        assert_eq!(verdict(&courses), Holds::Partly);
    }
}
