//! ADD and ADDNX: add one item.

use super::options::Options;
use super::{WRONG_TYPE, add_within_limits, create, ready};
use crate::server::{
    Argument, Call, Command, Description, Event, Found, Key, KeyUse, Refusal, Shape, count,
};
use crate::value::Value;

/// ADD, or ADDNX.
pub(crate) struct AddOne<const NX: bool>;
pub(crate) type Add = AddOne<false>;
pub(crate) type AddNx = AddOne<true>;

impl<const NX: bool> Command for AddOne<NX> {
    const DESCRIPTION: Description = Description {
        name: if NX { "ADDNX" } else { "ADD" },
        flags: c"write deny-oom fast",
        summary: if NX {
            c"Adds an item unless the filter already contains it"
        } else {
            c"Adds an item; an item that was added before is stored again"
        },
        complexity: c"O(1)",
        arity: 3,
        key: KeyUse::Insert,
        arguments: &[Argument::one(c"item", Shape::Bytes)],
    };

    fn run(call: &Call<'_>) -> Result<(), Refusal> {
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
                if NX && stored.contains(hash) {
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
}
