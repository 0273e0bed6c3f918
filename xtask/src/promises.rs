//! `cargo xtask promises`: the library against an enemy who knows the seed or writes the files, without
//! memory, and after loading, in numbers that are too large for the tests; prints the tables. In the profile of the tests, which is optimised and
//! checks more.

use crate::run::{Failure, cargo, step};

const KEYS: &str = "CUCULUS_CHOSEN_KEYS";
const FILES: &str = "CUCULUS_FORGED_FILES";
const LOADED: &str = "CUCULUS_LOADED_KEYS";
const LOADED_KEYS: &str = "600000";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let (mut keys, mut files) = (1_000_000, 200_000);
    for pair in arguments.chunks(2) {
        let number = pair.get(1).and_then(|number| number.parse::<u64>().ok());
        match (pair[0].as_str(), number) {
            ("--keys", Some(number)) => keys = number,
            ("--files", Some(number)) => files = number,
            (word, _) => {
                return Err(Failure::Usage(format!(
                    "promises does not take {word:?}; it takes [--keys N] [--files N]"
                )));
            }
        }
    }
    let shown = ["--", "--nocapture", "--test-threads", "1"];
    let suite =
        |name, test| ["test", "-p", "cuculus", "--test", name].into_iter().chain(test).chain(shown);
    if keys > 0 {
        let mut command = cargo(suite("enemy", Some("chosen_keys")));
        step("chosen keys", command.env(KEYS, keys.to_string()))?;
        let mut command = cargo(suite("enemy", Some("hashes")));
        step("hash functions", command.env(KEYS, keys.to_string()))?;
        step("memory that is refused", &mut cargo(suite("failing_memory", None)))?;
        let mut command = cargo(suite("loaded_memory", None));
        step("memory after loading", command.env(LOADED, LOADED_KEYS))?;
    }
    if files > 0 {
        let words = ["test", "-p", "cuculus-fuzz", "--lib", "forged"];
        let mut command = cargo(words.into_iter().chain(["--", "--nocapture"]));
        step("forged files", command.env(FILES, files.to_string()))?;
    }
    Ok(())
}
