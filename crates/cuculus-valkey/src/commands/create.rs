//! RESERVE, and the filters that ADD and INSERT create.

use super::options::{Options, parse};
use super::{EXISTS, NO_MEMORY, WRONG_TYPE, too_large};
use crate::server::{
    Argument, Call, Command, Description, Found, Key, KeyUse, Named, Refusal, Shape, Word, settings,
};
use crate::value::{CreateError, Parameters, Stored, Value};

pub(crate) struct Reserve;

impl Command for Reserve {
    const DESCRIPTION: Description = Description {
        name: "RESERVE",
        flags: c"write deny-oom",
        summary: c"Creates an empty filter",
        complexity: c"O(1), or O(n) for a filter with a fixed size of n items",
        arity: -3,
        key: KeyUse::Insert,
        arguments: &[
            Argument::one(c"capacity", Shape::Integer),
            Argument::option(c"bucketsize", c"BUCKETSIZE", Shape::Integer),
            Argument::option(c"maxiterations", c"MAXITERATIONS", Shape::Integer),
            Argument::option(c"expansion", c"EXPANSION", Shape::Integer),
            Argument::option(c"rate", c"ERROR", Shape::Number),
            Argument::option(c"seed", c"SEED", Shape::Integer),
        ],
    };

    fn run(call: &Call<'_>) -> Result<(), Refusal> {
        let capacity = parse(call.argument(2)?).ok_or("Bad capacity")?;
        let mut options = Options::default();
        options.capacity = Some(capacity);
        // Every option has a value.
        if call.len().is_multiple_of(2) {
            return Err(Refusal::WrongArity);
        }
        for position in (3..call.len()).step_by(2) {
            if !options.take(call, position)? {
                return Err("Unknown argument received".into());
            }
        }
        let parameters = options.resolve("2 * BUCKETSIZE")?;
        let mut key = Key::write(call)?;
        match key.take() {
            Found::Nothing => {}
            Found::Other => return Err(WRONG_TYPE.into()),
            Found::Value(_) => return Err(EXISTS.into()),
        }
        key.set(Value::Ready(create(call, parameters)?));
        call.changed(c"cf.reserve");
        replicate(call, &parameters);
        call.reply_ok();
        Ok(())
    }
}

/// An empty filter.
pub(super) fn create(call: &Call<'_>, parameters: Parameters) -> Result<Stored, Refusal> {
    let size = Stored::initial_bytes(&parameters);
    if size > settings().max_bytes && !call.is_replayed() {
        return Err(too_large(size));
    }
    Stored::new(parameters).map_err(|error| match error {
        CreateError::OutOfMemory => NO_MEMORY.into(),
        CreateError::Invalid => "Couldn't create filter!".into(),
    })
}

/// Replicates a new filter with all of its parameters: other servers may have other settings, and
/// the seed is random.
pub(super) fn replicate(call: &Call<'_>, parameters: &Parameters) {
    let Parameters { capacity, bucket_size, max_iterations, expansion, rate, seed } = parameters;
    let numbers = [
        bucket_size.to_string(),
        max_iterations.to_string(),
        expansion.to_string(),
        // The shortest text that parses to the same number.
        rate.to_string(),
        seed.to_string(),
    ];
    let names = ["BUCKETSIZE", "MAXITERATIONS", "EXPANSION", "ERROR", "SEED"];
    let capacity = capacity.to_string();
    let mut words = vec![Word::Argument(1), Word::Text(&capacity)];
    for (name, number) in names.iter().zip(&numbers) {
        words.extend([Word::Text(name), Word::Text(number)]);
    }
    call.replicate(Named::Reserve, &words);
}
