//! The public filter of fixed size: hashes in, answers out.

use core::fmt;

use super::builder::CuckooFilterBuilder;
use super::changes::{Changed, Changes, INSERT, INSERT_ABSENT, REMOVE};
use super::room::{Candidates, Kicks, insert_into, insert_overflowing};
use super::stats::CuckooStats;
use super::straight::Body;
#[cfg(target_arch = "x86_64")]
use super::vectors::Lookup;
use crate::batch::Contains;
use crate::filter::extend_counting_refused;
use crate::placement::{AnyPlacement, Placement};
use crate::table::{BucketShape, Buckets, Table, with_table};
use crate::wide::{self, Instructions};
use crate::{Filter, Full, FullCause, Insert, Key, KeyHash, KeyHasher, Remove, analysis};

/// A cuckoo filter of fixed size, after Fan, Andersen, Kaminsky and Mitzenmacher (2014).
///
/// Choose it when the number of keys is known in advance. It holds up to `capacity` keys, reads
/// two buckets for a lookup, and deletes.
///
/// ```
/// use cuculus::{CuckooFilter, Filter, Insert, Remove};
///
/// let mut filter =
///     CuckooFilter::builder().capacity(1_000_000).false_positive_rate(0.001).build()?;
/// filter.insert("key")?;
/// filter.insert(&42u64)?;
/// assert!(filter.contains("key"));
/// assert!(filter.remove("key"));
/// assert!(!filter.contains("key"));
/// assert_eq!(filter.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct CuckooFilter {
    pub(super) hasher: KeyHasher,
    pub(super) shape: BucketShape,
    pub(super) body: Body,
    pub(super) kicks: Kicks,
    pub(super) instructions: Instructions,
    pub(super) len: usize,
    pub(super) capacity: usize,
    pub(super) refused: u64,
}

/// Runs the same expression on a table with its placement: the pairs that builders make of four slots
/// each by code of its own, where the placement is not looked up for every key, and any other.
macro_rules! with_placed {
    ($any_table:expr, $any_placement:expr; $table:ident, $placement:ident => $body:expr) => {
        match ($any_table, $any_placement) {
            (Table::Octets($table), AnyPlacement::Chunked($placement)) => $body,
            (Table::Octets($table), AnyPlacement::AnySize($placement)) => $body,
            (Table::Word($table), AnyPlacement::Chunked($placement)) => $body,
            (Table::Word($table), AnyPlacement::AnySize($placement)) => $body,
            (Table::SortedWord($table), AnyPlacement::Chunked($placement)) => $body,
            (Table::SortedWord($table), AnyPlacement::AnySize($placement)) => $body,
            (table, $placement) => with_table!(table, $table => $body),
        }
    };
}

/// Runs the same expression on a placement, by code of its own for those that builders choose.
macro_rules! with_placement {
    ($any:expr, $placement:ident => $body:expr) => {
        match $any {
            AnyPlacement::AnySize($placement) => $body,
            AnyPlacement::Chunked($placement) => $body,
            $placement => $body,
        }
    };
}

/// Runs the same expression on the table of a filter with its placement and the candidates of a key.
macro_rules! with_key {
    ($filter:expr, $borrowed:ident, $hash:expr; $table:ident, $placement:ident, $key:ident => $body:expr) => {{
        let (placement, size) = ($filter.body.placement(), $filter.body.size());
        with_placed!($filter.body.$borrowed(), placement; $table, $placement => {
            let $key = Candidates::of($placement, size, $hash);
            $body
        })
    }};
}

impl CuckooFilter {
    /// Starts with the defaults: a false positive rate of 1 %, buckets of four.
    pub fn builder() -> CuckooFilterBuilder {
        CuckooFilterBuilder::default()
    }

    /// The number of keys that the filter was built for. It may take a few more.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Keys that [`Extend`] could not store since the filter was built or cleared. They are not
    /// in the filter.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// The current figures of the filter, to read or to print.
    #[must_use]
    pub fn stats(&self) -> CuckooStats {
        CuckooStats::of(self)
    }

    #[inline(always)]
    pub(super) fn candidates(&self, hash: KeyHash) -> Candidates {
        Candidates::of(self.body.placement(), self.body.size(), hash)
    }

