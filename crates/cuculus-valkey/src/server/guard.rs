//! Panics end here. The module has none that are known; if there is one, the command is answered
//! with an error and the server lives on.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::info::{Event, count};

/// What `run` returns, or `None` if it panicked. The message of the panic is in the server's log.
pub(super) fn guarded<T>(run: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(done) => Some(done),
        Err(payload) => {
            count(Event::Panicked, 1);
            // Dropping it could panic again.
            core::mem::forget(payload);
            None
        }
    }
}
