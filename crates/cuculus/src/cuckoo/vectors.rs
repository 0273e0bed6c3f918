//! Lookups of several keys at once in the usual filter: candidates and comparisons are worked out in the
//! lanes of a vector, and the buckets of a group of keys are prefetched while the group before is
//! compared.
//!
//! The work is written once, for any [`Vector`]; the two kinds of vectors differ in the names of their
//! instructions, and in how they load: eight words by one instruction, but four one by one. (On the
//! AMD processor that this was measured on, an instruction that loads four took a third longer.)
//!
//! No closure here has to do with vectors: one that is not inlined would be compiled without their
//! instructions.
#![allow(
    unsafe_code,
    reason = "vector instructions, and buckets whose bounds follow from the placement"
)]

use core::arch::x86_64::*;

use super::straight::Straight;
use crate::KeyHash;
use crate::batch::GROUP;
use crate::placement::{Chunked, FingerprintSize, Placement};
use crate::prefetch::prefetch_at;
use crate::table::{Buckets, Octets};
use crate::wide::Vectors;

/// Lookups in the table of a [`Straight`], in which every candidate is a bucket of the table.
pub(super) struct Lookup<'a> {
    bytes: &'a [u8],
    stride: usize,
    lane_ends: (u64, u64),
    placement: Chunked,
    size: FingerprintSize,
}

/// Where the keys of a group may be, in bytes from the start of the table, and their fingerprints in
/// every slot of a bucket.
#[derive(Clone, Copy)]
struct Group {
    homes: [u64; GROUP],
    alternates: [u64; GROUP],
    patterns: [u64; GROUP],
}

impl<'a> Lookup<'a> {
    pub(super) fn new(straight: &Straight<&'a Octets>) -> Self {
        let (table, placement, size) = straight.parts();
        let (bytes, stride) = table.runs().bytes_and_stride();
        Self { bytes, stride, lane_ends: table.lane_ends(), placement, size }
    }

