//! How large a segment should be and how long its entries: the only place where growth, memory
//! and rate are weighed against each other. Knows no memory and no keys.

use super::address::{MAX_BUCKETS, PATH_BITS, low_bits};
use super::form::{Form, MAX_WIDTH};
use super::lengths::Lengths;
use super::pool::Ladder;
use super::store::{SLOTS, Shape};

/// The mean of keys in a segment. Segments are split one after the other, so some have half of
/// this and some twice as many.
const KEYS_PER_SEGMENT: usize = 600;
/// Segments are merged when there are this many keys fewer, in the hundred, than would split them.
const MERGE_BELOW: usize = 94;
/// What could not be done is tried again after so many inserts or removals.
const TRIED_EVERY: usize = 16;
/// The width of slots while there is memory to spare.
const WIDE: u32 = MAX_WIDTH;
/// Buckets of the first segment then: with fewer, most of a slot would be the place, and the first
/// keys would know too little of their paths when the set has grown.
const LEAST_WIDE_BUCKETS: u16 = 16;
/// Bits of the path, at least, that an entry keeps in reserve for splits.
const LEAST_EXTENSION: u32 = 3;
/// A segment shrinks when the next smaller size would be filled to this much less than at which
/// segments grow.
const SHRINK_MARGIN: f64 = 0.008;
/// Of the rate, this part is not planned for when the number of keys is said in advance, so that the
/// filter can grow if it was said too low. Half of it if that costs little, for few keys, or if
/// entries are long anyway and could not be much longer.
const RESERVE: u64 = 32;
const LARGER_RESERVE: u64 = 2;
const LARGER_RESERVE_BELOW: f64 = 0.001;
/// A larger rate is kept by keeping this one: entries then know enough of their paths for the
/// elder, whose segments cannot be split for entries that know nothing, to have room for them.
const LARGEST_RATE: f64 = 0.2;
/// Entries are as long as if there were this many keys at least: fewer take no memory worth
/// saving, and every doubling that begins with short entries costs all later ones.
const LEAST_KEYS: u64 = 4096;

/// What a filter was asked for, and what follows from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Settings {
    pub(super) rate: f64,
    pub(super) load: f64,
    pub(super) expected_items: u64,
    pub(super) spare_bytes: u64,
    pub(super) ladder: Ladder,
    limit: u64,
    grow_at: f64,
}

/// How long the entries of a segment should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// All of the same length: these bits of the path.
    Plain { path: u32 },
    /// At least these bits of the path, in some segments of 256 one bit less, and so many bits of
    /// the slot more as can be spared.
    Ended { path: u32, shorter: u32, spare: u32 },
}

impl Goal {
    /// The goal for a segment: each is one of those with a bit less or not. They are spread evenly,
    /// and over all values of the lowest bits: shorter entries are the first to go to the elder,
    /// which tells them apart by these bits of their paths, as they were those of the index.
    pub(super) fn at(self, index: usize) -> Self {
        match self {
            Self::Ended { path, shorter, spare } => {
                // The golden section of 2^32: multiples of it are spread evenly.
                let is_shorter = (index as u32).wrapping_mul(0x9e37_79b9) >> 24 < shorter;
                Self::Ended { path: path - u32::from(is_shorter), shorter: 0, spare }
            }
            plain => plain,
        }
    }

    /// The form of slots of which `low` bits are taken by the place.
    fn form(self, low: u32, depth: u32) -> Form {
        match self {
            Self::Plain { path } => {
                Form { width: (low + path.saturating_sub(depth)).min(MAX_WIDTH), ended: false }
            }
            Self::Ended { path, spare, .. } => {
                let needed = low + 1 + path.saturating_sub(depth).max(LEAST_EXTENSION);
                let width = needed.max((needed + spare).min(WIDE)).min(MAX_WIDTH);
                Form { width, ended: true }
            }
        }
    }
}

impl Settings {
    pub(super) fn new(rate: f64, load: f64, expected_items: u64, spare_bytes: u64) -> Self {
        // The finer the steps, the denser the segments and the more often each is written anew.
        // Powers of two as numbers: a library may round them differently on another platform.
        let (step, factor) = match load {
            ..0.70 => (32, core::f64::consts::SQRT_2),
            ..0.85 => (16, 1.189207115002721),
            ..0.93 => (8, 1.0905077326652577),
            ..0.945 => (4, 1.0442737824274138),
            _ => (2, 1.0218971486541166),
        };
        // Between a step and the next the load rises from `grow_at / factor` to `grow_at`.
        let grow_at = 2.0 * load * factor / (factor + 1.0);
        Self {
            rate,
            load,
            expected_items,
            spare_bytes,
            ladder: Ladder { step },
            limit: Lengths::limit(rate.min(LARGEST_RATE)),
            grow_at,
        }
    }

