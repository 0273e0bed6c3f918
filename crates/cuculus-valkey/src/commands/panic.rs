//! PANIC: fails on purpose, so that a test can see that the server lives on. Not in releases.

use crate::server::{Call, Command, Description, Key, KeyUse, Refusal};

pub(crate) struct Panic;

impl Command for Panic {
    const DESCRIPTION: Description = Description {
        name: "PANIC",
        flags: c"write",
        summary: c"Panics, in builds for tests",
        complexity: c"O(1)",
        arity: 2,
        key: KeyUse::Update,
        arguments: &[],
    };

    fn run(call: &Call<'_>) -> Result<(), Refusal> {
        let _key = Key::write(call)?;
        panic!("a panic on purpose");
    }
}
