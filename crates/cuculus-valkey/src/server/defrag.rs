//! Active defragmentation: memory moved to where less is lost around it.

use core::ptr::NonNull;
use std::ffi::{c_int, c_void};

use valkey_module::raw::{RedisModuleDefragCtx, RedisModuleString};

use super::engine;
use crate::value::Value;

/// Moves the value and the slabs of its filter, as far as the server finds it worth while: only
/// sizes that the allocator packs together can be fragmented, which are those of filters with up
/// to some ten thousand items. Of a larger filter there are many slabs, but each is one question
/// that is answered with no at once.
pub(super) extern "C" fn defrag(
    ctx: *mut RedisModuleDefragCtx,
    _key: *mut RedisModuleString,
    value: *mut *mut c_void,
) -> c_int {
    let relocate = |memory: *mut c_void| {
        // SAFETY: the context is that of this call, and the memory came from the server.
        NonNull::new(unsafe { engine!(RedisModule_DefragAlloc(ctx, memory)) })
    };
    // SAFETY: the server gives the place where it keeps the pointer to one of our values, copies
    // the bytes of what it moves, and frees the old ones; nobody else has a pointer to them.
    unsafe {
        if let Some(moved) = relocate(*value) {
            *value = moved.as_ptr();
        }
        if let Value::Ready(stored) = &mut *(*value).cast::<Value>() {
            // All memory of the module is the server's: see `alloc`.
            stored.relocate(&mut |old, _| relocate(old.as_ptr().cast()).map(NonNull::cast));
        }
    }
    0
}
