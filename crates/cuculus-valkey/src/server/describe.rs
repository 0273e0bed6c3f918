//! Registers the commands: name, flags, position of the key, and the text of COMMAND DOCS.

use core::mem;
use core::ptr;
use std::ffi::{CStr, CString, c_char, c_int};

use valkey_module::raw::{
    self, RedisModuleCommandArg, RedisModuleCommandInfo, RedisModuleCommandKeySpec, RedisModuleCtx,
    RedisModuleString,
};

use super::call::{Call, Refusal};
use super::guard::guarded;
use super::{engine, names};

/// A command of the module.
pub(crate) trait Command {
    const DESCRIPTION: Description;

    /// Runs the command and replies. If it returns an error, nothing has changed.
    fn run(call: &Call<'_>) -> Result<(), Refusal>;
}

/// What the server is told about a command.
pub(crate) struct Description {
    /// Without the prefix.
    pub(crate) name: &'static str,
    /// As the server spells them.
    pub(crate) flags: &'static CStr,
    pub(crate) summary: &'static CStr,
    pub(crate) complexity: &'static CStr,
    /// The number of arguments, including the name; negative for a minimum.
    pub(crate) arity: c_int,
    pub(crate) key: KeyUse,
    /// After the key.
    pub(crate) arguments: &'static [Argument],
}

/// What the command does to the key.
#[derive(Clone, Copy)]
pub(crate) enum KeyUse {
    Read,
    Insert,
    Update,
    Delete,
}

impl KeyUse {
    fn flags(self) -> u32 {
        match self {
            Self::Read => raw::REDISMODULE_CMD_KEY_RO | raw::REDISMODULE_CMD_KEY_ACCESS,
            Self::Insert => raw::REDISMODULE_CMD_KEY_RW | raw::REDISMODULE_CMD_KEY_INSERT,
            Self::Update => raw::REDISMODULE_CMD_KEY_RW | raw::REDISMODULE_CMD_KEY_UPDATE,
            Self::Delete => raw::REDISMODULE_CMD_KEY_RW | raw::REDISMODULE_CMD_KEY_DELETE,
        }
    }
}

/// An argument of a command.
pub(crate) struct Argument {
    pub(crate) name: &'static CStr,
    pub(crate) shape: Shape,
    /// The keyword before it.
    pub(crate) token: Option<&'static CStr>,
    pub(crate) optional: bool,
    pub(crate) multiple: bool,
}

#[derive(Clone, Copy)]
pub(crate) enum Shape {
    Bytes,
    Integer,
    Number,
    /// The token alone.
    Word,
}

impl Argument {
    pub(crate) const fn one(name: &'static CStr, shape: Shape) -> Self {
        Self { name, shape, token: None, optional: false, multiple: false }
    }

    pub(crate) const fn many(name: &'static CStr, token: Option<&'static CStr>) -> Self {
        Self { name, shape: Shape::Bytes, token, optional: false, multiple: true }
    }

    pub(crate) const fn option(name: &'static CStr, token: &'static CStr, shape: Shape) -> Self {
        Self { name, shape, token: Some(token), optional: true, multiple: false }
    }

