//! The key of a command: opened, read, written and closed.

use core::marker::PhantomData;

use valkey_module::raw::{self, RedisModuleKey};

use super::call::{Call, Refusal};
use super::{data_type, engine};
use crate::value::Value;

/// An open key, closed when dropped. Its value lives to the end of the call, because the server
/// runs nothing else meanwhile. So the key can be closed while prefetched memory arrives.
pub(crate) struct Key<'c> {
    raw: *mut RedisModuleKey,
    value: Found<*mut Value>,
    call: PhantomData<&'c Call<'c>>,
}

/// What a key holds.
#[derive(Clone, Copy)]
pub(crate) enum Found<T> {
    Nothing,
    /// A value of another type.
    Other,
    Value(T),
}

impl<T> Found<T> {
    fn map<U>(self, with: impl FnOnce(T) -> U) -> Found<U> {
        match self {
            Self::Nothing => Found::Nothing,
            Self::Other => Found::Other,
            Self::Value(value) => Found::Value(with(value)),
        }
    }
}

impl<'c> Key<'c> {
    /// Opens the key of a command that changes nothing.
    pub(crate) fn read(call: &'c Call<'_>) -> Result<Reading<'c>, Refusal> {
        Self::open(call, raw::REDISMODULE_READ).map(Reading)
    }

    /// Opens the key of a command that may change it.
    pub(crate) fn write(call: &'c Call<'_>) -> Result<Self, Refusal> {
        Self::open(call, raw::REDISMODULE_READ | raw::REDISMODULE_WRITE)
    }

    fn open(call: &'c Call<'_>, mode: u32) -> Result<Self, Refusal> {
        let name = call.string(1).ok_or(Refusal::WrongArity)?;
        // SAFETY: context and name live as long as the call.
        let raw: *mut RedisModuleKey =
            unsafe { engine!(RedisModule_OpenKey(call.ctx, name, mode as i32)) }.cast();
        // SAFETY: the key is open, or null, which the server treats as an empty key.
        let value = unsafe {
            if data_type::is_ours(engine!(RedisModule_ModuleTypeGetType(raw))) {
                Found::Value(engine!(RedisModule_ModuleTypeGetValue(raw)).cast())
            } else if engine!(RedisModule_KeyType(raw)) as isize == raw::REDISMODULE_KEYTYPE_EMPTY {
                Found::Nothing
            } else {
                Found::Other
            }
        };
        Ok(Self { raw, value, call: PhantomData })
    }

    /// What the key holds. Call it once: it hands the value to the caller.
    pub(crate) fn take(&mut self) -> Found<&'c mut Value> {
        let taken = core::mem::replace(&mut self.value, Found::Other);
        // SAFETY: a key of our type holds what `set` or the loader put there; it stays there while
        // the command runs, and nothing else has it: a command opens one key, once, and the value
        // is handed out once.
        taken.map(|value| unsafe { &mut *value })
    }

    /// Stores a value in an empty key.
    pub(crate) fn set(&mut self, value: Value) {
        let value = data_type::give(value);
        // SAFETY: the key is open for writing and the value is of our type.
        let set = unsafe {
            engine!(RedisModule_ModuleTypeSetValue(self.raw, data_type::ours(), value.cast()))
        };
        if set as isize != raw::REDISMODULE_OK {
            // SAFETY: the server did not take it.
            drop(unsafe { data_type::take(value) });
        }
    }
}

/// A key opened for reading.
pub(crate) struct Reading<'c>(Key<'c>);

impl<'c> Reading<'c> {
    /// What the key holds.
    pub(crate) fn value(&self) -> Found<&'c Value> {
        // SAFETY: as for `take`; readers change nothing, so the value may be shared.
        self.0.value.map(|value| unsafe { &*value })
    }
}

impl Drop for Key<'_> {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: opened by `open` and closed once.
            unsafe { engine!(RedisModule_CloseKey(self.raw)) };
        }
    }
}
