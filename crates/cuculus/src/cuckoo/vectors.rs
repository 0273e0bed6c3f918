//! Lookups of several keys at once in the usual filter: candidates and comparisons are worked out in the
//! lanes of a vector, and the buckets of a group of keys are prefetched while the group before is
//! compared.
//!
//! Eight keys in vectors of AVX-512, with its instruction that gathers eight words, took an eighth longer
//! than these four on an AMD EPYC of family 1Ah, and more out of cache.
#![allow(
    unsafe_code,
    reason = "vector instructions, and buckets whose bounds follow from the placement"
)]

use core::arch::x86_64::{
    __m256i, _mm_castpd_si128, _mm_castsi128_pd, _mm_loadh_pd, _mm_loadl_epi64,
    _mm256_add_epi64 as plus, _mm256_and_si256 as and, _mm256_andnot_si256 as and_not,
    _mm256_castsi256_pd, _mm256_cmpeq_epi64, _mm256_loadu_si256, _mm256_movemask_pd,
    _mm256_mul_epu32 as times, _mm256_or_si256 as or, _mm256_set_m128i, _mm256_set1_epi64x,
    _mm256_setzero_si256, _mm256_slli_epi64, _mm256_srli_epi64, _mm256_storeu_si256,
    _mm256_sub_epi64 as minus, _mm256_xor_si256 as xor,
};

use super::straight::Straight;
use crate::KeyHash;
use crate::batch::GROUP;
use crate::placement::{Chunked, FingerprintSize, Placement};
use crate::prefetch::prefetch_at;
use crate::table::{Buckets, Octets};
use crate::wide::Avx2;

/// The keys whose numbers of 64 bits fill a vector.
const LANES: usize = 4;

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
        _: Avx2,
        keys: &[K],
        hash: impl Fn(&K) -> KeyHash,
        hits: &mut [bool],
    ) -> usize {
        // SAFETY: `Avx2` says that the processor has the features.
        unsafe { look_up(self, keys, hash, hits) }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn look_up<K>(
    lookup: &Lookup<'_>,
    keys: &[K],
    hash: impl Fn(&K) -> KeyHash,
    hits: &mut [bool],
) -> usize {
    let (keys, _) = keys.as_chunks::<GROUP>();
    let (hits, _) = hits.as_chunks_mut::<GROUP>();
    let mut coming = keys.iter();
    let Some(first) = coming.next() else { return 0 };
    let none = Group { homes: [0; GROUP], alternates: [0; GROUP], patterns: [0; GROUP] };
    let mut groups = [none; 2];
    let [mut this, mut next] = groups.each_mut();
    prepare(lookup, first, &hash, this);
    for hits in hits {
        if let Some(keys) = coming.next() {
            prepare(lookup, keys, &hash, next);
        }
        // SAFETY: the group was prepared.
        unsafe { compare(lookup, this, hits) };
        core::mem::swap(&mut this, &mut next);
    }
    keys.len() * GROUP
}

/// Works out where the keys of a group may be, and prefetches it.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn prepare<K>(
    lookup: &Lookup<'_>,
    keys: &[K; GROUP],
    hash: &impl Fn(&K) -> KeyHash,
    group: &mut Group,
) {
    let (factor, mask) = lookup.placement.factor_and_mask();
    let (ones, _) = lookup.lane_ends;
    let values = splat(lookup.size.values().into());
    let buckets = splat(lookup.placement.buckets().into());
    let (factor, mask) = (splat(factor.into()), splat(mask.into()));
    let (stride, one) = (splat(lookup.stride as u64), splat(1));
    let (low_ones, high_ones) = (splat(ones), splat(ones >> 32));
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
        let hash = load(&hashes);
        let fingerprint = plus(high(times(hash, values)), one);
        let home = high(plus(times(high(hash), buckets), high(times(hash, buckets))));
        let alternate = xor(home, and(or(times(fingerprint, factor), one), mask));
        // A product of 64 bits from two of 32.
        let upper = _mm256_slli_epi64::<32>(times(fingerprint, high_ones));
        store(times(home, stride), &mut homes[i]);
        store(times(alternate, stride), &mut alternates[i]);
        store(plus(times(fingerprint, low_ones), upper), &mut patterns[i]);
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
/// The group was made by [`prepare`].
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn compare(lookup: &Lookup<'_>, group: &Group, hits: &mut [bool; GROUP]) {
    let (homes, _) = group.homes.as_chunks::<LANES>();
    let (alternates, _) = group.alternates.as_chunks::<LANES>();
    let (patterns, _) = group.patterns.as_chunks::<LANES>();
    let (hits, _) = hits.as_chunks_mut::<LANES>();
    let (ones, highs) = (splat(lookup.lane_ends.0), splat(lookup.lane_ends.1));
    for (i, hits) in hits.iter_mut().enumerate() {
        let pattern = load(&patterns[i]);
        // SAFETY: the distances are those of buckets of the table (`Straight`), which has eight bytes
        // from the start of every bucket on.
        let [a, b] = unsafe {
            let base = lookup.bytes.as_ptr();
            [load_at(base, &homes[i]), load_at(base, &alternates[i])]
        };
        let (a, b) = (xor(a, pattern), xor(b, pattern));
        let zeros = or(and_not(a, minus(a, ones)), and_not(b, minus(b, ones)));
        let none = _mm256_cmpeq_epi64(and(zeros, highs), _mm256_setzero_si256());
        // The lowest four bits: a product moves each to a byte of its own.
        let found = !_mm256_movemask_pd(_mm256_castsi256_pd(none)) as u32 & 15;
        *hits = ((found * 0x0020_4081) & 0x0101_0101).to_le_bytes().map(|byte| byte != 0);
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn splat(value: u64) -> __m256i {
    _mm256_set1_epi64x(value as i64)
}

/// The high half of each number, moved to the low half.
#[inline]
#[target_feature(enable = "avx2")]
fn high(vector: __m256i) -> __m256i {
    _mm256_srli_epi64::<32>(vector)
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(values: &[u64; LANES]) -> __m256i {
    // SAFETY: the array has the length that is loaded.
    unsafe { _mm256_loadu_si256(values.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(vector: __m256i, values: &mut [u64; LANES]) {
    // SAFETY: the array has the length that is stored.
    unsafe { _mm256_storeu_si256(values.as_mut_ptr().cast(), vector) }
}

/// The eight bytes at each distance from `base`, one by one: the instruction that gathers them took a
/// third longer.
///
/// # Safety
/// They are within one object that starts at `base`.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load_at(base: *const u8, distances: &[u64; LANES]) -> __m256i {
    // SAFETY: the caller knows the distances.
    unsafe {
        let [a, b, c, d] = *distances;
        let [a, b] = [base.add(a as usize), base.add(b as usize)];
        let [c, d] = [base.add(c as usize), base.add(d as usize)];
        let low = _mm_loadh_pd(_mm_castsi128_pd(_mm_loadl_epi64(a.cast())), b.cast());
        let high = _mm_loadh_pd(_mm_castsi128_pd(_mm_loadl_epi64(c.cast())), d.cast());
        _mm256_set_m128i(_mm_castpd_si128(high), _mm_castpd_si128(low))
    }
}
