//! A set without a reserved size: from one item to millions, one `CF.ADD` each, and back.

use core::fmt;
use std::time::Instant;

use anyhow::ensure;
use serde::Serialize;

use crate::connection::{Connection, Reply, item};
use crate::server::Server;
use crate::slow::{self, Slow, Slowest};

const KEY: &[u8] = b"set";
const PIPELINE: u64 = 64;
const ABSENT_ITEMS: u64 = 1_000_000;
const FIRST_ABSENT: u64 = 1 << 40;
/// The default false positive rate.
const PROMISED: f64 = 0.001;
/// One item in this many is left in the end.
const LEFT: u64 = 10;

#[derive(Serialize)]
pub(crate) struct Course {
    stages: Vec<Stage>,
    slowest_add: Slowest,
    slowest_delete: Slowest,
    adds_per_second: f64,
    deletes_per_second: f64,
    left: Left,
}

#[derive(Serialize)]
struct Stage {
    items: u64,
    false_positive_rate: f64,
    bytes_per_item: f64,
}

/// The filter after nine tenths of the items were deleted.
#[derive(Serialize)]
struct Left {
    items: u64,
    bytes: i64,
    /// The size of a new filter with only these items.
    bytes_of_new: i64,
    /// The size of a new filter whose number of items was reserved.
    bytes_of_reserved: i64,
    false_positive_rate: f64,
}

pub(crate) fn run(
    server: &Server,
    control: &mut Connection,
    items: u64,
    talk: bool,
) -> anyhow::Result<Course> {
    let say = |message: &str| {
        if talk {
            eprintln!("{message}");
        }
    };
    let mut load = server.connect()?;
    control.call(&[b"CF.ADD", KEY, &item(0)])?;
    // The same seed for the second run.
    let Reply::Bytes(beginning) = control.call(&[b"DUMP", KEY])? else {
        anyhow::bail!("the first item created no filter")
    };

    say("adding items");
    slow::watch(control)?;
    let mut stages = Vec::new();
    let (mut from, mut seconds) = (1, 0.0);
    let before = [30_000, 1_000_000].into_iter().filter(|&stop| stop < items);
    for stop in before.chain([items]) {
        let start = Instant::now();
        all(&mut load, b"CF.ADD", from..stop)?;
        seconds += start.elapsed().as_secs_f64();
        from = stop;
        stages.push(Stage {
            items: stop,
            false_positive_rate: measured_rate(&mut load, stop)?,
            bytes_per_item: bytes(control, KEY)? as f64 / stop as f64,
        });
    }
    let adds = slow::calls_of(control, b"CF.ADD")?;
    say("deleting items");
    let left = items / LEFT;
    slow::watch(control)?;
    let start = Instant::now();
    all(&mut load, b"CF.DEL", left..items)?;
    let deletes_per_second = (items - left) as f64 / start.elapsed().as_secs_f64();
    let deletes = slow::calls_of(control, b"CF.DEL")?;
    let left = what_is_left(control, &mut load, left)?;

    say("second run, to tell slow commands from a busy machine");
    control.call(&[b"RESTORE", KEY, b"0", &beginning, b"REPLACE"])?;
    let again = |control: &mut Connection, load: &mut _, command, range| -> anyhow::Result<Slow> {
        slow::watch(control)?;
        all(load, command, range)?;
        slow::calls_of(control, command)
    };
    let slowest_add = again(control, &mut load, b"CF.ADD", 1..items)?.and(&adds);
    let slowest_delete = again(control, &mut load, b"CF.DEL", left.items..items)?.and(&deletes);
    Ok(Course {
        stages,
        slowest_add,
        slowest_delete,
        adds_per_second: items as f64 / seconds,
        deletes_per_second,
        left,
    })
}

