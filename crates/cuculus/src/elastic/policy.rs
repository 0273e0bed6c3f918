//! How large a segment should be and how long its entries: the only place where growth, memory
//! and rate are weighed against each other. Knows no memory and no keys.

use core::num::NonZeroU64;

use super::address::{NO_PATH, PATH_BITS};
use super::builder::MAX_LOAD;
use super::code::{Form, MAX_WIDTH};
use super::lengths::Lengths;
use crate::wide::{Chosen, Instructions};

/// The mean load of a segment, in entries. Segments are split one after the other, so some have
/// two thirds of this and some four thirds.
pub(super) const LOAD_PER_SEGMENT: usize = 800;
/// Segments are merged when the load is this many percent of what would split them.
const MERGE_BELOW: usize = 94;
/// What could not be done is tried again after this many inserts or removals.
const RETRY_INTERVAL: usize = 16;
/// Bits of the path, at least, that an entry keeps in reserve for splits.
const LEAST_EXTENSION: u32 = 3;
/// Of the rate, this part is not planned for when the number of keys is said in advance, so that
/// the filter can grow if it was said too low. Half of it if that costs little, for few keys, or
/// if entries are long anyway.
const RESERVE: u128 = 32;
const LARGER_RESERVE: u128 = 2;
const LARGER_RESERVE_BELOW: f64 = 0.001;
/// A larger rate is kept by keeping this one: entries then know enough of their paths for the set
/// to grow eightfold before they have to be kept apart.
const LARGEST_RATE: f64 = 0.2;
/// Entries are as long as if there were this many keys at least: fewer take no memory worth
/// saving, and every doubling that begins with short entries costs all later ones.
const LEAST_KEYS: u64 = 1024;
/// The sizes up to which a filter adds 10, 9, … 1 bits to its entries: about
/// 9 − 0.83 · log2(keys / 1000), and one more to the first. Keys that come early would otherwise be
/// the shortest when the filter is large, and the first to be kept apart: at 1 % beyond some 380
/// million keys.
const SPARE_UP_TO: [u64; 10] =
    [1_542, 1_542, 3_500, 6_900, 18_594, 42_863, 98_806, 227_762, 525_026, 1_210_266];
/// Rates above this have four fifths of these sizes and no tenth bit: small entries are what was asked
/// for.
const LOOSE: f64 = 0.05;
/// Rates below this have no tenth bit: entries are long enough without it.
const TIGHT: f64 = 0.005;
/// A share of segments is counted in these parts.
const PARTS: u128 = 256;
/// From this depth on plain codes of neighbouring segments may differ in length: the low bits of
/// an index, which decide it, then stay the same when the segment is split.
const MIXED_FROM: u32 = PARTS.ilog2();

/// What a filter was asked for, and what follows from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Settings {
    pub(crate) rate: f64,
    pub(super) load: f64,
    pub(super) expected_items: u64,
    /// What a small filter may use for longer entries, and one; `None` for as much as is usual.
    spare: Option<NonZeroU64>,
    /// The bits of a hash that are none of a path: [`NO_PATH`], and those that choose one of several parts,
    /// which share the keys evenly.
    no_path: u8,
    /// The length of plain entries, and the segments of 256 with a bit less.
    plain: Option<(u8, u8)>,
    /// The instructions that may be used. Nothing else depends on it.
    pub(super) chosen: Chosen,
}

/// How long the entries of segments should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// All of the same length: these bits of the path, in some segments of 256 one bit less.
    Plain { path: u32, shorter: u32 },
    /// At least these bits of the path, in some segments of 256 one bit less, and these bits more
    /// as can be spared.
    Ended { path: u32, shorter: u32, spare: u32 },
}

