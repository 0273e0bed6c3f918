//! INSERT and INSERTNX: add many items, with one reply for each.

use super::options::{Options, parse};
use super::{NOT_FOUND, WRONG_TYPE, add_within_limits, create, ready};
use crate::server::{
    Argument, Call, Command, Description, Event, Found, Key, KeyUse, Named, Refusal, Shape, Word,
    count,
};
use crate::value::{Stored, Value};

/// The number of items between prefetching an item and adding it.
const PREFETCH_DISTANCE: usize = 8;

pub(crate) struct Insert;
pub(crate) struct InsertNx;

const ARGUMENTS: &[Argument] = &[
    Argument::option(c"capacity", c"CAPACITY", Shape::Integer),
    Argument::option(c"rate", c"ERROR", Shape::Number),
    Argument::option(c"nocreate", c"NOCREATE", Shape::Word),
    Argument::many(c"item", Some(c"ITEMS")),
];

impl Command for Insert {
    const DESCRIPTION: Description = Description {
        name: "INSERT",
        flags: c"write deny-oom",
        summary: c"Adds items; creates the filter if it does not exist",
        complexity: c"O(n) for n items",
        arity: -4,
        key: KeyUse::Insert,
        arguments: ARGUMENTS,
    };

    fn run(call: &Call<'_>) -> Result<(), Refusal> {
        // In RESP3 clients expect a boolean, which has no third value for "full".
        let answers = if call.is_resp3() { Answers::Booleans } else { Answers::Integers };
        insert(call, false, answers)
    }
}

impl Command for InsertNx {
    const DESCRIPTION: Description = Description {
        name: "INSERTNX",
        flags: c"write deny-oom",
        summary: c"Adds the items that the filter does not contain yet",
        complexity: c"O(n) for n items",
        arity: -4,
        key: KeyUse::Insert,
        arguments: ARGUMENTS,
    };

    fn run(call: &Call<'_>) -> Result<(), Refusal> {
        insert(call, true, Answers::Integers)
    }
}

#[derive(Clone, Copy)]
enum Answers {
    Integers,
    Booleans,
}

impl Answers {
    fn give(self, call: &Call<'_>, answer: Answer) {
        match self {
            Self::Integers => call.reply_integer(answer as i64),
            Self::Booleans => call.reply_bool(matches!(answer, Answer::Added)),
        }
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

fn insert(call: &Call<'_>, only_if_absent: bool, answers: Answers) -> Result<(), Refusal> {
    let Words { options, no_create, items } = Words::of(call)?;
    // Checked even if the filter exists, as clients expect.
    let parameters = options.resolve("cf-bucket-size * 2")?;
    let mut key = Key::write(call)?;
    let mut created = None;
    let stored = match key.take() {
        Found::Other => return Err(WRONG_TYPE.into()),
        Found::Nothing if no_create => return Err(NOT_FOUND.into()),
        Found::Nothing => created.insert(create::create(call, parameters)?),
        Found::Value(value) => ready(value)?,
    };
    call.reply_array(call.len() - items);
    let added = add_each(call, stored, items, only_if_absent, answers);
    let all = call.len() - items == added.len();
    if added.is_empty() {
        return Ok(());
    }
    count(Event::Added, added.len() as u64);
    let is_new = created.is_some();
    if let Some(stored) = created {
        key.set(Value::Ready(stored));
        create::replicate(call, &parameters);
    }
    call.changed(c"cf.insert");
    if all && !is_new {
        call.replicate_verbatim();
    } else {
        let begin = [Word::Argument(1), Word::Text("NOCREATE"), Word::Text("ITEMS")];
        let items = added.into_iter().map(Word::Argument);
        call.replicate(Named::Insert, &begin.into_iter().chain(items).collect::<Vec<_>>());
    }
    Ok(())
}

/// Adds each item that fits and replies for each. Returns the positions of those that were added.
fn add_each(
    call: &Call<'_>,
    stored: &mut Stored,
    items: usize,
    only_if_absent: bool,
    answers: Answers,
) -> Vec<usize> {
    let mut added = Vec::new();
    let hash = |position: usize| stored.hash(call.get(position).unwrap_or_default());
    let hashes: Vec<_> = (items..call.len()).map(hash).collect();
    for (i, &hash) in hashes.iter().enumerate() {
        if let Some(&later) = hashes.get(i + PREFETCH_DISTANCE) {
            stored.prefetch(later);
        }
        let position = items + i;
        let answer = if only_if_absent && stored.contains(hash) {
            Answer::Present
        } else if add_within_limits(call, stored, hash).is_ok() {
            added.push(position);
            Answer::Added
        } else {
            Answer::Refused
        };
        answers.give(call, answer);
    }
    added
}
