//! The elastic filter from nothing to many keys and back: rates, memory, and how long single
//! operations take.

mod course;
mod limits;
mod walk;

use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

use crate::pauses::Summary;
use crate::prelude::*;
use course::{Checkpoint, Course};

pub(super) const ELASTIC: Experiment = Experiment::ours(
    ("elastic", "The elastic filter, there and back"),
    "Does the elastic filter keep its rate, its memory and its caller's time from nothing to many \
     keys and back?",
    Chance::Clock,
    run,
)
.with(&[choices::ITEMS, choices::FPR, PROBES]);

const PROBES: Choice = Choice::new("probes", "N", "absent keys that are looked up at every size");

/// The name of the hidden command that measures one leg.
pub const LEG: &str = "elastic-leg";

/// One way there and back, which a process of its own measures.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Leg {
    keys: usize,
    rate: f64,
    declared: bool,
    probes: usize,
    seed: u64,
}

/// Measures a leg, given as JSON, and returns the numbers as JSON.
///
/// # Errors
/// If that is no leg, or a filter cannot be built.
pub fn measure_leg(leg: &str) -> anyhow::Result<String> {
    Ok(serde_json::to_string(&Course::measure(&serde_json::from_str(leg)?)?)?)
}

impl Leg {
    /// Measures it in a process of its own: memory that an earlier filter has freed, and that the
    /// allocator has kept, would not be counted for the next filter.
    fn measure_apart(&self) -> anyhow::Result<Course> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([LEG, &serde_json::to_string(self)?]).stderr(Stdio::inherit());
        let output = command.output().context("cannot start a process")?;
        ensure!(output.status.success(), "a part of the experiment failed: {}", output.status);
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

/// With nothing declared and with the number of keys declared, for every rate.
fn run(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let items = settings.pick(&[1_000_000][..], &[16_000_000]);
    let items = settings.list(choices::ITEMS, items)?;
    let rates = settings.list(choices::FPR, settings.pick(&[0.01][..], &[0.01, 0.001]))?;
    let probes = settings.value(PROBES, settings.pick(1_000_000, 4_000_000))?.max(1);
    let mut outcome = Outcome::default();
    for keys in items {
        for &rate in &rates {
            for declared in [false, true] {
                let leg = Leg { keys, rate, declared, probes, seed: settings.seed };
                let course = leg.measure_apart()?;
                show(&course, &mut outcome);
                outcome.findings.extend(limits::of(&course));
                outcome.wrong_answers += course.wrong_answers();
            }
        }
    }
    Ok(outcome)
}

fn show(course: &Course, outcome: &mut Outcome) {
    let declared = if course.declared { "all keys declared" } else { "nothing declared" };
    let name = format!("rate {} %, {declared}, {} keys", 100.0 * course.rate, course.keys);
    outcome.tables.push((name.clone(), checkpoints(&course.checkpoints)));
    let clock = course.clock_nanoseconds;
    let title = format!("{name}: µs per operation, {clock} ns of them the clock's");
    outcome.tables.push((title, waits(course)));
    outcome.notes.push(format!(
        "{name}: mean utilisation above 4,096 keys {} growing and {} shrinking; most entries \
         written by one operation {}.",
        number(course.growing_utilization, 4),
        number(course.shrinking_utilization, 4),
        course.most_entries_written
    ));
}

fn checkpoints(checkpoints: &[Checkpoint]) -> Table {
    let mebibytes = |at: &Checkpoint| Some(at.resident_growth? as f64 / f64::from(1 << 20));
    let widths = |at: &Checkpoint| {
        let slots: usize = at.slot_widths.iter().map(|&(_, slots)| slots).sum();
        let share = |&(width, count): &(u32, usize)| {
            format!("{width}: {}", percent(count as f64 / slots as f64, 1))
        };
        at.slot_widths.iter().map(share).collect::<Vec<_>>().join(", ")
    };
    table!(checkpoints, |at| {
        "keys": at.keys.to_string();
        "way": if at.up { "up" } else { "down" }.to_owned();
        "expected %": percent(at.expected_rate, 4);
        "measured %": percent(at.measured_rate, 4);
        "bits/key": number(at.bits_per_key(), 2);
        "in slots": number(at.slot_bits_per_key(), 2);
        "bytes": at.bytes.to_string();
        "counted": number(at.counted_bytes.map(|bytes| bytes as f64), 0);
        "resident MiB": number(mebibytes(at), 2);
        "over bytes": number(at.resident_ratio(), 3);
        "used": number(at.utilization, 4);
        "overflow": at.overflow.to_string();
        "slots by width in %": widths(at);
    })
}

fn waits(course: &Course) -> Table {
    let mut table = Table::new(["operation", "p50", "p99", "p99.9", "p99.99", "longest"]);
    for (name, waits) in [("insert", &course.inserts), ("remove", &course.removes)] {
        for (what, summary) in [("as timed", &waits.raw), ("least of two", &waits.least)] {
            let Summary { p50, p99, p999, p9999, max } = *summary;
            let microseconds = |wait: u32| number(f64::from(wait) / 1000.0, 2);
            let cells = [p50, p99, p999, p9999, max].map(microseconds);
            table.row([format!("{name}, {what}")].into_iter().chain(cells));
        }
    }
    table
}
