//! The usual filter: buckets of whole bytes under the placement of chunks. Its operations are one
//! straight path without a look at the bounds, short enough to be inlined into the caller, so that several
//! in a row fit the processor's window and wait for memory together.
#![allow(unsafe_code, reason = "buckets whose bounds follow from the placement")]

use core::hint::unreachable_unchecked;

use super::room::Candidates;
use crate::KeyHash;
use crate::placement::{AnyPlacement, Chunked, FingerprintSize, Placement};
use crate::table::{Octets, Table};

/// The table of a filter and how keys find their buckets in it. Whether that is the usual filter is found
/// out once: an operation looks at one byte instead of three fields.
#[derive(Clone)]
pub(super) struct Body {
    table: Table,
    placement: AnyPlacement,
    size: FingerprintSize,
    /// Only true if the table is [`Octets`], the placement [`Chunked`], and there are as many buckets in
    /// the table as in the placement, or more. All three stay as [`new`](Self::new) has got them.
    is_straight: bool,
}

impl Body {
    pub(super) fn new(table: Table, placement: AnyPlacement, size: FingerprintSize) -> Self {
        let is_straight = match (&table, placement) {
            (Table::Octets(table), AnyPlacement::Chunked(placement)) => {
                u64::from(placement.buckets()) <= table.buckets()
            }
            _ => false,
        };
        Self { table, placement, size, is_straight }
    }

    #[inline]
    pub(super) fn table(&self) -> &Table {
        &self.table
    }

    /// For changes of what the buckets hold. The table must stay the one that it is.
    #[inline]
    pub(super) fn table_mut(&mut self) -> &mut Table {
        &mut self.table
    }

    #[inline]
    pub(super) fn placement(&self) -> AnyPlacement {
        self.placement
    }

    #[inline]
    pub(super) fn size(&self) -> FingerprintSize {
        self.size
    }

    /// Whether it is the usual filter.
    #[inline]
    pub(super) fn is_straight(&self) -> bool {
        self.is_straight
    }

    /// `None` if the filter is another.
    #[inline]
    pub(super) fn straight(&self) -> Option<Straight<&Octets>> {
        let Self { ref table, placement, size, is_straight } = *self;
        is_straight.then(|| match (table, placement) {
            (Table::Octets(table), AnyPlacement::Chunked(placement)) => {
                Straight { table, placement, size }
            }
            // SAFETY: `new` has seen that it is these, and none of them was replaced since.
            _ => unsafe { unreachable_unchecked() },
        })
    }

    /// `None` if the filter is another.
    #[inline]
    pub(super) fn straight_mut(&mut self) -> Option<Straight<&mut Octets>> {
        let Self { ref mut table, placement, size, is_straight } = *self;
        is_straight.then(|| match (table, placement) {
            (Table::Octets(table), AnyPlacement::Chunked(placement)) => {
                Straight { table, placement, size }
            }
            // SAFETY: as for `straight`.
            _ => unsafe { unreachable_unchecked() },
        })
    }
}

/// A table, and a placement that has no more buckets than the table. Made by [`Body`] alone.
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
    #[inline]
    fn candidates(&self, hash: KeyHash) -> Candidates {
        Candidates::of(self.placement, self.size, hash)
    }
}

impl<'a> Straight<&'a Octets> {
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

impl Straight<&mut Octets> {
    /// Puts a key into one of its buckets, and says whether there was room in either.
    #[inline(always)]
    pub(super) fn place(self, hash: KeyHash) -> bool {
        let key = self.candidates(hash);
        // SAFETY: as for `contains`.
        unsafe {
            let (a, b) = (key.home, key.alternate);
            self.table.place_in_emptier_whole::<false, true>(a, b, key.fingerprint)
        }
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
