//! `cargo xtask bench`: the laboratory in release, from any directory.

use crate::run::{Failure, cargo, step};

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut command = cargo(["run", "--release", "-p", "cuculus-lab", "--"]);
    match arguments.first().map(String::as_str) {
        None => command.args(["run", "speed"]),
        Some("list" | "run" | "report") => command.args(arguments),
        // `cargo xtask bench speed --rounds 4` is `cuculus-lab run speed --rounds 4`.
        Some(_) => command.arg("run").args(arguments),
    };
    step("bench", &mut command)
}
