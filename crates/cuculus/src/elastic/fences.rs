//! Two fences of which that of writers is as dear as it must be, and that of readers costs nothing where
//! the system helps. Knows nothing of what they are for.
//!
//! A sequentially consistent fence lets no load begin before all earlier stores are done. A lookup that
//! has one waits for that, and so does the next lookup: with a filter that is larger than the cache it
//! takes half as long again.
//!
//! Linux lets a process ask that all of its threads that are running execute such a fence now
//! (`membarrier`); those that are not running have executed one when the system stopped them. If the writer does
//! that, readers only have to keep the compiler from changing the order. Where it cannot be had, both
//! execute a fence.
#![allow(unsafe_code, reason = "a call of the system")]

use core::sync::atomic::{AtomicU8, Ordering, compiler_fence, fence};

/// Which fences are in use. Once it is decided it stays.
static WAY: AtomicU8 = AtomicU8::new(UNDECIDED);
const UNDECIDED: u8 = 0;
/// Writers have all threads execute a fence.
const ONE_SIDED: u8 = 1;
const BOTH_SIDES: u8 = 2;

/// The fence of readers. Before it is decided, a real one: that is right in either case.
#[inline(always)]
pub(super) fn fence_of_readers() {
    if WAY.load(Ordering::Relaxed) == ONE_SIDED {
        compiler_fence(Ordering::SeqCst);
    } else {
        fence(Ordering::SeqCst);
    }
}

/// The fence of writers. If it says no, there was none, and the memory must be kept.
pub(super) fn fence_of_writers() -> bool {
    fence(Ordering::SeqCst);
    // A copy of the process may have to ask for it again.
    decide() != ONE_SIDED || system::fence_all() || (system::register() && system::fence_all())
}

/// Decides which fences are used, if nobody has. A writer that does not know yet what a reader knows
/// learns it here: the exchange finds the newest value.
pub(super) fn decide() -> u8 {
    let way = WAY.load(Ordering::Relaxed);
    if way != UNDECIDED {
        return way;
    }
    let way = if system::register() { ONE_SIDED } else { BOTH_SIDES };
    match WAY.compare_exchange(UNDECIDED, way, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => way,
        Err(decided) => decided,
    }
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
mod system {
    use core::ffi::{c_int, c_long};

    // As the kernel's interface fixes them.
    const MEMBARRIER: c_long = if cfg!(target_arch = "x86_64") { 324 } else { 283 };
    const FENCE_ALL: c_int = 1 << 3;
    const REGISTER: c_int = 1 << 4;

    fn call(command: c_int) -> bool {
        unsafe extern "C" {
            fn syscall(number: c_long, ...) -> c_long;
        }
        let flags: c_int = 0;
        // SAFETY: of the system's C library, which the standard library links; two numbers, and it reads and
        // writes no memory of ours.
        unsafe { syscall(MEMBARRIER, command, flags) == 0 }
    }

    /// Asks to be allowed to.
    pub(super) fn register() -> bool {
        call(REGISTER)
    }

    /// All threads of the process have executed a fence when it returns.
    pub(super) fn fence_all() -> bool {
        call(FENCE_ALL)
    }
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(miri)
)))]
mod system {
    pub(super) fn register() -> bool {
        false
    }

    pub(super) fn fence_all() -> bool {
        false
    }
}