    /// Looks up as many keys as fill whole groups, and says how many.
    pub(super) fn look_up<K>(
        &self,
        vectors: Vectors,
        keys: &[K],
        hash: impl Fn(&K) -> KeyHash,
        hits: &mut [bool],
    ) -> usize {
        // SAFETY: `Vectors` says that the processor has the features.
        unsafe {
            match vectors {
                Vectors::Avx2 => look_up_by_four(self, keys, hash, hits),
                Vectors::Avx512 => look_up_by_eight(self, keys, hash, hits),
            }
        }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn look_up_by_four<K>(
    lookup: &Lookup<'_>,
    keys: &[K],
    hash: impl Fn(&K) -> KeyHash,
    hits: &mut [bool],
) -> usize {
    // SAFETY: AVX2 is present.
    unsafe { look_up::<__m256i, 4, K>(lookup, keys, hash, hits) }
}

#[target_feature(enable = "avx512f,avx2,bmi1,bmi2,lzcnt,popcnt")]
fn look_up_by_eight<K>(
    lookup: &Lookup<'_>,
    keys: &[K],
    hash: impl Fn(&K) -> KeyHash,
    hits: &mut [bool],
) -> usize {
    // SAFETY: AVX-512F is present.
    unsafe { look_up::<__m512i, 8, K>(lookup, keys, hash, hits) }
}

/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn look_up<V: Vector<LANES>, const LANES: usize, K>(
    lookup: &Lookup<'_>,
    keys: &[K],
    hash: impl Fn(&K) -> KeyHash,
    hits: &mut [bool],
) -> usize {
    let (keys, _) = keys.as_chunks::<GROUP>();
    let (hits, _) = hits.as_chunks_mut::<GROUP>();
    let mut coming = keys.iter();
    let Some(first) = coming.next() else { return 0 };
    // SAFETY: the caller knows that the instructions are there.
    unsafe {
        let none = Group { homes: [0; GROUP], alternates: [0; GROUP], patterns: [0; GROUP] };
        let mut groups = [none; 2];
        let [mut this, mut next] = groups.each_mut();
        prepare::<V, LANES, K>(lookup, first, &hash, this);
        for hits in hits {
            if let Some(keys) = coming.next() {
                prepare::<V, LANES, K>(lookup, keys, &hash, next);
            }
            compare::<V, LANES>(lookup, this, hits);
            core::mem::swap(&mut this, &mut next);
        }
    }
    keys.len() * GROUP
}

/// Works out where the keys of a group may be, and prefetches it.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn prepare<V: Vector<LANES>, const LANES: usize, K>(
    lookup: &Lookup<'_>,
    keys: &[K; GROUP],
    hash: &impl Fn(&K) -> KeyHash,
    group: &mut Group,
) {
    let (factor, mask) = lookup.placement.factor_and_mask();
    let (ones, _) = lookup.lane_ends;
    let (keys, _) = keys.as_chunks::<LANES>();
    let (homes, _) = group.homes.as_chunks_mut::<LANES>();
    let (alternates, _) = group.alternates.as_chunks_mut::<LANES>();
    let (patterns, _) = group.patterns.as_chunks_mut::<LANES>();
    for (i, keys) in keys.iter().enumerate() {
        // As many as fill a vector, so that they stay in registers: a vector that is read from memory
        // just after its lanes were written there one by one is waited for. And in a loop: `map` of an
        // array is a call, and all vectors would be saved and loaded again.
        let mut hashes = [0; LANES];
        for (place, key) in hashes.iter_mut().zip(keys) {
            *place = hash(key).get();
        }
        // SAFETY: the caller knows that the instructions are there.
        unsafe {
            let values = V::splat(u64::from(lookup.size.values()));
            let buckets = V::splat(u64::from(lookup.placement.buckets()));
            let (factor, mask) = (V::splat(u64::from(factor)), V::splat(u64::from(mask)));
            let (stride, one) = (V::splat(lookup.stride as u64), V::splat(1));
            let hash = V::load(&hashes);
            let fingerprint = hash.times(values).high().plus(one);
            let home = hash.high().times(buckets).plus(hash.times(buckets).high()).high();
            let alternate = home.xor(fingerprint.times(factor).or(one).and(mask));
            // A product of 64 bits from two of 32.
            let (low, high) = (V::splat(ones), V::splat(ones >> 32));
            let pattern = fingerprint.times(low).plus(fingerprint.times(high).low_to_high());
            home.times(stride).store(&mut homes[i]);
            alternate.times(stride).store(&mut alternates[i]);
            pattern.store(&mut patterns[i]);
        }
        // Two loops of known length, which are written out, and not one over both.
        for distance in homes[i] {
            prefetch_at(lookup.bytes.as_ptr().wrapping_add(distance as usize));
        }
        for distance in alternates[i] {
            prefetch_at(lookup.bytes.as_ptr().wrapping_add(distance as usize));
        }
    }
}

/// Compares what the buckets of a group hold with the fingerprints of its keys.
///
/// # Safety
/// The processor has the instructions of `V`, and the group was made by [`prepare`].
#[inline(always)]
unsafe fn compare<V: Vector<LANES>, const LANES: usize>(
    lookup: &Lookup<'_>,
    group: &Group,
    hits: &mut [bool; GROUP],
) {
    let (homes, _) = group.homes.as_chunks::<LANES>();
    let (alternates, _) = group.alternates.as_chunks::<LANES>();
    let (patterns, _) = group.patterns.as_chunks::<LANES>();
    let (hits, _) = hits.as_chunks_mut::<LANES>();
    let (ones, highs) = lookup.lane_ends;
    for (i, hits) in hits.iter_mut().enumerate() {
        // SAFETY: the caller knows that the instructions are there. The distances are those of buckets
        // of the table (`Straight`), which has eight bytes from the start of every bucket on.
        unsafe {
            let (ones, highs) = (V::splat(ones), V::splat(highs));
            let pattern = V::load(&patterns[i]);
            let a = V::load_at(lookup.bytes.as_ptr(), &homes[i]).xor(pattern);
            let b = V::load_at(lookup.bytes.as_ptr(), &alternates[i]).xor(pattern);
            let zeros = a.minus(ones).and_not(a).or(b.minus(ones).and_not(b));
            *hits = zeros.and(highs).not_zero();
        }
    }
}

/// Vectors of `LANES` numbers of 64 bits.
///
/// # Safety
/// Every function needs the instructions of its type.
trait Vector<const LANES: usize>: Copy {
    unsafe fn splat(value: u64) -> Self;
    unsafe fn load(values: &[u64; LANES]) -> Self;
    unsafe fn store(self, values: &mut [u64; LANES]);
    /// The eight bytes at each distance from `base`.
    ///
    /// # Safety
    /// They are within one object that starts at `base`.
    unsafe fn load_at(base: *const u8, distances: &[u64; LANES]) -> Self;
    /// The product of the low halves.
    unsafe fn times(self, other: Self) -> Self;
    unsafe fn plus(self, other: Self) -> Self;
    unsafe fn minus(self, other: Self) -> Self;
    unsafe fn and(self, other: Self) -> Self;
    /// The bits of this one that are not in the other.
    unsafe fn and_not(self, other: Self) -> Self;
    unsafe fn or(self, other: Self) -> Self;
    unsafe fn xor(self, other: Self) -> Self;
    /// The high half, moved to the low half.
    unsafe fn high(self) -> Self;
    unsafe fn low_to_high(self) -> Self;
    /// Which lanes are not zero.
    unsafe fn not_zero(self) -> [bool; LANES];
}

/// Writes a function of [`Vector`] as one instruction.
macro_rules! instructions {
    ($($name:ident($self:ident $(, $other:ident)?) = $instruction:expr;)*) => {$(
        #[inline(always)]
        unsafe fn $name($self $(, $other: Self)?) -> Self {
            // SAFETY: the caller knows that the instruction is there.
            unsafe { $instruction }
        }
    )*};
}

impl Vector<4> for __m256i {
    instructions! {
        times(self, b) = _mm256_mul_epu32(self, b);
        plus(self, b) = _mm256_add_epi64(self, b);
        minus(self, b) = _mm256_sub_epi64(self, b);
        and(self, b) = _mm256_and_si256(self, b);
        and_not(self, b) = _mm256_andnot_si256(b, self);
        or(self, b) = _mm256_or_si256(self, b);
        xor(self, b) = _mm256_xor_si256(self, b);
        high(self) = _mm256_srli_epi64::<32>(self);
        low_to_high(self) = _mm256_slli_epi64::<32>(self);
    }

