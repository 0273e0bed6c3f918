//! DEL and COMPACT: delete items, free memory.

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
        summary: c"Deletes one occurrence of an item; delete only items that were added",
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
        // The memory arrives while the server closes the key.
        stored.prefetch(hash);
        drop(key);
        let was_present = stored.delete(hash);
        if was_present {
            count(Event::Deleted, 1);
            call.changed(c"cf.del");
            call.replicate_verbatim();
        }
        call.reply_bool(was_present);
        Ok(())
    }
}

impl Command for Compact {
    const DESCRIPTION: Description = Description {
        name: "COMPACT",
        flags: c"write",
        summary: c"Frees unused memory, which filters also do automatically",
        complexity: c"O(n) up to 32768 items, O(1) above",
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
            call.replicate_verbatim();
        }
        call.reply_ok();
        Ok(())
    }
}
