//! `cargo xtask bench`: the lab's benchmarks, from any directory.

use crate::run::{Failure, cargo, step};

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut command = cargo(["bench", "-p", "cuculus-lab", "--bench", "lab", "--"]);
    if arguments.is_empty() {
        command.arg("speed");
    }
    step("bench", command.args(arguments))
}
