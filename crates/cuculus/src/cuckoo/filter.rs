//! The public filter of fixed size: hashes in, answers out.

use core::fmt;

use super::batch;
use super::builder::CuckooFilterBuilder;
use super::changes::{InsertAbsent, InsertAll, Inserted, RemoveAll};
use super::room::{
    Candidates, Kicks, contained_in_unusual, insert_into, insert_into_unusual, removed_from_unusual,
};
use super::stats::CuckooStats;
use super::straight::Straight;
#[cfg(target_arch = "x86_64")]
use super::vectors::Lookup;
use crate::filter::extend_counting_refused;
use crate::placement::{AnyPlacement, FingerprintSize, Placement};
use crate::table::{BucketShape, Buckets, Octets, Table, with_table};
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
    pub(super) size: FingerprintSize,
    pub(super) placement: AnyPlacement,
    pub(super) kicks: Kicks,
    pub(super) instructions: Instructions,
    pub(super) table: Table,
    pub(super) len: usize,
    pub(super) capacity: usize,
    pub(super) refused: u64,
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
        Candidates::of(self.placement, self.size, hash)
    }

    #[inline(always)]
    fn straight(&self) -> Option<Straight<&Octets>> {
        Straight::of(&self.table, self.placement, self.size)
    }

    #[inline(always)]
    fn contains_each<K>(&self, keys: &[K], hash: impl Fn(&K) -> KeyHash, hits: &mut Vec<bool>) {
        hits.clear();
        hits.resize(keys.len(), false);
        let (size, instructions) = (self.size, self.instructions);
        #[cfg(target_arch = "x86_64")]
        if let Some(straight) = self.straight()
            && let Some(vectors) = instructions.vectors()
        {
            let done = Lookup::new(&straight).look_up(vectors, keys, &hash, hits);
            for (key, hit) in keys.iter().zip(hits).skip(done) {
                *hit = straight.contains(hash(key));
            }
            return;
        }
        with_table!(&self.table, table => match self.placement {
            AnyPlacement::AnySize(placement) => {
                let job = batch::Contains { table, placement, size, keys, hash, hits };
                wide::run(instructions, job);
            }
            AnyPlacement::Chunked(placement) => {
                let job = batch::Contains { table, placement, size, keys, hash, hits };
                wide::run(instructions, job);
            }
            placement => {
                let job = batch::Contains { table, placement, size, keys, hash, hits };
                wide::run(instructions, job);
            }
        });
    }

    // The other kinds of filters, out of line: with every kind of table inlined into the caller, none
    // of them would get enough registers.

    #[inline(never)]
    fn insert_into_unusual(&mut self, hash: KeyHash) -> Result<(), FullCause> {
        let (placement, kicks, size) = (self.placement, self.kicks, self.size);
        match (&mut self.table, placement) {
            (Table::Octets(table), AnyPlacement::AnySize(placement)) => {
                let key = Candidates::of(placement, size, hash);
                insert_into::<true, _>(table, placement, kicks, &key)
            }
            (Table::Word(table), AnyPlacement::AnySize(placement)) => {
                let key = Candidates::of(placement, size, hash);
                insert_into::<true, _>(table, placement, kicks, &key)
            }
            (Table::Word(table), AnyPlacement::Chunked(placement)) => {
                let key = Candidates::of(placement, size, hash);
                insert_into::<true, _>(table, placement, kicks, &key)
            }
            (table, placement) => {
                let key = Candidates::of(placement, size, hash);
                insert_into_unusual(table, placement, kicks, &key)
            }
        }
    }

    #[inline(never)]
    fn remove_from_unusual(&mut self, hash: KeyHash) -> bool {
        let key = self.candidates(hash);
        removed_from_unusual(&mut self.table, &key)
    }

    #[inline(never)]
    fn contains_key_in_unusual<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_hash(self.hasher.hash(key))
    }

    /// Counts what a batch inserted, and says why it stopped.
    fn end_batch(&mut self, inserted: &Inserted) -> Result<(), Full> {
        self.len += inserted.count;
        match inserted.stopped {
            None => Ok(()),
            Some(cause) => Err(Full { inserted: inserted.count, ..self.full(cause) }),
        }
    }

    pub(super) fn full(&self, cause: FullCause) -> Full {
        Full { cause, len: self.len, slots: self.slots(), inserted: 0 }
    }
}

