//! The numbers of one filter on its way, at chosen sizes and over all of it.

use cuculus::{ElasticFilter, Filter};
use serde::{Deserialize, Serialize};

use super::Leg;
use super::walk::{LAST_KEYS, Walk, missing, step};
use crate::heap::Mark;
use crate::machine::resident_bytes;
use crate::pauses::Waits;
use crate::prelude::*;

/// The sizes to look at, if the filter gets there.
const SIZES: [usize; 5] = [LAST_KEYS, 64_000, 1_000_000, 4_000_000, 16_000_000];
/// From here on the utilisation counts: a smaller filter has few segments.
const UTILIZATION_FROM_KEYS: usize = 4096;
/// Keys looked up at every size but the largest and the last, where all are.
const SAMPLE: usize = 1_000_000;
const GROUP: usize = 1024;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Course {
    pub(super) rate: f64,
    pub(super) declared: bool,
    pub(super) keys: usize,
    pub(super) checkpoints: Vec<Checkpoint>,
    pub(super) growing_utilization: Option<f64>,
    pub(super) shrinking_utilization: Option<f64>,
    pub(super) most_entries_written: u32,
    pub(super) refused: usize,
    pub(super) false_negatives: usize,
    pub(super) inserts: Waits,
    pub(super) removes: Waits,
    /// What the clock adds to every wait.
    pub(super) clock_nanoseconds: u32,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Checkpoint {
    pub(super) up: bool,
    pub(super) keys: usize,
    pub(super) expected_rate: f64,
    pub(super) measured_rate: f64,
    pub(super) probes: usize,
    /// By the filter's own account.
    pub(super) bytes: usize,
    /// By the allocator's count.
    pub(super) counted_bytes: Option<usize>,
    /// By how much the program has grown in memory since before the filter.
    pub(super) resident_growth: Option<usize>,
    pub(super) utilization: f64,
    pub(super) slot_widths: Vec<(u32, usize)>,
    pub(super) overflow: usize,
}

impl Checkpoint {
    pub(super) fn bits_per_key(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.keys as f64
    }

    /// The part of them that is slots; the rest is what keeps the slots together.
    pub(super) fn slot_bits_per_key(&self) -> f64 {
        let bits = |&(width, slots): &(u32, usize)| f64::from(width) * slots as f64;
        self.slot_widths.iter().map(bits).sum::<f64>() / self.keys as f64
    }

    pub(super) fn resident_ratio(&self) -> Option<f64> {
        Some(self.resident_growth? as f64 / self.bytes as f64)
    }

    /// How far the filter's account of its size is from the allocator's.
    pub(super) fn size_error(&self) -> Option<f64> {
        Some((self.bytes as f64 / self.counted_bytes? as f64 - 1.0).abs())
    }

    /// The measured rate, less what chance may add to it: three standard errors.
    pub(super) fn certain_rate(&self) -> f64 {
        let rate = self.measured_rate;
        rate - 3.0 * (rate * (1.0 - rate) / self.probes as f64).sqrt()
    }
}

impl Course {
    /// Goes there and back: once with lookups, and then for the waits.
    pub(super) fn measure(leg: &Leg) -> anyhow::Result<Self> {
        let Leg { keys, rate, declared, probes, .. } = *leg;
        let what = if declared { "declared" } else { "nothing declared" };
        let name = format!("rate {} %, {what}", 100.0 * rate);
        let walk = Walk::new(leg)?;
        eprintln!("{name}: memory, rates and answers");
        let mut seen = Seen::new(&walk, probes)?;
        seen.go(true, walk.insertions());
        seen.false_negatives += missing(&seen.filter, walk.insertions());
        let growing_utilization = seen.mean_utilization();
        seen.go(false, walk.removals());
        let left = LAST_KEYS.min(keys);
        seen.false_negatives += missing(&seen.filter, walk.sample(false, left, left));
        let shrinking_utilization = seen.mean_utilization();
        let Seen { filter, checkpoints, refused, false_negatives, .. } = seen;
        let most_entries_written = filter.stats().most_entries_written;
        drop(filter);
        let [inserts, removes] = walk.waits(&name)?;
        Ok(Self {
            rate,
            declared,
            keys,
            checkpoints,
            growing_utilization,
            shrinking_utilization,
            most_entries_written,
            refused,
            false_negatives,
            inserts,
            removes,
            clock_nanoseconds: crate::pauses::clock_nanoseconds(),
        })
    }

    pub(super) fn wrong_answers(&self) -> usize {
        self.refused + self.false_negatives
    }
}

struct Seen<'a> {
    walk: &'a Walk,
    probes: usize,
    resident_before: Option<usize>,
    mark: Option<Mark>,
    /// What is held since then that is not the filter's.
    others: usize,
    filter: ElasticFilter,
    checkpoints: Vec<Checkpoint>,
    /// A sum of utilisations, and how many.
    utilization: (f64, usize),
    refused: usize,
    false_negatives: usize,
}