impl Goal {
    /// The form of a segment's codes. Shorter segments are spread evenly, and over all values of
    /// the lowest bits of their index: shorter entries are the first to be kept apart, on levels
    /// that tell them apart by these bits.
    pub(super) fn form(self, index: usize, depth: u32) -> Form {
        // The golden section of 2^32: multiples of it are spread evenly.
        let is_among = |index: usize, shorter: u32| {
            u32::from((index as u32).wrapping_mul(0x9e37_79b9) >> 24 < shorter)
        };
        match self {
            Self::Plain { path, shorter } => {
                let low = index % PARTS as usize;
                let less = if depth >= MIXED_FROM { is_among(low, shorter) } else { 0 };
                Form {
                    width: (path - less).saturating_sub(depth).clamp(1, MAX_WIDTH),
                    ended: false,
                }
            }
            Self::Ended { path, shorter, spare } => {
                let path = path - is_among(index, shorter);
                let needed = 1 + path.saturating_sub(depth).max(LEAST_EXTENSION);
                // A code that holds all of the path has no use for more.
                let longest = 1 + PATH_BITS.saturating_sub(depth).max(LEAST_EXTENSION);
                Form { width: (needed + spare).min(longest).min(MAX_WIDTH), ended: true }
            }
        }
    }

    /// Whether a segment to which keys are added keeps its form: one that is near to what this
    /// segment, or its neighbours, should have. Old entries get no longer by wider codes.
    pub(super) fn accepts(self, form: Form, index: usize, depth: u32) -> bool {
        let is_near = |goal: Self| goal.form(index, depth).is_near(form);
        is_near(self)
            || match self {
                Self::Plain { .. } => false,
                Self::Ended { path, spare, .. } => {
                    let all = if path == 0 { 0 } else { PARTS as u32 };
                    [0, all]
                        .into_iter()
                        .any(|shorter| is_near(Self::Ended { path, shorter, spare }))
                }
            }
    }
}

impl Settings {
    pub(super) fn new(rate: f64, load: f64, expected_items: u64, spare_bytes: Option<u64>) -> Self {
        let spare = spare_bytes.and_then(|bytes| NonZeroU64::new(bytes.saturating_add(1)));
        let chosen = Instructions::Detected.choose();
        let (no_path, plain) = (NO_PATH as u8, None);
        let mut settings = Self { rate, load, expected_items, spare, no_path, plain, chosen };
        settings.plain = settings.plain_length();
        settings
    }

    /// The same with other instructions.
    pub(super) fn with_instructions(self, chosen: Chosen) -> Self {
        Self { chosen, ..self }
    }

    /// What a small filter may use for longer entries; `None` for as much as is usual.
    pub(super) fn spare_bytes(&self) -> Option<u64> {
        self.spare.map(|spare| spare.get() - 1)
    }

    /// There are 2^shift parts, of which this is one.
    #[inline(always)]
    pub(super) fn shift(&self) -> u32 {
        self.no_path() - NO_PATH
    }

    /// The bits of a hash that are none of a path.
    #[inline(always)]
    pub(super) fn no_path(&self) -> u32 {
        u32::from(self.no_path)
    }

    /// The settings of one of 2^shift parts of a filter. An absent key is looked up in one part, so
    /// each part keeps the rate of the whole; what depends on the size depends on that of the whole.
    pub(super) fn of_part(&self, shift: u32) -> Self {
        let mean = self.expected_items >> shift;
        // Keys are spread at random: hardly any part gets more than four deviations more.
        let more = if shift == 0 || self.expected_items == 0 { 0 } else { 4 + 4 * mean.isqrt() };
        let mut part =
            Self { expected_items: mean + more, no_path: (NO_PATH + shift) as u8, ..*self };
        part.plain = part.plain_length();
        part
    }

    /// Whether a sum of [`Lengths`] keeps the rate: the one gate for everything that adds entries
    /// or shortens them.
    #[inline]
    pub(super) fn allows(&self, sum: u128) -> bool {
        sum <= u128::from(self.limit())
    }

    /// The sum of [`Lengths`] at which the rate is reached. Computed each time: small filters are
    /// many, and this takes a nanosecond.
    #[inline]
    fn limit(&self) -> u64 {
        Lengths::limit(self.rate.min(LARGEST_RATE))
    }

    /// The units by which a block grows that is full.
    #[inline]
    pub(super) fn growth(&self, units: usize) -> usize {
        if self.load >= MAX_LOAD { 1 } else { self.step(units) }
    }

    /// The step that makes blocks as full as was asked for, on average.
    fn step(&self, units: usize) -> usize {
        // Between two steps of growth the block is filled from `1 − step` to 1.
        ((2.0 * (1.0 - self.load) * units as f64) as usize).max(1)
    }

    /// The most units of a block that needs some: twice what it would grow by, so that it does not
    /// grow and shrink in turn.
    #[inline]
    pub(super) fn most_units(&self, needed: usize) -> usize {
        needed + 2 * self.growth(needed)
    }

