//! Which of two buckets is written, in a way that the processor need not wait for; the answer of no
//! operation depends on it.
//!
//! While the address of a store is not known, what is read after it waits: the fields of the filter, and
//! so the buckets of the next key. If the address is that of one of two buckets, by what they hold, it is
//! known when both have arrived from memory. That was half of the time of a single insert or removal, in
//! every cache and out of them. There are two ways around it:
//!
//! - both buckets are written, one of them with what it holds. Their addresses follow from the key alone;
//! - the choice is a branch ([`choose`]), which the processor guesses. Half of the guesses are wrong, but
//!   only one cache line is changed, which counts where lines must be written back to memory.
//!
//! In a batch the fields are in registers and the buckets were prefetched: there is nothing to wait for.
#![allow(unsafe_code, reason = "an empty assembly block, which keeps a branch a branch")]

/// From this size on a table is outside of most caches, and wrong guesses cost less than lines that are
/// changed for nothing.
pub(crate) const LARGE_BYTES: usize = 16 << 20;

/// `a` if `first`, else `b`: by a branch if `GUESSED`, and else by whatever the compiler takes, which is
/// no branch for small values.
#[inline(always)]
pub(crate) fn choose<const GUESSED: bool, T>(first: bool, a: T, b: T) -> T {
    if !GUESSED {
        return if first { a } else { b };
    }
    if first {
        return a;
    }
    // On one way only: what is on both is moved in front of the choice.
    keep_branch();
    b
}

/// Nothing, in a way that the compiler does not see through: what it is in cannot be run on trial.
#[inline(always)]
fn keep_branch() {
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    // SAFETY: there is no instruction.
    unsafe {
        core::arch::asm!("", options(nomem, nostack, preserves_flags));
    }
}
