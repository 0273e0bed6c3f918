//! EXISTS, MEXISTS and COUNT: questions about items. Where there is no filter there is no item.

use super::seen;
use crate::server::{Argument, Call, Command, Description, Key, KeyUse, Refusal, Shape};

pub(crate) struct Exists;
pub(crate) struct MExists;
pub(crate) struct Count;

impl Command for Exists {
    const DESCRIPTION: Description = Description {
        name: "EXISTS",
        flags: c"readonly fast",
        summary: c"Tells whether an item may have been added",
        complexity: c"O(1)",
        arity: 3,
        key: KeyUse::Read,
        arguments: &[Argument::one(c"item", Shape::Bytes)],
    };

    fn run(call: &Call<'_>) -> Result<(), Refusal> {
        let item = call.argument(2)?;
        let key = Key::read(call)?;
        let there = seen(key.value())?.is_some_and(|stored| stored.contains(item));
        call.reply_bool(there);
        Ok(())
    }
}

impl Command for MExists {
    const DESCRIPTION: Description = Description {
        name: "MEXISTS",
        flags: c"readonly fast",
        summary: c"Tells for each item whether it may have been added",
        complexity: c"O(n) for n items",
        arity: -3,
        key: KeyUse::Read,
        arguments: &[Argument::many(c"item", None)],
    };

    fn run(call: &Call<'_>) -> Result<(), Refusal> {
        let key = Key::read(call)?;
        let stored = seen(key.value())?;
        call.reply_array(call.len() - 2);
        for item in (2..call.len()).filter_map(|position| call.get(position)) {
            call.reply_bool(stored.is_some_and(|stored| stored.contains(item)));
        }
        Ok(())
    }
}

impl Command for Count {
    const DESCRIPTION: Description = Description {
        name: "COUNT",
        flags: c"readonly fast",
        summary: c"Tells how often an item may have been added",
        complexity: c"O(1)",
        arity: 3,
        key: KeyUse::Read,
        arguments: &[Argument::one(c"item", Shape::Bytes)],
    };

    fn run(call: &Call<'_>) -> Result<(), Refusal> {
        let item = call.argument(2)?;
        let key = Key::read(call)?;
        let count = seen(key.value())?.map_or(0, |stored| stored.count(item));
        call.reply_integer(count as i64);
        Ok(())
    }
}