    /// The most units that a block may have in a file: a larger step more than it can have now, for
    /// what is left in place.
    pub(super) fn most_units_in_files(&self, needed: usize) -> usize {
        let most = needed + 2 * self.step(needed);
        most + self.step(most)
    }

    /// Whether a load is too much for the segments.
    pub(super) fn are_many(&self, load: usize, segments: usize) -> bool {
        load > most_load(segments)
    }

    /// Whether a segment should be split now. One that cannot be split is not tried every time.
    #[inline]
    pub(super) fn wants_split(&self, load: usize, segments: usize) -> bool {
        let most = most_load(segments);
        load > most && (load - most) % RETRY_INTERVAL < 2
    }

    /// Whether two segments should be merged now, as for splitting.
    #[inline]
    pub(super) fn wants_merge(&self, load: usize, segments: usize) -> bool {
        let least = least_load(segments);
        load < least && (least - load) % RETRY_INTERVAL < 2
    }

    /// Whether a load is too little for the segments.
    pub(super) fn are_few(&self, load: usize, segments: usize) -> bool {
        load < least_load(segments)
    }

    /// The length of plain entries, if the number of keys was said in advance, and the segments
    /// of 256 that can do with a bit less.
    fn plain_length(&self) -> Option<(u8, u8)> {
        let items = Some(self.expected_items).filter(|&items| items > 0)?;
        self.shortest_for(items, |length| Lengths::default().sum_if_cut(length, items))
    }

    /// How short entries can be at least, and in some segments of 256 by a bit less, for the rate to be kept, given
    /// the sum that they have if they are cut to a length.
    fn shortest_for(&self, items: u64, cut: impl Fn(u32) -> u128) -> Option<(u8, u8)> {
        let planned = self.planned(items);
        let segments = items / LOAD_PER_SEGMENT as u64;
        let deepest = segments.checked_ilog2().map_or(0, |depth| depth + 2);
        let length = (deepest..=MAX_WIDTH).find(|&length| cut(length) <= planned)?;
        if length == deepest {
            return Some((length as u8, 0));
        }
        let more = cut(length - 1) - cut(length);
        let shorter = ((planned - cut(length)) * PARTS / more.max(1)).min(PARTS - 1);
        Some((length as u8, shorter as u8))
    }

    /// The forms of a segment whose entries are as short as the rate allows, now that no others come: the first if
    /// all of them are long enough.
    pub(super) fn packed(&self, lengths: &Lengths) -> Option<[Goal; 2]> {
        let entries = lengths.total();
        let (path, shorter) =
            self.shortest_for(entries, |length| lengths.sum_if_cut(length, entries))?;
        let (path, shorter) = (path.into(), shorter.into());
        Some([Goal::Plain { path, shorter }, Goal::Ended { path, shorter, spare: 0 }])
    }

    /// What keys that were said in advance may take of the rate.
    fn planned(&self, items: u64) -> u128 {
        let is_costly = items.saturating_mul(1 << self.shift()) >= LEAST_KEYS
            && self.rate >= LARGER_RESERVE_BELOW;
        let limit = u128::from(self.limit());
        limit - limit / if is_costly { RESERVE } else { LARGER_RESERVE }
    }

    /// The largest hint for which plain entries keep the rate.
    pub(super) fn most_expected_items(&self) -> u64 {
        (self.planned(u64::MAX) >> (PATH_BITS - MAX_WIDTH)) as u64
    }

    /// Bits that entries get beyond what the rate asks for.
    fn spare(&self, entries: u64) -> u32 {
        let keys = if self.rate > LOOSE { entries.saturating_add(entries / 4) } else { entries };
        let usual = SPARE_UP_TO.iter().filter(|&&most| keys < most).count() as u32;
        let usual = if (TIGHT..=LOOSE).contains(&self.rate) { usual } else { usual.min(9) };
        match self.spare_bytes() {
            None => usual,
            Some(0) => 0,
            Some(bytes) => {
                (bytes * 8 / entries.max(1)).min(u64::from(MAX_WIDTH)).max(usual.into()) as u32
            }
        }
    }

    /// What the next doubling may take of the rate, when some is taken already.
    fn part(&self, taken: u128) -> u128 {
        let limit = u128::from(self.limit());
        (limit * 3 / 20).min(limit.saturating_sub(taken) / 2)
    }