/// Sends the command for each item; every reply must be 1.
fn all(load: &mut Connection, command: &[u8], items: core::ops::Range<u64>) -> anyhow::Result<()> {
    let mut next = items.start;
    while next < items.end {
        let end = items.end.min(next + PIPELINE);
        (next..end).for_each(|number| load.add(&[command, KEY, &item(number)]));
        load.send()?;
        let yes = load.count((end - next) as usize, b":1\r\n")?;
        ensure!(yes as u64 == end - next, "an item was refused or not found");
        next = end;
    }
    Ok(())
}

/// Looks up items that were never added, and items that must be found.
fn measured_rate(load: &mut Connection, held: u64) -> anyhow::Result<f64> {
    let wrong = found(load, (0..ABSENT_ITEMS).map(|i| FIRST_ABSENT + i))?;
    let known = ABSENT_ITEMS.min(held);
    let step = held / known;
    ensure!(found(load, (0..known).map(|i| i * step))? == known, "an item was lost");
    let rate = wrong as f64 / ABSENT_ITEMS as f64;
    let sigma = (PROMISED / ABSENT_ITEMS as f64).sqrt();
    ensure!(rate <= PROMISED + 3.0 * sigma, "{rate} is more than the {PROMISED} promised");
    Ok(rate)
}

fn found(load: &mut Connection, items: impl Iterator<Item = u64>) -> anyhow::Result<u64> {
    let mut items = items.peekable();
    let mut found = 0;
    while items.peek().is_some() {
        let mut sent = 0;
        for number in items.by_ref().take(PIPELINE as usize) {
            load.add(&[b"CF.EXISTS", KEY, &item(number)]);
            sent += 1;
        }
        load.send()?;
        found += load.count(sent, b":1\r\n")? as u64;
    }
    Ok(found)
}

fn bytes(control: &mut Connection, key: &[u8]) -> anyhow::Result<i64> {
    control.call(&[b"MEMORY", b"USAGE", key, b"SAMPLES", b"0"])?.integer()
}

fn what_is_left(
    control: &mut Connection,
    load: &mut Connection,
    items: u64,
) -> anyhow::Result<Left> {
    let held = bytes(control, KEY)?;
    let false_positive_rate = measured_rate(load, items)?;
    control.call(&[b"RENAME", KEY, b"shrunk"])?;
    all(load, b"CF.ADD", 0..items)?;
    let bytes_of_new = bytes(control, KEY)?;
    control.call(&[b"DEL", KEY])?;
    control.call(&[b"CF.RESERVE", KEY, items.to_string().as_bytes()])?;
    all(load, b"CF.ADD", 0..items)?;
    let bytes_of_reserved = bytes(control, KEY)?;
    control.call(&[b"DEL", KEY, b"shrunk"])?;
    Ok(Left { items, bytes: held, bytes_of_new, bytes_of_reserved, false_positive_rate })
}

impl fmt::Display for Course {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>12} {:>22} {:>15}", "items", "false positives", "bytes per item")?;
        for Stage { items, false_positive_rate, bytes_per_item } in &self.stages {
            let rate = 100.0 * false_positive_rate;
            writeln!(f, "{items:>12} {rate:>20.4} % {bytes_per_item:>15.2}")?;
        }
        let Left { items, bytes, bytes_of_new, bytes_of_reserved, .. } = &self.left;
        writeln!(
            f,
            "{items} items left: {:.2} bytes per item, {:.2} times the size of a new filter, {:.2} \
             times the size of one with a reserved capacity",
            *bytes as f64 / *items as f64,
            *bytes as f64 / *bytes_of_new as f64,
            *bytes as f64 / *bytes_of_reserved as f64,
        )?;
        for (name, slowest, rate) in [
            ("CF.ADD", &self.slowest_add, self.adds_per_second),
            ("CF.DEL", &self.slowest_delete, self.deletes_per_second),
        ] {
            let both = match slowest.both_us {
                Some(both) => format!("{both} µs"),
                None => format!("below {} µs", slowest.slow_from_us),
            };
            writeln!(
                f,
                "{name}: {rate:.0} per second; slowest in both of two equal runs {both}, in one of them \
                 {} µs",
                slowest.once_us
            )?;
        }
        Ok(())
    }
}
