//! `cargo xtask promises`: the library against an enemy who knows the seed or writes the files, in
//! numbers that are too large for the tests. In the profile of the tests, which is optimised and
//! checks more.

use crate::run::{Failure, cargo, step};

const KEYS: &str = "CUCULUS_CHOSEN_KEYS";
const FILES: &str = "CUCULUS_FORGED_FILES";

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
    if keys > 0 {
        let words = ["test", "-p", "cuculus", "--test", "enemy", "chosen_keys"];
        let options = ["--", "--nocapture", "--test-threads", "1"];
        let mut command = cargo(words.into_iter().chain(options));
        step("chosen keys", command.env(KEYS, keys.to_string()))?;
    }
    if files > 0 {
        let words = ["test", "-p", "cuculus-fuzz", "--lib", "forged"];
        let mut command = cargo(words.into_iter().chain(["--", "--nocapture"]));
        step("forged files", command.env(FILES, files.to_string()))?;
    }
    Ok(())
}
