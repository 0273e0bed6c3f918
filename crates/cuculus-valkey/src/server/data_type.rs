//! The data type that the server knows: how it saves, loads, rewrites, copies, digests, measures and
//! frees a value.

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::ffi::{CString, c_int, c_longlong, c_void};
use std::io;

use valkey_module::raw::{
    self, RedisModuleCtx, RedisModuleDigest, RedisModuleIO, RedisModuleKeyOptCtx,
    RedisModuleString, RedisModuleType, RedisModuleTypeMethods,
};

use super::guard::guarded;
use super::rdb::Dump;
use super::{Named, defrag, engine};
use crate::value::{Pieces, Value};

/// The server requires nine characters. They are part of every dump.
const NAME: &core::ffi::CStr = c"cuculusCF";
const ENCODING: c_int = 1;
/// The chunk size of append-only files, and of SCANDUMP for filters of fixed size.
pub(crate) const CHUNK: usize = 4 << 20;
/// Bytes per unit of free effort: the server frees values of many units in the background.
const PART: usize = 1 << 16;

static TYPE: AtomicPtr<RedisModuleType> = AtomicPtr::new(ptr::null_mut());
static VALUES: AtomicU64 = AtomicU64::new(0);

/// The registered type.
pub(super) fn ours() -> *mut RedisModuleType {
    TYPE.load(Ordering::Relaxed)
}

pub(super) fn is_ours(other: *mut RedisModuleType) -> bool {
    !other.is_null() && other == ours()
}

/// The number of values that exist.
pub(super) fn values() -> u64 {
    VALUES.load(Ordering::Relaxed)
}

/// Passes ownership of a value to the server.
pub(super) fn give(value: Value) -> *mut Value {
    VALUES.fetch_add(1, Ordering::Relaxed);
    Box::into_raw(Box::new(value))
}

/// Takes ownership back.
///
/// # Safety
/// The pointer came from [`give`] and is not used again.
pub(super) unsafe fn take(value: *mut Value) -> Box<Value> {
    VALUES.fetch_sub(1, Ordering::Relaxed);
    // SAFETY: the caller keeps the contract.
    unsafe { Box::from_raw(value) }
}

/// Registers the type.
///
/// # Safety
/// Called while the module is loaded, with the context of OnLoad.
pub(super) unsafe fn register(ctx: *mut RedisModuleCtx) -> Result<(), ()> {
    let mut methods = RedisModuleTypeMethods {
        version: u64::from(raw::REDISMODULE_TYPE_METHOD_VERSION),
        rdb_load: Some(rdb_load),
        rdb_save: Some(rdb_save),
        aof_rewrite: Some(aof_rewrite),
        mem_usage: None,
        digest: Some(digest),
        free: Some(free),
        aux_load: None,
        aux_save: None,
        aux_save_triggers: 0,
        free_effort: None,
        unlink: None,
        copy: None,
        defrag: Some(defrag::defrag),
        mem_usage2: Some(mem_usage),
        free_effort2: Some(free_effort),
        unlink2: None,
        copy2: Some(copy),
        aux_save2: None,
    };
    // SAFETY: the context is that of OnLoad; the methods are copied.
    let created = unsafe {
        engine!(RedisModule_CreateDataType(ctx, NAME.as_ptr(), ENCODING, &raw mut methods))
    };
    TYPE.store(created, Ordering::Relaxed);
    if created.is_null() { Err(()) } else { Ok(()) }
}

// The *callback* invariant: the server calls these functions with pointers that live as long as the
// call, and with values from `give`, to which nothing else has access meanwhile.
//
// Saving and rewriting are not guarded against panics: they run in a child process, whose end fails
// the save, and a file with half a value would be worse.

extern "C" fn rdb_save(io: *mut RedisModuleIO, value: *mut c_void) {
    // SAFETY: *callback*.
    unsafe { Dump::new(io).save(&*value.cast::<Value>()) }
}

