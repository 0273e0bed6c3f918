//! `cargo xtask soak`: elastic filters beside exact multisets, for as long as one likes to wait.

use crate::run::{Failure, cargo, step};

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut command = cargo(["bench", "-p", "cuculus-lab", "--bench", "lab", "--", "soak"]);
    step("soak", command.args(arguments))
}
