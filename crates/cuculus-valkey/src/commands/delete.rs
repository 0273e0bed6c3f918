//! DEL and COMPACT: less.

use super::ready;
use crate::server::{
    Argument, Call, Command, Description, Event, Found, Key, KeyUse, Refusal, Shape, count,
};

pub(crate) struct Del;
pub(crate) struct Compact;

impl Command for Del {
    const DESCRIPTION: Description = Description {
        name: "DEL",
        flags: c"write fast",
        summary: c"Deletes an item once; only delete what was added",
        complexity: c"O(1)",
        arity: 3,
        key: KeyUse::Delete,
        arguments: &[Argument::one(c"item", Shape::Bytes)],
    };

    fn run(call: &Call<'_>) -> Result<(), Refusal> {
        let item = call.argument(2)?;
        let mut key = Key::write(call)?;
        let Found::Value(value) = key.take() else { return Err("Not found".into()) };
        let stored = ready(value)?;
        let hash = stored.hash(item);
        // It comes while the server closes the key.
        stored.prefetch(hash);
        drop(key);
        let was_there = stored.delete(hash);
        if was_there {
            count(Event::Deleted, 1);
            call.changed(c"cf.del");
            call.replicate_as_said();
        }
        call.reply_bool(was_there);
        Ok(())
    }
}

impl Command for Compact {
    const DESCRIPTION: Description = Description {
        name: "COMPACT",
        flags: c"write",
        summary: c"Gives back memory; filters do so by themselves",
        complexity: c"O(n) for a filter of few items, O(1) for one of many",
        arity: 2,
        key: KeyUse::Update,
        arguments: &[],
    };

    fn run(call: &Call<'_>) -> Result<(), Refusal> {
        let mut key = Key::write(call)?;
        let Found::Value(value) = key.take() else {
            return Err("Cuckoo filter was not found".into());
        };
        if ready(value)?.compact() {
            call.changed(c"cf.compact");
            call.replicate_as_said();
        }
        call.reply_ok();
        Ok(())
    }
}
