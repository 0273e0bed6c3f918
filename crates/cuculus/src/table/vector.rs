//! The one question that vectors of the x86-64 baseline answer faster than words.
#![cfg(target_arch = "x86_64")]
#![allow(unsafe_code, reason = "vector instructions")]

use core::arch::x86_64::{
    __m128i, _mm_and_si128, _mm_andnot_si128, _mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set_epi64x,
    _mm_setzero_si128, _mm_sub_epi64,
};

/// [`Word::either_has_zero`](super::lanes::Word::either_has_zero) for two words of 64 bits.
#[inline(always)]
pub(super) fn either_has_zero(words: [u64; 2], ones: [u64; 2], highs: [u64; 2]) -> bool {
    // SAFETY: SSE2 is part of the x86-64 baseline, and none of these touches memory.
    unsafe {
        let [words, ones, highs] = [words, ones, highs].map(side_by_side);
        let zeros = _mm_andnot_si128(words, _mm_sub_epi64(words, ones));
        let zeros = _mm_and_si128(zeros, highs);
        _mm_movemask_epi8(_mm_cmpeq_epi8(zeros, _mm_setzero_si128())) != 0xffff
    }
}

#[inline(always)]
fn side_by_side([low, high]: [u64; 2]) -> __m128i {
    // SAFETY: as above.
    unsafe { _mm_set_epi64x(high as i64, low as i64) }
}
