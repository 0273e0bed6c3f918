//! The entry point that a server calls when it loads the module. Knows the order of registration.

use std::ffi::{CString, c_int};

use valkey_module::raw::{self, RedisModuleCtx, RedisModuleString};

use super::call::Call;
use super::{config, data_type, describe, engine, info, names};
use crate::commands;

const NAME: &core::ffi::CStr = c"cuculus";
/// 7.0; earlier servers have no module settings and no command descriptions.
const OLDEST: c_int = 0x0007_0000;
/// The version of the crate as one number, two digits for each part: 1.2.3 is 10203.
const VERSION: c_int = {
    const fn number(digits: &str) -> c_int {
        let (bytes, mut number, mut at) = (digits.as_bytes(), 0, 0);
        while at < bytes.len() {
            number = number * 10 + (bytes[at] - b'0') as c_int;
            at += 1;
        }
        number
    }
    number(env!("CARGO_PKG_VERSION_MAJOR")) * 10_000
        + number(env!("CARGO_PKG_VERSION_MINOR")) * 100
        + number(env!("CARGO_PKG_VERSION_PATCH"))
};

/// # Safety
/// Called by a server that keeps the contract of its module interface.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the server looks for this name")]
unsafe extern "C" fn RedisModule_OnLoad(
    ctx: *mut RedisModuleCtx,
    arguments: *mut *mut RedisModuleString,
    count: c_int,
) -> c_int {
    // Nothing may be allocated before this: the allocator is the server's.
    // SAFETY: the context is the server's.
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
    // SAFETY: the pointers are the server's.
    match unsafe { load(ctx, arguments, count) } {
        Ok(()) => raw::REDISMODULE_OK as c_int,
        Err(message) => {
            let message = CString::new(message).unwrap_or_default();
            let (level, format) = (c"warning".as_ptr(), c"%s".as_ptr());
            // SAFETY: the format takes one string.
            unsafe { engine!(RedisModule_Log(ctx, level, format, message.as_ptr())) };
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
    // SAFETY: the same contract.
    unsafe {
        let is_old = raw::RedisModule_GetServerVersion.is_none_or(|version| version() < OLDEST);
        if is_old {
            return Err(
                "this server is too old; the module needs Redis 7.0 or later, or Valkey 8 or later"
                    .into(),
            );
        }
        let call = Call::new(ctx, arguments, count);
        let words: Vec<&[u8]> = (0..call.len()).filter_map(|i| call.get(i)).collect();
        names::set_prefix(&words)?;
        engine!(RedisModule_SetModuleOptions(ctx, options()));
        data_type::register(ctx).map_err(|()| {
            "the server refused the data type; is the module loaded already?".to_string()
        })?;
        describe::register_category(ctx);
        register_commands(ctx)?;
        config::register(ctx)
            .map_err(|()| "the server refused a setting; see the lines above".to_string())?;
        engine!(RedisModule_RegisterInfoFunc(ctx, Some(info::show)));
    }
    Ok(())
}

/// # Safety
/// As for the entry point.
unsafe fn register_commands(ctx: *mut RedisModuleCtx) -> Result<(), String> {
    macro_rules! register {
        ($($command:ident),* $(,)?) => {
            // SAFETY: the context is that of OnLoad.
            $(unsafe { describe::register::<commands::$command>(ctx)? };)*
        };
    }
    register!(
        Reserve, Add, AddNx, Insert, InsertNx, Exists, MExists, Count, Del, Info, ScanDump,
        LoadChunk, Compact, Debug,
    );
    #[cfg(debug_assertions)]
    register!(Panic);
    Ok(())
}

/// The options of the module: it checks what it loads, signals changed keys itself, keeps no data
/// outside of its values, and writes values in a form that other servers can load.
fn options() -> c_int {
    let everywhere = raw::REDISMODULE_OPTIONS_HANDLE_IO_ERRORS
        | raw::REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED
        | raw::REDISMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD;
    // In Redis the same bit may have another meaning.
    let options = if is_valkey() {
        everywhere | raw::VALKEYMODULE_OPTIONS_HANDLE_ATOMIC_SLOT_MIGRATION
    } else {
        everywhere
    };
    // SAFETY: takes no arguments. Redis 7.0 lacks the call and knows the first three options.
    let known = unsafe { raw::RedisModule_GetModuleOptionsAll.map(|all| all() as u32) };
    (options & known.unwrap_or(everywhere)) as c_int
}

/// Whether the server is Valkey: only Valkey has functions with this prefix.
fn is_valkey() -> bool {
    let mut function: *mut core::ffi::c_void = core::ptr::null_mut();
    // SAFETY: the name is null-terminated, and the call writes one pointer.
    let found = unsafe {
        raw::RedisModule_GetApi
            .map(|get| get(c"ValkeyModule_Alloc".as_ptr(), (&raw mut function).cast()))
    };
    found == Some(raw::REDISMODULE_OK as c_int)
}
