//! Active defragmentation: memory moved to where less is lost around it.

use std::ffi::{c_int, c_void};

use valkey_module::raw::{RedisModuleDefragCtx, RedisModuleString};

use super::engine;

/// Moves the value itself, not the slabs of its filter: those of more than some ten thousand items
/// are larger than the allocator's small sizes, and only such can be fragmented.
pub(super) extern "C" fn defrag(
    ctx: *mut RedisModuleDefragCtx,
    _key: *mut RedisModuleString,
    value: *mut *mut c_void,
) -> c_int {
    // SAFETY: the server gives the place where it keeps the pointer to one of our values, copies
    // the bytes if it moves them, and nobody else has a pointer to it.
    unsafe {
        let moved = engine!(RedisModule_DefragAlloc(ctx, *value));
        if !moved.is_null() {
            *value = moved;
        }
    }
    0
}
