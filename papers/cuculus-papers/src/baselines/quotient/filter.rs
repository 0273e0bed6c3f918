//! What the three bits of a slot mean, and how a run is found, made longer and shorter.

use cuculus::{Filter, Full, FullCause, Insert, KeyHash, KeyHasher, Remove};

use super::builder::QuotientFilterBuilder;
use super::slots::{Bit, GROUP, Slots, between};
use crate::baselines::parameters::{described, figures};
use crate::baselines::probes::scale;
use crate::described::filter;

/// The share of the slots that may be used: beyond that clusters get so long that every operation
/// takes many times as long (CF paper, §7).
pub(super) const MAX_LOAD: f64 = 0.9;

/// A quotient filter (Bender, Farach-Colton, Johnson and others 2012; CF paper, §2.1): a hash table with
/// linear probing of fingerprints, of which only the remainder is stored.
///
/// The quotient of a fingerprint is its own slot. Remainders of one quotient lie together in a *run*, in
/// order; runs that push each other out of their slots are a *cluster*; and three bits per slot tell
/// which remainder belongs where. The bits are kept apart from the remainders, 64 slots at a time, so
/// that runs are found by counting bits of words.
///
/// Where it loses: three bits per slot and a tenth of the slots left empty, against one to two bits per key
/// in a cuckoo filter; inserts and removals move half a cluster, which at 90 % load is some dozens of
/// slots; and so do all operations get slower as it fills. Beyond 90 % keys are refused, as
/// [`FullCause::NoRoom`] with no kicks. A key can be stored as often as there are slots.
#[derive(Clone, PartialEq, Eq)]
pub struct QuotientFilter {
    pub(super) hasher: KeyHasher,
    pub(super) slots: Slots,
    pub(super) remainder_bits: u32,
    pub(super) len: usize,
    /// The keys at which it is full; fewer than there are slots.
    pub(super) most: usize,
    pub(super) capacity: usize,
}

#[derive(Clone, Copy)]
pub(super) struct Fingerprint {
    /// Its own slot. All positions are in the second turn of the circle, or later: looking for the
    /// start of a cluster then never goes below zero.
    quotient: usize,
    remainder: u64,
}

figures! { QuotientFilter,
    /// The current figures of a [`QuotientFilter`].
    QuotientStats of filter;
    /// The length of a remainder; a slot has three bits more.
    remainder_bits: u32 = filter.remainder_bits;
    /// The clusters: rows of runs of which the first is in its own slot.
    clusters: usize = filter.clusters();
}

impl QuotientFilter {
    /// Rows of runs of which the first is in its own slot; reads the whole filter.
    fn clusters(&self) -> usize {
        let is_used = |at: &usize| self.slots.in_use(*at) >> (at % GROUP) & 1 == 1;
        let used = (0..self.slots.count()).filter(is_used);
        used.filter(|&at| !self.slots.is(Bit::Shifted, at)).count()
    }

    /// That one of the keys has the fingerprint of an absent key, which is one of slots · 2^bits.
    pub(super) fn rate(keys: usize, slots: usize, remainder_bits: u32) -> f64 {
        let fingerprints = slots as f64 * f64::from(remainder_bits).exp2();
        -f64::exp_m1(keys as f64 * f64::ln_1p(-1.0 / fingerprints))
    }

    #[inline(always)]
    pub(super) fn fingerprint(&self, hash: KeyHash) -> Fingerprint {
        let slots = self.slots.count();
        Fingerprint {
            quotient: slots + scale(hash.get(), slots as u64) as usize,
            remainder: hash.get() & ((1 << self.remainder_bits) - 1),
        }
    }

    /// Where the run of a quotient starts, or would start, whose slot is in use.
    #[inline(always)]
    fn run_start(&self, quotient: usize) -> usize {
        if !self.slots.is(Bit::Shifted, quotient) {
            return quotient;
        }
        let cluster = self.cluster_start(quotient);
        // The cluster has the runs of all occupied slots from its start on, in their order.
        self.nth_run(cluster, self.occupied_between(cluster, quotient))
    }

    /// The last position up to `from` whose remainder is in its own slot. There is one, since not all
    /// slots are in use.
    #[inline(always)]
    fn cluster_start(&self, from: usize) -> usize {
        let mut group = from / GROUP * GROUP;
        let mut unshifted = !self.slots.word(Bit::Shifted, from) & between(0, from - group + 1);
        while unshifted == 0 && group > 0 {
            group -= GROUP;
            unshifted = !self.slots.word(Bit::Shifted, group);
        }
        group + 63 - (unshifted.leading_zeros() as usize).min(63)
    }

    /// The occupied slots of `from..to`.
    #[inline(always)]
    fn occupied_between(&self, from: usize, to: usize) -> usize {
        let mut count = 0;
        let mut position = from;
        while position < to {
            let group = position / GROUP * GROUP;
            let end = to.min(group + GROUP);
            let word = self.slots.word(Bit::Occupied, position);
            count += (word & between(position - group, end - group)).count_ones() as usize;
            position = end;
        }
        count
    }

    /// The start of a run, counted from zero at a position on; past the last run of a cluster its end.
    #[inline(always)]
    fn nth_run(&self, from: usize, mut n: usize) -> usize {
        let mut group = from / GROUP * GROUP;
        let mut starts = !self.slots.word(Bit::Continuation, from) & between(from - group, GROUP);
        loop {
            let count = starts.count_ones() as usize;
            if n < count {
                (0..n).for_each(|_| starts &= starts - 1);
                return group + starts.trailing_zeros() as usize;
            }
            n -= count;
            group += GROUP;
            starts = !self.slots.word(Bit::Continuation, group);
        }
    }

