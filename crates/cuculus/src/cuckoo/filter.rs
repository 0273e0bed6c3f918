//! The public filter of fixed size: hashes in, answers out.

use core::fmt;

use super::batch;
use super::builder::CuckooFilterBuilder;
use super::room::{
    Candidates, Kicks, contained_in_unusual, insert_into, insert_into_unusual, removed_from_unusual,
};
use super::stats::CuckooStats;
use crate::batch::GROUP;
use crate::filter::extend_counting_refused;
use crate::placement::{AnyPlacement, FingerprintSize, Placement};
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
    fn contains_each<K>(&self, keys: &[K], hash: impl Fn(&K) -> KeyHash, hits: &mut Vec<bool>) {
        hits.clear();
        hits.resize(keys.len(), false);
        let (size, instructions) = (self.size, self.instructions);
        with_table!(&self.table, table => match self.placement {
            AnyPlacement::AnySize(placement) => {
                let job = batch::Contains { table, placement, size, keys, hash, hits };
                wide::run(instructions, job);
            }
            placement => {
                let job = batch::Contains { table, placement, size, keys, hash, hits };
                wide::run(instructions, job);
            }
        });
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

impl Filter for CuckooFilter {
    #[inline]
    fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    #[inline]
    fn contains_hash(&self, hash: KeyHash) -> bool {
        // The usual lookup is inlined into the caller: some eighty instructions, so that several
        // lookups in a row fit the processor's window and wait for memory together. With every
        // kind of table inlined here, none of them would get enough registers.
        if let (Table::Word(table), AnyPlacement::AnySize(placement)) =
            (&self.table, self.placement)
        {
            let key = Candidates::of(placement, self.size, hash);
            return table.contains_either(key.home, key.alternate, key.fingerprint);
        }
        contained_in_unusual(&self.table, &self.candidates(hash))
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
        match self.hasher.xxh3_seed() {
            Some(seed) => {
                self.contains_each(keys, |key| KeyHasher::xxh3(seed).hash(key), hits);
            }
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
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), Full> {
        let key = self.candidates(hash);
        let (placement, kicks) = (self.placement, self.kicks);
        // As for lookups: the usual table here, the others out of line.
        let inserted = match &mut self.table {
            Table::Word(table) => insert_into(table, placement, kicks, &key),
            table => insert_into_unusual(table, placement, kicks, &key),
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
        let (placement, kicks, size) = (self.placement, self.kicks, self.size);
        let inserted = with_table!(&mut self.table, table => {
            wide::run(self.instructions, InsertAll { table, placement, kicks, size, hashes })
        });
        self.end_batch(&inserted)
    }

    fn insert_absent_batch(
        &mut self,
        hashes: &[KeyHash],
        absent: &mut Vec<bool>,
    ) -> Result<(), Full> {
        absent.clear();
        let (placement, kicks, size) = (self.placement, self.kicks, self.size);
        let inserted = with_table!(&mut self.table, table => {
            let job = InsertAbsent { table, placement, kicks, size, hashes, absent };
            wide::run(self.instructions, job)
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
    fn remove_hash(&mut self, hash: KeyHash) -> bool {
        let key = self.candidates(hash);
        let removed = match &mut self.table {
            Table::Word(table) => {
                table.remove_from_either(key.home, key.alternate, key.fingerprint)
            }
            table => removed_from_unusual(table, &key),
        };
        self.len -= usize::from(removed);
        removed
    }
}

/// Candidates of keys whose buckets are on their way, a group of them ahead of the one that is
/// worked on. One key is prefetched for each that is worked on: in bursts they would wait for each other, which
/// made lookups here take twice as long.
struct Prefetched<'a> {
    placement: AnyPlacement,
    size: FingerprintSize,
    ring: [Candidates; GROUP],
    at: usize,
    coming: core::slice::Iter<'a, KeyHash>,
}

impl<'a> Prefetched<'a> {
    #[inline(always)]
    fn new(
        table: &impl Buckets,
        placement: AnyPlacement,
        size: FingerprintSize,
        hashes: &'a [KeyHash],
    ) -> Self {
        let ring = [Candidates::of(placement, size, KeyHash::new(0)); GROUP];
        let mut prefetched = Self { placement, size, ring, at: 0, coming: hashes.iter() };
        for _ in 0..GROUP {
            prefetched.next(table);
        }
        prefetched
    }

    /// The next key to work on; a later one is prefetched instead.
    #[inline(always)]
    fn next(&mut self, table: &impl Buckets) -> Candidates {
        let place = &mut self.ring[self.at % GROUP];
        let key = *place;
        self.at += 1;
        if let Some(&hash) = self.coming.next() {
            *place = Candidates::of(self.placement, self.size, hash);
            table.prefetch(table.spot(place.home));
            table.prefetch(table.spot(place.alternate));
        }
        key
    }
}

/// `insert` for each hash, until one is refused.
struct InsertAll<'a, T> {
    table: &'a mut T,
    placement: AnyPlacement,
    kicks: Kicks,
    size: FingerprintSize,
    hashes: &'a [KeyHash],
}

struct Inserted {
    count: usize,
    stopped: Option<FullCause>,
}

impl<T: Buckets> wide::Job for InsertAll<'_, T> {
    type Output = Inserted;

    #[inline(always)]
    fn run(self) -> Inserted {
        let Self { table, placement, kicks, size, hashes } = self;
        let mut prefetched = Prefetched::new(table, placement, size, hashes);
        for count in 0..hashes.len() {
            let key = prefetched.next(table);
            if let Err(cause) = insert_into(table, placement, kicks, &key) {
                return Inserted { count, stopped: Some(cause) };
            }
        }
        Inserted { count: hashes.len(), stopped: None }
    }
}

/// `insert` for each hash that is not contained, until one is refused. The test and the insert wait
/// for the same two buckets, so together they take hardly longer than the insert.
struct InsertAbsent<'a, T> {
    table: &'a mut T,
    placement: AnyPlacement,
    kicks: Kicks,
    size: FingerprintSize,
    hashes: &'a [KeyHash],
    absent: &'a mut Vec<bool>,
}

impl<T: Buckets> wide::Job for InsertAbsent<'_, T> {
    type Output = Inserted;

    #[inline(always)]
    fn run(self) -> Inserted {
        let Self { table, placement, kicks, size, hashes, absent } = self;
        let mut count = 0;
        if absent.try_reserve(hashes.len()).is_err() {
            return Inserted { count, stopped: Some(FullCause::OutOfMemory) };
        }
        let mut prefetched = Prefetched::new(table, placement, size, hashes);
        for _ in hashes {
            let key = prefetched.next(table);
            let is_absent = !table.contains_either(key.home, key.alternate, key.fingerprint);
            if is_absent && let Err(cause) = insert_into(table, placement, kicks, &key) {
                return Inserted { count, stopped: Some(cause) };
            }
            count += usize::from(is_absent);
            absent.push(is_absent);
        }
        Inserted { count, stopped: None }
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
