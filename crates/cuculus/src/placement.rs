//! From a hash to a fingerprint and its two candidate buckets, and from either bucket to the
//! other. Knows numbers of buckets, nothing of what lies in them.

use crate::KeyHash;

/// A stored part of a key's hash: `1..2^bits`. Zero is kept for the empty slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(pub u32);

impl Fingerprint {
    /// What an empty slot holds.
    pub const EMPTY: Self = Self(0);
}

/// The position of a bucket in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketIndex(pub u32);

/// How a hash becomes a fingerprint of a given length.
///
/// The low half of the hash is scaled to `1..2^bits`, so that all values are equally likely and
/// two different keys agree with probability 1/(2^bits − 1). Mapping zero to one instead, as the
/// reference code does, makes one value twice as frequent and costs as much again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FingerprintSize {
    values: u32,
}

impl FingerprintSize {
    pub const MIN_BITS: u32 = 4;
    pub const MAX_BITS: u32 = 32;

    /// `bits` must be within `MIN_BITS..=MAX_BITS`; builders and decoders check it.
    pub fn new(bits: u32) -> Self {
        debug_assert!((Self::MIN_BITS..=Self::MAX_BITS).contains(&bits));
        Self { values: u32::MAX >> (32 - bits) }
    }

    /// The number of fingerprints.
    #[cfg(target_arch = "x86_64")]
    pub fn values(self) -> u32 {
        self.values
    }

    #[inline]
    pub fn fingerprint(self, hash: KeyHash) -> Fingerprint {
        let low = hash.get() & 0xffff_ffff;
        Fingerprint(((low * u64::from(self.values)) >> 32) as u32 + 1)
    }
}

/// The candidate buckets of a key: one from its hash, the other from that and its fingerprint.
///
/// Law: `alternate` is its own inverse for every bucket and fingerprint, and stays below
/// `buckets()`. Without it a relocated fingerprint could not be found again.
pub trait Placement: Copy {
    fn buckets(self) -> u32;

    fn alternate(self, bucket: BucketIndex, fingerprint: Fingerprint) -> BucketIndex;

    /// Scales the whole hash to the number of buckets: the high half of their product. The high
    /// bits decide; the fingerprint comes from the low ones.
    #[inline]
    fn home(self, hash: KeyHash) -> BucketIndex {
        BucketIndex(((u128::from(hash.get()) * u128::from(self.buckets())) >> 64) as u32)
    }

    /// The same by products of 32 bits, which compilers turn into vector instructions where one
    /// of 64 bits stays scalar; slower for a single key.
    #[inline]
    fn home_for_vectors(self, hash: KeyHash) -> BucketIndex {
        let (high, low) = (hash.get() >> 32, hash.get() & 0xffff_ffff);
        let buckets = u64::from(self.buckets());
        BucketIndex(((high * buckets + ((low * buckets) >> 32)) >> 32) as u32)
    }
}

/// The most buckets a table can have: positions, and their number, fit 32 bits.
pub(crate) const MAX_BUCKETS: u64 = u32::MAX as u64;

/// A well-mixed 32-bit value of a fingerprint. One multiplication alone would make the offsets of
/// consecutive fingerprints an arithmetic progression, and the candidate pairs of the any-size
/// form a lattice instead of a random graph.
#[inline]
fn spread(fingerprint: Fingerprint) -> u32 {
    let x = u64::from(fingerprint.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ (x >> 32)) as u32
}

/// Any number of buckets: the two candidates of a fingerprint add up to the same number,
/// modulo the number of buckets.
///
/// The sum is odd: then a bucket is its own alternate only if the number of buckets is odd, and
/// then for one bucket per fingerprint. (With two buckets and any sum, half of all fingerprints
/// would have one candidate only.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnySize {
    buckets: u32,
    even_part: u32,
    odd_bit: u32,
}

impl AnySize {
    pub(crate) fn new(buckets: u32) -> Self {
        Self { buckets, even_part: buckets & !1, odd_bit: u32::from(buckets > 1) }
    }
}

impl Placement for AnySize {
    #[inline]
    fn buckets(self) -> u32 {
        self.buckets
    }

