//! The public filter: hashes in, answers out.

use core::fmt;

use super::address::{Address, PATH_BITS};
use super::batch;
use super::builder::ElasticFilterBuilder;
use super::lengths::Lengths;
use super::level::{Context, Known, Level, Work};
use super::policy::Settings;
use super::stats::ElasticStats;
use super::tier::Tier;
use crate::batch::GROUP;
use crate::wide::{self, Chosen, Job};
use crate::{Filter, Full, FullCause, Insert, Key, KeyHash, KeyHasher, Remove};

/// A filter that follows its set, up and down, and keeps its false positive rate.
///
/// Say the rate and nothing else. The filter grows and shrinks in small steps, so no operation
/// waits for a rebuild; memory follows the number of keys in both directions; and a lookup reads
/// two buckets, however large the filter has become. (A set that has grown by a factor of a
/// hundred or more since its oldest keys came may keep those aside, in a small filter of the same
/// kind, and then reads two buckets there as well.)
///
/// ```
/// use cuculus::{ElasticFilter, Filter, Insert, Remove};
///
/// let mut set = ElasticFilter::builder().false_positive_rate(0.001).build()?;
/// for key in 0..100_000u64 {
///     set.insert(&key)?;
/// }
/// assert!(set.contains(&77u64));
/// assert!(set.expected_false_positive_rate() <= 0.001);
/// let large = set.size_in_bytes();
///
/// for key in 100..100_000u64 {
///     assert!(set.remove(&key));
/// }
/// assert!(set.contains(&77u64) && set.len() == 100);
/// assert!(set.size_in_bytes() < large / 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # What is promised
/// * A key inserted and not removed is found; a key that is in the filter can be removed.
/// * The rate asked for is kept at every size, for keys that were chosen without knowing the seed.
///   Who knows the seed can compute keys that fall together, and so make the filter refuse one
///   ([`FullCause::Crowded`]) or answer yes to keys of their choice; never lose a key.
/// * One operation writes a few thousand entries at most
///   ([`ElasticStats::most_entries_written`] counts).
/// * The same key fits eight times; one more is refused ([`FullCause::EqualEntries`]), and nothing
///   grows because of it.
pub struct ElasticFilter {
    pub(super) hasher: KeyHasher,
    pub(super) settings: Settings,
    pub(super) tier: Tier,
    pub(super) lengths: Lengths,
    pub(super) work: Work,
    pub(super) chosen: Chosen,
    pub(super) refused: u64,
}

impl ElasticFilter {
    /// Starts with the defaults: a false positive rate of 1 %, nothing expected.
    pub fn builder() -> ElasticFilterBuilder {
        ElasticFilterBuilder::default()
    }

    /// The rate that the filter keeps.
    #[must_use]
    pub fn false_positive_rate(&self) -> f64 {
        self.settings.rate
    }

    /// Keys that [`Extend`] could not store since the filter was built or cleared. They are not
    /// in the filter.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// The figures of the filter as it stands, to look at or to print.
    #[must_use]
    pub fn stats(&self) -> ElasticStats {
        ElasticStats::of(self)
    }

    /// Gives back what memory can be given back now. The filter shrinks by itself as keys are
    /// removed; this fills segments a little further, as before saving a set that will not change.
    /// It writes all entries, so it takes as long as building the filter.
    pub fn shrink_to_fit(&mut self) {
        let before = self.work;
        let (tier, mut cx) = self.parts();
        tier.shrink_to_fit(&mut cx);
        // Not one of the operations whose work is bounded.
        self.work = before;
    }

