//! The numbers of a way as text. Computes nothing.

use std::fmt::Write as _;

use super::course::{Checkpoint, Course};
use super::waits::{Wait, Waits};
use crate::pauses::Summary;
use cuculus_page::table::{Table, number, percent};

pub(super) fn course(course: &Course) -> String {
    let declared = if course.declared { "all keys declared" } else { "nothing declared" };
    let mut text = format!("rate {} %, {declared}, {} keys\n", 100.0 * course.rate, course.keys);
    let _ = writeln!(text, "{}", checkpoints(&course.checkpoints));
    let _ = writeln!(
        text,
        "mean utilisation above 4,096 keys: {} growing, {} shrinking; most entries written by one \
         operation: {}\n",
        number(course.growing_utilization, 4),
        number(course.shrinking_utilization, 4),
        course.most_entries_written
    );
    let _ = writeln!(
        text,
        "µs an operation, {} ns of them the clock's\n{}",
        course.clock_nanoseconds,
        waits(course)
    );
    let _ = writeln!(text, "{}", longest(course));
    text
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
        "elders",
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
            number(Some(at.bits_per_key()), 2),
            number(Some(at.slot_bits_per_key()), 2),
            at.bytes.to_string(),
            at.counted_bytes.map_or_else(|| number(None, 0), |bytes| bytes.to_string()),
            number(mebibytes, 2),
            number(at.resident_ratio(), 3),
            number(Some(at.utilization), 4),
            at.elders.to_string(),
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
    number(Some(f64::from(nanoseconds) / 1000.0), 2)
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