    #[inline]
    fn alternate(self, bucket: BucketIndex, fingerprint: Fingerprint) -> BucketIndex {
        // Below even_part, and so is the odd number after an even one.
        let scaled = (u64::from(spread(fingerprint)) * u64::from(self.even_part)) >> 32;
        let sum = scaled as u32 | self.odd_bit;
        let wrap = if sum < bucket.0 { self.buckets } else { 0 };
        BucketIndex(sum.wrapping_sub(bucket.0).wrapping_add(wrap))
    }
}

/// The Cuckoo Filter paper's form (§3.1, Eq. 1): `i ⊕ hash(fingerprint)`, which needs a power of
/// two of buckets. The offset is odd for the reason given at [`AnySize`].
///
/// The simplified cuckoo filter's form is `i ⊕ fingerprint`, no second hash. With fewer
/// fingerprint values than buckets, a key's candidates stay within one aligned block of the
/// table, and the load that can be reached is that of the unluckiest block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Xor {
    mask: u32,
    is_simplified: bool,
}

/// Any number of aligned chunks, each a power of two of buckets: the paper's form within the chunk
/// of the home bucket.
///
/// A bucket stays below the number of buckets because that is a multiple of the chunk, which is
/// read off the number itself, so that nothing more has to be saved. The alternate is three
/// instructions after the product, where [`AnySize`] has a second product and a conditional
/// subtraction. The price is that chance fills some chunks more than others, and the fullest one
/// decides ([`analysis::chunked_load`](crate::analysis::chunked_load)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunked {
    buckets: u32,
    mask: u32,
}

impl Chunked {
    /// The smallest chunk. Smaller ones would fill too unevenly.
    pub(crate) const MIN_CHUNK: u64 = 1 << 12;
    /// The largest chunk: larger ones would fill no further.
    pub(crate) const MAX_CHUNK: u64 = 1 << 16;
    const FACTOR: u32 = 0x5bd1_e995;

    /// The buckets of a chunk: the largest power of two, up to the largest chunk, that divides
    /// the number of buckets.
    pub(crate) fn chunk(buckets: u64) -> u64 {
        (1 << buckets.trailing_zeros().min(63)).min(Self::MAX_CHUNK)
    }

    /// `buckets` must be a multiple of the smallest chunk, and not zero.
    pub(crate) fn new(buckets: u32) -> Self {
        // Not only while debugging: reading a bucket without looking at the bounds relies on it, and
        // on the chunk being a power of two that divides the number of buckets.
        assert!(PlacementKind::Chunked.accepts(u64::from(buckets)), "no number of chunks");
        Self { buckets, mask: (Self::chunk(u64::from(buckets)) - 1) as u32 }
    }

    /// What vectors of keys need to work out candidates: the factor of a fingerprint, and the bits of
    /// the product that are the offset, the lowest of them always one.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(crate) fn factor_and_mask(self) -> (u32, u32) {
        (Self::FACTOR, self.mask)
    }
}

impl Placement for Chunked {
    #[inline]
    fn buckets(self) -> u32 {
        self.buckets
    }

    #[inline]
    fn alternate(self, bucket: BucketIndex, fingerprint: Fingerprint) -> BucketIndex {
        let product = fingerprint.0.wrapping_mul(Self::FACTOR);
        BucketIndex(bucket.0 ^ ((product | 1) & self.mask))
    }
}

impl Xor {
    /// `buckets` must be a power of two.
    fn new(buckets: u32, is_simplified: bool) -> Self {
        debug_assert!(buckets.is_power_of_two());
        Self { mask: buckets - 1, is_simplified }
    }
}

impl Placement for Xor {
    #[inline]
    fn buckets(self) -> u32 {
        self.mask + 1
    }

    #[inline]
    fn alternate(self, bucket: BucketIndex, fingerprint: Fingerprint) -> BucketIndex {
        let offset = if self.is_simplified { fingerprint.0 } else { spread(fingerprint) >> 1 | 1 };
        BucketIndex(bucket.0 ^ (offset & self.mask))
    }
}

