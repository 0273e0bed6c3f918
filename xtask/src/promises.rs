//! `cargo xtask promises`: the library against an enemy who knows the seed or writes the files, without
//! memory, and after loading; prints the tables. The checks are tests of the library and of the fuzz
//! targets, which take their numbers from the environment: in their profile, which is optimised and
//! checks more.

use crate::run::{Failure, cargo, step};

const KEYS: &str = "CUCULUS_CHOSEN_KEYS";
const FILES: &str = "CUCULUS_FORGED_FILES";
const KIND: &str = "CUCULUS_FORGED_KIND";
const LOADED: &str = "CUCULUS_LOADED_KEYS";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let Numbers { keys, files, loaded, kind } = Numbers::parse(arguments)?;
    let shown = ["--", "--nocapture", "--test-threads", "1"];
    let of = |package, name, test| {
        ["test", "-p", package, "--test", name].into_iter().chain(test).chain(shown)
    };
    let suite = |name, test| of("cuculus", name, test);
    let papers = |test| of("cuculus-papers", "all", Some(test));
    if keys > 0 {
        let mut command = cargo(suite("enemy", Some("chosen_keys")));
        step("chosen keys", command.env(KEYS, keys.to_string()))?;
        let mut command = cargo(papers("chosen_keys"));
        step("chosen keys, filters of the papers", command.env(KEYS, keys.to_string()))?;
        let mut command = cargo(suite("enemy", Some("hashes")));
        step("hash functions", command.env(KEYS, keys.to_string()))?;
        step("memory that is refused", &mut cargo(suite("failing_memory", None)))?;
        let mut command = cargo(papers("failing_memory"));
        step("memory that is refused, filters of the papers", &mut command)?;
    }
    if loaded > 0 {
        let mut command = cargo(suite("loaded_memory", None));
        step("memory after loading", command.env(LOADED, loaded.to_string()))?;
        let mut command = cargo(papers("loaded_memory"));
        let loaded = loaded.to_string();
        step("memory after loading, filters of the papers", command.env(LOADED, loaded))?;
    }
    if files > 0 {
        let words = ["test", "-p", "cuculus-fuzz", "--lib", "forged"];
        let mut command = cargo(words.into_iter().chain(shown));
        command.envs(kind.map(|kind| (KIND, kind)));
        step("forged files", command.env(FILES, files.to_string()))?;
    }
    Ok(())
}

/// How much of everything. Nothing of it is left out unless somebody says 0.
#[derive(Debug, PartialEq)]
struct Numbers {
    keys: u64,
    files: u64,
    loaded: u64,
    kind: Option<String>,
}

impl Numbers {
    /// A minute or two.
    const SMALL: Self = Self { keys: 5000, files: 2000, loaded: 100_000, kind: None };
    /// The figures of the documents: an hour or so.
    const FULL: Self = Self { keys: 1_000_000, files: 200_000, loaded: 600_000, kind: None };

    fn parse(words: &[String]) -> Result<Self, Failure> {
        let is_full = words.iter().any(|word| word == "--full");
        let mut numbers = if is_full { Self::FULL } else { Self::SMALL };
        let mut words = words.iter().filter(|&word| word != "--full");
        while let Some(word) = words.next() {
            let value = words.next();
            let number = value.and_then(|number| number.parse::<u64>().ok());
            match (word.as_str(), number, value) {
                ("--keys", Some(number), _) => numbers.keys = number,
                ("--files", Some(number), _) => numbers.files = number,
                ("--loaded", Some(number), _) => numbers.loaded = number,
                ("--kind", _, Some(kind)) => numbers.kind = Some(kind.clone()),
                _ => {
                    return Err(Failure::Usage(format!(
                        "promises does not take {word:?}{}; it takes [--full] [--keys N] [--files N] \
                         [--loaded N] [--kind KIND]",
                        value.map_or(String::new(), |value| format!(" with {value:?}"))
                    )));
                }
            }
        }
        Ok(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Numbers, u8> {
        let words: Vec<String> = line.split_whitespace().map(String::from).collect();
        Numbers::parse(&words).map_err(|failure| failure.exit_code())
    }

    #[test]
    fn numbers_are_small_unless_somebody_says_otherwise() {
        assert_eq!(parse(""), Ok(Numbers::SMALL));
        assert_eq!(parse("--full"), Ok(Numbers::FULL));
        let fewer = Ok(Numbers { files: 7, ..Numbers::FULL });
        assert_eq!(parse("--files 7 --full"), fewer);
        assert_eq!(parse("--full --files 7"), fewer);
        let one = Numbers { keys: 0, kind: Some("Elastic".into()), ..Numbers::SMALL };
        assert_eq!(parse("--keys 0 --kind Elastic"), Ok(one));
    }

    #[test]
    fn anything_else_is_a_usage_error() {
        for line in ["--keys", "--keys x", "--key 5", "5", "--files -1", "--kind"] {
            assert_eq!(parse(line), Err(2), "{line}");
        }
    }
}
