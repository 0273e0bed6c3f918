//! What an operation of a filter on a ring costs by the number of its buckets: Theorem 2 of the
//! Consistent Cuckoo Filter paper.

use cuculus_papers::IndexIndependentCuckooFilter;

use crate::line::Line;
use crate::prelude::*;
use crate::subject::Subject;

pub(super) const COST: Experiment = Experiment::paper(
    ("ccf-cost", "Cost of a filter on a ring by its size"),
    "Does the time of an insertion, a lookup and a removal grow like the logarithm of the number \
     of buckets? (CCF Theorem 2; k = 2, b = 4, v = 10)",
    Chance::Clock,
    run,
);

const LOAD: f64 = 0.6;
const SLOTS: u32 = 4;
const ACTS: [&str; 3] = ["insertion", "lookup", "removal"];
/// Time over the logarithm may rise by this factor before a claim of at most that growth fails.
const RISE: f64 = 1.5;

fn run(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let most: u32 = settings.pick(14, 18);
    let rounds = settings.pick(25, 5);
    let mut rings: Vec<Ring> =
        (6..=most).step_by(2).map(|log2| Ring::new(log2, settings.seed)).collect();
    // Every size once within a round, so that a busy minute hits all alike.
    for round in 1..=rounds {
        (settings.progress)(&format!("round {round} of {rounds}"));
        for ring in &mut rings {
            ring.round(settings.seed)?;
        }
    }
    let mut lines: [Vec<(f64, f64)>; 3] = Default::default();
    let mut table = Table::new(["buckets", "keys", "insertion, ns", "lookup, ns", "removal, ns"]);
    for Ring { log2_buckets, work, best } in &rings {
        for (line, time) in lines.iter_mut().zip(best) {
            line.push((f64::from(*log2_buckets), *time));
        }
        let cells = best.map(|time| number(time, 1));
        let size = [format!("2^{log2_buckets}"), work.keys.len().to_string()];
        table.row(size.into_iter().chain(cells));
    }
    let title = "time by the number of buckets";
    let plot =
        Plot::new(title, Axis::linear("log2 of the buckets"), Axis::from_zero("nanoseconds"));
    let named = || ACTS.iter().zip(&lines);
    Ok(Outcome::of(named().map(|(act, line)| finding(act, line)))
        .plot(named().fold(plot, |plot, (act, line)| plot.line(*act, line.iter().copied())))
        .table(format!("{LOAD} of the slots in use, best of {rounds} rounds"), table)
        .note(
            "The bound is of the worst case: max reallocations for an insertion, s filters for a \
             lookup. Here s = 1, and at this load most insertions move nothing.",
        ))
}

/// The keys of a ring, and the best times in nanoseconds.
struct Ring {
    log2_buckets: u32,
    work: Workload,
    best: [f64; ACTS.len()],
}

impl Ring {
    fn new(log2_buckets: u32, seed: u64) -> Self {
        let keys = (f64::from(log2_buckets).exp2() * f64::from(SLOTS) * LOAD) as usize;
        let work = Workload::new(seed, keys, keys.max(20_000));
        Self { log2_buckets, work, best: [f64::INFINITY; ACTS.len()] }
    }

    fn round(&mut self, seed: u64) -> anyhow::Result<()> {
        let work = &self.work;
        let mut filter = IndexIndependentCuckooFilter::builder()
            .buckets(1 << self.log2_buckets)
            .slots_per_bucket(SLOTS)
            .fingerprint_bits(32)
            .seed(seed)
            .build()?;
        let filter: &mut dyn Subject = &mut filter;
        let (insert, refused) = timed(|| filter.insert_all(&work.keys));
        anyhow::ensure!(refused.is_empty(), "a key was refused");
        let (look, _) = timed(|| filter.count(&work.present));
        let (remove, _) = timed(|| filter.remove_all(&work.shuffled));
        let keys = work.keys.len();
        let times = [(keys, insert), (work.present.len(), look), (keys, remove)];
        for (best, (count, time)) in self.best.iter_mut().zip(times) {
            *best = best.min(nanoseconds(count, time));
        }
        Ok(())
    }
}

/// At most like the logarithm: time over log2 of the buckets does not rise.
fn finding(act: &str, line: &[(f64, f64)]) -> Finding {
    let share = |at: &(f64, f64)| at.1 / at.0;
    let (first, last) = (line.first().map_or(1.0, share), line.last().map_or(1.0, share));
    let rise = last / first;
    let explained = Line::through(line).map_or(0.0, |line| line.r_squared);
    let holds = Holds::graded(rise <= RISE, rise <= 2.0 * RISE);
    claim!("{act}: grows at most like log m (time over log m rises by at most {RISE} from the \
         smallest ring to the largest; in part up to twice that)";
        "{rise:.2} times; R² of a line in log m {explained:.2}"; holds;
        "a larger ring leaves the caches, and every step of a search waits for memory")
    .timed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_decides() {
        let line = |at: fn(f64) -> f64| -> Vec<(f64, f64)> {
            [6.0, 10.0, 14.0].map(|log2: f64| (log2, at(log2))).to_vec()
        };
        assert_eq!(finding("x", &line(|log2| 5.0 * log2)).holds, Holds::Yes);
        assert_eq!(finding("x", &line(|_| 70.0)).holds, Holds::Yes);
        assert_eq!(finding("x", &line(f64::exp2)).holds, Holds::No);
    }
}