/// Runs the same expression on a table with its placement: the pairs that builders make of four slots
/// each by code of its own, where the placement is not looked up for every key, and any other.
macro_rules! with_placed {
    ($filter:ident, $table:ident, $placement:ident => $body:expr) => {
        match (&mut $filter.table, $filter.placement) {
            (Table::Octets($table), AnyPlacement::Chunked($placement)) => $body,
            (Table::Octets($table), AnyPlacement::AnySize($placement)) => $body,
            (Table::Word($table), AnyPlacement::Chunked($placement)) => $body,
            (Table::Word($table), AnyPlacement::AnySize($placement)) => $body,
            (table, $placement) => with_table!(table, $table => $body),
        }
    };
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
        match (self.straight(), self.hasher.as_fold_xxh3()) {
            (Some(straight), Some(hasher)) => straight.contains(hasher.hash(key)),
            _ => self.contains_key_in_unusual(key),
        }
    }

    #[inline]
    fn contains_hash(&self, hash: KeyHash) -> bool {
        if let Some(straight) = self.straight() {
            return straight.contains(hash);
        }
        match (&self.table, self.placement) {
            (Table::Octets(table), AnyPlacement::AnySize(placement)) => {
                let key = Candidates::of(placement, self.size, hash);
                table.contains_either(key.home, key.alternate, key.fingerprint)
            }
            (Table::Word(table), AnyPlacement::AnySize(placement)) => {
                let key = Candidates::of(placement, self.size, hash);
                table.contains_either(key.home, key.alternate, key.fingerprint)
            }
            (Table::Word(table), AnyPlacement::Chunked(placement)) => {
                let key = Candidates::of(placement, self.size, hash);
                table.contains_either(key.home, key.alternate, key.fingerprint)
            }
            _ => contained_in_unusual(&self.table, &self.candidates(hash)),
        }
    }

    fn prefetch_hash(&self, hash: KeyHash) {
        let key = self.candidates(hash);
        with_table!(&self.table, table => {
            key.buckets().for_each(|bucket| table.prefetch(table.spot(bucket)));
        });
    }

    fn count_hash(&self, hash: KeyHash) -> usize {
        let key = self.candidates(hash);
        let count: u32 = with_table!(&self.table, table => {
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
        self.placement.buckets() as usize * self.shape.slots_per_bucket as usize
    }

    fn size_in_bytes(&self) -> usize {
        size_of::<Self>() + self.table.heap_bytes()
    }

    fn expected_false_positive_rate(&self) -> f64 {
        let entries = 2.0 * f64::from(self.shape.slots_per_bucket) * self.utilization();
        analysis::false_positive_rate(self.shape.fingerprint_bits, entries)
    }
}

impl Insert for CuckooFilter {
    #[inline]
    fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<(), Full> {
        let Some(hasher) = self.hasher.as_fold_xxh3() else {
            return self.insert_hash(self.hasher.hash(key));
        };
        self.insert_hash(hasher.hash(key))
    }

    #[inline]
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), Full> {
        let kicks = self.kicks;
        let inserted = match Straight::of_mut(&mut self.table, self.placement, self.size) {
            Some(straight) => straight.insert(kicks, hash),
            None => self.insert_into_unusual(hash),
        };
        match inserted {
            Ok(()) => {
                self.len += 1;
                Ok(())
            }
            Err(cause) => Err(self.full(cause)),
        }
    }

    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        let (kicks, size, instructions) = (self.kicks, self.size, self.instructions);
        let inserted = with_placed!(self, table, placement => {
            wide::run(instructions, InsertAll { table, placement, kicks, size, hashes })
        });
        self.end_batch(&inserted)
    }

    fn insert_absent_batch(
        &mut self,
        hashes: &[KeyHash],
        absent: &mut Vec<bool>,
    ) -> Result<(), Full> {
        absent.clear();
        let (kicks, size, instructions) = (self.kicks, self.size, self.instructions);
        let inserted = with_placed!(self, table, placement => {
            let job = InsertAbsent { table, placement, kicks, size, hashes, absent };
            wide::run(instructions, job)
        });
        self.end_batch(&inserted)
    }

    fn clear(&mut self) {
        with_table!(&mut self.table, table => table.runs_mut().clear());
        self.len = 0;
        self.refused = 0;
    }
}

impl Remove for CuckooFilter {
    #[inline]
    fn remove<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        let Some(hasher) = self.hasher.as_fold_xxh3() else {
            return self.remove_hash(self.hasher.hash(key));
        };
        self.remove_hash(hasher.hash(key))
    }

    #[inline]
    fn remove_hash(&mut self, hash: KeyHash) -> bool {
        let removed = match Straight::of_mut(&mut self.table, self.placement, self.size) {
            Some(straight) => straight.remove(hash),
            None => self.remove_from_unusual(hash),
        };
        self.len -= usize::from(removed);
        removed
    }

    fn remove_batch(&mut self, hashes: &[KeyHash], removed: &mut Vec<bool>) {
        let (size, instructions) = (self.size, self.instructions);
        removed.clear();
        let count = with_placed!(self, table, placement => {
            wide::run(instructions, RemoveAll { table, placement, size, hashes, removed })
        });
        self.len -= count;
    }
}

extend_counting_refused!(CuckooFilter);

impl fmt::Debug for CuckooFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CuckooFilter")
            .field("len", &self.len)
            .field("slots", &self.slots())
            .field("shape", &self.shape)
            .field("placement", &self.placement.kind())
            .field("hasher", &self.hasher)
            .finish_non_exhaustive()
    }
}
