//! Keeps `fork` out of what works without the interpreter's lock. Knows nothing of filters.
//!
//! A child process has one thread. A lock that another thread held stays locked there for ever, and what that
//! thread was changing stays half changed. So a filter is used without the interpreter only inside a gate:
//! `fork` closes it, and waits until nobody is inside.
//!
//! The hooks are those of the C library. They run when an extension forks too, and no Python code runs
//! between them and the fork.
//!
//! - Threads that have the interpreter need no gate: they let go of a filter before they let go of the
//!   interpreter, and the thread that forks has the interpreter's lock, or has stopped the others if there is
//!   none.
//! - Nobody inside waits for the interpreter, which the thread that forks has, and nobody inside forks: only
//!   the library's code runs there.
//! - Threads that wait sleep for short times. A lock to wait at would itself be inherited.
#![allow(unsafe_code, reason = "the C library's hooks for fork")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

/// Threads that are inside, and `FORK` for each that is about to fork.
static STATE: AtomicUsize = AtomicUsize::new(0);
const FORK: usize = 1 << (usize::BITS / 2);
const PAUSE: Duration = Duration::from_micros(50);

/// The thread is inside, until this is dropped.
pub(crate) struct Inside(());

impl Drop for Inside {
    fn drop(&mut self) {
        STATE.fetch_sub(1, Ordering::Release);
    }
}

/// Goes inside, after forks that are under way. The thread must not have the interpreter.
pub(crate) fn enter() -> Inside {
    loop {
        let state = STATE.load(Ordering::Relaxed);
        if state >= FORK {
            thread::sleep(PAUSE);
        } else if STATE
            .compare_exchange_weak(state, state + 1, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
        {
            return Inside(());
        }
    }
}

/// Works inside, without the interpreter.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce(&Inside) -> T + Send) -> T {
    py.detach(|| work(&enter()))
}

/// Before the first thread can be inside.
pub(crate) fn install() -> PyResult<()> {
    #[cfg(unix)]
    {
        // SAFETY: functions without arguments that touch one atomic number; a module of Python is never
        // unloaded. Installed twice they count twice, in both directions.
        let failed = unsafe { libc::pthread_atfork(Some(close), Some(open), Some(begin_again)) };
        if failed != 0 {
            return Err(std::io::Error::from_raw_os_error(failed).into());
        }
    }
    Ok(())
}

#[cfg(unix)]
extern "C" fn close() {
    STATE.fetch_add(FORK, Ordering::Relaxed);
    while STATE.load(Ordering::Acquire) & (FORK - 1) > 0 {
        thread::sleep(PAUSE);
    }
}

#[cfg(unix)]
extern "C" fn open() {
    STATE.fetch_sub(FORK, Ordering::Relaxed);
}

/// In the child: the other threads that were about to fork are not there.
#[cfg(unix)]
extern "C" fn begin_again() {
    STATE.store(0, Ordering::Relaxed);
}
