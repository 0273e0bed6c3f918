//! Buckets of packed fingerprints. Knows bits and slots, nothing of keys, candidates or policy.
//!
//! Two layouts stand behind one trait: [`Packed`] holds the fingerprints side by side,
//! [`SemiSorted`] sorts the four of a bucket and saves one bit for each. Either finds a fingerprint in
//! a bucket by word operations on all slots at once (`lanes`).

mod lanes;
mod packed;
mod pages;
mod runs;
mod semi_sorted;
mod vector;
mod whole;

pub use lanes::WINDOW;
pub(crate) use lanes::fits;
pub use packed::Packed;
pub use runs::{OutOfMemory, Runs, Spot};
pub use semi_sorted::SemiSorted;

use core::ops::RangeInclusive;

use crate::placement::{BucketIndex, Fingerprint, FingerprintSize};

/// The most slots a bucket can have.
pub const MAX_SLOTS: usize = 8;

/// What a filter asks of its table. Bucket positions must be below the table's number of buckets
/// and slots below the number of slots in a bucket.
pub trait Buckets {
    /// Where a bucket starts.
    fn spot(&self, bucket: BucketIndex) -> Spot;

    /// Whether one of the buckets that start at two spots holds the fingerprint.
    fn spots_contain(&self, a: Spot, b: Spot, fingerprint: Fingerprint) -> bool;

    #[inline]
    fn contains_either(&self, a: BucketIndex, b: BucketIndex, fingerprint: Fingerprint) -> bool {
        self.spots_contain(self.spot(a), self.spot(b), fingerprint)
    }

    /// How many slots of a bucket hold exactly this: with [`Fingerprint::EMPTY`], how many are
    /// free.
    fn count(&self, bucket: BucketIndex, fingerprint: Fingerprint) -> u32;

    /// The first slot of a bucket that holds exactly this.
    fn find(&self, bucket: BucketIndex, fingerprint: Fingerprint) -> Option<u32>;

    /// What the slots of a bucket hold, in order; unused places of the array are empty.
    fn entries(&self, bucket: BucketIndex) -> [Fingerprint; MAX_SLOTS];

    /// Puts a fingerprint into a free slot, if there is one, and says which.
    fn place(&mut self, bucket: BucketIndex, fingerprint: Fingerprint) -> Option<u32>;

    /// Puts a fingerprint into the emptier of two buckets, the first if they are alike, and says
    /// whether either had room. `SINGLE`: not one of a batch, see
    /// `flip_either`.
    #[inline]
    fn place_in_emptier<const SINGLE: bool>(
        &mut self,
        a: BucketIndex,
        b: BucketIndex,
        new: Fingerprint,
    ) -> bool {
        let (free_a, free_b) =
            (self.count(a, Fingerprint::EMPTY), self.count(b, Fingerprint::EMPTY));
        self.place(if free_a >= free_b { a } else { b }, new).is_some()
    }

    /// Takes a fingerprint out of one of two buckets, the first if it is in both, and says whether
    /// it was in either. `SINGLE`: not one of a batch, see
    /// `flip_either`.
    #[inline]
    fn remove_from_either<const SINGLE: bool>(
        &mut self,
        a: BucketIndex,
        b: BucketIndex,
        old: Fingerprint,
    ) -> bool {
        [a, b].into_iter().any(|bucket| {
            let slot = self.find(bucket, old);
            if let Some(slot) = slot {
                self.clear_slot(bucket, slot);
            }
            slot.is_some()
        })
    }

    /// Empties a slot.
    fn clear_slot(&mut self, bucket: BucketIndex, slot: u32);

    /// Makes a bucket hold what `entries` once said, slot by slot.
    #[cfg_attr(not(feature = "lab"), allow(dead_code, reason = "for tables that undo"))]
    fn restore(&mut self, bucket: BucketIndex, entries: [Fingerprint; MAX_SLOTS]);

    #[inline]
    fn prefetch(&self, spot: Spot) {
        self.runs().prefetch(spot);
    }

    fn slots_per_bucket(&self) -> u32;

    #[cfg_attr(not(feature = "lab"), allow(dead_code, reason = "for tables that grow"))]
    fn runs_per_bucket(&self) -> u64;

    /// Whether the bits of a bucket are ones that this table writes.
    fn is_valid(&self, bucket: BucketIndex) -> bool;

    /// The memory under the buckets.
    fn runs(&self) -> &Runs;

    fn runs_mut(&mut self) -> &mut Runs;
}

/// How the fingerprints of a bucket are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    Packed,
    SemiSorted,
}

impl Layout {
    pub const ALL: [Self; 2] = [Self::Packed, Self::SemiSorted];

    pub fn id(self) -> u8 {
        self as u8
    }

    pub fn from_id(id: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|layout| layout.id() == id)
    }

    /// The numbers of slots in a bucket that the layout has tables for.
    pub fn slots_per_bucket(self) -> &'static [u32] {
        match self {
            Self::Packed => &[1, 2, 3, 4, 5, 6, 7, 8],
            Self::SemiSorted => &[semi_sorted::SLOTS],
        }
    }

    /// The lengths of a fingerprint that the layout has tables for.
    pub fn fingerprint_bits(self) -> RangeInclusive<u32> {
        match self {
            Self::Packed => FingerprintSize::MIN_BITS..=FingerprintSize::MAX_BITS,
            Self::SemiSorted => semi_sorted::MIN_WIDTH..=FingerprintSize::MAX_BITS,
        }
    }
}