/// How a filter finds the second bucket of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[allow(unreachable_pub, reason = "public with the feature `lab`")]
pub enum PlacementKind {
    /// Any number of buckets, so the table is as large as needed and no larger.
    #[default]
    AnySize,
    /// The paper's `i ⊕ hash(fingerprint)`; the number of buckets is rounded up to a power of
    /// two.
    Xor,
    /// The simplified cuckoo filter's `i ⊕ fingerprint`; also a power of two, and a load that
    /// suffers when fingerprints are short and the table is large.
    Simplified,
    /// `i ⊕ hash(fingerprint)` within chunks of 2^12 to 2^16 buckets; any multiple of 2^12.
    Chunked,
}

impl PlacementKind {
    pub const ALL: [Self; 4] = [Self::AnySize, Self::Xor, Self::Simplified, Self::Chunked];

    /// The number of buckets that this form makes of at least `wanted`.
    pub fn round_up(self, wanted: u64) -> u64 {
        let wanted = wanted.max(1);
        match self {
            Self::AnySize => wanted,
            Self::Xor | Self::Simplified => wanted.checked_next_power_of_two().unwrap_or(u64::MAX),
            Self::Chunked => {
                wanted.checked_next_multiple_of(Chunked::MIN_CHUNK).unwrap_or(u64::MAX)
            }
        }
    }

    /// Whether a table of this many buckets can use the form.
    pub fn accepts(self, buckets: u64) -> bool {
        (1..=MAX_BUCKETS).contains(&buckets) && self.round_up(buckets) == buckets
    }

    pub fn id(self) -> u8 {
        self as u8
    }

    pub fn from_id(id: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.id() == id)
    }
}

/// One of the forms, chosen at run time. A filter's operations take the branch once per key, and
/// it always goes the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyPlacement {
    AnySize(AnySize),
    Xor(Xor),
    Chunked(Chunked),
}

impl AnyPlacement {
    /// `kind` must accept this number of buckets.
    pub fn new(kind: PlacementKind, buckets: u32) -> Self {
        match kind {
            PlacementKind::AnySize => Self::AnySize(AnySize::new(buckets)),
            PlacementKind::Xor => Self::Xor(Xor::new(buckets, false)),
            PlacementKind::Simplified => Self::Xor(Xor::new(buckets, true)),
            PlacementKind::Chunked => Self::Chunked(Chunked::new(buckets)),
        }
    }

    pub fn kind(self) -> PlacementKind {
        match self {
            Self::AnySize(_) => PlacementKind::AnySize,
            Self::Xor(Xor { is_simplified: false, .. }) => PlacementKind::Xor,
            Self::Xor(_) => PlacementKind::Simplified,
            Self::Chunked(_) => PlacementKind::Chunked,
        }
    }
}

impl Placement for AnyPlacement {
    #[inline]
    fn buckets(self) -> u32 {
        match self {
            Self::AnySize(form) => form.buckets(),
            Self::Xor(form) => form.buckets(),
            Self::Chunked(form) => form.buckets(),
        }
    }

