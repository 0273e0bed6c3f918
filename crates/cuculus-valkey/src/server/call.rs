//! One call of a command: arguments, replies and replication.

use core::marker::PhantomData;
use core::slice;
use std::borrow::Cow;
use std::ffi::{CStr, CString, c_char, c_int, c_long, c_longlong};

use valkey_module::raw::{self, RedisModuleCtx, RedisModuleString};

use super::{Named, engine};

/// Tells the server something about a call.
macro_rules! tell {
    ($call:expr, $function:ident $(, $argument:expr)*) => {{
        // SAFETY: the context lives as long as the call, and the server copies the texts.
        unsafe { engine!($function($call.ctx $(, $argument)*)) };
    }};
}

/// A command while it runs.
pub(crate) struct Call<'a> {
    pub(super) ctx: *mut RedisModuleCtx,
    arguments: &'a [*mut RedisModuleString],
    // Neither the context nor the strings may leave the thread.
    thread: PhantomData<*mut ()>,
}

/// A word of a command for replicas.
#[derive(Clone, Copy)]
pub(crate) enum Word<'w> {
    /// An argument of the client, by position.
    Argument(usize),
    /// A text of the module.
    Text(&'w str),
}

/// Why a command is refused: the error that the client gets.
pub(crate) enum Refusal {
    /// The server's own message for a wrong number of arguments.
    WrongArity,
    Message(Cow<'static, str>),
}

impl From<&'static str> for Refusal {
    fn from(message: &'static str) -> Self {
        Self::Message(message.into())
    }
}

impl From<String> for Refusal {
    fn from(message: String) -> Self {
        Self::Message(message.into())
    }
}

impl<'a> Call<'a> {
    /// # Safety
    /// The pointers are those that the server passed to a command, and the call does not outlive
    /// the command.
    pub(super) unsafe fn new(
        ctx: *mut RedisModuleCtx,
        arguments: *mut *mut RedisModuleString,
        count: c_int,
    ) -> Self {
        let arguments = if arguments.is_null() {
            // A module loaded without arguments.
            &[]
        } else {
            // SAFETY: the server passes `count` strings.
            unsafe { slice::from_raw_parts(arguments, usize::try_from(count).unwrap_or(0)) }
        };
        Self { ctx, arguments, thread: PhantomData }
    }

    /// The number of arguments, including the name of the command.
    pub(crate) fn len(&self) -> usize {
        self.arguments.len()
    }