extern "C" fn rdb_load(io: *mut RedisModuleIO, encoding: c_int) -> *mut c_void {
    if encoding > ENCODING {
        log_warning(
            io,
            &format!("a newer release wrote the filter (encoding {encoding}); update the module"),
        );
        return ptr::null_mut();
    }
    // SAFETY: *callback*.
    match guarded(|| unsafe { Dump::new(io) }.load()) {
        Some(Ok(value)) => give(value).cast(),
        Some(Err(error)) => {
            log_warning(io, &format!("cannot load a filter: {error}"));
            ptr::null_mut()
        }
        None => ptr::null_mut(),
    }
}

/// Writes a line to the server's log.
fn log_warning(io: *mut RedisModuleIO, message: &str) {
    let message = CString::new(message).unwrap_or_default();
    let (level, format) = (c"warning".as_ptr(), c"%s".as_ptr());
    // SAFETY: *callback*; the format takes one string.
    unsafe { engine!(RedisModule_LogIOError(io, level, format, message.as_ptr())) };
}

/// Writes the value as LOADCHUNK commands, in its own bytes: after a restart it is the same.
extern "C" fn aof_rewrite(io: *mut RedisModuleIO, key: *mut RedisModuleString, value: *mut c_void) {
    // SAFETY: *callback*.
    let value = unsafe { &*value.cast::<Value>() };
    let emit = |position: u64, chunk: &[u8]| -> io::Result<()> {
        let (name, format) = (Named::LoadChunk.text().as_ptr(), c"slb".as_ptr());
        let position = position as c_longlong;
        // SAFETY: *callback*; the format announces a string, a number, and bytes with their length.
        unsafe {
            engine!(RedisModule_EmitAOF(
                io,
                name,
                format,
                key,
                position,
                chunk.as_ptr(),
                chunk.len()
            ));
        }
        Ok(())
    };
    // The server records write errors and fails the rewrite itself.
    let _ = value.each_chunk(CHUNK, emit);
}

extern "C" fn digest(digest: *mut RedisModuleDigest, value: *mut c_void) {
    // SAFETY: *callback*.
    let value = unsafe { &*value.cast::<Value>() };
    let add = |bytes: &[u8]| -> io::Result<()> {
        let start = bytes.as_ptr().cast();
        // SAFETY: *callback*; the bytes are only read.
        unsafe { engine!(RedisModule_DigestAddStringBuffer(digest, start, bytes.len())) };
        Ok(())
    };
    guarded(|| {
        let mut pieces = Pieces::new(CHUNK, add);
        add(&value.header().to_bytes())
            .and_then(|()| value.write_body(&mut pieces))
            .and_then(|()| pieces.finish())
    });
    // SAFETY: *callback*.
    unsafe { engine!(RedisModule_DigestEndSequence(digest)) };
}

extern "C" fn mem_usage(
    _ctx: *mut RedisModuleKeyOptCtx,
    value: *const c_void,
    _sample: usize,
) -> usize {
    // SAFETY: *callback*.
    guarded(|| unsafe { &*value.cast::<Value>() }.size_in_bytes()).unwrap_or(0)
}

extern "C" fn free_effort(_ctx: *mut RedisModuleKeyOptCtx, value: *const c_void) -> usize {
    // SAFETY: *callback*.
    1 + guarded(|| unsafe { &*value.cast::<Value>() }.size_in_bytes()).unwrap_or(0) / PART
}

extern "C" fn copy(_ctx: *mut RedisModuleKeyOptCtx, value: *const c_void) -> *mut c_void {
    // SAFETY: *callback*.
    let copy = guarded(|| unsafe { &*value.cast::<Value>() }.duplicate()).flatten();
    copy.map_or(ptr::null_mut(), |copy| give(copy).cast())
}

extern "C" fn free(value: *mut c_void) {
    // SAFETY: *callback*; the server frees a value once.
    guarded(|| drop(unsafe { take(value.cast()) }));
}
