//! Active defragmentation: the server moves memory to reduce fragmentation.

use core::ptr::NonNull;
use std::ffi::{c_int, c_void};

use valkey_module::raw::{RedisModuleDefragCtx, RedisModuleString};

use super::engine;
use crate::value::Value;

/// Offers the value and each region of its filter to the server, which moves those that are worth it.
/// Only sizes that the allocator packs together fragment, which are those of filters with up to some
/// ten thousand items. A larger filter has many regions, but the server declines each at once.
pub(super) extern "C" fn defrag(
    ctx: *mut RedisModuleDefragCtx,
    _key: *mut RedisModuleString,
    value: *mut *mut c_void,
) -> c_int {
    let relocate = |memory: *mut c_void| {
        // SAFETY: the context is that of this call, and the memory came from the server.
        NonNull::new(unsafe { engine!(RedisModule_DefragAlloc(ctx, memory)) })
    };
    // SAFETY: the server passes the place where it keeps the pointer to one of our values, copies
    // the bytes of what it moves, and frees the old ones; nothing else points to them.
    unsafe {
        if let Some(moved) = relocate(*value) {
            *value = moved.as_ptr();
        }
        if let Value::Ready(stored) = &mut *(*value).cast::<Value>() {
            // All memory of the module comes from the server: see `alloc`.
            stored.relocate(&mut |old, _| relocate(old.as_ptr().cast()).map(NonNull::cast));
        }
    }
    0
}
