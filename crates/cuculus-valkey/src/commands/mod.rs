//! What clients say and what they are answered. Knows the words; how they reach the server and
//! how filters work stands elsewhere.

mod add; // ADD, ADDNX
mod create; // RESERVE, and the filters that ADD and INSERT make on the way
mod delete; // DEL, COMPACT
mod dump; // SCANDUMP, LOADCHUNK
mod insert; // INSERT, INSERTNX
mod inspect; // INFO, DEBUG
mod options; // numbers and words that may follow
mod query; // EXISTS, MEXISTS, COUNT

pub(crate) use add::{Add, AddNx};
pub(crate) use create::Reserve;
pub(crate) use delete::{Compact, Del};
pub(crate) use dump::{LoadChunk, ScanDump};
pub(crate) use insert::{Insert, InsertNx};
pub(crate) use inspect::{Debug, Info};
pub(crate) use query::{Count, Exists, MExists};

use cuculus::{Full, FullCause, KeyHash};

use crate::server::{Call, Event, Found, Refusal, count, settings};
use crate::value::{Stored, Value};

const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";
const EXISTS: &str = "ERR item exists";
const NOT_FOUND: &str = "ERR not found";
const NO_MEMORY: &str = "OOM no memory for the filter; free memory or use a smaller capacity";
const ARRIVING: &str = "ERR the filter is still being loaded; send its other chunks with \
                        CF.LOADCHUNK, or delete the key";

/// The size of a filter is looked at every so many items: counting it takes a while.
const WEIGHED_EVERY: usize = 256;

/// The filter, unless its bytes are still coming.
fn ready(value: &mut Value) -> Result<&mut Stored, Refusal> {
    match value {
        Value::Ready(stored) => Ok(stored),
        Value::Arriving(_) => Err(ARRIVING.into()),
    }
}

/// The filter for a command that only looks; nothing if the key holds none.
fn seen(found: Found<&Value>) -> Result<Option<&Stored>, Refusal> {
    match found {
        Found::Value(Value::Ready(stored)) => Ok(Some(stored)),
        Found::Value(Value::Arriving(_)) => Err(ARRIVING.into()),
        Found::Nothing | Found::Other => Ok(None),
    }
}

/// Likewise for a command that must have one.
fn needed(found: Found<&Value>) -> Result<&Stored, Refusal> {
    match found {
        Found::Other => Err(WRONG_TYPE.into()),
        found => seen(found)?.ok_or(NOT_FOUND.into()),
    }
}

/// Adds an item, unless the filter is as large as it may be.
fn add_within_limits(call: &Call<'_>, stored: &mut Stored, hash: KeyHash) -> Result<(), Refusal> {
    if stored.len().is_multiple_of(WEIGHED_EVERY) {
        let (size, most) = (stored.size_in_bytes() as u64, settings().most_bytes);
        if size >= most && !call.is_repeated() {
            count(Event::Refused, 1);
            return Err(too_large(size));
        }
    }
    stored.add(hash).map_err(|full| {
        count(Event::Refused, 1);
        refusal(&full)
    })
}

fn too_large(size: u64) -> Refusal {
    let most = settings().most_bytes;
    format!(
        "ERR a filter of {size} bytes is more than the {most} of cuculus.max-object-bytes; raise \
         it or spread the items over several keys"
    )
    .into()
}

fn refusal(full: &Full) -> Refusal {
    match full.cause {
        FullCause::EqualEntries { held } => format!(
            "ERR the item is stored {held} times already, the most that fit; delete it first or \
             use CF.ADDNX"
        )
        .into(),
        FullCause::OutOfMemory => NO_MEMORY.into(),
        FullCause::NoRoom { .. } => "Filter is full".into(),
        _ => format!("ERR {full}").into(),
    }
}
