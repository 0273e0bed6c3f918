//! INSERT and INSERTNX: add many items, with one reply for each.

use cuculus::KeyHash;

use super::options::{Options, parse};
use super::{NOT_FOUND, TOGETHER, WRONG_TYPE, add_within_limits, create, has_room_for, ready};
use crate::server::{
    Argument, Call, Command, Description, Event, Found, Key, KeyUse, Named, Refusal, Shape, Word,
    count,
};
use crate::value::{Stored, Value};

/// How the message for a capacity that is too small writes the limit.
const LEAST_CAPACITY: &str = "cf-bucket-size * 2";

/// INSERT, or INSERTNX.
pub(crate) struct InsertMany<const NX: bool>;
pub(crate) type Insert = InsertMany<false>;
pub(crate) type InsertNx = InsertMany<true>;

impl<const NX: bool> Command for InsertMany<NX> {
    const DESCRIPTION: Description = Description {
        name: if NX { "INSERTNX" } else { "INSERT" },
        flags: c"write deny-oom",
        summary: if NX {
            c"Adds the items that the filter does not contain yet"
        } else {
            c"Adds items; creates the filter if it does not exist"
        },
        complexity: c"O(n) for n items",
        arity: -4,
        key: KeyUse::Insert,
        arguments: &[
            Argument::option(c"capacity", c"CAPACITY", Shape::Integer),
            Argument::option(c"rate", c"ERROR", Shape::Number),
            Argument::option(c"nocreate", c"NOCREATE", Shape::Word),
            Argument::many(c"item", Some(c"ITEMS")),
        ],
    };

    fn run(call: &Call<'_>) -> Result<(), Refusal> {
        let Words { options, no_create, items } = Words::of(call)?;
        // Checked even if the filter exists, as clients expect.
        options.capacity(LEAST_CAPACITY)?;
        let mut key = Key::write(call)?;
        let mut created = None;
        let stored = match key.take() {
            Found::Other => return Err(WRONG_TYPE.into()),
            Found::Nothing if no_create => return Err(NOT_FOUND.into()),
            Found::Nothing => {
                created.insert(create::create(call, options.resolve(LEAST_CAPACITY)?)?)
            }
            Found::Value(value) => ready(value)?,
        };
        let wanted = call.len() - items;
        // No allocation for a few answers.
        let (mut few, mut many) = ([Answer::Refused; TOGETHER], Vec::new());
        let answers = if let Some(few) = few.get_mut(..wanted) {
            few
        } else {
            many.resize(wanted, Answer::Refused);
            many.as_mut_slice()
        };
        add_each(call, stored, items, NX, answers);
        let answers = &*answers;
        let is_added = |&(_, answer): &(usize, &Answer)| matches!(answer, Answer::Added);
        let added = || (items..).zip(answers).filter(is_added).map(|(position, _)| position);
        let count_added = added().count();
        if count_added > 0 {
            count(Event::Added, count_added as u64);
            let is_new = created.is_some();
            if let Some(stored) = created {
                let parameters = *stored.parameters();
                key.set(Value::Ready(stored));
                create::replicate(call, &parameters);
            }
            call.changed(c"cf.insert");
            if count_added == answers.len() && !is_new {
                call.replicate_verbatim();
            } else {
                let begin = [Word::Argument(1), Word::Text("NOCREATE"), Word::Text("ITEMS")];
                let items = added().map(Word::Argument);
                call.replicate(Named::Insert, &begin.into_iter().chain(items).collect::<Vec<_>>());
            }
        }
        call.reply_array(answers.len());
        answers.iter().for_each(|&answer| give::<NX>(call, answer));
        Ok(())
    }
}

/// Of INSERT clients expect a boolean in RESP3, which has no third value for "full"; of INSERTNX a number.
fn give<const NX: bool>(call: &Call<'_>, answer: Answer) {
    match answer {
        // A number in RESP2.
        Answer::Added if !NX => call.reply_bool(true),
        _ if !NX && call.is_resp3() => call.reply_bool(false),
        _ => call.reply_integer(answer as i64),
    }
}

#[derive(Clone, Copy)]
enum Answer {
    Refused = -1,
    Present = 0,
    Added = 1,
}

/// The options before the items, and the position of the first item.
struct Words {
    options: Options,
    no_create: bool,
    items: usize,
}

impl Words {
    fn of(call: &Call<'_>) -> Result<Self, Refusal> {
        let mut options = Options::default();
        let (mut no_create, mut position) = (false, 2);
        loop {
            let word = call.argument(position)?;
            if word.eq_ignore_ascii_case(b"ITEMS") {
                break;
            }
            if word.eq_ignore_ascii_case(b"NOCREATE") {
                no_create = true;
                position += 1;
            } else if word.eq_ignore_ascii_case(b"CAPACITY") {
                let capacity = parse(call.argument(position + 1)?).ok_or("Bad capacity")?;
                options.capacity = Some(capacity);
                position += 2;
            } else if word.eq_ignore_ascii_case(b"ERROR") && options.take(call, position)? {
                position += 2;
            } else {
                return Err("Unknown argument received".into());
            }
        }
        let items = position + 1;
        if items < call.len() {
            Ok(Self { options, no_create, items })
        } else {
            Err(Refusal::WrongArity)
        }
    }
}

/// Adds each item that fits, and writes an answer for each.
fn add_each(
    call: &Call<'_>,
    stored: &mut Stored,
    items: usize,
    only_if_absent: bool,
    answers: &mut [Answer],
) {
    let mut position = items;
    let mut hashes = [KeyHash::new(0); TOGETHER];
    let mut absent = Vec::new();
    for group in answers.chunks_mut(TOGETHER) {
        let Some(hashes) = hashes.get_mut(..group.len()) else { return };
        for hash in &mut *hashes {
            *hash = stored.hash(call.get(position).unwrap_or_default());
            position += 1;
        }
        let mut answers = group.iter_mut();
        let added = match has_room_for(call, stored, hashes.len()) {
            true if only_if_absent => {
                stored.add_absent(hashes, &mut absent);
                // In this order: the one that ends first must not take an answer that it has no use for.
                for (&is_absent, answer) in absent.iter().zip(answers.by_ref()) {
                    *answer = if is_absent { Answer::Added } else { Answer::Present };
                }
                absent.len()
            }
            true => {
                let added = stored.add_all(hashes);
                answers.by_ref().take(added).for_each(|answer| *answer = Answer::Added);
                added
            }
            // One by one, up to the limit.
            false => 0,
        };
        // Filters of fixed size, and what follows an item that was refused.
        let left = hashes.get(added..).unwrap_or_default();
        left.iter().for_each(|&hash| stored.prefetch(hash));
        for (answer, &hash) in answers.zip(left) {
            *answer = if only_if_absent && stored.contains(hash) {
                Answer::Present
            } else if add_within_limits(call, stored, hash).is_ok() {
                Answer::Added
            } else {
                Answer::Refused
            };
        }
    }
}