    /// An argument, if there is one at this position.
    pub(crate) fn get(&self, position: usize) -> Option<&'a [u8]> {
        // SAFETY: the server's strings live as long as the call.
        self.arguments.get(position).map(|&string| unsafe { bytes_of(string) })
    }

    /// An argument that must be there.
    pub(crate) fn argument(&self, position: usize) -> Result<&'a [u8], Refusal> {
        self.get(position).ok_or(Refusal::WrongArity)
    }

    pub(super) fn string(&self, position: usize) -> Option<*mut RedisModuleString> {
        self.arguments.get(position).copied()
    }

    fn flags(&self) -> u32 {
        // SAFETY: the context lives as long as the call.
        unsafe { engine!(RedisModule_GetContextFlags(self.ctx)) as u32 }
    }

    /// Whether the client speaks RESP3.
    pub(crate) fn is_resp3(&self) -> bool {
        self.flags() & raw::REDISMODULE_CTX_FLAGS_RESP3 != 0
    }

    /// Whether the command comes from a primary or an append-only file, which have accepted it
    /// before. It then runs whatever the settings of this server are, or the data would differ.
    pub(crate) fn is_replayed(&self) -> bool {
        let repeated = raw::REDISMODULE_CTX_FLAGS_REPLICATED
            | raw::REDISMODULE_CTX_FLAGS_LOADING
            | raw::REDISMODULE_CTX_FLAGS_ASYNC_LOADING;
        self.flags() & repeated != 0
    }

    pub(crate) fn reply_ok(&self) {
        self.reply_simple(c"OK");
    }

    pub(crate) fn reply_simple(&self, text: &CStr) {
        tell!(self, RedisModule_ReplyWithSimpleString, text.as_ptr());
    }

    /// A boolean in RESP3, 0 or 1 in RESP2.
    pub(crate) fn reply_bool(&self, yes: bool) {
        tell!(self, RedisModule_ReplyWithBool, c_int::from(yes));
    }

    pub(crate) fn reply_integer(&self, number: i64) {
        tell!(self, RedisModule_ReplyWithLongLong, number as c_longlong);
    }

    pub(crate) fn reply_double(&self, number: f64) {
        tell!(self, RedisModule_ReplyWithDouble, number);
    }

    pub(crate) fn reply_bytes(&self, bytes: &[u8]) {
        let start = bytes.as_ptr().cast::<c_char>();
        tell!(self, RedisModule_ReplyWithStringBuffer, start, bytes.len());
    }

    pub(crate) fn reply_null(&self) {
        tell!(self, RedisModule_ReplyWithNull);
    }

    /// An array; its `len` elements follow as replies.
    pub(crate) fn reply_array(&self, len: usize) {
        tell!(self, RedisModule_ReplyWithArray, len as c_long);
    }

    /// A map in RESP3, a flat array in RESP2; its pairs follow as replies.
    pub(crate) fn reply_map(&self, pairs: usize) {
        tell!(self, RedisModule_ReplyWithMap, pairs as c_long);
    }

    pub(super) fn refuse(&self, refusal: Refusal) {
        match refusal {
            Refusal::WrongArity => tell!(self, RedisModule_WrongArity),
            Refusal::Message(message) => {
                let message = CString::new(message.into_owned()).unwrap_or_default();
                tell!(self, RedisModule_ReplyWithError, message.as_ptr());
            }
        }
    }

    /// Replicates the command as the client sent it.
    pub(crate) fn replicate_verbatim(&self) {
        tell!(self, RedisModule_ReplicateVerbatim);
    }

    /// Replicates another command, before or instead of the client's.
    pub(crate) fn replicate(&self, command: Named, words: &[Word<'_>]) {
        let strings: Vec<*mut RedisModuleString> = words
            .iter()
            .filter_map(|word| match *word {
                Word::Argument(position) => self.string(position).inspect(|&string| {
                    // SAFETY: both live as long as the call; freed below.
                    unsafe { engine!(RedisModule_RetainString(core::ptr::null_mut(), string)) };
                }),
                Word::Text(text) => {
                    let start = text.as_ptr().cast::<c_char>();
                    let none = core::ptr::null_mut();
                    // SAFETY: the text is copied; freed below.
                    Some(unsafe { engine!(RedisModule_CreateString(none, start, text.len())) })
                }
            })
            .collect();
        let name = command.text().as_ptr();
        // SAFETY: the format announces an array of strings and its length, and they follow.
        unsafe {
            engine!(RedisModule_Replicate(
                self.ctx,
                name,
                c"v".as_ptr(),
                strings.as_ptr(),
                strings.len()
            ));
        }
        for string in strings {
            // SAFETY: created or retained above, once each.
            unsafe { engine!(RedisModule_FreeString(core::ptr::null_mut(), string)) };
        }
    }

    /// Signals that the value of the key has changed, to WATCH and to keyspace notifications.
    pub(crate) fn changed(&self, event: &CStr) {
        let Some(key) = self.string(1) else { return };
        let kind = raw::REDISMODULE_NOTIFY_MODULE;
        // SAFETY: context and key live as long as the call.
        unsafe {
            engine!(RedisModule_SignalModifiedKey(self.ctx, key));
            engine!(RedisModule_NotifyKeyspaceEvent(self.ctx, kind, event.as_ptr(), key));
        }
    }
}

/// The bytes of a server's string.
///
/// # Safety
/// The string outlives the slice.
pub(super) unsafe fn bytes_of<'a>(string: *const RedisModuleString) -> &'a [u8] {
    let mut len = 0;
    // SAFETY: the string is valid; the server returns its length.
    unsafe {
        let start = engine!(RedisModule_StringPtrLen(string, &raw mut len));
        if start.is_null() { &[] } else { slice::from_raw_parts(start.cast(), len) }
    }
}
