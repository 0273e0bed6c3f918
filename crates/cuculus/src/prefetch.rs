//! A hint to the memory system; the answer of no operation depends on it.
#![allow(unsafe_code, reason = "prefetch instructions have no safe form")]

/// Prefetches the cache line that holds `items[at]`. Any position will do: a prefetch of an address
/// that is not mapped is dropped.
#[inline]
#[allow(unreachable_pub, reason = "public with the feature `lab`")]
pub fn prefetch<T>(items: &[T], at: usize) {
    prefetch_at(items.as_ptr().wrapping_add(at));
}

/// Prefetches the cache line at an address, which may be any.
#[inline]
pub(crate) fn prefetch_at<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of the x86-64 baseline, and a prefetch has no effect that the program can
    // see, whatever the address.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: `prfm` reads nothing architecturally, keeps the flags and does not touch the stack.
    unsafe {
        core::arch::asm!(
            "prfm pldl1keep, [{address}]",
            address = in(reg) address,
            options(nostack, preserves_flags, readonly)
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}
