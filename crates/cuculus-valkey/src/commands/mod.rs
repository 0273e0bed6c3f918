//! The commands: their arguments, replies and error messages. Knows nothing of the server's C
//! interface (`server`) or of how filters work (`value`).

mod add; // ADD, ADDNX
mod create; // RESERVE, and the filters that ADD and INSERT create
mod delete; // DEL, COMPACT
mod dump; // SCANDUMP, LOADCHUNK
mod insert; // INSERT, INSERTNX
mod inspect; // INFO, DEBUG
mod options; // options that several commands share
#[cfg(debug_assertions)]
mod panic; // PANIC, for tests
mod query; // EXISTS, MEXISTS, COUNT

pub(crate) use add::{Add, AddNx};
pub(crate) use create::Reserve;
pub(crate) use delete::{Compact, Del};
pub(crate) use dump::{LoadChunk, ScanDump};
pub(crate) use insert::{Insert, InsertNx};
pub(crate) use inspect::{Debug, Info};
#[cfg(debug_assertions)]
pub(crate) use panic::Panic;
pub(crate) use query::{Count, Exists, MExists};

use cuculus::{Full, FullCause, KeyHash};

use crate::server::{Call, Event, Found, Refusal, count, full_name, settings};
use crate::value::{Stored, Value};

const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";
const EXISTS: &str = "ERR item exists";
const NOT_FOUND: &str = "ERR not found";
const FULL: &str = "Filter is full";
const NO_MEMORY: &str = "OOM no memory for the filter; free memory or use a smaller capacity";

/// The number of items between two checks of the size of a filter, because computing it is slow.
const SIZE_CHECK_INTERVAL: usize = 256;

/// Items that a command adds or looks up together, so that the waits for memory overlap.
const TOGETHER: usize = 64;

/// The filter, unless it is still being loaded.
fn ready(value: &mut Value) -> Result<&mut Stored, Refusal> {
    match value {
        Value::Ready(stored) => Ok(stored),
        Value::Loading(_) | Value::Assembling(_) => Err(still_loading()),
    }
}

/// The filter for a read-only command; `None` if the key holds no filter.
fn readable(found: Found<&Value>) -> Result<Option<&Stored>, Refusal> {
    match found {
        Found::Value(Value::Ready(stored)) => Ok(Some(stored)),
        Found::Value(Value::Loading(_) | Value::Assembling(_)) => Err(still_loading()),
        Found::Nothing | Found::Other => Ok(None),
    }
}

/// The filter for a read-only command that needs one.
fn required(found: Found<&Value>) -> Result<&Stored, Refusal> {
    match found {
        Found::Other => Err(WRONG_TYPE.into()),
        found => readable(found)?.ok_or(NOT_FOUND.into()),
    }
}

/// Adds an item, unless the filter is full or has reached `cuculus.max-object-bytes`.
fn add_within_limits(call: &Call<'_>, stored: &mut Stored, hash: KeyHash) -> Result<(), Refusal> {
    let refused = |refusal| {
        count(Event::Refused, 1);
        Err(refusal)
    };
    if stored.is_full() && !call.is_replayed() {
        return refused(FULL.into());
    }
    if !has_room_for(call, stored, 1) {
        return refused(too_large(stored.size_in_bytes() as u64));
    }
    stored.add(hash).or_else(|full| refused(refusal(&full)))
}

/// Whether the filter is smaller than `cuculus.max-object-bytes`, as far as it is looked at before this number
/// of items is added.
fn has_room_for(call: &Call<'_>, stored: &Stored, items: usize) -> bool {
    let len = stored.len();
    len.next_multiple_of(SIZE_CHECK_INTERVAL) >= len + items
        || (stored.size_in_bytes() as u64) < settings().max_bytes
        || call.is_replayed()
}

fn still_loading() -> Refusal {
    let load = full_name("LOADCHUNK");
    format!(
        "ERR the filter is still being loaded; send its other chunks with {load}, or delete the key"
    )
    .into()
}

fn too_large(size: u64) -> Refusal {
    let max = settings().max_bytes;
    format!(
        "ERR a filter of {size} bytes is more than the {max} of cuculus.max-object-bytes; raise it \
         or spread the items over several keys"
    )
    .into()
}

fn refusal(full: &Full) -> Refusal {
    match full.cause {
        FullCause::EqualEntries { held } => format!(
            "ERR the item is already stored {held} times, which is the limit; delete it first or \
             use {}",
            full_name("ADDNX")
        )
        .into(),
        FullCause::OutOfMemory => NO_MEMORY.into(),
        FullCause::NoRoom { .. } => FULL.into(),
        _ => format!("ERR {full}").into(),
    }
}
