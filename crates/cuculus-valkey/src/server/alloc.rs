//! Memory from the engine: it counts what filters take, so that its limits hold, and it is asked
//! in a way that can be refused.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::alloc::{GlobalAlloc, Layout, System};

use valkey_module::raw;

use super::engine;

/// What the engine's allocator aligns to on every platform.
const ALIGN: usize = 16;
/// From here on zeroed memory comes straight from the system and costs nothing to clear.
const LARGE: usize = 1 << 20;

#[global_allocator]
static ALLOCATOR: EngineAlloc = EngineAlloc;

static HELD: AtomicUsize = AtomicUsize::new(0);

/// The bytes that the module holds.
pub(super) fn held_bytes() -> usize {
    HELD.load(Ordering::Relaxed)
}

struct EngineAlloc;

impl EngineAlloc {
    /// Outside of a server, in tests and tools, there is no engine to ask. Within one its
    /// functions are there before anything is allocated (`load`), so what was taken from one
    /// allocator is never given back to the other.
    fn serves(layout: Layout) -> bool {
        // SAFETY: written once, while the module is loaded.
        layout.align() <= ALIGN && unsafe { raw::RedisModule_TryAlloc }.is_some()
    }

    /// The engine aligns by size.
    fn size(layout: Layout) -> usize {
        layout.pad_to_align().size()
    }
}

// SAFETY: memory comes from the engine's allocator or from the system's, which keep the contract,
// and goes back to where it came from: the layout decides.
unsafe impl GlobalAlloc for EngineAlloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !Self::serves(layout) {
            // SAFETY: the caller keeps the contract.
            return unsafe { System.alloc(layout) };
        }
        // SAFETY: any size may be asked for; a refusal is a null.
        let start: *mut u8 = unsafe { engine!(RedisModule_TryAlloc(Self::size(layout))) }.cast();
        if !start.is_null() {
            HELD.fetch_add(layout.size(), Ordering::Relaxed);
        }
        start
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !Self::serves(layout) {
            // SAFETY: the caller keeps the contract.
            return unsafe { System.alloc_zeroed(layout) };
        }
        // SAFETY: as above; the memory is there and as long as the layout says.
        unsafe {
            let start = self.alloc(layout);
            if start.is_null() {
                return start;
            }
            if layout.size() < LARGE {
                start.write_bytes(0, layout.size());
                return start;
            }
            // The engine's calloc ends the server if it is refused, so it is called for what was
            // to be had a moment ago.
            engine!(RedisModule_Free(start.cast()));
            engine!(RedisModule_Calloc(1, Self::size(layout))).cast()
        }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        if !Self::serves(layout) {
            // SAFETY: it came from there.
            return unsafe { System.dealloc(start, layout) };
        }
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: it came from there.
        unsafe { engine!(RedisModule_Free(start.cast())) }
    }
}
