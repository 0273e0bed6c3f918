//! SCANDUMP and LOADCHUNK: copy a filter to another server, first a header and then chunks of its
//! bytes. A chunk is named by the position after its last byte, counted from one.

use super::options::parse;
use super::{EXISTS, NO_MEMORY, NOT_FOUND, WRONG_TYPE, required};
use crate::server::{
    Argument, CHUNK, Call, Command, Description, Found, Key, KeyUse, Refusal, Shape, settings,
};
use crate::value::{ChunkError, Header, Loading, Range, Value};

pub(crate) struct ScanDump;
pub(crate) struct LoadChunk;

const HEADER: u64 = 1;
const BAD_POSITION: &str = "Invalid position";

impl Command for ScanDump {
    const DESCRIPTION: Description = Description {
        name: "SCANDUMP",
        flags: c"readonly",
        summary: c"Returns the next chunk of a filter's bytes",
        complexity: c"O(n) for a filter of n bytes",
        arity: 3,
        key: KeyUse::Read,
        arguments: &[Argument::one(c"iterator", Shape::Integer)],
    };

    fn run(call: &Call<'_>) -> Result<(), Refusal> {
        let position: u64 = parse(call.argument(2)?).ok_or(BAD_POSITION)?;
        let key = Key::read(call)?;
        let found = key.value();
        let is_empty = required(found)?.is_empty();
        let Found::Value(value) = key.value() else { return Err(NOT_FOUND.into()) };
        let (next, data) = match position.checked_sub(HEADER) {
            _ if is_empty => (0, None),
            None => (HEADER, Some(value.header().to_bytes())),
            Some(start) => {
                let chunk = Range::new(start, CHUNK).of(|range| value.write_body(range));
                let chunk = chunk.ok_or(NO_MEMORY)?;
                match chunk.len() as u64 {
                    0 => (0, None),
                    len => (position + len, Some(chunk)),
                }
            }
        };
        call.reply_array(2);
        call.reply_integer(next as i64);
        match data {
            Some(data) => call.reply_bytes(&data),
            None => call.reply_null(),
        }
        Ok(())
    }
}

impl Command for LoadChunk {
    const DESCRIPTION: Description = Description {
        name: "LOADCHUNK",
        flags: c"write deny-oom",
        summary: c"Loads a chunk of a filter's bytes; the last chunk completes the filter",
        complexity: c"O(n) for a chunk of n bytes; the last chunk is O(n) for n bytes in total",
        arity: 4,
        key: KeyUse::Insert,
        arguments: &[
            Argument::one(c"iterator", Shape::Integer),
            Argument::one(c"data", Shape::Bytes),
        ],
    };

    fn run(call: &Call<'_>) -> Result<(), Refusal> {
        let position: u64 = parse(call.argument(2)?).ok_or(BAD_POSITION)?;
        let data = call.argument(3)?;
        let end = position.checked_sub(HEADER).ok_or(BAD_POSITION)?;
        let mut key = Key::write(call)?;
        match key.take() {
            Found::Other => return Err(WRONG_TYPE.into()),
            Found::Value(_) if position == HEADER => return Err(EXISTS.into()),
            Found::Value(value) => take(value, end, data)?,
            Found::Nothing if position == HEADER => {
                let header = Header::from_bytes(data).ok_or("Invalid header")?;
                if header.body_len > settings().max_bytes && !call.is_replayed() {
                    return Err("Couldn't create filter!".into());
                }
                key.set(Value::Loading(Loading::new(header)));
            }
            Found::Nothing => return Err(NOT_FOUND.into()),
        }
        call.changed(c"cf.loadchunk");
        call.replicate_verbatim();
        call.reply_ok();
        Ok(())
    }
}

fn take(value: &mut Value, end: u64, chunk: &[u8]) -> Result<(), Refusal> {
    let Value::Loading(loading) = value else { return Err("Couldn't load chunk!".into()) };
    let whole = loading.take(end, chunk).map_err(|error| match error {
        ChunkError::Position => BAD_POSITION,
        ChunkError::Content => "Couldn't load chunk!",
        ChunkError::OutOfMemory => NO_MEMORY,
    })?;
    if let Some(stored) = whole {
        *value = Value::Ready(stored);
    }
    Ok(())
}
