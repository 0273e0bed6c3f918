//! The module's section of INFO: filters and memory held, items added, deleted and refused, and
//! panics caught.

use core::sync::atomic::{AtomicU64, Ordering};
use std::ffi::c_int;

use valkey_module::raw::RedisModuleInfoCtx;

use super::{alloc, data_type, engine};

static COUNTS: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

/// The events that are counted.
#[derive(Clone, Copy)]
pub(crate) enum Event {
    Added,
    Deleted,
    Refused,
    Panicked,
}

/// Counts an event.
#[inline]
pub(crate) fn count(event: Event, times: u64) {
    let counted = &COUNTS[event as usize];
    if matches!(event, Event::Panicked) {
        // On any thread: values are also freed in the background.
        counted.fetch_add(times, Ordering::Relaxed);
    } else {
        // Commands run on one thread, and a locked instruction would be a measurable part of an ADD.
        counted.store(counted.load(Ordering::Relaxed) + times, Ordering::Relaxed);
    }
}

/// The callback for INFO.
pub(super) extern "C" fn show(ctx: *mut RedisModuleInfoCtx, _for_crash_report: c_int) {
    let counted = |event: Event| COUNTS[event as usize].load(Ordering::Relaxed);
    let fields = [
        (c"filters", data_type::values()),
        (c"bytes", alloc::held_bytes() as u64),
        (c"items_added", counted(Event::Added)),
        (c"items_deleted", counted(Event::Deleted)),
        (c"items_refused", counted(Event::Refused)),
        (c"panics", counted(Event::Panicked)),
    ];
    // SAFETY: the context is that of this call; names are copied.
    unsafe {
        engine!(RedisModule_InfoAddSection(ctx, c"filters".as_ptr()));
        for (name, number) in fields {
            engine!(RedisModule_InfoAddFieldULongLong(ctx, name.as_ptr(), number));
        }
    }
}
