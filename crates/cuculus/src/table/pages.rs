//! Huge pages under large tables. Knows memory, nothing of what lies in it.
//!
//! A lookup reads two random places. With pages of 4 KiB, the processor has the addresses of some
//! eight MiB at hand and looks the others up in memory first; with pages of 2 MiB it has those of a
//! few GiB. The price: a page is given whole when its first byte is written, so a large table that
//! holds few keys takes memory sooner.
#![allow(unsafe_code, reason = "a system call without a safe form")]

/// Smaller tables have most of their addresses at hand anyway.
const LEAST_BYTES: usize = 4 << 20;
/// A multiple of the size of small pages on every system asked.
const ALIGNMENT: usize = 64 << 10;

/// Asks the system to put this memory on huge pages. It may do so or not; what the memory holds
/// stays the same.
pub(super) fn ask_for_huge<T>(memory: &[T]) {
    let bytes = size_of_val(memory);
    if bytes < LEAST_BYTES {
        return;
    }
    let start = memory.as_ptr().cast::<u8>();
    let skipped = start.align_offset(ALIGNMENT).min(bytes);
    advise(start.wrapping_add(skipped), (bytes - skipped) / ALIGNMENT * ALIGNMENT);
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn advise(start: *const u8, bytes: usize) {
    const MADV_HUGEPAGE: i32 = 14;
    unsafe extern "C" {
        fn madvise(start: *mut core::ffi::c_void, bytes: usize, advice: i32) -> i32;
    }
    // SAFETY: whole pages of memory that the caller has borrowed. This advice changes no byte of it,
    // whether it is taken or not.
    let _ = unsafe { madvise(start.cast_mut().cast(), bytes, MADV_HUGEPAGE) };
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn advise(_: *const u8, _: usize) {}