    /// How long entries should be when many come at once: as long as if they took as much of the rate
    /// as the same keys one by one. All of the same length they then have fewer bits, unless more bytes are to
    /// be spent.
    pub(super) fn bulk_goal(&self, coming: u64, lengths: &Lengths) -> Goal {
        let usual = self.goal(coming, lengths);
        let entries = lengths.total() + coming;
        if self.spare.is_some() || matches!(usual, Goal::Plain { .. }) {
            return usual;
        }
        let share = |entries| (self.limit() as f64 * taken_by(entries)) as u128;
        let (before, after) = (share(lengths.total()), share(entries));
        let taken = after.max(lengths.sum() + self.part(lengths.sum()).min(after - before));
        let is_enough = |&length: &u32| lengths.sum_if_cut(length, entries) <= taken;
        let Some(path) = (0..=PATH_BITS).find(is_enough) else { return usual };
        let rest = taken - lengths.sum_if_cut(path, entries);
        let shorter = match path.checked_sub(1) {
            None => 0,
            Some(less) => {
                let more = lengths.sum_if_cut(less, entries) - lengths.sum_if_cut(path, entries);
                (rest * PARTS / more.max(1)).min(PARTS - 1) as u32
            }
        };
        Goal::Ended { path, shorter, spare: 0 }
    }

    /// How long entries should be, with some that are to come.
    ///
    /// Every entry adds to the rate for as long as it lives, and a set may double again and again,
    /// so what is left of the rate must never be used up: a doubling may take three twentieths of the
    /// rate, or half of what is left if that is less. Entries that are longer than the goal
    /// count as if they had been shortened already.
    pub(super) fn goal(&self, coming: u64, lengths: &Lengths) -> Goal {
        let entries = lengths.total() + coming;
        if let Some((path, shorter)) = self.plain
            && entries <= self.expected_items
            && self.allows(lengths.sum_if_cut(path.into(), self.expected_items))
        {
            return Goal::Plain { path: path.into(), shorter: shorter.into() };
        }
        let total = entries.max(LEAST_KEYS >> self.shift());
        let (mut longer, mut shorter_sum) = (0, lengths.sum());
        let (mut path, mut rest, mut more) = (PATH_BITS, 0, 1);
        // As if for each length from the longest possible one on: as long as no entry is so long,
        // the part is the same, and what is taken doubles.
        let mut first = PATH_BITS;
        let part = self.part(shorter_sum);
        let longest = lengths.longest();
        if longest < PATH_BITS
            && let Some(shorter) = (part / u128::from(total)).checked_ilog2()
        {
            path = (PATH_BITS - shorter.min(PATH_BITS)).max(longest + 1);
            more = u128::from(total) << (PATH_BITS - path);
            (rest, first) = (part - more, path - 1);
        }
        for length in (0..=first).rev() {
            let unit = 1u128 << (PATH_BITS - length);
            let part = self.part(shorter_sum);
            let taken = u128::from(longer + total) * unit;
            let Some(unused) = part.checked_sub(taken) else { break };
            // A bit less, in some segments, takes as much again, and as much as those take that
            // are exactly so long now.
            let count = lengths.count(length);
            (path, rest, more) = (length, unused, taken + u128::from(count) * unit);
            longer += count;
            shorter_sum -= u128::from(count) * unit;
        }
        let shorter = if path == 0 { 0 } else { (rest * PARTS / more).min(PARTS - 1) as u32 };
        Goal::Ended { path, shorter, spare: self.spare(entries << self.shift()) }
    }
}

/// The load above which a segment is split. A single one takes as much as any ever has: its
/// headers and description would be a second tenth of a small filter.
fn most_load(segments: usize) -> usize {
    segments.max(2) * LOAD_PER_SEGMENT
}

/// The load below which two segments are merged.
fn least_load(segments: usize) -> usize {
    segments.saturating_sub(1) * LOAD_PER_SEGMENT / 100 * MERGE_BELOW
}

/// The share of the rate that a filter has used when it has grown to some entries one by one: of
/// 2^10 entries, 2^11, and so on.
const TAKEN: [f64; 21] = [
    0.00025, 0.00048, 0.00087, 0.0014, 0.0023, 0.0040, 0.0069, 0.0118, 0.0209, 0.0376, 0.0725,
    0.1650, 0.2990, 0.4490, 0.6000, 0.7490, 0.8530, 0.9100, 0.9300, 0.9400, 0.9500,
];

