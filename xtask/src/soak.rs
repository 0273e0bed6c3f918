//! `cargo xtask soak` and `soak-shared`: the library's soak tests, for as long as one likes to wait.

use crate::run::{Failure, cargo, step};

/// What the tests take a number for, and the variable that they read it from.
const OPTIONS: [(&str, &str); 3] = [
    ("--operations", "CUCULUS_SOAK_OPERATIONS"),
    ("--seed", "CUCULUS_SOAK_SEED"),
    ("--items", "CUCULUS_SOAK_ITEMS"),
];
const OPERATIONS: &str = "100000000";

/// `cargo xtask soak-shared`: threads on one shared filter, against an exact oracle.
pub(crate) fn shared(arguments: &[String]) -> Result<(), Failure> {
    let seconds = match arguments {
        [] => Some(3600),
        [name, number] if name == "--seconds" => number.parse::<u64>().ok(),
        _ => None,
    };
    let Some(seconds) = seconds else {
        return Err(Failure::Usage("soak-shared takes [--seconds N]".into()));
    };
    let words = ["test", "--release", "-p", "cuculus", "--test", "shared_stress", "--"];
    let mut command = cargo(words.into_iter().chain(["--nocapture", "--test-threads", "1"]));
    step("soak-shared", command.env("CUCULUS_STRESS_SECONDS", seconds.to_string()))
}

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
