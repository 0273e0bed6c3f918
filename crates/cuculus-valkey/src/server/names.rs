//! The names of the commands: `cf.add`, unless the module was loaded with another prefix. The server
//! shows a name as it was registered, in errors, statistics and ACL rules, and its own names are in
//! lower case. Messages of the module write names in upper case, as its documents do.

use std::ffi::{CStr, CString};
use std::sync::OnceLock;

const PREFIX: &str = "CF";

static PREFIX_HERE: OnceLock<String> = OnceLock::new();
static REPLICATED: OnceLock<[CString; 3]> = OnceLock::new();

/// The commands that the module itself sends to replicas and writes to append-only files.
#[derive(Clone, Copy)]
pub(crate) enum Named {
    Reserve,
    Insert,
    LoadChunk,
}

impl Named {
    /// The full name.
    pub(super) fn text(self) -> &'static CStr {
        let names = REPLICATED.get_or_init(|| ["RESERVE", "INSERT", "LOADCHUNK"].map(registered));
        &names[self as usize]
    }
}

/// The arguments of the module: nothing, or `PREFIX word`.
pub(super) fn set_prefix(arguments: &[&[u8]]) -> Result<(), String> {
    let prefix = match arguments {
        [] => PREFIX,
        [word, prefix] if word.eq_ignore_ascii_case(b"PREFIX") => str::from_utf8(prefix)
            .ok()
            .filter(|prefix| {
                !prefix.is_empty() && prefix.bytes().all(|b| b.is_ascii_alphanumeric())
            })
            .ok_or("PREFIX takes a word of letters and digits, for example PREFIX CUCKOO")?,
        _ => return Err("unknown module arguments; the only one is PREFIX word".into()),
    };
    // If the module is loaded again in the same process, the name stays.
    let _ = PREFIX_HERE.set(prefix.to_ascii_uppercase());
    Ok(())
}

/// The name of a command for messages, as in `CF.ADD`.
pub(crate) fn full_name(name: &str) -> String {
    let prefix = PREFIX_HERE.get().map_or(PREFIX, String::as_str);
    format!("{prefix}.{name}")
}

/// The name of a command as the server knows it, as in `cf.add`.
pub(super) fn registered(name: &str) -> CString {
    CString::new(full_name(name).to_ascii_lowercase()).unwrap_or_default()
}
