//! The entry point: what happens when a server loads the module.

use std::ffi::{CString, c_int};

use valkey_module::raw::{self, RedisModuleCtx, RedisModuleString};

use super::call::Call;
use super::{config, data_type, describe, engine, info, names};
use crate::commands;

const NAME: &core::ffi::CStr = c"cuculus";
/// 7.0, before which there were no settings and no descriptions of commands.
const OLDEST: c_int = 0x0007_0000;
/// The version of this release as one number.
const VERSION: c_int = 100;

/// # Safety
/// Called by a server with what it promises to modules.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the server looks for this name")]
unsafe extern "C" fn RedisModule_OnLoad(
    ctx: *mut RedisModuleCtx,
    arguments: *mut *mut RedisModuleString,
    count: c_int,
) -> c_int {
    // Before this nothing may be allocated: the allocator is the server's.
    // SAFETY: the server's own context.
    let status = unsafe {
        raw::Export_RedisModule_Init(
            ctx,
            NAME.as_ptr(),
            VERSION,
            raw::REDISMODULE_APIVER_1 as c_int,
        )
    };
    if status as isize != raw::REDISMODULE_OK {
        return status;
    }
    // SAFETY: the server's own pointers.
    match unsafe { load(ctx, arguments, count) } {
        Ok(()) => raw::REDISMODULE_OK as c_int,
        Err(words) => {
            let words = CString::new(words).unwrap_or_default();
            let (level, format) = (c"warning".as_ptr(), c"%s".as_ptr());
            // SAFETY: the format takes one string.
            unsafe { engine!(RedisModule_Log(ctx, level, format, words.as_ptr())) };
            raw::REDISMODULE_ERR as c_int
        }
    }
}

/// # Safety
/// As for the entry point.
unsafe fn load(
    ctx: *mut RedisModuleCtx,
    arguments: *mut *mut RedisModuleString,
    count: c_int,
) -> Result<(), String> {
    // SAFETY: passed on as they came.
    unsafe {
        let is_old = raw::RedisModule_GetServerVersion.is_none_or(|version| version() < OLDEST);
        if is_old {
            return Err(
                "this server is too old; the module needs Redis 7.0 or Valkey 8 and later".into()
            );
        }
        let call = Call::new(ctx, arguments, count);
        let words: Vec<&[u8]> = (0..call.len()).filter_map(|i| call.get(i)).collect();
        names::set_prefix(&words)?;
        engine!(RedisModule_SetModuleOptions(ctx, options()));
        data_type::register(ctx).map_err(|()| "the data type was refused".to_string())?;
        describe::register_category(ctx);
        register_commands(ctx)?;
        config::register(ctx).map_err(|()| "a setting was refused; see above".to_string())?;
        engine!(RedisModule_RegisterInfoFunc(ctx, Some(info::show)));
    }
    Ok(())
}

/// # Safety
/// As for the entry point.
unsafe fn register_commands(ctx: *mut RedisModuleCtx) -> Result<(), String> {
    macro_rules! register {
        ($($command:ident),* $(,)?) => {
            // SAFETY: the context is that of loading.
            $(unsafe { describe::register::<commands::$command>(ctx)? };)*
        };
    }
    register!(
        Reserve, Add, AddNx, Insert, InsertNx, Exists, MExists, Count, Del, Info, ScanDump,
        LoadChunk, Compact, Debug,
    );
    Ok(())
}

/// What the module can do: it checks what it loads, says itself when it changed a key, keeps
/// nothing outside of its values, and writes them to logs in a way that another server can take.
fn options() -> c_int {
    let everywhere = raw::REDISMODULE_OPTIONS_HANDLE_IO_ERRORS
        | raw::REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED
        | raw::REDISMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD;
    // The same bit may mean something else to Redis.
    let options = if is_valkey() {
        everywhere | raw::VALKEYMODULE_OPTIONS_HANDLE_ATOMIC_SLOT_MIGRATION
    } else {
        everywhere
    };
    // SAFETY: takes nothing; not in Redis 7.0, which knows the first three.
    let known = unsafe { raw::RedisModule_GetModuleOptionsAll.map(|all| all() as u32) };
    (options & known.unwrap_or(everywhere)) as c_int
}

/// Whether the server has functions under Valkey's own names.
fn is_valkey() -> bool {
    let mut function: *mut core::ffi::c_void = core::ptr::null_mut();
    // SAFETY: the name ends with a zero, and a pointer is written to a pointer.
    let found = unsafe {
        raw::RedisModule_GetApi
            .map(|get| get(c"ValkeyModule_Alloc".as_ptr(), (&raw mut function).cast()))
    };
    found == Some(raw::REDISMODULE_OK as c_int)
}