impl<'a> Seen<'a> {
    fn new(walk: &'a Walk, probes: usize) -> anyhow::Result<Self> {
        // All that the program needs beside the filter is there before the memory is looked at.
        let checkpoints = Vec::with_capacity(2 * SIZES.len() + 2);
        let (resident_before, mark) = (resident_bytes(), Mark::now());
        Ok(Self {
            walk,
            probes,
            resident_before,
            mark,
            others: 0,
            filter: walk.empty()?,
            checkpoints,
            utilization: (0.0, 0),
            refused: 0,
            false_negatives: 0,
        })
    }

    fn go(&mut self, up: bool, keys: impl ExactSizeIterator<Item = u64>) {
        let top = self.walk.insertions().len();
        for (done, key) in keys.enumerate() {
            let done = done + 1;
            self.refused += usize::from(!step(&mut self.filter, up, key));
            let held = if up { done } else { top - done };
            if held > UTILIZATION_FROM_KEYS {
                self.utilization.0 += self.filter.utilization();
                self.utilization.1 += 1;
            }
            if SIZES.contains(&held) || up && held == top {
                self.look(up, held);
            }
        }
    }

    /// Since it was asked for last.
    fn mean_utilization(&mut self) -> Option<f64> {
        let (sum, count) = std::mem::take(&mut self.utilization);
        (count > 0).then(|| sum / count as f64)
    }

    fn look(&mut self, up: bool, keys: usize) {
        let held = self.mark.map(Mark::held);
        let resident = resident_bytes();
        self.false_negatives += missing(&self.filter, self.walk.sample(up, keys, SAMPLE));
        self.refused += self.filter.len().abs_diff(keys);
        let checkpoint = self.checkpoint(up, keys, held, resident);
        self.checkpoints.push(checkpoint);
        let now = self.mark.map_or(0, Mark::held);
        self.others += now.saturating_sub(held.unwrap_or(now));
    }

    fn checkpoint(
        &self,
        up: bool,
        keys: usize,
        held: Option<usize>,
        resident: Option<usize>,
    ) -> Checkpoint {
        let stats = self.filter.stats();
        Checkpoint {
            up,
            keys,
            expected_rate: stats.expected_false_positive_rate,
            measured_rate: self.measured_rate(),
            probes: self.probes,
            bytes: stats.size_in_bytes,
            counted_bytes: held
                .map(|bytes| bytes.saturating_sub(self.others) + size_of::<ElasticFilter>()),
            resident_growth: resident
                .zip(self.resident_before)
                .map(|(now, before)| now.saturating_sub(before)),
            utilization: stats.utilization,
            slot_widths: stats.slot_widths,
            overflow: stats.overflow,
        }
    }

    fn measured_rate(&self) -> f64 {
        let (mut keys, mut hits) = (Vec::with_capacity(GROUP), Vec::with_capacity(GROUP));
        let mut found = 0;
        for first in (0..self.probes).step_by(GROUP) {
            let numbers = first..self.probes.min(first + GROUP);
            keys.clear();
            keys.extend(numbers.map(|number| absent_key(self.walk.seed, number as u64)));
            self.filter.contains_keys(&keys, &mut hits);
            found += hits.iter().filter(|&&hit| hit).count();
        }
        found as f64 / self.probes as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_way_is_walked_without_a_wrong_answer() {
        let leg = Leg { keys: 70_000, rate: 0.01, declared: false, probes: 10_000, seed: 1 };
        let course = Course::measure(&leg).unwrap();
        assert_eq!(course.wrong_answers(), 0);
        let sizes: Vec<_> = course.checkpoints.iter().map(|at| (at.up, at.keys)).collect();
        let up = [(true, 1000), (true, 64_000), (true, 70_000)];
        assert_eq!((&sizes[..3], &sizes[3..]), (&up[..], &[(false, 64_000), (false, 1000)][..]));
        assert!(course.growing_utilization > Some(0.8));
        assert!(course.inserts.least.max <= course.inserts.raw.max);
        assert!(course.removes.raw.p50 > 0);

        let text = serde_json::to_string(&course).unwrap();
        let read: Course = serde_json::from_str(&text).unwrap();
        assert_eq!(read.checkpoints.len(), course.checkpoints.len());
    }
}
