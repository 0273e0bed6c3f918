//! One cuckoo filter of the list: a table and the number of its keys. Knows nothing of the others.

use cuculus::lab::placement::{AnyPlacement, BucketIndex, Fingerprint};
use cuculus::lab::room::{Candidates, Kicks, insert_into};
use cuculus::lab::table::{BucketShape, Buckets, MAX_SLOTS, OutOfMemory, Table, WINDOW};
use cuculus::with_table;
use cuculus::{FullCause, lab::memory};

#[derive(Clone)]
pub(super) struct Block {
    pub(super) table: Table,
    pub(super) len: usize,
}

impl Block {
    pub(super) fn new(shape: BucketShape, buckets: u32) -> Result<Self, OutOfMemory> {
        Ok(Self { table: Table::new(shape, buckets)?, len: 0 })
    }

    /// A copy, unless there is no memory for it.
    pub(super) fn copy(&self, shape: BucketShape, buckets: u32) -> Result<Self, OutOfMemory> {
        let payload = memory::copied(self.payload(), WINDOW)?;
        Ok(Self { table: Table::from_payload(shape, buckets, payload)?, len: self.len })
    }

    pub(super) fn payload(&self) -> &[u8] {
        with_table!(&self.table, table => table.runs().payload())
    }

    pub(super) fn clear(&mut self) {
        with_table!(&mut self.table, table => table.runs_mut().clear());
        self.len = 0;
    }

    #[inline(always)]
    pub(super) fn contains(&self, key: &Candidates) -> bool {
        match &self.table {
            Table::Octets(table) => table.contains_either(key.home, key.alternate, key.fingerprint),
            table => contained_in_unusual(table, key),
        }
    }

    pub(super) fn count(&self, key: &Candidates) -> usize {
        let count: u32 = with_table!(&self.table, table => {
            key.buckets().map(|bucket| table.count(bucket, key.fingerprint)).sum()
        });
        count as usize
    }

    /// Puts a key into one of its buckets, with kicks if needed; nothing has changed after an error.
    #[inline(always)]
    pub(super) fn insert(
        &mut self,
        placement: AnyPlacement,
        kicks: Kicks,
        key: &Candidates,
    ) -> Result<(), FullCause> {
        match &mut self.table {
            Table::Octets(table) => insert_into::<true, _>(table, placement, kicks, key)?,
            table => insert_into_unusual(table, placement, kicks, key)?,
        }
        self.len += 1;
        Ok(())
    }

    /// Puts a key into one of its buckets if either has room.
    pub(super) fn place(&mut self, key: &Candidates) -> bool {
        let placed = with_table!(&mut self.table, table => {
            table.place_in_emptier::<true>(key.home, key.alternate, key.fingerprint)
        });
        self.len += usize::from(placed);
        placed
    }

    /// Puts a fingerprint into this very bucket if it has room.
    pub(super) fn place_at(&mut self, bucket: BucketIndex, entry: Fingerprint) -> bool {
        let placed = with_table!(&mut self.table, table => table.place(bucket, entry).is_some());
        self.len += usize::from(placed);
        placed
    }

    /// Takes a fingerprint out of this very bucket.
    pub(super) fn remove_at(&mut self, bucket: BucketIndex, entry: Fingerprint) {
        with_table!(&mut self.table, table => {
            if let Some(slot) = table.find(bucket, entry) {
                table.clear_slot(bucket, slot);
                self.len -= 1;
            }
        });
    }

    #[inline(always)]
    pub(super) fn remove(&mut self, key: &Candidates) -> bool {
        let removed = match &mut self.table {
            Table::Octets(table) => {
                table.remove_from_either::<true>(key.home, key.alternate, key.fingerprint)
            }
            table => removed_from_unusual(table, key),
        };
        self.len -= usize::from(removed);
        removed
    }

    /// The free slots of a bucket.
    pub(super) fn free(&self, bucket: BucketIndex) -> u32 {
        with_table!(&self.table, table => table.count(bucket, Fingerprint::EMPTY))
    }

    pub(super) fn entries(&self, bucket: BucketIndex) -> impl Iterator<Item = Fingerprint> + use<> {
        let entries: [Fingerprint; MAX_SLOTS] =
            with_table!(&self.table, table => table.entries(bucket));
        entries.into_iter().filter(|&entry| entry != Fingerprint::EMPTY)
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.table.heap_bytes()
    }
}

// Work on the usual table is inlined into the caller. With every kind of table inlined there,
// none of them would get enough registers: the others are served here.

#[inline(never)]
fn contained_in_unusual(table: &Table, key: &Candidates) -> bool {
    with_table!(table, table => {
        table.contains_either(key.home, key.alternate, key.fingerprint)
    })
}

#[inline(never)]
fn insert_into_unusual(
    table: &mut Table,
    placement: AnyPlacement,
    kicks: Kicks,
    key: &Candidates,
) -> Result<(), FullCause> {
    with_table!(table, table => insert_into::<true, _>(table, placement, kicks, key))
}

#[inline(never)]
fn removed_from_unusual(table: &mut Table, key: &Candidates) -> bool {
    with_table!(table, table => {
        table.remove_from_either::<true>(key.home, key.alternate, key.fingerprint)
    })
}
