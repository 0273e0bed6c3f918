//! EXISTS, MEXISTS and COUNT: look up items. A key without a filter counts as an empty filter.

use cuculus::KeyHash;

use super::{TOGETHER, readable};
use crate::server::{Argument, Call, Command, Description, Key, KeyUse, Refusal, Shape};

pub(crate) struct Exists;
pub(crate) struct MExists;
pub(crate) struct Count;

impl Command for Exists {
    const DESCRIPTION: Description = Description {
        name: "EXISTS",
        flags: c"readonly fast",
        summary: c"Checks whether an item was added; false positives are possible",
        complexity: c"O(1)",
        arity: 3,
        key: KeyUse::Read,
        arguments: &[Argument::one(c"item", Shape::Bytes)],
    };

    fn run(call: &Call<'_>) -> Result<(), Refusal> {
        let item = call.argument(2)?;
        let key = Key::read(call)?;
        let stored = readable(key.value())?;
        let there = stored.is_some_and(|stored| {
            let hash = stored.hash(item);
            // The memory arrives while the server closes the key.
            stored.prefetch(hash);
            drop(key);
            stored.contains(hash)
        });
        call.reply_bool(there);
        Ok(())
    }
}

impl Command for MExists {
    const DESCRIPTION: Description = Description {
        name: "MEXISTS",
        flags: c"readonly fast",
        summary: c"Checks for each item whether it was added; false positives are possible",
        complexity: c"O(n) for n items",
        arity: -3,
        key: KeyUse::Read,
        arguments: &[Argument::many(c"item", None)],
    };

    fn run(call: &Call<'_>) -> Result<(), Refusal> {
        let key = Key::read(call)?;
        let stored = readable(key.value())?;
        let items = 2..call.len();
        call.reply_array(items.len());
        let Some(stored) = stored else {
            items.for_each(|_| call.reply_bool(false));
            return Ok(());
        };
        let (mut hashes, mut there) = ([KeyHash::new(0); TOGETHER], Vec::new());
        for first in items.step_by(TOGETHER) {
            let group = (first..call.len()).zip(&mut hashes).map(|(position, hash)| {
                *hash = stored.hash(call.get(position).unwrap_or_default());
            });
            let len = group.count();
            stored.contains_each(hashes.get(..len).unwrap_or_default(), &mut there);
            there.iter().for_each(|&there| call.reply_bool(there));
        }
        Ok(())
    }
}

impl Command for Count {
    const DESCRIPTION: Description = Description {
        name: "COUNT",
        flags: c"readonly fast",
        summary: c"Counts how often an item was added; false positives can make it more",
        complexity: c"O(1)",
        arity: 3,
        key: KeyUse::Read,
        arguments: &[Argument::one(c"item", Shape::Bytes)],
    };

    fn run(call: &Call<'_>) -> Result<(), Refusal> {
        let item = call.argument(2)?;
        let key = Key::read(call)?;
        let count = readable(key.value())?.map_or(0, |stored| stored.count(stored.hash(item)));
        call.reply_integer(count as i64);
        Ok(())
    }
}