    fn to_raw(&self) -> RedisModuleCommandArg {
        let type_ = match self.shape {
            Shape::Bytes => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_STRING,
            Shape::Integer => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_INTEGER,
            Shape::Number => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_DOUBLE,
            Shape::Word => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_PURE_TOKEN,
        };
        let optional = if self.optional { raw::REDISMODULE_CMD_ARG_OPTIONAL } else { 0 };
        let multiple = if self.multiple { raw::REDISMODULE_CMD_ARG_MULTIPLE } else { 0 };
        argument(self.name, type_, -1, self.token, optional | multiple)
    }
}

fn argument(
    name: &CStr,
    type_: raw::RedisModuleCommandArgType,
    key: c_int,
    token: Option<&CStr>,
    flags: u32,
) -> RedisModuleCommandArg {
    RedisModuleCommandArg {
        name: name.as_ptr(),
        type_,
        key_spec_index: key,
        token: token.map_or(ptr::null(), CStr::as_ptr),
        summary: ptr::null(),
        since: ptr::null(),
        flags: flags as c_int,
        deprecated_since: ptr::null(),
        subargs: ptr::null_mut(),
        display_text: ptr::null(),
    }
}

extern "C" fn run<C: Command>(
    ctx: *mut RedisModuleCtx,
    arguments: *mut *mut RedisModuleString,
    count: c_int,
) -> c_int {
    // SAFETY: the pointers are the server's, and the call ends here.
    let call = unsafe { Call::new(ctx, arguments, count) };
    // Commands compute first and reply last, so after a panic there is no reply yet.
    let done = guarded(|| C::run(&call)).unwrap_or_else(|| {
        let name = names::full_name(C::DESCRIPTION.name);
        Err(format!(
            "ERR {name} failed because of an error in the module; the server's log has the place. \
             Please report it, and fill the filter again"
        )
        .into())
    });
    if let Err(refusal) = done {
        call.refuse(refusal);
    }
    raw::REDISMODULE_OK as c_int
}

/// Registers a command.
///
/// # Safety
/// Called while the module is loaded, with the context of OnLoad.
pub(super) unsafe fn register<C: Command>(ctx: *mut RedisModuleCtx) -> Result<(), String> {
    let description = C::DESCRIPTION;
    let name = names::registered(description.name);
    let failed = |what: &str| {
        let name = name.to_string_lossy();
        format!(
            "{what} {name} failed; if another module has the same commands, load this one with \
             PREFIX word"
        )
    };
    // SAFETY: the context is that of OnLoad; everything is copied.
    unsafe {
        let created = engine!(RedisModule_CreateCommand(
            ctx,
            name.as_ptr(),
            Some(run::<C>),
            description.flags.as_ptr(),
            1,
            1,
            1
        ));
        if created as isize != raw::REDISMODULE_OK {
            return Err(failed("registering"));
        }
        let command = engine!(RedisModule_GetCommand(ctx, name.as_ptr()));
        if command.is_null() || !describe(command, &description) {
            return Err(failed("describing"));
        }
        // Not in Redis 7.0.
        if let Some(set_categories) = raw::RedisModule_SetCommandACLCategories {
            let categories = categories(description.flags);
            if set_categories(command, categories.as_ptr()) as isize != raw::REDISMODULE_OK {
                return Err(failed("setting the ACL categories of"));
            }
        }
    }
    Ok(())
}

/// The ACL category of these commands, as in `+@cuckoo`.
const CATEGORY: &CStr = c"cuckoo";

/// All ACL categories of a command with these flags. The server derives none of them from the flags
/// of a module's command, and without them `-@write` would not take anything away.
fn categories(flags: &CStr) -> CString {
    let flags = flags.to_string_lossy();
    let has = |flag| flags.split(' ').any(|word| word == flag);
    let access = if has("write") { "write" } else { "read" };
    let speed = if has("fast") { "fast" } else { "slow" };
    let own = CATEGORY.to_string_lossy();
    CString::new(format!("{own} {access} {speed}")).unwrap_or_default()
}

/// Registers the category, if the server supports that.
///
/// # Safety
/// As for [`register`].
pub(super) unsafe fn register_category(ctx: *mut RedisModuleCtx) {
    // SAFETY: the context is that of OnLoad. Another module may have registered it already.
    unsafe {
        if let Some(add_category) = raw::RedisModule_AddACLCategory {
            add_category(ctx, CATEGORY.as_ptr());
        }
    }
}

/// # Safety
/// The command is one of the server's.
unsafe fn describe(command: *mut raw::RedisModuleCommand, description: &Description) -> bool {
    // SAFETY: all of these are plain numbers and pointers, for which zero means "nothing"; the
    // lists end with such an element.
    let (nothing, mut key, end): (RedisModuleCommandArg, RedisModuleCommandKeySpec, _) =
        unsafe { (mem::zeroed(), mem::zeroed(), mem::zeroed()) };
    key.flags = u64::from(description.key.flags());
    key.begin_search_type = raw::RedisModuleKeySpecBeginSearchType_REDISMODULE_KSPEC_BS_INDEX;
    key.bs.index.pos = 1;
    key.find_keys_type = raw::RedisModuleKeySpecFindKeysType_REDISMODULE_KSPEC_FK_RANGE;
    key.fk.range.keystep = 1;
    let mut keys = [key, end];
    let is_key = raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_KEY;
    let mut arguments = vec![argument(c"key", is_key, 0, None, 0)];
    arguments.extend(description.arguments.iter().map(Argument::to_raw));
    arguments.push(nothing);
    let since = CString::new(env!("CARGO_PKG_VERSION")).unwrap_or_default();
    let info = RedisModuleCommandInfo {
        version: &raw const VERSION,
        summary: description.summary.as_ptr(),
        complexity: description.complexity.as_ptr(),
        since: since.as_ptr(),
        history: ptr::null_mut(),
        tips: ptr::null::<c_char>(),
        arity: description.arity,
        key_specs: keys.as_mut_ptr(),
        args: arguments.as_mut_ptr(),
    };
    // SAFETY: the server copies everything before this returns.
    let done = unsafe { engine!(RedisModule_SetCommandInfo(command, &raw const info)) };
    done as isize == raw::REDISMODULE_OK
}

/// The sizes of the structures, so that servers of any version can read them.
static VERSION: raw::RedisModuleCommandInfoVersion = raw::RedisModuleCommandInfoVersion {
    version: 1,
    sizeof_historyentry: size_of::<raw::RedisModuleCommandHistoryEntry>(),
    sizeof_keyspec: size_of::<RedisModuleCommandKeySpec>(),
    sizeof_arg: size_of::<RedisModuleCommandArg>(),
};