    #[inline(always)]
    unsafe fn splat(value: u64) -> Self {
        // SAFETY: the caller knows that the instruction is there.
        unsafe { _mm256_set1_epi64x(value as i64) }
    }

    #[inline(always)]
    unsafe fn load(values: &[u64; 4]) -> Self {
        // SAFETY: as above; the array has the length that is loaded.
        unsafe { _mm256_loadu_si256(values.as_ptr().cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, values: &mut [u64; 4]) {
        // SAFETY: as above; the array has the length that is stored.
        unsafe { _mm256_storeu_si256(values.as_mut_ptr().cast(), self) }
    }

    #[inline(always)]
    unsafe fn load_at(base: *const u8, distances: &[u64; 4]) -> Self {
        // SAFETY: as above, and the caller knows the distances.
        unsafe {
            let [a, b, c, d] = *distances;
            let [a, b] = [base.add(a as usize), base.add(b as usize)];
            let [c, d] = [base.add(c as usize), base.add(d as usize)];
            let low = _mm_castsi128_pd(_mm_loadl_epi64(a.cast()));
            let high = _mm_castsi128_pd(_mm_loadl_epi64(c.cast()));
            let low = _mm256_castpd128_pd256(_mm_loadh_pd(low, b.cast()));
            let high = _mm_loadh_pd(high, d.cast());
            _mm256_castpd_si256(_mm256_insertf128_pd::<1>(low, high))
        }
    }

    #[inline(always)]
    unsafe fn not_zero(self) -> [bool; 4] {
        // SAFETY: as above.
        let zero = unsafe {
            let lanes = _mm256_cmpeq_epi64(self, _mm256_setzero_si256());
            _mm256_movemask_pd(_mm256_castsi256_pd(lanes))
        };
        bools(!zero as u32)
    }
}

impl Vector<8> for __m512i {
    instructions! {
        times(self, b) = _mm512_mul_epu32(self, b);
        plus(self, b) = _mm512_add_epi64(self, b);
        minus(self, b) = _mm512_sub_epi64(self, b);
        and(self, b) = _mm512_and_si512(self, b);
        and_not(self, b) = _mm512_andnot_si512(b, self);
        or(self, b) = _mm512_or_si512(self, b);
        xor(self, b) = _mm512_xor_si512(self, b);
        high(self) = _mm512_srli_epi64::<32>(self);
        low_to_high(self) = _mm512_slli_epi64::<32>(self);
    }

    #[inline(always)]
    unsafe fn splat(value: u64) -> Self {
        // SAFETY: the caller knows that the instruction is there.
        unsafe { _mm512_set1_epi64(value as i64) }
    }

    #[inline(always)]
    unsafe fn load(values: &[u64; 8]) -> Self {
        // SAFETY: as above; the array has the length that is loaded.
        unsafe { _mm512_loadu_si512(values.as_ptr().cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, values: &mut [u64; 8]) {
        // SAFETY: as above; the array has the length that is stored.
        unsafe { _mm512_storeu_si512(values.as_mut_ptr().cast(), self) }
    }

    #[inline(always)]
    unsafe fn load_at(base: *const u8, distances: &[u64; 8]) -> Self {
        // SAFETY: as above, and the caller knows the distances.
        unsafe { _mm512_i64gather_epi64::<1>(Self::load(distances), base.cast()) }
    }

    #[inline(always)]
    unsafe fn not_zero(self) -> [bool; 8] {
        // SAFETY: as above.
        let mask = u32::from(unsafe { _mm512_test_epi64_mask(self, self) });
        let ([a, b, c, d], [e, f, g, h]) = (bools(mask), bools(mask >> 4));
        [a, b, c, d, e, f, g, h]
    }
}

/// The lowest four bits: a product moves each to a byte of its own.
#[inline(always)]
fn bools(mask: u32) -> [bool; 4] {
    (((mask & 15) * 0x0020_4081) & 0x0101_0101).to_le_bytes().map(|byte| byte != 0)
}
