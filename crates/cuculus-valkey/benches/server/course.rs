//! A set without a reserved size: from one item to millions, one `CF.ADD` each, and back.

use std::ops::Range;
use std::slice;
use std::time::Instant;

use anyhow::{Result, ensure};
use redis::Connection;

use crate::load::{about, all, bytes_of, command, count, measured_rate};
use crate::server::Server;
use crate::slow::{self, Slow};

const KEY: &str = "set";
const PIPELINE: usize = 64;
const ABSENT_ITEMS: u64 = 1_000_000;
/// The default false positive rate.
const PROMISED: f64 = 0.001;
/// One item in this many is left in the end.
const LEFT: u64 = 10;

pub(crate) fn run(server: &Server, control: &mut Connection, items: u64) -> Result<()> {
    let mut load = server.connect()?;
    about(&["CF.ADD", KEY], 0).exec(control)?;
    // The same seed for the second run.
    let beginning: Vec<u8> = command(&["DUMP", KEY]).query(control)?;

    eprintln!("adding items");
    slow::watch(control)?;
    println!("{:>12} {:>22} {:>15}", "items", "false positives", "bytes per item");
    let (mut from, mut seconds) = (1, 0.0);
    let before = [30_000, 1_000_000].into_iter().filter(|&stop| stop < items);
    for stop in before.chain([items]) {
        seconds += change(&mut load, "CF.ADD", from..stop)?;
        from = stop;
        let rate = 100.0 * kept_rate(&mut load, stop)?;
        let bytes = bytes_of(control, KEY)? as f64 / stop as f64;
        println!("{stop:>12} {rate:>20.4} % {bytes:>15.2}");
    }
    let adds = slow::calls_of(control, "CF.ADD")?;
    eprintln!("deleting items");
    let left = items / LEFT;
    slow::watch(control)?;
    let deleting = change(&mut load, "CF.DEL", left..items)?;
    let deletes = slow::calls_of(control, "CF.DEL")?;
    what_is_left(control, &mut load, left)?;

    eprintln!("second run, to tell slow commands from a busy machine");
    command(&["RESTORE", KEY, "0"]).arg(&beginning).arg("REPLACE").exec(control)?;
    let mut again = |name, range: Range<u64>, first: &Slow, per_second: f64| -> Result<()> {
        slow::watch(control)?;
        change(&mut load, name, range)?;
        let both = slow::calls_of(control, name)?.and(first);
        println!("{name}: {per_second:.0} per second; {both}");
        Ok(())
    };
    again("CF.ADD", 1..items, &adds, items as f64 / seconds)?;
    again("CF.DEL", left..items, &deletes, (items - left) as f64 / deleting)?;
    println!();
    Ok(())
}

/// Sends the command for each item; every reply must be yes. Returns the seconds it took.
fn change(load: &mut Connection, name: &str, items: Range<u64>) -> Result<f64> {
    let (start, len) = (Instant::now(), items.end - items.start);
    let commands = items.map(|item| about(&[name, KEY], item));
    all(slice::from_mut(load), PIPELINE, commands, len)?;
    Ok(start.elapsed().as_secs_f64())
}

/// The false positive rate, which must be what was promised. Items that were added must be found.
fn kept_rate(load: &mut Connection, held: u64) -> Result<f64> {
    let load = slice::from_mut(load);
    let known = ABSENT_ITEMS.min(held);
    let asked = (0..known).map(|i| about(&["CF.EXISTS", KEY], i * (held / known)));
    ensure!(count(load, PIPELINE, asked)? == known, "an item was lost");
    let rate = measured_rate(load, KEY, ABSENT_ITEMS)?;
    let sigma = (PROMISED / ABSENT_ITEMS as f64).sqrt();
    ensure!(rate <= PROMISED + 3.0 * sigma, "{rate} is more than the {PROMISED} promised");
    Ok(rate)
}

/// The filter after nine tenths of the items were deleted, beside a new one with only these items, and beside one
/// whose number of items was reserved.
fn what_is_left(control: &mut Connection, load: &mut Connection, items: u64) -> Result<()> {
    let held = bytes_of(control, KEY)? as f64;
    kept_rate(load, items)?;
    command(&["RENAME", KEY, "shrunk"]).exec(control)?;
    change(load, "CF.ADD", 0..items)?;
    let new = held / bytes_of(control, KEY)? as f64;
    command(&["DEL", KEY]).exec(control)?;
    command(&["CF.RESERVE", KEY, &items.to_string()]).exec(control)?;
    change(load, "CF.ADD", 0..items)?;
    let reserved = held / bytes_of(control, KEY)? as f64;
    command(&["DEL", KEY, "shrunk"]).exec(control)?;
    println!(
        "{items} items left: {:.2} bytes per item, {new:.2} times the size of a new filter, {reserved:.2} \
         times the size of one with a reserved capacity",
        held / items as f64,
    );
    Ok(())
}
