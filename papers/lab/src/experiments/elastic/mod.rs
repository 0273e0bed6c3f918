//! The elastic filter from nothing to many keys and back: rates, memory, and how long single
//! operations take.

mod course;
mod limits;
mod waits;
mod walk;

use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use clap::Args;
use cuculus_page::Claimant;
use cuculus_page::table::{Table, number, percent};
use serde_json::json;

use crate::experiment::{Chance, Choice, Experiment, Outcome, Settings, choices};
use crate::pauses::Summary;
use course::{Checkpoint, Course};
use waits::{Wait, Waits};

pub(super) const ELASTIC: Experiment = Experiment {
    name: "elastic",
    title: "The elastic filter, there and back",
    question: "Does the elastic filter keep its rate, its memory and its caller's time from \
               nothing to many keys and back?",
    about: Claimant::Ours,
    chance: Chance::Clock,
    options: &[choices::ITEMS, choices::FPR, PROBES],
    once: run,
};

const PROBES: Choice = Choice::new("probes", "N", "absent keys that are looked up at every size");

/// The name of the hidden command that measures one leg.
pub const LEG: &str = "elastic-leg";

/// One way there and back, which a process of its own measures.
#[derive(Args, Clone, Copy, Debug)]
pub struct Leg {
    /// The most keys.
    #[arg(long)]
    pub keys: usize,
    /// The false positive rate.
    #[arg(long)]
    pub rate: f64,
    /// With the number of keys declared.
    #[arg(long)]
    pub declared: bool,
    /// Absent keys that are looked up at every size.
    #[arg(long)]
    pub probes: usize,
    /// The seed of the keys and of the filter.
    #[arg(long)]
    pub seed: u64,
}

impl Leg {
    /// Measures it, and returns the numbers as JSON.
    ///
    /// # Errors
    /// If a filter cannot be built.
    pub fn measure(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string(&Course::measure(self)?)?)
    }

    /// Measures it in a process of its own: memory that an earlier filter has freed, and that the
    /// allocator has kept, would not be counted for the next filter.
    fn measure_apart(&self) -> anyhow::Result<Course> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([LEG, "--keys", &self.keys.to_string(), "--rate", &self.rate.to_string()]);
        command.args(["--probes", &self.probes.to_string(), "--seed", &self.seed.to_string()]);
        if self.declared {
            command.arg("--declared");
        }
        let output = command.stderr(Stdio::inherit()).output().context("cannot start a process")?;
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
    let mut courses = Vec::new();
    for keys in items {
        for &rate in &rates {
            for declared in [false, true] {
                let leg = Leg { keys, rate, declared, probes, seed: settings.seed };
                let course = leg.measure_apart()?;
                show(&course, &mut outcome);
                outcome.findings.extend(limits::of(&course));
                outcome.wrong_answers += course.wrong_answers();
                courses.push(course);
            }
        }
    }
    outcome.data = json!(courses);
    Ok(outcome)
}

fn show(course: &Course, outcome: &mut Outcome) {
    let declared = if course.declared { "all keys declared" } else { "nothing declared" };
    let name = format!("rate {} %, {declared}, {} keys", 100.0 * course.rate, course.keys);
    outcome.tables.push((name.clone(), checkpoints(&course.checkpoints)));
    let clock = course.clock_nanoseconds;
    let title = format!("{name}: µs per operation, {clock} ns of them the clock's");
    outcome.tables.push((title, waits(course)));
    outcome.tables.push((format!("{name}: the longest operations, in µs"), longest(course)));
    outcome.notes.push(format!(
        "{name}: mean utilisation above 4,096 keys {} growing and {} shrinking; most entries \
         written by one operation {}.",
        number(course.growing_utilization, 4),
        number(course.shrinking_utilization, 4),
        course.most_entries_written
    ));
}

fn checkpoints(checkpoints: &[Checkpoint]) -> Table {
    let mut table = Table::new([
        "keys",
        "way",
        "expected %",
        "measured %",
        "bits/key",
        "in slots",
        "bytes",
        "counted",
        "resident MiB",
        "over bytes",
        "used",
        "overflow",
        "slots by width in %",
    ]);
    for at in checkpoints {
        let slots: usize = at.slot_widths.iter().map(|&(_, slots)| slots).sum();
        let share = |&(width, count): &(u32, usize)| {
            format!("{width}: {}", percent(count as f64 / slots as f64, 1))
        };
        let mebibytes = at.resident_growth.map(|bytes| bytes as f64 / f64::from(1 << 20));
        table.row([
            at.keys.to_string(),
            if at.up { "up" } else { "down" }.to_owned(),
            percent(at.expected_rate, 4),
            percent(at.measured_rate, 4),
            number(at.bits_per_key(), 2),
            number(at.slot_bits_per_key(), 2),
            at.bytes.to_string(),
            at.counted_bytes.map_or_else(|| number(None, 0), |bytes| bytes.to_string()),
            number(mebibytes, 2),
            number(at.resident_ratio(), 3),
            number(at.utilization, 4),
            at.overflow.to_string(),
            at.slot_widths.iter().map(share).collect::<Vec<_>>().join(", "),
        ]);
    }
    table
}

fn both(course: &Course) -> [(&'static str, &Waits); 2] {
    [("insert", &course.inserts), ("remove", &course.removes)]
}

fn waits(course: &Course) -> Table {
    let mut table = Table::new(["operation", "p50", "p99", "p99.9", "p99.99", "longest"]);
    for (name, waits) in both(course) {
        for (what, summary) in [("as timed", &waits.raw), ("least of two", &waits.least)] {
            let Summary { p50, p99, p999, p9999, max } = *summary;
            let cells = [p50, p99, p999, p9999, max].map(microseconds);
            table.row([format!("{name}, {what}")].into_iter().chain(cells));
        }
    }
    table
}

fn microseconds(nanoseconds: u32) -> String {
    number(f64::from(nanoseconds) / 1000.0, 2)
}

fn longest(course: &Course) -> Table {
    let mut table = Table::new([
        "the longest",
        "keys",
        "first",
        "second",
        "segments",
        "slots",
        "bytes",
        "seen from outside",
    ]);
    for (name, waits) in both(course) {
        for (what, list) in [("as timed", &waits.longest_raw), ("least of two", &waits.longest)] {
            for wait in list {
                let Wait { keys, segments, slots, bytes, cause, .. } = wait;
                table.row([
                    format!("{name}, {what}"),
                    keys.to_string(),
                    microseconds(wait.first_nanoseconds),
                    microseconds(wait.second_nanoseconds),
                    format!("{segments:+}"),
                    format!("{slots:+}"),
                    format!("{bytes:+}"),
                    cause.clone(),
                ]);
            }
        }
    }
    table
}
