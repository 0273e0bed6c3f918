//! A filter that grows: the timed loops, compiled for each filter.

use std::hint::black_box;

use anyhow::Context;
use serde::Serialize;

use crate::clock::{mops, timed};
use crate::heap::Mark;
use crate::keys::Workload;
use crate::pauses::{Pauses, Summary};
use crate::speed::Grows;

type Work = Workload<u64>;

/// How often memory is looked at while the number of keys doubles.
const LOOKS_A_DOUBLING: f64 = 8.0;

/// A filter that grows, whatever its type.
pub struct Grower {
    name: &'static str,
    note: String,
    grow: fn(usize, &Work, f64) -> anyhow::Result<Grown>,
    waits: fn(usize, &Work, f64) -> anyhow::Result<Waits>,
}

/// What a filter was like when it had grown.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Grown {
    /// The filter's name.
    pub name: &'static str,
    /// The name with what must be known about it.
    pub label: String,
    /// All memory by the allocator's count, over the keys.
    pub bits_per_key: f64,
    /// The share of absent keys that were found.
    pub false_positive_rate: f64,
    /// Millions of insertions per second, growth included.
    pub insert_mops: f64,
    /// Millions of questions per second for keys that are in.
    pub hit_mops: f64,
    /// Millions of questions per second for keys that are not.
    pub miss_mops: f64,
    /// Millions of removals per second.
    pub remove_mops: f64,
    /// Keys that were not taken.
    pub refused: usize,
    /// Keys that were taken and are not found.
    pub false_negatives: usize,
    /// Keys that could not be removed.
    pub not_removed: usize,
    /// Keys that are gone after others were removed.
    pub lost: usize,
    /// Memory after half of the keys were removed, over what it was.
    pub bytes_left: f64,
    /// Single insertions, if they were timed.
    pub waits: Option<Waits>,
}

/// How long single insertions take, and how the memory grows with them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Waits {
    /// Of one run.
    pub raw: Summary,
    /// The shorter time of two runs for each.
    pub least: Summary,
    /// Numbers of keys, and the bits a key with so many.
    pub bits: Vec<(usize, f64)>,
}

impl Grown {
    /// The better speeds of two rounds; what is not a speed is the same in both, or nearly.
    #[must_use]
    pub(super) fn best(&self, other: &Self) -> Self {
        Self {
            insert_mops: self.insert_mops.max(other.insert_mops),
            hit_mops: self.hit_mops.max(other.hit_mops),
            miss_mops: self.miss_mops.max(other.miss_mops),
            remove_mops: self.remove_mops.max(other.remove_mops),
            ..self.clone()
        }
    }

    pub(super) fn wrong_answers(&self) -> usize {
        self.refused + self.false_negatives + self.not_removed + self.lost
    }
}

impl Grower {
    /// A filter by its adapter.
    #[must_use]
    pub fn of<F: Grows<u64>>() -> Self {
        Self { name: F::NAME, note: F::note(), grow: grow::<F>, waits: waits::<F> }
    }

    pub(super) fn label(&self) -> String {
        if self.note.is_empty() {
            return self.name.to_owned();
        }
        format!("{} ({})", self.name, self.note)
    }

    pub(super) fn grow(&self, first: usize, work: &Work, rate: f64) -> anyhow::Result<Grown> {
        let grown = (self.grow)(first, work, rate);
        let grown = grown.with_context(|| format!("cannot grow {}", self.name))?;
        Ok(Grown { name: self.name, label: self.label(), ..grown })
    }

    pub(super) fn waits(&self, first: usize, work: &Work, rate: f64) -> anyhow::Result<Waits> {
        (self.waits)(first, work, rate).with_context(|| format!("cannot grow {}", self.name))
    }
}

fn grow<F: Grows<u64>>(first: usize, work: &Work, rate: f64) -> anyhow::Result<Grown> {
    let keys = &work.keys;
    let mark = Mark::now();
    let held = || bytes_of::<F>(mark);
    let mut filter = F::start(first, keys.len(), rate)?;
    let (insert_time, taken) =
        timed(|| keys.iter().map(|key| usize::from(filter.insert(key))).sum::<usize>());
    let bytes = held();
    let false_negatives = taken.saturating_sub(count(&filter, keys));
    let (hit_time, _) = timed(|| count(&filter, &work.present));
    let (miss_time, found) = timed(|| count(&filter, &work.absent));
    let (removed, kept) = work.shuffled().split_at(keys.len() / 2);
    let (remove_time, gone) =
        timed(|| removed.iter().map(|key| usize::from(filter.remove(key))).sum::<usize>());
    Ok(Grown {
        bits_per_key: bytes as f64 * 8.0 / keys.len() as f64,
        false_positive_rate: found as f64 / work.absent.len() as f64,
        insert_mops: mops(keys.len(), insert_time),
        hit_mops: mops(work.present.len(), hit_time),
        miss_mops: mops(work.absent.len(), miss_time),
        remove_mops: mops(removed.len(), remove_time),
        refused: keys.len() - taken,
        false_negatives,
        not_removed: removed.len() - gone,
        lost: kept.len() - count(&filter, kept),
        bytes_left: held() as f64 / bytes as f64,
        ..Grown::default()
    })
}

/// What a filter takes by the allocator's count, and its own value.
fn bytes_of<F>(mark: Option<Mark>) -> usize {
    mark.map_or(0, Mark::held) + size_of::<F>()
}

fn count<F: Grows<u64>>(filter: &F, keys: &[u64]) -> usize {
    black_box(keys.iter().map(|key| usize::from(filter.contains(key))).sum())
}

/// Peers that relocate at random do not do the same twice, but they grow at the same places, and
/// the long waits are there.
fn waits<F: Grows<u64>>(first: usize, work: &Work, rate: f64) -> anyhow::Result<Waits> {
    let run = || -> anyhow::Result<(Pauses, Vec<(usize, f64)>)> {
        let mut pauses = Pauses::with_capacity(work.keys.len());
        let mut bits = Vec::with_capacity(usize::BITS as usize * LOOKS_A_DOUBLING as usize);
        let mut next_look = first as f64;
        let mark = Mark::now();
        let mut filter = F::start(first, work.keys.len(), rate)?;
        for (held, key) in (1..).zip(&work.keys) {
            pauses.time(|| filter.insert(key));
            if held as f64 >= next_look {
                bits.push((held, bytes_of::<F>(mark) as f64 * 8.0 / held as f64));
                next_look *= (1.0 / LOOKS_A_DOUBLING).exp2();
            }
        }
        Ok((pauses, bits))
    };
    let ((first, bits), (second, _)) = (run()?, run()?);
    Ok(Waits { raw: first.summary(), least: first.least(&second).summary(), bits })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speed::ours::{Elastic, Ours};

    #[test]
    fn ours_loses_nothing() {
        let work = Workload::<u64>::new(1, 20_000, 1000);
        let grown = Grower::of::<Ours<Elastic>>().grow(16, &work, 0.01).unwrap();
        assert_eq!(grown.wrong_answers(), 0);
        assert!(grown.hit_mops > 0.0 && grown.remove_mops > 0.0);
    }

    #[test]
    fn the_best_of_two_rounds_is_kept_for_each_speed() {
        let a = Grown { hit_mops: 1.0, miss_mops: 4.0, lost: 3, ..Grown::default() };
        let b = Grown { hit_mops: 2.0, miss_mops: 3.0, lost: 3, ..Grown::default() };
        assert_eq!(a.best(&b), Grown { hit_mops: 2.0, ..a });
    }
}