    /// Whether the rate is kept.
    pub(super) fn is_kept(&self, lengths: &Lengths) -> bool {
        lengths.sum() <= self.limit
    }

    /// Whether an entry of this length can be added without passing the rate.
    #[inline(always)]
    pub(super) fn allows(&self, lengths: &Lengths, length: u32) -> bool {
        lengths.sum_with(length) <= self.limit
    }

    /// The most entries that a segment of so many slots should have.
    #[inline(always)]
    pub(super) fn grow_above(&self, slots: u32) -> u32 {
        (f64::from(slots) * self.grow_at) as u32
    }

    /// The load to which segments are filled when they shrink.
    pub(super) fn shrink_to(&self) -> f64 {
        self.grow_at - SHRINK_MARGIN
    }

    /// The most entries that a segment of so many slots is shrunk to.
    #[inline(always)]
    pub(super) fn shrink_below(&self, slots: u32) -> u32 {
        (f64::from(slots) * self.shrink_to()) as u32
    }

    /// Whether so many keys are too many for the segments.
    pub(super) fn are_many(&self, keys: usize, segments: usize) -> bool {
        keys > segments * KEYS_PER_SEGMENT
    }

    /// Whether a segment should be split now. One that cannot be split is not tried every time.
    #[inline(always)]
    pub(super) fn wants_split(&self, keys: usize, segments: usize) -> bool {
        let most = segments * KEYS_PER_SEGMENT;
        keys > most && keys.wrapping_sub(most) % TRIED_EVERY == 1
    }

    /// Whether two segments should be merged now, as for splitting.
    #[inline(always)]
    pub(super) fn wants_merge(&self, keys: usize, segments: usize) -> bool {
        let least = (segments - 1) * KEYS_PER_SEGMENT / 100 * MERGE_BELOW;
        keys < least && least.wrapping_sub(keys) % TRIED_EVERY == 1
    }

    /// The length of plain entries, if the number of keys was said in advance.
    pub(super) fn plain_path(&self) -> Option<u32> {
        if self.expected_items == 0 {
            return None;
        }
        let planned = self.planned(self.expected_items);
        // So many bits choose a segment when all keys are there, and one more.
        let segments = self.expected_items / KEYS_PER_SEGMENT as u64;
        let deepest = segments.checked_ilog2().map_or(0, |depth| depth + 2);
        // The smallest length at which that many entries keep the rate.
        (deepest..=PATH_BITS).find(|&length| self.expected_items <= planned >> (PATH_BITS - length))
    }

    /// What so many keys may take of the rate.
    fn planned(&self, items: u64) -> u64 {
        let is_costly = items >= LEAST_KEYS && self.rate >= LARGER_RESERVE_BELOW;
        self.limit - self.limit / if is_costly { RESERVE } else { LARGER_RESERVE }
    }

    /// The largest hint for which plain entries keep the rate.
    pub(super) fn most_expected_items(&self) -> u64 {
        // More keys than this do not fit a machine.
        self.planned(u64::MAX).min(1 << 40)
    }

    /// The depth that segments have at least: plain entries must fit their slots.
    pub(super) fn least_depth(&self) -> u32 {
        let low = low_bits(LEAST_BUCKETS_BELOW_ROOT);
        self.plain_path().map_or(0, |path| (path + low).saturating_sub(MAX_WIDTH))
    }

    /// The buckets that a segment has at least.
    fn least_buckets(&self) -> u16 {
        match self.plain_path() {
            None if self.spare_bytes > 0 => LEAST_WIDE_BUCKETS,
            None => 2,
            Some(_) if self.least_depth() > 0 => LEAST_BUCKETS_BELOW_ROOT,
            Some(path) => (2..=LEAST_BUCKETS_BELOW_ROOT)
                .step_by(2)
                .find(|&buckets| path + low_bits(buckets) <= MAX_WIDTH)
                .unwrap_or(LEAST_BUCKETS_BELOW_ROOT),
        }
    }

