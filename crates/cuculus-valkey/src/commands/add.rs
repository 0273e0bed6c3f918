//! ADD and ADDNX: add one item.

use super::options::Options;
use super::{WRONG_TYPE, add_within_limits, create, ready};
use crate::server::{
    Argument, Call, Command, Description, Event, Found, Key, KeyUse, Refusal, Shape, count,
};
use crate::value::Value;

pub(crate) struct Add;
pub(crate) struct AddNx;

const ITEM: &[Argument] = &[Argument::one(c"item", Shape::Bytes)];

impl Command for Add {
    const DESCRIPTION: Description = Description {
        name: "ADD",
        flags: c"write deny-oom fast",
        summary: c"Adds an item; an item that was added before is stored again",
        complexity: c"O(1)",
        arity: 3,
        key: KeyUse::Insert,
        arguments: ITEM,
    };

    fn run(call: &Call<'_>) -> Result<(), Refusal> {
        add(call, false)
    }
}

impl Command for AddNx {
    const DESCRIPTION: Description = Description {
        name: "ADDNX",
        flags: c"write deny-oom fast",
        summary: c"Adds an item unless the filter already contains it",
        complexity: c"O(1)",
        arity: 3,
        key: KeyUse::Insert,
        arguments: ITEM,
    };

    fn run(call: &Call<'_>) -> Result<(), Refusal> {
        add(call, true)
    }
}

fn add(call: &Call<'_>, only_if_absent: bool) -> Result<(), Refusal> {
    let item = call.argument(2)?;
    let mut key = Key::write(call)?;
    match key.take() {
        Found::Other => return Err(WRONG_TYPE.into()),
        Found::Nothing => {
            let parameters = Options::default().resolve("2 * BUCKETSIZE")?;
            let mut stored = create::create(call, parameters)?;
            let hash = stored.hash(item);
            add_within_limits(call, &mut stored, hash)?;
            key.set(Value::Ready(stored));
            create::replicate(call, &parameters);
        }
        Found::Value(value) => {
            let stored = ready(value)?;
            let hash = stored.hash(item);
            // The memory arrives while the server closes the key.
            stored.prefetch(hash);
            drop(key);
            if only_if_absent && stored.contains(hash) {
                call.reply_bool(false);
                return Ok(());
            }
            add_within_limits(call, stored, hash)?;
        }
    }
    count(Event::Added, 1);
    call.changed(c"cf.add");
    call.replicate_verbatim();
    call.reply_bool(true);
    Ok(())
}
