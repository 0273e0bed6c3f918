//! A key opened for a command.

use core::marker::PhantomData;

use valkey_module::raw::{self, RedisModuleKey};

use super::call::{Call, Refusal};
use super::{data_type, engine};
use crate::value::Value;

/// An open key; closed when dropped. Its value can be used longer, to the end of the call: the
/// server does nothing else meanwhile, and so the key can be closed while memory is on its way.
pub(crate) struct Key<'c> {
    raw: *mut RedisModuleKey,
    value: Found<*mut Value>,
    call: PhantomData<&'c Call<'c>>,
}

/// What is under a key.
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
    /// What is under the key of a command that changes nothing.
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
        // SAFETY: the key is open, or null, which the server takes for a key with nothing under
        // it.
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

    /// What is under the key. To be asked for once: the value is the caller's from then on.
    pub(crate) fn take(&mut self) -> Found<&'c mut Value> {
        let taken = core::mem::replace(&mut self.value, Found::Other);
        // SAFETY: a key of our type holds what `set` or the loader put there; it stays there while
        // the command runs, and nobody else has it: a command opens one key, once, and the value
        // is given away once.
        taken.map(|value| unsafe { &mut *value })
    }

    /// Puts a value under a key with nothing under it.
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

/// A key that was opened to be read.
pub(crate) struct Reading<'c>(Key<'c>);

impl<'c> Reading<'c> {
    /// What is under the key.
    pub(crate) fn value(&self) -> Found<&'c Value> {
        // SAFETY: as for `take`; whoever reads changes nothing, so it may be shared.
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
