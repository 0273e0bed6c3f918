//! The usual filter: buckets of whole bytes under the placement of chunks. Its operations are one
//! straight path without a look at the bounds, short enough to be inlined into the caller, so that several
//! in a row fit the processor's window and wait for memory together.
#![allow(unsafe_code, reason = "buckets whose bounds follow from the placement")]

use super::room::{Candidates, Kicks, insert_overflowing};
use crate::placement::{AnyPlacement, Chunked, FingerprintSize, Placement};
use crate::table::{Octets, Table};
use crate::{FullCause, KeyHash};

/// A table, and a placement that has no more buckets than the table.
///
/// With that, every candidate is a bucket of the table: a home is the high half of a hash times the number
/// of buckets, and so below that number, which is not zero; an alternate differs from it only in bits of
/// the mask of a chunk, and chunks are aligned and fill the placement ([`Chunked::new`]).
pub(super) struct Straight<T> {
    table: T,
    placement: Chunked,
    size: FingerprintSize,
}

impl<T> Straight<T> {
    #[inline(always)]
    fn candidates(&self, hash: KeyHash) -> Candidates {
        Candidates::of(self.placement, self.size, hash)
    }
}

impl<'a> Straight<&'a Octets> {
    /// `None` if the filter is another.
    #[inline(always)]
    pub(super) fn of(
        table: &'a Table,
        placement: AnyPlacement,
        size: FingerprintSize,
    ) -> Option<Self> {
        match (table, placement) {
            (Table::Octets(table), AnyPlacement::Chunked(placement))
                if u64::from(placement.buckets()) <= table.buckets() =>
            {
                Some(Self { table, placement, size })
            }
            _ => None,
        }
    }

    #[inline(always)]
    pub(super) fn contains(&self, hash: KeyHash) -> bool {
        let key = self.candidates(hash);
        // SAFETY: candidates are buckets of the table, as said above.
        unsafe { self.table.whole_contain::<false>(key.home, key.alternate, key.fingerprint) }
    }

    /// The table, the placement and the size of fingerprints.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn parts(&self) -> (&'a Octets, Chunked, FingerprintSize) {
        (self.table, self.placement, self.size)
    }
}

impl<'a> Straight<&'a mut Octets> {
    /// `None` if the filter is another.
    #[inline(always)]
    pub(super) fn of_mut(
        table: &'a mut Table,
        placement: AnyPlacement,
        size: FingerprintSize,
    ) -> Option<Self> {
        match (table, placement) {
            (Table::Octets(table), AnyPlacement::Chunked(placement))
                if u64::from(placement.buckets()) <= table.buckets() =>
            {
                Some(Self { table, placement, size })
            }
            _ => None,
        }
    }

    #[inline(always)]
    pub(super) fn insert(self, kicks: Kicks, hash: KeyHash) -> Result<(), FullCause> {
        let key = self.candidates(hash);
        // SAFETY: as for `contains`.
        let placed = unsafe {
            let (a, b) = (key.home, key.alternate);
            self.table.place_in_emptier_whole::<false, true>(a, b, key.fingerprint)
        };
        if placed { Ok(()) } else { insert_overflowing(self.table, self.placement, kicks, &key) }
    }

    #[inline(always)]
    pub(super) fn remove(self, hash: KeyHash) -> bool {
        let key = self.candidates(hash);
        // SAFETY: as for `contains`.
        unsafe {
            let (a, b) = (key.home, key.alternate);
            self.table.remove_from_either_whole::<false, true>(a, b, key.fingerprint)
        }
    }
}
