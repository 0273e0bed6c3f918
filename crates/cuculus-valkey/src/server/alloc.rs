//! The module's allocator: takes memory from the server, so that `maxmemory` counts it, and through
//! a call that may fail instead of ending the server.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::alloc::{GlobalAlloc, Layout, System};

use valkey_module::raw;

use super::engine;

/// The alignment that the server's allocator guarantees on every platform.
const ALIGN: usize = 16;
/// From this size on, zeroed memory comes from the operating system and needs no clearing.
const LARGE: usize = 1 << 20;

#[global_allocator]
static ALLOCATOR: EngineAlloc = EngineAlloc;

static HELD: AtomicUsize = AtomicUsize::new(0);

/// The memory that the module holds, in bytes.
pub(super) fn held_bytes() -> usize {
    HELD.load(Ordering::Relaxed)
}

struct EngineAlloc;

impl EngineAlloc {
    /// In tests and tools there is no server. In a server its functions are set before anything
    /// is allocated (`load`), so memory is always freed by the allocator that it came from.
    fn serves(layout: Layout) -> bool {
        // SAFETY: written once, while the module is loaded.
        layout.align() <= ALIGN && unsafe { raw::RedisModule_TryAlloc }.is_some()
    }

    /// The server's allocator aligns by size.
    fn size(layout: Layout) -> usize {
        layout.pad_to_align().size()
    }
}

// SAFETY: memory comes from the server's allocator or from the system's, which keep the contract.
// The layout decides which one, so memory is freed where it came from.
unsafe impl GlobalAlloc for EngineAlloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !Self::serves(layout) {
            // SAFETY: the caller keeps the contract.
            return unsafe { System.alloc(layout) };
        }
        // SAFETY: any size is allowed; a failure returns null.
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
        // SAFETY: the caller keeps the contract; the memory is as long as the layout says.
        unsafe {
            let start = self.alloc(layout);
            if start.is_null() {
                return start;
            }
            if layout.size() < LARGE {
                start.write_bytes(0, layout.size());
                return start;
            }
            // The server ends if its calloc fails, so it is called only for a size that could be
            // allocated a moment ago.
            engine!(RedisModule_Free(start.cast()));
            engine!(RedisModule_Calloc(1, Self::size(layout))).cast()
        }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        if !Self::serves(layout) {
            // SAFETY: the memory came from there.
            return unsafe { System.dealloc(start, layout) };
        }
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the memory came from there.
        unsafe { engine!(RedisModule_Free(start.cast())) }
    }
}
