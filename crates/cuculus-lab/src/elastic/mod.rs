//! The elastic filter from nothing to many keys and back: rates, memory, and how long single
//! operations take.

mod course;
mod limits;
mod options;
mod report;
mod waits;
mod walk;

pub use options::Options;

use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde_json::json;

use crate::verdict;
use course::Course;

/// Walks the way for every rate, with nothing declared and with the number of keys declared, and
/// prints the numbers and what they are to keep to.
///
/// Returns whether the filters gave no wrong answer.
///
/// # Errors
/// If a filter cannot be built, a part of the experiment cannot be started, or the report cannot
/// be written.
pub fn run(options: &Options) -> anyhow::Result<bool> {
    if let Some(rate) = options.alone {
        let course = Course::measure(options, rate, options.declared)?;
        println!("{}", serde_json::to_string(&course)?);
        return Ok(true);
    }
    let mut courses = Vec::new();
    for &rate in &options.rates {
        for declared in [false, true] {
            let course = apart(rate, declared)?;
            println!("{}", report::course(&course));
            courses.push(course);
        }
    }
    let verdicts: Vec<_> = courses.iter().flat_map(limits::of).collect();
    println!("{}", verdict::table(&verdicts));
    if let Some(path) = &options.json {
        let asked = json!({ "keys": options.keys, "probes": options.probes, "seed": options.seed });
        crate::report::write(path, &asked, &json!(courses), &verdicts)?;
    }
    Ok(courses.iter().all(|course| course.wrong_answers() == 0))
}

/// Measures one way in a process of its own, started as this one was: memory that an earlier
/// filter has given back to the allocator, and the allocator not to the system, would be counted
/// as none of the next filter's.
fn apart(rate: f64, declared: bool) -> anyhow::Result<Course> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(std::env::args_os().skip(1)).args(["--alone", &rate.to_string()]);
    if declared {
        command.arg("--declared");
    }
    let output = command.stderr(Stdio::inherit()).output().context("cannot start a process")?;
    ensure!(output.status.success(), "a part of the experiment failed: {}", output.status);
    Ok(serde_json::from_slice(&output.stdout)?)
}