    /// Adds all keys of another filter with the same hash function and seed, at the cost of
    /// inserting them. The rates of both must fit into the rate of this one.
    ///
    /// ```
    /// use cuculus::{ElasticFilter, Filter, Insert};
    ///
    /// let build = || ElasticFilter::builder().seed(7).build();
    /// let (mut a, mut b) = (build()?, build()?);
    /// a.insert("one")?;
    /// b.insert("two")?;
    /// a.merge(&b)?;
    /// assert!(a.contains("one") && a.contains("two"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MergeError`] says why not; nothing has changed then.
    pub fn merge(&mut self, other: &Self) -> Result<(), MergeError> {
        if self.hasher != other.hasher {
            return Err(MergeError::OtherHash);
        }
        let rate = self.lengths.rate() + other.lengths.rate();
        if rate > self.settings.rate {
            return Err(MergeError::Rate { sum: rate, limit: self.settings.rate });
        }
        let mut both = self.clone();
        for known in other.tier.levels().flat_map(Level::all_known) {
            both.insert_known(known).map_err(MergeError::Full)?;
        }
        *self = both;
        Ok(())
    }

    #[inline(always)]
    fn insert_known(&mut self, new: Known) -> Result<(), Full> {
        let (tier, cx) = self.parts();
        match wide::run_chosen(cx.chosen, InsertOne { tier, cx, new }) {
            Ok(()) => Ok(()),
            Err(cause) => {
                self.drop_if_empty();
                Err(self.full(cause))
            }
        }
    }

    /// Gives everything back if nothing is left that could be worth keeping.
    fn drop_if_empty(&mut self) {
        if self.tier.level.len() == 0 && self.tier.elder.is_none() {
            self.tier = Tier::default();
            self.lengths = Lengths::default();
        }
    }

    /// The entries, and what changing them needs; a new operation starts.
    #[inline(always)]
    fn parts(&mut self) -> (&mut Tier, Context<'_>) {
        let Self { settings, tier, lengths, work, chosen, .. } = self;
        work.start();
        (tier, Context { settings, lengths, work, chosen: *chosen })
    }

    #[cold]
    fn full(&self, cause: FullCause) -> Full {
        Full { cause, len: self.len(), slots: self.slots(), inserted: 0 }
    }

    #[inline(always)]
    fn contains_each<K>(&self, keys: &[K], hash: impl Fn(&K) -> KeyHash, hits: &mut Vec<bool>) {
        hits.clear();
        hits.resize(keys.len(), false);
        wide::run_chosen(self.chosen, batch::Contains { tier: &self.tier, keys, hash, hits });
    }
}

impl Filter for ElasticFilter {
    #[inline]
    fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    #[inline]
    fn contains_hash(&self, hash: KeyHash) -> bool {
        wide::run_chosen(self.chosen, ContainsOne { tier: &self.tier, key: Address::of(hash) })
    }

    fn count_hash(&self, hash: KeyHash) -> usize {
        let key = Address::of(hash);
        self.tier.levels().map(|level| level.count(key) as usize).sum()
    }

    #[inline]
    fn prefetch_hash(&self, hash: KeyHash) {
        batch::prefetch(&self.tier, &[hash]);
    }

    fn contains_batch(&self, hashes: &[KeyHash], hits: &mut Vec<bool>) {
        self.contains_each(hashes, |&hash| hash, hits);
    }

    fn contains_keys<K: Key>(&self, keys: &[K], hits: &mut Vec<bool>) {
        // The choice of the function outside of the loop.
        match self.hasher.xxh3_seed() {
            Some(seed) => {
                self.contains_each(keys, |key| KeyHasher::xxh3(seed).hash(key), hits);
            }
            None => self.contains_each(keys, |key| self.hasher.hash(key), hits),
        }
    }

    fn len(&self) -> usize {
        self.tier.levels().map(Level::len).sum()
    }

    fn slots(&self) -> usize {
        self.tier.levels().map(Level::slots).sum()
    }

    fn size_in_bytes(&self) -> usize {
        let levels: usize = self.tier.levels().map(Level::heap_bytes).sum();
        let elders = (self.tier.levels().count() - 1) * size_of::<Tier>();
        size_of::<Self>() + levels + elders + self.lengths.heap_bytes()
    }