fn taken_by(entries: u64) -> f64 {
    let doublings = (entries as f64 / 1024.0).log2().clamp(0.0, TAKEN.len() as f64 - 1.0);
    let (at, share) = (doublings as usize, doublings.fract());
    let after = TAKEN[(at + 1).min(TAKEN.len() - 1)];
    TAKEN[at] * (after / TAKEN[at]).powf(share)
}

/// The segments of a filter that has grown to some entries.
pub(super) fn segments_for(entries: u64) -> u64 {
    match entries.div_ceil(LOAD_PER_SEGMENT as u64) {
        ..=2 => 1,
        segments => segments,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shorter_segments_are_as_many_as_said_and_everywhere() {
        for shorter in [1, 5, 32, 100, 255] {
            let goal = Goal::Ended { path: 9, shorter, spare: 0 };
            let is_shorter = |&index: &usize| goal.form(index, 0).width == 9;
            let mut by_low_bits = [0u32; 16];
            (0..1 << 16).filter(is_shorter).for_each(|index| by_low_bits[index % 16] += 1);
            // Of 4,096 segments with the same low bits.
            let expected = shorter * 16;
            let all_near = by_low_bits.iter().all(|&n| n.abs_diff(expected) <= expected / 4);
            assert!(all_near, "{shorter}: {by_low_bits:?}");
        }
    }

    /// What a doubling of the set takes of the rate decides how often it can double, and how many
    /// bits its entries have. Three twentieths of the rate while there is plenty, to the 256th of a
    /// length; half of what is left when there is not.
    #[test]
    fn a_doubling_takes_its_part_of_the_rate_or_half_of_what_is_left() {
        for rate in [0.1, 0.01, 0.001] {
            for keys in [1024, 5000, 77_777, 1 << 20, 1 << 30] {
                let settings = Settings::new(rate, 0.98, 0, Some(0));
                // The share of the rate that these keys take in segments as the goal has them.
                let taken = |lengths: &Lengths| {
                    let Goal::Ended { path, shorter, .. } = settings.goal(keys, lengths) else {
                        panic!("nothing was expected");
                    };
                    let shorter = f64::from(shorter) / PARTS as f64;
                    let weight = |length: u32| (1u64 << (PATH_BITS - length)) as f64;
                    let mean = (1.0 - shorter) * weight(path) + shorter * weight(path - 1);
                    keys as f64 * mean / settings.limit() as f64
                };
                let share = taken(&Lengths::default());
                assert!((0.1485..=0.15).contains(&share), "{rate} {keys}: {share}");
                // One entry that knows nothing takes four fifths or so; all entries count.
                let mut used = Lengths::default();
                let length = (0..PATH_BITS)
                    .find(|&length| (1u64 << (PATH_BITS - length)) * 2 <= settings.limit());
                let length = length.expect("some length");
                used.reserve(length).expect("memory");
                let one = u128::from(1u64 << (PATH_BITS - length));
                let limit = u128::from(settings.limit());
                while limit - used.sum() > limit / 4 + one {
                    used.add(length);
                }
                let left = (limit - used.sum()) as f64 / limit as f64;
                let (share, most) = (taken(&used), (left / 2.0).min(0.15));
                assert!(share <= most && share > 0.9 * most, "{rate} {keys}: {share} of {left}");
            }
        }
    }

    /// The share of the rate that keys take in plain segments.
    fn planned_share(rate: f64, items: u64) -> f64 {
        let settings = Settings::new(rate, 0.98, items, None);
        let (path, shorter) = settings.plain.expect("a number was said");
        let path = u32::from(path);
        let shorter = f64::from(shorter) / PARTS as f64;
        let weight = |length: u32| (1u64 << (PATH_BITS - length)) as f64;
        let mean = (1.0 - shorter) * weight(path) + shorter * weight(path - 1);
        items as f64 * mean / settings.limit() as f64
    }

    /// What is left is what a filter can grow by if the number was said too low.
    #[test]
    fn expected_keys_leave_a_32nd_of_the_rate_or_half_of_it() {
        for items in [1024, 5000, 77_777, 1 << 20, 1 << 28] {
            for rate in [0.1, 0.01, 0.001] {
                let share = planned_share(rate, items) * 32.0 / 31.0;
                assert!((0.99..=1.0).contains(&share), "{items} {rate}: {share}");
            }
            let share = planned_share(0.0005, items) * 2.0;
            assert!((0.99..=1.0).contains(&share), "{items}: {share}");
        }
        let share = planned_share(0.01, 1000) * 2.0;
        assert!((0.99..=1.0).contains(&share), "{share}");
    }

    #[test]
    fn the_gate_is_the_rate_or_a_fifth() {
        for (rate, kept) in [(0.01, 0.01), (0.2, 0.2), (0.5, 0.2), (0.9, 0.2)] {
            let settings = Settings::new(rate, 0.98, 0, None);
            let mut lengths = Lengths::default();
            lengths.reserve(8).expect("memory");
            while settings.allows(lengths.sum()) {
                assert!(lengths.rate() <= kept * (1.0 + 1e-9), "{rate}");
                lengths.add(8);
            }
            assert!(lengths.rate() > 0.999 * kept, "{rate} is not used up");
        }
    }

    /// A set that loses one key in twenty, and gets others, has its segments split and merged by none of
    /// them; one that loses one in thirteen has no more segments than it needs.
    #[test]
    fn segments_are_merged_when_a_seventeenth_of_the_keys_has_gone() {
        let settings = Settings::new(0.01, 0.98, 0, None);
        for segments in [2, 3, 10, 77, 1000, 1 << 20] {
            let split = (1..).find(|load| settings.are_many(load * segments, segments));
            let split = split.expect("a load per segment") * segments;
            assert!(!settings.are_many(split - segments, segments));
            assert!(!settings.are_few(split - split / 20, segments + 1), "{segments}");
            assert!(settings.are_few(split - split / 13, segments + 1), "{segments}");
        }
    }

    /// About 9 − 0.83 · log2(keys / 1000) bits, one more for the first keys, and none for a large set:
    /// each costs a bit per key, and without them the keys that came early would be the first to be kept
    /// apart.
    #[test]
    fn small_filters_have_bits_to_spare() {
        let spare = |entries: u64, bytes| Settings::new(0.01, 0.98, 0, bytes).spare(entries);
        for step in 0..120 {
            let entries = 1000.0 * 2f64.powf(f64::from(step) / 10.0);
            let first = if entries < 1_542.0 { 1.0 } else { 0.0 };
            let expected = (9.0 - 0.83 * (entries / 1000.0).log2()).max(0.0) + first;
            let bits = f64::from(spare(entries as u64, None));
            assert!((bits - expected).abs() <= 0.75, "{entries}: {bits}, not {expected}");
        }
        assert_eq!((spare(1 << 22, None), spare(1000, Some(0))), (0, 0));
        // As much as is usual, or as much as was asked for.
        assert_eq!(spare(1 << 20, Some(1 << 20)), 8);
        assert_eq!([0, 1, 2].map(|entries| spare(entries, Some(5))), [40, 40, 20]);
    }

    /// So that a small set does not begin with short entries.
    #[test]
    fn entries_are_as_long_as_those_of_a_thousand_keys() {
        let settings = Settings::new(0.01, 0.98, 0, Some(0));
        let goal = |keys| settings.goal(keys, &Lengths::default());
        assert!([1, 50, 1000].iter().all(|&keys| goal(keys) == goal(1024)));
        let path = |keys| match goal(keys) {
            Goal::Plain { path, .. } | Goal::Ended { path, .. } => path,
        };
        assert_eq!(path(4096), path(1024) + 2);
    }

    /// A plain segment's halves are as long as it is, or both shorter: never longer.
    #[test]
    fn plain_segments_stay_as_long_when_they_are_split() {
        let goal = Goal::Plain { path: 30, shorter: 77 };
        let length = |index: usize, depth: u32| goal.form(index, depth).width + depth;
        for index in 0..1 << 12 {
            let depth = 12;
            assert_eq!(length(index, depth), length(index, depth + 1));
            assert_eq!(length(index, depth), length(index + (1 << depth), depth + 1));
        }
        assert!((0..256).all(|index| length(index, 7) == 30));
        assert_eq!((0..256).filter(|&index| length(index, 8) == 29).count(), 77);
    }
}
