//! The settings `cuculus.…`, from the configuration file and from CONFIG SET. Knows their names,
//! ranges and defaults.

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU64, Ordering};
use std::ffi::{CStr, c_char, c_int, c_longlong, c_void};

use valkey_module::raw::{self, RedisModuleCtx, RedisModuleString};

use super::call::bytes_of;
use super::engine;
use crate::value::{DEFAULT_CAPACITY, MAX_CAPACITY, Parameters};

const DEFAULT_RATE: f64 = 0.001;
const DEFAULT_RATE_TEXT: &CStr = c"0.001";
/// The default of `proto-max-bulk-len`: a larger value cannot be moved to another server.
const DEFAULT_MAX_BYTES: i64 = 512 << 20;

static CAPACITY: AtomicI64 = AtomicI64::new(DEFAULT_CAPACITY as i64);
static MAX_BYTES: AtomicI64 = AtomicI64::new(DEFAULT_MAX_BYTES);
static MORE_INFO: AtomicBool = AtomicBool::new(true);
static RATE: AtomicU64 = AtomicU64::new(DEFAULT_RATE.to_bits());
/// The rate as text, for CONFIG GET. The server keeps no copy.
static RATE_TEXT: AtomicPtr<RedisModuleString> = AtomicPtr::new(ptr::null_mut());

/// The current settings.
pub(crate) struct Settings {
    /// The capacity of filters that are created without one.
    pub(crate) capacity: u32,
    /// The false positive rate of filters that are created without one.
    pub(crate) rate: f64,
    /// The largest size of a filter.
    pub(crate) max_bytes: u64,
    /// Whether CF.INFO has fields that some clients do not expect.
    pub(crate) more_info: bool,
}

pub(crate) fn settings() -> Settings {
    Settings {
        capacity: u32::try_from(CAPACITY.load(Ordering::Relaxed)).unwrap_or(DEFAULT_CAPACITY),
        rate: f64::from_bits(RATE.load(Ordering::Relaxed)),
        max_bytes: MAX_BYTES.load(Ordering::Relaxed) as u64,
        more_info: MORE_INFO.load(Ordering::Relaxed),
    }
}

/// Registers the settings and reads them from the configuration file.
///
/// # Safety
/// Called while the module is loaded, with the context of OnLoad.
pub(super) unsafe fn register(ctx: *mut RedisModuleCtx) -> Result<(), ()> {
    let numbers: [(&CStr, &'static AtomicI64, i64, i64, i64, u32); 2] = [
        (
            c"default-capacity",
            &CAPACITY,
            i64::from(DEFAULT_CAPACITY),
            // Twice the default bucket size.
            4,
            i64::from(MAX_CAPACITY),
            raw::REDISMODULE_CONFIG_DEFAULT,
        ),
        (
            c"max-object-bytes",
            &MAX_BYTES,
            DEFAULT_MAX_BYTES,
            1 << 10,
            i64::MAX,
            raw::REDISMODULE_CONFIG_MEMORY,
        ),
    ];
    let mut registered = Vec::new();
    // SAFETY: the context is that of OnLoad; names are copied; the private data is static.
    unsafe {
        for (name, number, default, least, most, flags) in numbers {
            registered.push(engine!(RedisModule_RegisterNumericConfig(
                ctx,
                name.as_ptr(),
                default,
                flags,
                least,
                most,
                Some(get_number),
                Some(set_number),
                None,
                ptr::from_ref(number).cast_mut().cast(),
            )));
        }
        registered.push(engine!(RedisModule_RegisterBoolConfig(
            ctx,
            c"info-more".as_ptr(),
            1,
            raw::REDISMODULE_CONFIG_DEFAULT,
            Some(get_more_info),
            Some(set_more_info),
            None,
            ptr::null_mut(),
        )));
        registered.push(engine!(RedisModule_RegisterStringConfig(
            ctx,
            c"default-error".as_ptr(),
            DEFAULT_RATE_TEXT.as_ptr(),
            raw::REDISMODULE_CONFIG_DEFAULT,
            Some(get_rate),
            Some(set_rate),
            None,
            ptr::null_mut(),
        )));
        registered.push(engine!(RedisModule_LoadConfigs(ctx)));
    }
    let is_done = |&status: &c_int| status as isize == raw::REDISMODULE_OK;
    if registered.iter().all(is_done) { Ok(()) } else { Err(()) }
}

extern "C" fn get_number(_name: *const c_char, number: *mut c_void) -> c_longlong {
    // SAFETY: the static that `register` passed.
    unsafe { &*number.cast::<AtomicI64>() }.load(Ordering::Relaxed)
}

extern "C" fn set_number(
    _name: *const c_char,
    value: c_longlong,
    number: *mut c_void,
    _error: *mut *mut RedisModuleString,
) -> c_int {
    // SAFETY: the static that `register` passed.
    unsafe { &*number.cast::<AtomicI64>() }.store(value, Ordering::Relaxed);
    raw::REDISMODULE_OK as c_int
}

extern "C" fn get_more_info(_name: *const c_char, _data: *mut c_void) -> c_int {
    c_int::from(MORE_INFO.load(Ordering::Relaxed))
}

extern "C" fn set_more_info(
    _name: *const c_char,
    value: c_int,
    _data: *mut c_void,
    _error: *mut *mut RedisModuleString,
) -> c_int {
    MORE_INFO.store(value != 0, Ordering::Relaxed);
    raw::REDISMODULE_OK as c_int
}

extern "C" fn get_rate(_name: *const c_char, _data: *mut c_void) -> *mut RedisModuleString {
    RATE_TEXT.load(Ordering::Relaxed)
}

extern "C" fn set_rate(
    _name: *const c_char,
    value: *mut RedisModuleString,
    _data: *mut c_void,
    error: *mut *mut RedisModuleString,
) -> c_int {
    // SAFETY: the server's string lives as long as this call.
    let rate = parse_rate(unsafe { bytes_of(value) });
    let none = ptr::null_mut();
    let Some(rate) = rate else {
        let message = "the false positive rate must be in the range [0.00001, 1)";
        // SAFETY: the message is copied, and the server frees the string.
        unsafe {
            *error =
                engine!(RedisModule_CreateString(none, message.as_ptr().cast(), message.len()));
        }
        return raw::REDISMODULE_ERR as c_int;
    };
    RATE.store(rate.to_bits(), Ordering::Relaxed);
    // SAFETY: the new string is retained; the old one was retained here and is no longer used.
    unsafe {
        engine!(RedisModule_RetainString(none, value));
        let before = RATE_TEXT.swap(value, Ordering::Relaxed);
        if !before.is_null() {
            engine!(RedisModule_FreeString(none, before));
        }
    }
    raw::REDISMODULE_OK as c_int
}

fn parse_rate(text: &[u8]) -> Option<f64> {
    let rate = str::from_utf8(text).ok()?.parse().ok()?;
    Parameters::is_rate(rate).then_some(rate)
}