/// Fingerprint length, slots in a bucket and layout: what fixes the size of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketShape {
    pub fingerprint_bits: u32,
    pub slots_per_bucket: u32,
    pub layout: Layout,
}

impl BucketShape {
    /// Whether there is a table of this shape.
    pub fn exists(self) -> bool {
        self.layout.slots_per_bucket().contains(&self.slots_per_bucket)
            && self.layout.fingerprint_bits().contains(&self.fingerprint_bits)
    }

    pub fn bucket_bits(self) -> u32 {
        let packed = self.fingerprint_bits * self.slots_per_bucket;
        match self.layout {
            Layout::Packed => packed,
            Layout::SemiSorted => packed - semi_sorted::BITS_SAVED,
        }
    }

    /// The length of the payload of a table, saturating.
    pub fn payload_bytes(self, buckets: u64) -> u64 {
        Runs::payload_bytes(buckets, self.bucket_bits())
    }
}

/// Packed buckets that are whole bytes and fit a word.
pub(crate) type Octets = Packed<u64, 1, true>;

/// A table of some shape. Each variant is the narrowest word that holds a bucket wherever its
/// first bit falls within a byte.
#[derive(Clone)]
pub enum Table {
    /// The usual one: every bucket starts with a byte.
    Octets(Octets),
    Word(Packed<u64, 1, false>),
    Wide(Packed<u128, 1, false>),
    Halves(Packed<u128, 2, false>),
    Fifths(Packed<u64, 5, false>),
    Sevenths(Packed<u64, 7, false>),
    SortedWord(SemiSorted<u64>),
    SortedWide(SemiSorted<u128>),
}

/// Runs the same expression on whichever table it is, so that everything above a table is
/// compiled for each kind and the choice is made once per operation.
#[cfg_attr(feature = "lab", macro_export)]
#[doc(hidden)]
macro_rules! with_table {
    ($table:expr, $name:ident => $body:expr) => {
        match $table {
            $crate::table::Table::Octets($name) => $body,
            $crate::table::Table::Word($name) => $body,
            $crate::table::Table::Wide($name) => $body,
            $crate::table::Table::Halves($name) => $body,
            $crate::table::Table::Fifths($name) => $body,
            $crate::table::Table::Sevenths($name) => $body,
            $crate::table::Table::SortedWord($name) => $body,
            $crate::table::Table::SortedWide($name) => $body,
        }
    };
}
pub(crate) use with_table;

impl Table {
    /// An empty table; the shape has been checked by the builder or decoder.
    pub fn new(shape: BucketShape, buckets: u32) -> Result<Self, OutOfMemory> {
        Self::over(shape, |count, bits| Runs::new(u64::from(buckets) * count, bits))
    }

    /// The table that a payload of the right length holds.
    pub fn from_payload(
        shape: BucketShape,
        buckets: u32,
        payload: Vec<u8>,
    ) -> Result<Self, OutOfMemory> {
        Self::over(shape, |count, bits| {
            Runs::from_payload(payload, u64::from(buckets) * count, bits)
        })
    }

    /// Picks the table for a shape. The memory under it has as many runs per bucket, and bits per
    /// run, as that table needs.
    fn over(
        shape: BucketShape,
        runs: impl FnOnce(u64, u32) -> Result<Runs, OutOfMemory>,
    ) -> Result<Self, OutOfMemory> {
        let BucketShape { fingerprint_bits: width, slots_per_bucket: slots, layout } = shape;
        let bits = shape.bucket_bits();
        Ok(match layout {
            Layout::SemiSorted if fits::<u64>(bits) => {
                Self::SortedWord(SemiSorted::new(width, runs(1, bits)?))
            }
            Layout::SemiSorted => Self::SortedWide(SemiSorted::new(width, runs(1, bits)?)),
            Layout::Packed if bits.is_multiple_of(8) && fits::<u64>(bits) => {
                Self::Octets(Packed::new(width, slots, runs(1, bits)?))
            }
            Layout::Packed if fits::<u64>(bits) => {
                Self::Word(Packed::new(width, slots, runs(1, bits)?))
            }
            Layout::Packed if fits::<u128>(bits) => {
                Self::Wide(Packed::new(width, slots, runs(1, bits)?))
            }
            // Longer ones in equal parts. An odd number of slots has no halves.
            Layout::Packed if slots == 5 => {
                Self::Fifths(Packed::new(width, slots, runs(5, width)?))
            }
            Layout::Packed if slots == 7 => {
                Self::Sevenths(Packed::new(width, slots, runs(7, width)?))
            }
            Layout::Packed => Self::Halves(Packed::new(width, slots, runs(2, bits / 2)?)),
        })
    }

    /// Adds empty buckets at the end, or takes buckets away there, up to this number.
    #[cfg(any(test, feature = "lab"))]
    pub fn resize(&mut self, buckets: u32) -> Result<(), OutOfMemory> {
        with_table!(self, table => {
            let parts = table.runs_per_bucket();
            table.runs_mut().resize(u64::from(buckets) * parts)
        })
    }

    /// Asks the system for huge pages, if the table is large enough to gain from them.
    pub fn ask_for_huge_pages(&mut self) {
        with_table!(self, table => table.runs_mut().ask_for_huge_pages());
    }

    /// All memory that the table holds beside itself.
    pub fn heap_bytes(&self) -> usize {
        with_table!(self, table => table.runs().heap_bytes())
    }
}

#[cfg(test)]
mod tests;
