//! The adaptive cuckoo filter.

use cuculus::{
    BuildError, Filter, Full, FullCause, Insert, Key, KeyHash, KeyHasher, Remove, analysis,
};

use crate::baselines::kicks::{DEFAULT_MAX_KICKS, Place, Space, make_room};
use crate::baselines::memory::zeroed;
use crate::baselines::packed::Packed;
use crate::baselines::parameters::{Shared, at_most, builder, described, figures, in_range};
use crate::baselines::probes::{remix, scale};
use crate::described::filter;

const SLOTS: usize = 4;
const MAX_BUCKETS: u64 = 1 << 32;
/// How often an entry is moved on until it no longer looks like the key that was reported.
const MAX_MOVES: u32 = 16;

/// An adaptive cuckoo filter (Mitzenmacher, Pontarelli and Reviriego 2018; named in the CCF paper, §II):
/// a cuckoo filter that learns from its mistakes.
///
/// Beside the table of fingerprints stands a table of the same layout with the keys, here their 64-bit
/// hashes. It is read only when something moves, so it may lie in slower memory. When a key that was
/// found turns out not to be there, the entry that looked like it is given another fingerprint. Of the
/// authors' two forms this is the one with buckets of four, where the *position* in the bucket chooses
/// the fingerprint's hash function: no bits are spent on that, and an entry is changed by trading
/// places with another of its bucket. (The form with a selector in each slot would cost one to two
/// bits per key.)
///
/// ```
/// use cuculus::{Filter, Insert};
/// use cuculus_papers::baselines::AdaptiveCuckooFilter;
///
/// let mut filter = AdaptiveCuckooFilter::builder().capacity(1000).fingerprint_bits(8).build()?;
/// for key in 0..1000u64 {
///     filter.insert(&key)?;
/// }
/// let mistaken: Vec<u64> = (1000..9000).filter(|key| filter.contains(key)).collect();
/// for key in &mistaken {
///     filter.report_false_positive(key);
/// }
/// let still = mistaken.iter().filter(|key| filter.contains(*key)).count();
/// assert!(still * 5 < mistaken.len());
/// assert!((0..1000u64).all(|key| filter.contains(&key)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Where it loses: 64 bits more per key, four fingerprints to compute per lookup, and somebody who knows
/// which answers were wrong. For keys that are asked once the rate is that of a cuckoo filter. It
/// removes exactly the key that it is told, not one that looks like it, except for keys with the same
/// 64-bit hash.
#[derive(Clone, PartialEq, Eq)]
pub struct AdaptiveCuckooFilter {
    hasher: KeyHasher,
    entries: Entries,
    max_kicks: u32,
    len: usize,
    capacity: usize,
    reported: u64,
    moved: u64,
}

#[derive(Clone, PartialEq, Eq)]
struct Entries {
    /// Zero where there is no entry.
    fingerprints: Packed,
    /// Zero where there is no entry; but a hash may be zero too.
    hashes: Box<[u64]>,
    buckets: u64,
    fingerprint_bits: u32,
}

builder! {
    /// Parameters of an [`AdaptiveCuckooFilter`]: a capacity, and the rest has defaults.
    AdaptiveCuckooFilterBuilder, shared: Shared;

    /// The number of buckets of four, instead of the one that follows from the capacity.
    buckets: u64;

    /// The length of a fingerprint, 4 to 32 bits, instead of a rate.
    fingerprint_bits: u32;

    /// How many buckets a search for room may open before a key is refused; 500 by default, 65,535 at
    /// most.
    max_kicks: u32;
}

