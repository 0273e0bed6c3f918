//! A key opened for a command.

use core::marker::PhantomData;
use std::ffi::CStr;

use valkey_module::raw::{self, RedisModuleKey};

use super::call::{Call, Refusal};
use super::{data_type, engine};
use crate::value::Value;

/// An open key; closed when dropped.
pub(crate) struct Key<'c> {
    raw: *mut RedisModuleKey,
    call: &'c Call<'c>,
    value: PhantomData<&'c mut Value>,
}

/// What is under a key.
#[derive(Clone, Copy)]
pub(crate) enum Found<T> {
    Nothing,
    /// A value of another type.
    Other,
    Value(T),
}

impl<'c> Key<'c> {
    /// Opens the key of a command that changes nothing.
    pub(crate) fn read(call: &'c Call<'_>) -> Result<Self, Refusal> {
        Self::open(call, raw::REDISMODULE_READ)
    }

    /// Opens the key of a command that may change it.
    pub(crate) fn write(call: &'c Call<'_>) -> Result<Self, Refusal> {
        Self::open(call, raw::REDISMODULE_READ | raw::REDISMODULE_WRITE)
    }

    fn open(call: &'c Call<'_>, mode: u32) -> Result<Self, Refusal> {
        let name = call.string(1).ok_or(Refusal::WrongArity)?;
        // SAFETY: context and name live as long as the call.
        let raw = unsafe { engine!(RedisModule_OpenKey(call.ctx, name, mode as i32)) };
        Ok(Self { raw: raw.cast(), call, value: PhantomData })
    }

    fn pointer(&self) -> Found<*mut Value> {
        // SAFETY: the key is open, or null, which the server takes for a key with nothing under
        // it.
        unsafe {
            if data_type::is_ours(engine!(RedisModule_ModuleTypeGetType(self.raw))) {
                return Found::Value(engine!(RedisModule_ModuleTypeGetValue(self.raw)).cast());
            }
            match engine!(RedisModule_KeyType(self.raw)) as isize {
                raw::REDISMODULE_KEYTYPE_EMPTY => Found::Nothing,
                _ => Found::Other,
            }
        }
    }

    /// What is under the key.
    pub(crate) fn value(&self) -> Found<&Value> {
        match self.pointer() {
            Found::Nothing => Found::Nothing,
            Found::Other => Found::Other,
            // SAFETY: a key of our type holds what `set` or the loader put there, and nobody else
            // has it while the key is open.
            Found::Value(value) => Found::Value(unsafe { &*value }),
        }
    }

    /// What is under a key that was opened to be changed.
    pub(crate) fn value_mut(&mut self) -> Found<&mut Value> {
        match self.pointer() {
            Found::Nothing => Found::Nothing,
            Found::Other => Found::Other,
            // SAFETY: as for `value`, and the key is borrowed as long as the value.
            Found::Value(value) => Found::Value(unsafe { &mut *value }),
        }
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

    /// The value was changed: those who watch the key, and those who listen, are told.
    pub(crate) fn changed(&self, event: &CStr) {
        if let Some(name) = self.call.string(1) {
            // SAFETY: context and name live as long as the call.
            unsafe { engine!(RedisModule_SignalModifiedKey(self.call.ctx, name)) };
        }
        self.call.notify(event);
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