    #[inline(always)]
    fn contains_each<K>(&self, keys: &[K], hash: impl Fn(&K) -> KeyHash, hits: &mut Vec<bool>) {
        hits.clear();
        hits.resize(keys.len(), false);
        let (size, instructions) = (self.body.size(), self.instructions);
        #[cfg(target_arch = "x86_64")]
        if let Some(straight) = self.body.straight()
            && let Some(avx2) = instructions.avx2()
        {
            let done = Lookup::new(&straight).look_up(avx2, keys, &hash, hits);
            for (key, hit) in keys.iter().zip(hits).skip(done) {
                *hit = straight.contains(hash(key));
            }
            return;
        }
        with_table!(self.body.table(), table => with_placement!(self.body.placement(), placement => {
            let job = Contains { table, placement, size, keys, hash, hits };
            wide::run(instructions, job);
        }));
    }

    // The other kinds of filters, out of line: with every kind of table inlined into the caller, none
    // of them would get enough registers. Compiled once, whatever the keys are.

    #[inline(never)]
    fn unusual_contains(&self, hash: KeyHash) -> bool {
        with_key!(self, table, hash; table, _placement, key => {
            table.contains_either(key.home, key.alternate, key.fingerprint)
        })
    }

    #[inline(never)]
    fn insert_into_unusual(&mut self, hash: KeyHash) -> Result<(), Full> {
        let kicks = self.kicks;
        let inserted = with_key!(self, table_mut, hash; table, placement, key => {
            insert_into::<true, _>(table, placement, kicks, &key)
        });
        self.end_insert(inserted)
    }

    #[inline(never)]
    fn remove_from_unusual(&mut self, hash: KeyHash) -> bool {
        let removed = with_key!(self, table_mut, hash; table, _placement, key => {
            table.remove_from_either::<true>(key.home, key.alternate, key.fingerprint)
        });
        self.len -= usize::from(removed);
        removed
    }

    // The same with any function to hash keys with.

    #[inline(never)]
    fn unusual_contains_key<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.unusual_contains(self.hasher.hash(key))
    }

    #[inline(never)]
    fn insert_key_into_unusual<K: Key + ?Sized>(&mut self, key: &K) -> Result<(), Full> {
        self.insert_into_unusual(self.hasher.hash(key))
    }

    #[inline(never)]
    fn remove_key_from_unusual<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.remove_from_unusual(self.hasher.hash(key))
    }

    /// Inserts a key that has no room in its buckets.
    #[cold]
    #[inline(never)]
    fn insert_by_kicks(&mut self, hash: KeyHash) -> Result<(), Full> {
        let kicks = self.kicks;
        let inserted = with_key!(self, table_mut, hash; table, placement, key => {
            insert_overflowing(table, placement, kicks, &key)
        });
        self.end_insert(inserted)
    }

    /// Counts a key that was inserted, or says why it was not.
    #[inline(always)]
    fn end_insert(&mut self, inserted: Result<(), FullCause>) -> Result<(), Full> {
        match inserted {
            Ok(()) => {
                self.len += 1;
                Ok(())
            }
            Err(cause) => Err(self.full(cause)),
        }
    }

    fn change_each<const CHANGE: u8>(
        &mut self,
        hashes: &[KeyHash],
        answers: &mut [bool],
    ) -> Changed {
        let (placement, size) = (self.body.placement(), self.body.size());
        let (kicks, instructions) = (self.kicks, self.instructions);
        with_placed!(self.body.table_mut(), placement; table, placement => {
            let job = Changes::<_, _, CHANGE> { table, placement, kicks, size, hashes, answers };
            wide::run(instructions, job)
        })
    }

    /// Counts what a batch inserted, and says why it stopped.
    fn end_batch(&mut self, changed: &Changed) -> Result<(), Full> {
        self.len += changed.count;
        match changed.stopped {
            None => Ok(()),
            Some((_, cause)) => Err(Full { inserted: changed.count, ..self.full(cause) }),
        }
    }

    pub(super) fn full(&self, cause: FullCause) -> Full {
        Full::new(cause, self.len, self.slots())
    }
}