impl AdaptiveCuckooFilterBuilder {
    /// Builds the filter, or says which parameter cannot be satisfied.
    pub fn build(&self) -> Result<AdaptiveCuckooFilter, BuildError> {
        let slots = SLOTS as u32;
        let buckets = match (self.buckets, self.shared.capacity) {
            (Some(buckets), _) => in_range("buckets", buckets, 1..=MAX_BUCKETS)?,
            (None, Some(capacity)) => analysis::buckets_for(capacity as u64, slots),
            (None, None) => return Err(BuildError::MissingCapacity),
        };
        at_most(buckets, MAX_BUCKETS)?;
        let planned = analysis::planned_load(slots);
        let fit = (buckets as f64 * f64::from(slots) * planned) as usize;
        let capacity = self.shared.capacity.unwrap_or(fit);
        let load = capacity as f64 / (buckets as f64 * f64::from(slots));
        let entries = 2.0 * f64::from(slots) * load.clamp(planned, 1.0);
        let rate_with = |bits| analysis::false_positive_rate(bits, entries);
        let given = ("fingerprint_bits", self.fingerprint_bits);
        let fingerprint_bits = self.shared.bits(given, 4..=32, rate_with)?;
        let max_kicks = self.max_kicks.unwrap_or(DEFAULT_MAX_KICKS);
        in_range("max_kicks", max_kicks, 0..=65_535)?;
        let hasher = self.shared.hasher()?;
        let all = buckets * SLOTS as u64;
        let entries = Entries {
            fingerprints: Packed::new(all, fingerprint_bits)?,
            hashes: zeroed(all)?,
            buckets,
            fingerprint_bits,
        };
        let (len, reported, moved) = (0, 0, 0);
        Ok(AdaptiveCuckooFilter { hasher, entries, max_kicks, len, capacity, reported, moved })
    }
}

impl Entries {
    /// The two buckets of a key. They differ, unless there is one only.
    #[inline(always)]
    fn candidates(&self, hash: u64) -> [usize; 2] {
        let (home, other) = (scale(hash, self.buckets), scale(remix(hash), self.buckets));
        let next = if home + 1 == self.buckets { 0 } else { home + 1 };
        [home as usize, if other == home { next } else { other } as usize]
    }

    /// The key's fingerprint at each position of a bucket, `1..2^bits`, equally likely.
    #[inline(always)]
    fn fingerprints_of(&self, hash: u64) -> [u64; SLOTS] {
        let values = (1 << self.fingerprint_bits) - 1;
        let [first, second] = [1u64, 2].map(|n| remix(hash.wrapping_add(n << 62 | n)));
        let parts = [first >> 32, first & 0xffff_ffff, second >> 32, second & 0xffff_ffff];
        parts.map(|part| ((part * values) >> 32) + 1)
    }

    #[inline(always)]
    fn at(place: Place) -> u64 {
        (place.bucket * SLOTS + place.slot) as u64
    }

    fn fingerprint(&self, place: Place) -> u64 {
        self.fingerprints.get(Self::at(place))
    }

    fn hash(&self, place: Place) -> u64 {
        self.hashes[Self::at(place) as usize]
    }

    fn set(&mut self, place: Place, entry: Option<u64>) {
        let fingerprint = entry.map_or(0, |hash| self.fingerprints_of(hash)[place.slot]);
        self.fingerprints.set(Self::at(place), fingerprint);
        self.hashes[Self::at(place) as usize] = entry.unwrap_or(0);
    }

    fn entry(&self, place: Place) -> Option<u64> {
        (!self.is_free(place)).then(|| self.hash(place))
    }

    /// All places of a key.
    #[inline(always)]
    fn places(&self, hash: u64) -> impl Iterator<Item = Place> + use<> {
        let [home, other] = self.candidates(hash);
        let buckets = [home, other].into_iter().take(if home == other { 1 } else { 2 });
        buckets.flat_map(|bucket| (0..SLOTS).map(move |slot| Place { bucket, slot }))
    }

    /// The places where the key seems to be.
    #[inline(always)]
    fn matching(&self, hash: u64) -> impl Iterator<Item = Place> {
        let fingerprints = self.fingerprints_of(hash);
        self.places(hash).filter(move |&at| self.fingerprint(at) == fingerprints[at.slot])
    }
}

impl Space for Entries {
    fn slots_per_bucket(&self) -> usize {
        SLOTS
    }

    fn is_free(&self, place: Place) -> bool {
        self.fingerprint(place) == 0
    }

    fn other_bucket(&self, place: Place) -> usize {
        let [home, other] = self.candidates(self.hash(place));
        if place.bucket == home { other } else { home }
    }

