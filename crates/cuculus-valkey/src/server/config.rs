//! Settings: `cuculus.…` in the server's configuration, at start and with CONFIG SET.

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU64, Ordering};
use std::ffi::{CStr, c_char, c_int, c_longlong, c_void};

use valkey_module::raw::{self, RedisModuleCtx, RedisModuleString};

use super::call::bytes_of;
use super::engine;
use crate::value::{DEFAULT_CAPACITY, MAX_CAPACITY, Parameters};

const DEFAULT_RATE: f64 = 0.001;
const DEFAULT_RATE_TEXT: &CStr = c"0.001";
/// What a client may send as one string by default, and so the largest value that can be moved
/// from one server to another.
const DEFAULT_MOST_BYTES: i64 = 512 << 20;

static CAPACITY: AtomicI64 = AtomicI64::new(DEFAULT_CAPACITY as i64);
static MOST_BYTES: AtomicI64 = AtomicI64::new(DEFAULT_MOST_BYTES);
static MORE_INFO: AtomicBool = AtomicBool::new(true);
static RATE: AtomicU64 = AtomicU64::new(DEFAULT_RATE.to_bits());
/// The rate as it was written. The server keeps none of the strings that it is given.
static RATE_TEXT: AtomicPtr<RedisModuleString> = AtomicPtr::new(ptr::null_mut());

/// The settings as they stand.
pub(crate) struct Settings {
    /// Of a filter that is not told.
    pub(crate) capacity: u32,
    pub(crate) rate: f64,
    /// The most that a filter may take.
    pub(crate) most_bytes: u64,
    /// Whether INFO tells more than clients that know the names in advance expect.
    pub(crate) more_info: bool,
}

pub(crate) fn settings() -> Settings {
    Settings {
        capacity: u32::try_from(CAPACITY.load(Ordering::Relaxed)).unwrap_or(DEFAULT_CAPACITY),
        rate: f64::from_bits(RATE.load(Ordering::Relaxed)),
        most_bytes: MOST_BYTES.load(Ordering::Relaxed) as u64,
        more_info: MORE_INFO.load(Ordering::Relaxed),
    }
}

/// Makes the settings known and takes what the configuration file says.
///
/// # Safety
/// Called while the module is loaded, with the context of that.
pub(super) unsafe fn register(ctx: *mut RedisModuleCtx) -> Result<(), ()> {
    let numbers: [(&CStr, &'static AtomicI64, i64, i64, i64, u32); 2] = [
        (
            c"default-capacity",
            &CAPACITY,
            i64::from(DEFAULT_CAPACITY),
            // Twice the default size of a bucket.
            4,
            i64::from(MAX_CAPACITY),
            raw::REDISMODULE_CONFIG_DEFAULT,
        ),
        (
            c"max-object-bytes",
            &MOST_BYTES,
            DEFAULT_MOST_BYTES,
            1 << 10,
            i64::MAX,
            raw::REDISMODULE_CONFIG_MEMORY,
        ),
    ];
    let mut registered = Vec::new();
    // SAFETY: the context is that of loading; names are copied; the private data is static.
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
    // SAFETY: what `register` gave: a static.
    unsafe { &*number.cast::<AtomicI64>() }.load(Ordering::Relaxed)
}

extern "C" fn set_number(
    _name: *const c_char,
    value: c_longlong,
    number: *mut c_void,
    _error: *mut *mut RedisModuleString,
) -> c_int {
    // SAFETY: what `register` gave: a static.
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
        let words = "the rate must be in the range [0.00001, 1)";
        // SAFETY: the words are copied, and the server frees the string.
        unsafe {
            *error = engine!(RedisModule_CreateString(none, words.as_ptr().cast(), words.len()));
        }
        return raw::REDISMODULE_ERR as c_int;
    };
    RATE.store(rate.to_bits(), Ordering::Relaxed);
    // SAFETY: the new string is kept, the one before it was kept here and is not used any more.
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
