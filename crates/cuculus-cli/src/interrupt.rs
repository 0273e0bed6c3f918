//! Ctrl-C: what a command leaves behind when it is interrupted. Knows paths and flags, nothing of
//! commands.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::INTERRUPTED;

/// The file that is being written and must not stay.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);
/// For commands that end in order when they are interrupted: what makes them notice.
static STOP: Mutex<Option<Box<dyn Fn() + Send>>> = Mutex::new(None);
static IS_REQUESTED: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C removes what is unfinished and ends the program; a command that has called
/// [`ends_in_order`] is told instead, the first time.
pub(crate) fn handle() {
    // Without a handler the program still ends, and the next writer removes what it left.
    let _ = ctrlc::set_handler(|| {
        let is_first = !IS_REQUESTED.swap(true, Ordering::SeqCst);
        if is_first && let Some(stop) = &*locked(&STOP) {
            stop();
            return;
        }
        // Held to the end, so that no rename comes in between.
        let unfinished = locked(&UNFINISHED);
        if let Some(path) = &*unfinished {
            let _ = fs::remove_file(path);
        }
        process::exit(INTERRUPTED.into());
    });
}

/// The command ends by itself soon after `stop` was called.
pub(crate) fn ends_in_order(stop: impl Fn() + Send + 'static) {
    *locked(&STOP) = Some(Box::new(stop));
}

/// Whether a command that ends in order should do so now.
pub(crate) fn is_requested() -> bool {
    IS_REQUESTED.load(Ordering::SeqCst)
}

/// A file that is removed when the program is interrupted, while this exists.
pub(crate) struct Unfinished(());

impl Unfinished {
    pub(crate) fn new(path: &Path) -> Self {
        *locked(&UNFINISHED) = Some(path.to_owned());
        Self(())
    }

    /// Does something after which the file is not unfinished any more; it is not interrupted.
    pub(crate) fn finish<T, E>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let mut unfinished = locked(&UNFINISHED);
        let done = work()?;
        *unfinished = None;
        Ok(done)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        *locked(&UNFINISHED) = None;
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