    fn relocate(&mut self, from: Place, to: Place) {
        self.set(to, self.entry(from));
        self.set(from, None);
    }
}

figures! { AdaptiveCuckooFilter,
    /// The current figures of an [`AdaptiveCuckooFilter`].
    AdaptiveStats of filter;
    /// The length of a fingerprint.
    fingerprint_bits: u32 = filter.entries.fingerprint_bits;
    /// False positives reported since the filter was built or cleared.
    reported: u64 = filter.reported;
    /// Entries that were given another position for that.
    moved: u64 = filter.moved;
    /// The memory that lookups read.
    fingerprint_bytes: usize = filter.entries.fingerprints.heap_bytes();
}

impl AdaptiveCuckooFilter {
    /// Tells the filter that it said yes to a key that is not there; see
    /// [`report_false_positive_hash`](Self::report_false_positive_hash).
    pub fn report_false_positive<K: Key + ?Sized>(&mut self, key: &K) -> usize {
        self.report_false_positive_hash(self.hasher.hash(key))
    }

    /// Tells the filter that it said yes to a key that is not there, by its hash. Entries that look like
    /// it trade places within their bucket until they do not; says how many there were. A report of a
    /// key that *is* there changes nothing.
    pub fn report_false_positive_hash(&mut self, hash: KeyHash) -> usize {
        let hash = hash.get();
        if self.entries.places(hash).any(|at| self.entries.entry(at) == Some(hash)) {
            return 0;
        }
        let mut repaired = 0;
        for _ in 0..MAX_MOVES {
            let Some(place) = self.entries.matching(hash).next() else { break };
            // Any of the three others, as the authors draw it; by a count, to be the same again.
            self.moved += 1;
            let step = 1 + remix(self.moved ^ hash) as usize % (SLOTS - 1);
            let with = Place { slot: (place.slot + step) % SLOTS, ..place };
            let (this, that) = (self.entries.entry(place), self.entries.entry(with));
            self.entries.set(place, that);
            self.entries.set(with, this);
            repaired += 1;
        }
        self.reported += u64::from(repaired > 0);
        repaired
    }
}

filter! { AdaptiveCuckooFilter, |filter, hash|
    contains: filter.entries.matching(hash.get()).next().is_some();
    count: filter.entries.matching(hash.get()).count();
    len: filter.len;
    slots: filter.entries.hashes.len();
    heap_bytes: filter.entries.fingerprints.heap_bytes() + size_of_val(&*filter.entries.hashes);
    // Of a key that was never reported.
    rate: {
        let buckets = if filter.entries.buckets == 1 { 1.0 } else { 2.0 };
        let entries = buckets * SLOTS as f64 * filter.utilization();
        analysis::false_positive_rate(filter.entries.fingerprint_bits, entries)
    };
}

impl Insert for AdaptiveCuckooFilter {
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), Full> {
        let hash = hash.get();
        let buckets = self.entries.candidates(hash);
        let Some(place) = make_room(&mut self.entries, buckets, self.max_kicks) else {
            let places = self.entries.places(hash).count();
            let held =
                self.entries.places(hash).filter(|&at| self.entries.hash(at) == hash).count();
            let cause = if held == places {
                FullCause::EqualEntries { held }
            } else {
                FullCause::NoRoom { max_kicks: self.max_kicks }
            };
            return Err(Full::new(cause, self.len, self.slots()));
        };
        self.entries.set(place, Some(hash));
        self.len += 1;
        Ok(())
    }

    fn clear(&mut self) {
        self.entries.fingerprints.clear();
        self.entries.hashes.fill(0);
        (self.len, self.reported, self.moved) = (0, 0, 0);
    }
}

impl Remove for AdaptiveCuckooFilter {
    /// Exactly this key: one that only looks like it is not removed.
    fn remove_hash(&mut self, hash: KeyHash) -> bool {
        let hash = hash.get();
        let found = self.entries.places(hash).find(|&at| self.entries.entry(at) == Some(hash));
        let Some(place) = found else { return false };
        self.entries.set(place, None);
        self.len -= 1;
        true
    }
}

described!(AdaptiveCuckooFilter, AdaptiveCuckooFilterBuilder: capacity, reported);