impl Filter for CuckooFilter {
    #[inline]
    fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    #[inline]
    fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        // One condition, which does not change in a loop of the caller: the loop is then compiled for
        // the straight path, some forty instructions for an integer.
        match (self.body.straight(), self.hasher.as_fold_xxh3()) {
            (Some(straight), Some(hasher)) => straight.contains(hasher.hash(key)),
            _ => self.unusual_contains_key(key),
        }
    }

    #[inline]
    fn contains_hash(&self, hash: KeyHash) -> bool {
        match self.body.straight() {
            Some(straight) => straight.contains(hash),
            None => self.unusual_contains(hash),
        }
    }

    fn prefetch_hash(&self, hash: KeyHash) {
        let key = self.candidates(hash);
        with_table!(self.body.table(), table => {
            key.buckets().for_each(|bucket| table.prefetch(table.spot(bucket)));
        });
    }

    fn count_hash(&self, hash: KeyHash) -> usize {
        let key = self.candidates(hash);
        let count: u32 = with_table!(self.body.table(), table => {
            key.buckets().map(|bucket| table.count(bucket, key.fingerprint)).sum()
        });
        count as usize
    }

    fn contains_batch(&self, hashes: &[KeyHash], hits: &mut Vec<bool>) {
        self.contains_each(hashes, |&hash| hash, hits);
    }

    fn contains_keys<K: Key>(&self, keys: &[K], hits: &mut Vec<bool>) {
        // The choice of the function outside of the loop.
        match self.hasher.as_fold_xxh3() {
            Some(hasher) => self.contains_each(keys, |key| hasher.hash(key), hits),
            None => self.contains_each(keys, |key| self.hasher.hash(key), hits),
        }
    }

    fn len(&self) -> usize {
        self.len
    }

    fn slots(&self) -> usize {
        self.body.placement().buckets() as usize * self.shape.slots_per_bucket as usize
    }

    fn size_in_bytes(&self) -> usize {
        size_of::<Self>() + self.body.table().heap_bytes()
    }

    fn expected_false_positive_rate(&self) -> f64 {
        let entries = 2.0 * f64::from(self.shape.slots_per_bucket) * self.utilization();
        analysis::false_positive_rate(self.shape.fingerprint_bits, entries)
    }
}

impl Insert for CuckooFilter {
    #[inline]
    fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<(), Full> {
        // One condition, as for `contains`.
        match (self.body.is_straight(), self.hasher.as_fold_xxh3()) {
            (true, Some(hasher)) => self.insert_hash(hasher.hash(key)),
            _ => self.insert_key_into_unusual(key),
        }
    }

    #[inline]
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), Full> {
        let Some(straight) = self.body.straight_mut() else {
            return self.insert_into_unusual(hash);
        };
        if !straight.place(hash) {
            return self.insert_by_kicks(hash);
        }
        self.len += 1;
        Ok(())
    }

    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        let changed = self.change_each::<INSERT>(hashes, &mut []);
        self.end_batch(&changed)
    }

    fn insert_absent_batch(
        &mut self,
        hashes: &[KeyHash],
        absent: &mut Vec<bool>,
    ) -> Result<(), Full> {
        absent.clear();
        if absent.try_reserve(hashes.len()).is_err() {
            return Err(self.full(FullCause::OutOfMemory));
        }
        absent.resize(hashes.len(), false);
        let changed = self.change_each::<INSERT_ABSENT>(hashes, absent);
        absent.truncate(changed.stopped.map_or(hashes.len(), |(before, _)| before));
        self.end_batch(&changed)
    }

    fn clear(&mut self) {
        with_table!(self.body.table_mut(), table => table.runs_mut().clear());
        self.len = 0;
        self.refused = 0;
    }
}

impl Remove for CuckooFilter {
    #[inline]
    fn remove<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        match (self.body.is_straight(), self.hasher.as_fold_xxh3()) {
            (true, Some(hasher)) => self.remove_hash(hasher.hash(key)),
            _ => self.remove_key_from_unusual(key),
        }
    }

    #[inline]
    fn remove_hash(&mut self, hash: KeyHash) -> bool {
        let Some(straight) = self.body.straight_mut() else {
            return self.remove_from_unusual(hash);
        };
        // By a branch, so that the length does not wait for the buckets.
        let removed = straight.remove(hash);
        if removed {
            self.len -= 1;
        }
        removed
    }

    fn remove_batch(&mut self, hashes: &[KeyHash], removed: &mut Vec<bool>) {
        removed.clear();
        removed.resize(hashes.len(), false);
        self.len -= self.change_each::<REMOVE>(hashes, removed).count;
    }
}

extend_counting_refused!(CuckooFilter);

impl fmt::Debug for CuckooFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (placement, hasher) = (self.body.placement().kind(), &self.hasher);
        write!(f, "CuckooFilter({:?}, {placement:?}, {hasher:?})", self.stats())
    }
}
