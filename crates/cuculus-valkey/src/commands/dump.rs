//! SCANDUMP and LOADCHUNK: copy a filter to another server, first a header and then chunks. An elastic
//! filter comes in sections, so that it can be in use meanwhile; position 1 begins, and later positions
//! say which sections are done, so the server keeps nothing between two calls. A filter of fixed size
//! comes as its bytes, and a chunk is named by the position after its last byte, counted from one.

use super::options::parse;
use super::{EXISTS, NO_MEMORY, NOT_FOUND, WRONG_TYPE, required, too_large};
use crate::server::{
    Argument, CHUNK, Call, Command, Description, Found, Key, KeyUse, Refusal, Shape, settings,
};
use crate::value::{
    Assembly, ChunkError, Header, Loading, Range, Stored, Value, chunk_of, position_of, sections_at,
};
use cuculus::Sections;

pub(crate) struct ScanDump;
pub(crate) struct LoadChunk;

const HEADER: u64 = 1;
const BAD_POSITION: &str = "Invalid position";
const OTHER_SIZE: &str =
    "ERR the filter grew or shrank too much while it was copied; copy it again from position 0";
const CHANGED: &str = "ERR the filter grew or changed too much while it was copied; delete this key and \
                       copy the filter again";

impl Command for ScanDump {
    const DESCRIPTION: Description = Description {
        name: "SCANDUMP",
        flags: c"readonly",
        summary: c"Returns the next chunk of a filter's bytes",
        complexity: c"O(1), or O(n) for a filter with a fixed size of n bytes",
        arity: 3,
        key: KeyUse::Read,
        arguments: &[Argument::one(c"iterator", Shape::Integer)],
    };

    fn run(call: &Call<'_>) -> Result<(), Refusal> {
        let position: u64 = parse(call.argument(2)?).ok_or(BAD_POSITION)?;
        let key = Key::read(call)?;
        let stored = required(key.value())?;
        let Found::Value(value) = key.value() else { return Err(NOT_FOUND.into()) };
        let (next, data) = match (position, stored.sections()) {
            (0, _) if stored.is_empty() => (0, None),
            (0, Some(_)) => (HEADER, Some(stored.header_of_sections().to_bytes())),
            (0, None) => (HEADER, Some(value.header().to_bytes())),
            (position, Some(first)) => {
                sections(stored, if position == HEADER { first } else { sections_at(position) })?
            }
            (position, None) => {
                let chunk =
                    Range::new(position - HEADER, CHUNK).of(|range| value.write_body(range));
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

/// The chunk with the next sections, and the position after it.
fn sections(stored: &Stored, from: Sections) -> Result<(u64, Option<Vec<u8>>), Refusal> {
    if from.is_done() {
        return Ok((0, None));
    }
    if !stored.are_small(from) {
        return Err(OTHER_SIZE.into());
    }
    let (piece, to) = stored.copy_sections(from).ok_or(NO_MEMORY)?;
    let chunk = chunk_of(from, to, &piece).ok_or(NO_MEMORY)?;
    Ok((position_of(to), Some(chunk)))
}

impl Command for LoadChunk {
    const DESCRIPTION: Description = Description {
        name: "LOADCHUNK",
        flags: c"write deny-oom",
        summary: c"Loads a chunk of a filter's bytes; the last chunk completes the filter",
        complexity:
            c"O(n) for a chunk of n bytes; the last chunk of a filter with a fixed size is O(n) \
                      for n bytes in total",
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
        if position < HEADER {
            return Err(BAD_POSITION.into());
        }
        let mut key = Key::write(call)?;
        match key.take() {
            Found::Other => return Err(WRONG_TYPE.into()),
            Found::Value(_) if position == HEADER => return Err(EXISTS.into()),
            Found::Value(value) => {
                let size = value.size_in_bytes() as u64;
                if size >= settings().max_bytes && !call.is_replayed() {
                    return Err(too_large(size));
                }
                take(value, position, data)?;
            }
            Found::Nothing if position == HEADER => {
                let header = Header::from_bytes(data).ok_or("Invalid header")?;
                if header.body_len > settings().max_bytes && !call.is_replayed() {
                    return Err("Couldn't create filter!".into());
                }
                key.set(if header.is_in_sections() {
                    let assembly = Assembly::new(header);
                    Value::Assembling(assembly.map_err(|_| "Couldn't create filter!")?)
                } else {
                    Value::Loading(Loading::new(header))
                });
            }
            Found::Nothing => return Err(NOT_FOUND.into()),
        }
        call.changed(c"cf.loadchunk");
        call.replicate_verbatim();
        call.reply_ok();
        Ok(())
    }
}

fn take(value: &mut Value, position: u64, chunk: &[u8]) -> Result<(), Refusal> {
    let whole = match value {
        Value::Loading(loading) => loading.take(position - HEADER, chunk),
        Value::Assembling(assembly) => assembly.take(position, chunk),
        Value::Ready(_) => return Err("Couldn't load chunk!".into()),
    };
    let whole = whole.map_err(|error| match error {
        ChunkError::Position => BAD_POSITION,
        ChunkError::Content => "Couldn't load chunk!",
        ChunkError::Changed => CHANGED,
        ChunkError::OutOfMemory => NO_MEMORY,
    })?;
    if let Some(stored) = whole {
        *value = Value::Ready(stored);
    }
    Ok(())
}