    #[inline]
    fn alternate(self, bucket: BucketIndex, fingerprint: Fingerprint) -> BucketIndex {
        match self {
            Self::AnySize(form) => form.alternate(bucket, fingerprint),
            Self::Xor(form) => form.alternate(bucket, fingerprint),
            Self::Chunked(form) => form.alternate(bucket, fingerprint),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(kind: PlacementKind) -> Vec<u32> {
        let odd_chunks = [3 << 12, 5 << 13, 3 << 14, (1 << 16) - (1 << 12), 7 << 16, !0xfff];
        let sizes =
            [1, 2, 3, 4, 5, 7, 8, 64, 100, 1000, 1023, 1 << 20, 1_000_003, 1 << 31, u32::MAX];
        sizes.into_iter().chain(odd_chunks).filter(|&m| kind.accepts(u64::from(m))).collect()
    }

    /// The law of the layer, for every form, size and fingerprint length. (Taking the xor modulo
    /// a size that is no power of two breaks it for most pairs.)
    #[test]
    fn alternate_is_an_involution() {
        for kind in PlacementKind::ALL {
            for buckets in sizes(kind) {
                let placement = AnyPlacement::new(kind, buckets);
                assert_eq!((placement.buckets(), placement.kind()), (buckets, kind));
                for step in 0..2000u64 {
                    let hash = KeyHash::new(step.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                    let bits = 4 + (step % 29) as u32;
                    let fingerprint = FingerprintSize::new(bits).fingerprint(hash);
                    assert_eq!(placement.home_for_vectors(hash), placement.home(hash));
                    for bucket in [placement.home(hash), BucketIndex(0), BucketIndex(buckets - 1)] {
                        let other = placement.alternate(bucket, fingerprint);
                        assert!(bucket.0 < buckets && other.0 < buckets, "{kind:?} {buckets}");
                        assert_eq!(placement.alternate(other, fingerprint), bucket);
                    }
                }
            }
        }
    }

    #[test]
    fn even_tables_give_every_fingerprint_two_buckets() {
        for kind in [PlacementKind::AnySize, PlacementKind::Xor, PlacementKind::Chunked] {
            for buckets in [2, 4, 64, 1024, 3 << 12].into_iter().filter(|&m| kind.accepts(m)) {
                let buckets = buckets as u32;
                let placement = AnyPlacement::new(kind, buckets);
                for bucket in (0..buckets).map(BucketIndex) {
                    assert!(
                        (1..256).all(|f| placement.alternate(bucket, Fingerprint(f)) != bucket)
                    );
                }
            }
        }
    }

    #[test]
    fn fingerprints_are_never_empty_and_fit_their_bits() {
        for bits in FingerprintSize::MIN_BITS..=FingerprintSize::MAX_BITS {
            let size = FingerprintSize::new(bits);
            assert_eq!(size.fingerprint(KeyHash::new(0)).0, 1);
            assert_eq!(size.fingerprint(KeyHash::new(u64::MAX)).0, u32::MAX >> (32 - bits));
        }
    }

    /// Chi-squared over the 15 values of a 4-bit fingerprint and over 24 buckets.
    #[test]
    fn fingerprints_and_homes_are_uniform() {
        let (size, placement) = (FingerprintSize::new(4), AnySize::new(24));
        let (mut fingerprints, mut homes) = ([0f64; 15], [0f64; 24]);
        let n = 100_000;
        for key in 0..n {
            let hash = crate::KeyHasher::xxh3(1).hash(&key);
            fingerprints[size.fingerprint(hash).0 as usize - 1] += 1.0;
            homes[placement.home(hash).0 as usize] += 1.0;
        }
        for counts in [&fingerprints[..], &homes[..]] {
            let expected = f64::from(n) / counts.len() as f64;
            let chi2: f64 = counts.iter().map(|c| (c - expected).powi(2) / expected).sum();
            let freedom = counts.len() as f64 - 1.0;
            assert!((chi2 - freedom).abs() < 5.0 * (2.0 * freedom).sqrt(), "{chi2}");
        }
    }

    #[test]
    fn kinds_round_up_and_refuse_what_does_not_fit() {
        assert_eq!(PlacementKind::AnySize.round_up(0), 1);
        assert_eq!(PlacementKind::Xor.round_up(5), 8);
        assert_eq!(PlacementKind::Xor.round_up(u64::MAX), u64::MAX);
        assert!(!PlacementKind::Xor.accepts(5));
        assert!(!PlacementKind::Xor.accepts(1 << 32));
        assert!(!PlacementKind::AnySize.accepts(0));
        for kind in PlacementKind::ALL {
            assert_eq!(PlacementKind::from_id(kind.id()), Some(kind));
        }
        assert_eq!(PlacementKind::from_id(4), None);
        assert_eq!(PlacementKind::Chunked.round_up(4097), 8192);
        assert_eq!(PlacementKind::Chunked.round_up(u64::MAX), u64::MAX);
        assert!(!PlacementKind::Chunked.accepts(0) && !PlacementKind::Chunked.accepts(2048));
        assert!(!PlacementKind::Chunked.accepts(1 << 32));
        let chunks = [1 << 12, 3 << 12, 3 << 14, 1 << 16, 5 << 16, 1 << 20].map(Chunked::chunk);
        assert_eq!(chunks, [1 << 12, 1 << 12, 1 << 14, 1 << 16, 1 << 16, 1 << 16]);
    }
}