    /// How long entries should be now.
    ///
    /// Every entry adds to the rate for as long as it lives, and a set may double again and again,
    /// so what is left of the rate must never be used up: a doubling may take a fifth of the
    /// rate, or half of what is left if that is less. Entries that are longer than the goal
    /// count as if they had been shortened already.
    pub(super) fn goal(&self, coming: u64, lengths: &Lengths) -> Goal {
        let entries = lengths.total() + coming;
        let expected = |path: &u32| {
            entries <= self.expected_items
                && lengths.sum_if_cut(*path, self.expected_items) <= u128::from(self.limit)
        };
        if let Some(path) = self.plain_path().filter(expected) {
            return Goal::Plain { path };
        }
        let spare = self.spare_bytes * 8 / entries.max(1);
        let total = entries.max(LEAST_KEYS);
        let (mut longer, mut shorter_sum) = (0, lengths.sum());
        let (mut path, mut shorter) = (PATH_BITS, 0);
        for length in (0..=PATH_BITS).rev() {
            let unit = u128::from(1u64 << (PATH_BITS - length));
            let left = u128::from(self.limit.saturating_sub(shorter_sum));
            let part = u128::from(self.limit / 5).min(left / 2);
            let taken = u128::from(longer + total) * unit;
            let Some(rest) = part.checked_sub(taken) else { break };
            // A bit less, here and there, takes as much again, and as much as those take that are
            // exactly so long now.
            let count = lengths.count(length);
            let more = taken + u128::from(count) * unit;
            path = length;
            shorter = if length == 0 { 0 } else { (rest * 256 / more).min(255) as u32 };
            longer += count;
            shorter_sum -= count * (1 << (PATH_BITS - length));
        }
        Goal::Ended { path, shorter, spare: spare.min(u64::from(WIDE)) as u32 }
    }

    /// The shape of a segment for so many entries, filled to `load` at most.
    pub(super) fn shape(&self, goal: Goal, depth: u32, entries: u32, load: f64) -> Shape {
        self.shape_above(goal, depth, entries, load, 0)
    }

    /// The same, with at least so many buckets.
    pub(super) fn shape_above(
        &self,
        goal: Goal,
        depth: u32,
        entries: u32,
        load: f64,
        least: u16,
    ) -> Shape {
        let buckets = (f64::from(entries) / (f64::from(SLOTS) * load)).ceil() as u16;
        let buckets = buckets.max(least.min(MAX_BUCKETS));
        let buckets = buckets.next_multiple_of(2).max(self.least_buckets());
        let mut buckets = buckets.min(MAX_BUCKETS);
        // From a power of two on a slot needs a bit less for the place. If that saves as much as
        // the missing buckets take, they come for nothing.
        let (power, width) =
            (buckets.next_power_of_two(), goal.form(low_bits(buckets), depth).width);
        if power <= MAX_BUCKETS && u32::from(power) * (width - 1) <= u32::from(buckets) * width {
            buckets = power;
        }
        loop {
            let form = goal.form(low_bits(buckets), depth);
            let bytes = usize::from(buckets) * form.width as usize / 2;
            let filled = Shape::buckets_in(self.ladder, self.ladder.for_bytes(bytes), form.width);
            // A bit of the place that becomes one of the bucket is a bit of the path more for
            // ended entries; plain ones all stay as long as they are, and their slots get
            // narrower.
            if form.ended || low_bits(filled) == low_bits(buckets) {
                return Shape { buckets: filled, form, depth };
            }
            buckets = filled;
        }
    }
}

/// Buckets of the smallest segment if there is more than one from the beginning.
const LEAST_BUCKETS_BELOW_ROOT: u16 = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shorter_segments_are_as_many_as_said_and_everywhere() {
        for shorter in [1, 5, 32, 100, 255] {
            let goal = Goal::Ended { path: 9, shorter, spare: 0 };
            let is_shorter = |&index: &usize| matches!(goal.at(index), Goal::Ended { path: 8, .. });
            let mut by_low_bits = [0u32; 16];
            (0..1 << 16).filter(is_shorter).for_each(|index| by_low_bits[index % 16] += 1);
            // Of 4,096 segments with the same low bits.
            let expected = shorter * 16;
            let all_near = by_low_bits.iter().all(|&n| n.abs_diff(expected) <= expected / 4);
            assert!(all_near, "{shorter}: {by_low_bits:?}");
        }
    }
}