    fn expected_false_positive_rate(&self) -> f64 {
        self.lengths.rate()
    }
}

impl Insert for ElasticFilter {
    #[inline]
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), Full> {
        self.insert_known(Known { key: Address::of(hash), bits: PATH_BITS })
    }

    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        let mut inserted = 0;
        for group in hashes.chunks(GROUP) {
            batch::prefetch(&self.tier, group);
            for &hash in group {
                self.insert_hash(hash).map_err(|full| Full { inserted, ..full })?;
                inserted += 1;
            }
        }
        Ok(())
    }

    fn clear(&mut self) {
        self.tier = Tier::default();
        self.lengths = Lengths::default();
        self.work = Work::default();
        self.refused = 0;
    }
}

impl Remove for ElasticFilter {
    #[inline]
    fn remove_hash(&mut self, hash: KeyHash) -> bool {
        let (tier, cx) = self.parts();
        let removed = wide::run_chosen(cx.chosen, RemoveOne { tier, cx, key: Address::of(hash) });
        self.drop_if_empty();
        removed
    }
}

/// Looks a key up.
struct ContainsOne<'a> {
    tier: &'a Tier,
    key: Address,
}

impl Job for ContainsOne<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        self.tier.contains(self.key)
    }
}

/// Inserts an entry.
struct InsertOne<'a> {
    tier: &'a mut Tier,
    cx: Context<'a>,
    new: Known,
}

impl Job for InsertOne<'_> {
    type Output = Result<(), FullCause>;

    #[inline(always)]
    fn run(mut self) -> Self::Output {
        self.tier.insert(self.new, &mut self.cx)
    }
}

/// Removes the longest entry that may be of a key.
struct RemoveOne<'a> {
    tier: &'a mut Tier,
    cx: Context<'a>,
    key: Address,
}

impl Job for RemoveOne<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(mut self) -> bool {
        let Some(found) = self.tier.longest_match(self.key) else { return false };
        self.tier.remove(found, &mut self.cx);
        true
    }
}

/// Inserts what fits; what does not (copies of a key beyond the eighth) is counted by
/// [`ElasticFilter::refused`]. To stop at the first key that does not fit, insert in a loop.
impl<K: Key> Extend<K> for ElasticFilter {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        for key in keys {
            if self.insert(&key).is_err() {
                self.refused = self.refused.saturating_add(1);
            }
        }
    }
}

impl Clone for ElasticFilter {
    fn clone(&self) -> Self {
        Self {
            hasher: self.hasher.clone(),
            settings: self.settings,
            tier: self.tier.duplicate(self.settings.ladder),
            lengths: self.lengths.clone(),
            work: self.work,
            chosen: self.chosen,
            refused: self.refused,
        }
    }
}

impl fmt::Debug for ElasticFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ElasticFilter")
            .field("len", &self.len())
            .field("slots", &self.slots())
            .field("settings", &self.settings)
            .field("hasher", &self.hasher)
            .finish_non_exhaustive()
    }
}

/// Two filters cannot become one. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum MergeError {
    /// Their hash functions or seeds differ, so the same key is two different ones to them.
    OtherHash,
    /// Together they would answer yes by mistake more often than allowed.
    Rate {
        /// The rate of both together.
        sum: f64,
        /// The rate of the filter that the other was to be merged into.
        limit: f64,
    },
    /// A key of the other filter was refused.
    Full(Full),
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherHash => f.write_str(
                "the filters have different hash functions or seeds; build both with the same \
                 seed(number)",
            ),
            Self::Rate { sum, limit } => write!(
                f,
                "together the filters would have a false positive rate of {:.4} %, more than the \
                 {:.4} % asked for; build them with a smaller rate, or a new one from the keys",
                100.0 * sum,
                100.0 * limit
            ),
            Self::Full(full) => write!(f, "a key of the other filter was refused: {full}"),
        }
    }
}

impl std::error::Error for MergeError {}
