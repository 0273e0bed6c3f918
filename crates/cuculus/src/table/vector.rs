//! The questions that vectors of the x86-64 baseline answer faster than words.
#![cfg(target_arch = "x86_64")]
#![allow(unsafe_code, reason = "vector instructions")]

use core::arch::x86_64::{
    __m128i, _mm_add_epi64, _mm_and_si128, _mm_andnot_si128, _mm_castpd_si128, _mm_castsi128_pd,
    _mm_cmpeq_epi8, _mm_cvtsi128_si64, _mm_loadh_pd, _mm_loadl_epi64, _mm_movemask_epi8,
    _mm_or_si128, _mm_set_epi64x, _mm_setzero_si128, _mm_sub_epi64, _mm_unpackhi_epi64,
    _mm_xor_si128,
};

use super::lanes::{Twice, WINDOW};

/// [`Word::either_has_zero`](super::lanes::Word::either_has_zero) for two words of 64 bits.
#[inline]
pub(super) fn either_has_zero(words: [u64; 2], ones: [u64; 2], highs: [u64; 2]) -> bool {
    // SAFETY: SSE2 is part of the x86-64 baseline, and none of these touches memory.
    unsafe {
        let [words, ones, highs] = [words, ones, highs].map(side_by_side);
        let zeros = _mm_andnot_si128(words, _mm_sub_epi64(words, ones));
        let zeros = _mm_and_si128(zeros, highs);
        _mm_movemask_epi8(_mm_cmpeq_epi8(zeros, _mm_setzero_si128())) != 0xffff
    }
}

/// [`Word::either_equal`](super::lanes::Word::either_equal) for words of 64 bits.
#[inline]
pub(super) fn either_equal(
    windows: [&[u8; WINDOW]; 2],
    pattern: u64,
    ones: Twice<u64>,
    highs: Twice<u64>,
) -> bool {
    let found = equal_in_lanes(windows, pattern, ones, highs);
    // SAFETY: as above.
    unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(found, _mm_setzero_si128())) != 0xffff }
}

/// [`Word::equal_in_each`](super::lanes::Word::equal_in_each) for words of 64 bits. What waits for
/// memory then waits in the queue of the vector units, and the queue that works out the addresses of
/// the next keys stays free: removing keys took half as long again without.
#[inline]
pub(super) fn equal_in_each(
    windows: [&[u8; WINDOW]; 2],
    pattern: u64,
    ones: Twice<u64>,
    highs: Twice<u64>,
) -> [u64; 2] {
    both_words(equal_in_lanes(windows, pattern, ones, highs))
}

/// [`Word::free_in_each`](super::lanes::Word::free_in_each) for words of 64 bits.
#[inline]
pub(super) fn zero_in_each(
    windows: [&[u8; WINDOW]; 2],
    lows: Twice<u64>,
    highs: Twice<u64>,
) -> [u64; 2] {
    let (lows, highs) = (side_by_side(lows.0), side_by_side(highs.0));
    // SAFETY: as above.
    both_words(unsafe {
        let words = load_words(windows);
        let sums = _mm_add_epi64(_mm_and_si128(words, lows), lows);
        _mm_andnot_si128(_mm_or_si128(sums, words), highs)
    })
}

#[inline]
fn equal_in_lanes(
    windows: [&[u8; WINDOW]; 2],
    pattern: u64,
    ones: Twice<u64>,
    highs: Twice<u64>,
) -> __m128i {
    let [pattern, ones, highs] = [[pattern; 2], ones.0, highs.0].map(side_by_side);
    // SAFETY: as above.
    unsafe {
        let words = _mm_xor_si128(load_words(windows), pattern);
        _mm_and_si128(_mm_andnot_si128(words, highs), _mm_sub_epi64(words, ones))
    }
}

/// The words in two windows, side by side, by two instructions.
#[inline]
fn load_words([a, b]: [&[u8; WINDOW]; 2]) -> __m128i {
    const { assert!(WINDOW >= 8) };
    // SAFETY: as above, and eight bytes can be read from each window.
    unsafe {
        let low = _mm_castsi128_pd(_mm_loadl_epi64(a.as_ptr().cast()));
        _mm_castpd_si128(_mm_loadh_pd(low, b.as_ptr().cast()))
    }
}

#[inline]
fn both_words(words: __m128i) -> [u64; 2] {
    // SAFETY: as above.
    unsafe {
        let high = _mm_unpackhi_epi64(words, words);
        [_mm_cvtsi128_si64(words) as u64, _mm_cvtsi128_si64(high) as u64]
    }
}

#[inline]
fn side_by_side([low, high]: [u64; 2]) -> __m128i {
    // SAFETY: as above.
    unsafe { _mm_set_epi64x(high as i64, low as i64) }
}
