//! `cargo xtask soak`: the library's soak test, for as long as one likes to wait.

use crate::run::{Failure, cargo, step};

/// What the tests take a number for, and the variable that they read it from.
const OPTIONS: [(&str, &str); 3] = [
    ("--operations", "CUCULUS_SOAK_OPERATIONS"),
    ("--seed", "CUCULUS_SOAK_SEED"),
    ("--items", "CUCULUS_SOAK_ITEMS"),
];
const OPERATIONS: &str = "100000000";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let words = ["test", "--release", "-p", "cuculus", "--test", "soak", "--", "--nocapture"];
    let mut command = cargo(words.into_iter().chain(["--exact", "every_kind_of_filter"]));
    command.env(OPTIONS[0].1, OPERATIONS);
    for pair in arguments.chunks(2) {
        let option = OPTIONS.iter().find(|(name, _)| *name == pair[0]);
        match (option, pair.get(1).and_then(|number| number.parse::<u64>().ok())) {
            (Some((_, variable)), Some(number)) => command.env(variable, number.to_string()),
            (Some((name, _)), None) => {
                return Err(Failure::Usage(format!("soak: {name} takes a number")));
            }
            (None, _) => {
                return Err(Failure::Usage(format!(
                    "soak: {:?} is no option; there are --operations, --seed and --items",
                    pair[0]
                )));
            }
        };
    }
    step("soak", &mut command)
}