    #[inline(always)]
    fn run_end(&self, start: usize) -> usize {
        self.nth_run(start + 1, 0)
    }

    /// The first of the positions from one on for which a bit of `words` is zero.
    #[inline(always)]
    fn first_zero(&self, from: usize, words: impl Fn(usize) -> u64) -> usize {
        let mut group = from / GROUP * GROUP;
        let mut zeros = !words(from) & between(from - group, GROUP);
        // There is an empty slot.
        while zeros == 0 {
            group += GROUP;
            zeros = !words(group);
        }
        group + zeros.trailing_zeros() as usize
    }

    /// The next occupied slot after a quotient; there must be one.
    #[inline(always)]
    fn next_quotient(&self, quotient: usize) -> usize {
        self.first_zero(quotient + 1, |position| !self.slots.word(Bit::Occupied, position))
    }

    /// Equal remainders in the run of a fingerprint, from the first one's position.
    #[inline(always)]
    fn find(&self, key: Fingerprint) -> Option<Found> {
        if !self.slots.is(Bit::Occupied, key.quotient) {
            return None;
        }
        let start = self.run_start(key.quotient);
        let mut position = start;
        loop {
            let remainder = self.slots.remainder(position);
            if remainder >= key.remainder {
                return (remainder == key.remainder).then_some(Found { start, position });
            }
            position += 1;
            if !self.slots.is(Bit::Continuation, position) {
                return None;
            }
        }
    }

    fn insert_fingerprint(&mut self, key: Fingerprint) {
        let Fingerprint { quotient, remainder } = key;
        if self.slots.in_use(quotient) >> (quotient % GROUP) & 1 == 0 {
            self.slots.set(Bit::Occupied, quotient, true);
            self.slots.set_remainder(quotient, remainder);
            return;
        }
        let start = self.run_start(quotient);
        let mut position = start;
        let has_run = self.slots.is(Bit::Occupied, quotient);
        if has_run {
            // Behind the smaller ones.
            while self.slots.remainder(position) < remainder {
                position += 1;
                if !self.slots.is(Bit::Continuation, position) {
                    break;
                }
            }
        }
        let free = self.first_zero(position, |at| self.slots.in_use(at));
        self.slots.open(position, free);
        self.slots.set_shifted(position + 1, free + 1);
        self.slots.set_remainder(position, remainder);
        self.slots.set(Bit::Continuation, position, has_run && position > start);
        self.slots.set(Bit::Shifted, position, position > quotient);
        if has_run && position == start {
            self.slots.set(Bit::Continuation, position + 1, true);
        }
        self.slots.set(Bit::Occupied, quotient, true);
    }

    fn remove_found(&mut self, quotient: usize, Found { start, position }: Found) {
        let run_end = self.run_end(start);
        // What follows and is not in its own slot moves back by one.
        let end = self.first_zero(position + 1, |at| self.slots.word(Bit::Shifted, at));
        let was_shifted = self.slots.is(Bit::Shifted, position);
        self.slots.close(position, end);
        if run_end == start + 1 {
            self.slots.set(Bit::Occupied, quotient, false);
        } else if position == start {
            // The second of the run is the first now.
            self.slots.set(Bit::Continuation, start, false);
            self.slots.set(Bit::Shifted, start, was_shifted);
        }
        // Of the runs that moved some are back in their own slots.
        let (mut owner, mut run) = (quotient, run_end);
        while run < end {
            owner = self.next_quotient(owner);
            if run - 1 == owner {
                self.slots.set(Bit::Shifted, owner, false);
            }
            // Where it is now; the slot before the end is empty, and starts nothing.
            run = self.run_end(run - 1) + 1;
        }
    }
}

#[derive(Clone, Copy)]
struct Found {
    start: usize,
    position: usize,
}

filter! { QuotientFilter, |filter, hash|
    contains: filter.find(filter.fingerprint(hash)).is_some();
    count: {
        let key = filter.fingerprint(hash);
        let Some(Found { position, .. }) = filter.find(key) else { return 0 };
        let continues = |&at: &usize| filter.slots.is(Bit::Continuation, at);
        let equal = |&at: &usize| filter.slots.remainder(at) == key.remainder;
        1 + (position + 1..).take_while(|at| continues(at) && equal(at)).count()
    };
    len: filter.len;
    slots: filter.slots.count();
    heap_bytes: filter.slots.heap_bytes();
    rate: Self::rate(filter.len, filter.slots.count(), filter.remainder_bits);
}

impl Insert for QuotientFilter {
    #[inline]
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), Full> {
        if self.len >= self.most {
            return Err(Full::new(FullCause::NoRoom { max_kicks: 0 }, self.len, self.slots()));
        }
        self.insert_fingerprint(self.fingerprint(hash));
        self.len += 1;
        Ok(())
    }

    fn clear(&mut self) {
        self.slots.clear();
        self.len = 0;
    }
}

impl Remove for QuotientFilter {
    #[inline]
    fn remove_hash(&mut self, hash: KeyHash) -> bool {
        let key = self.fingerprint(hash);
        let Some(found) = self.find(key) else { return false };
        self.remove_found(key.quotient, found);
        self.len -= 1;
        true
    }
}

described!(QuotientFilter, QuotientFilterBuilder: remainder_bits, capacity);
