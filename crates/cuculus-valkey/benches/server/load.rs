//! Load on a server: commands in batches over several connections, whose replies are counted.

use std::mem;

use anyhow::{Result, ensure};
use redis::{Cmd, Connection, Pipeline, Value};

/// The first of the items that are never added.
pub(crate) const FIRST_ABSENT: u64 = 1 << 40;

/// A command, whose items follow.
pub(crate) fn command(words: &[&str]) -> Cmd {
    let mut command = Cmd::new();
    command.arg(words);
    command
}

/// A command about one item.
pub(crate) fn about(words: &[&str], item: u64) -> Cmd {
    let mut command = command(words);
    command.arg(format!("item:{item}"));
    command
}

/// Sends commands, `depth` at a time on each connection: while one batch is answered, those of the other
/// connections wait in the server's sockets. Returns how often the reply was yes.
pub(crate) fn count(
    connections: &mut [Connection],
    depth: usize,
    commands: impl Iterator<Item = Cmd>,
) -> Result<u64> {
    let mut commands = commands.peekable();
    let mut under_way = vec![0; connections.len()];
    let mut counted = 0;
    while commands.peek().is_some() || under_way.iter().any(|&commands| commands > 0) {
        for (connection, under_way) in connections.iter_mut().zip(&mut under_way) {
            for _ in 0..mem::take(under_way) {
                counted += yes(&connection.recv_response()?);
            }
            let mut batch = Pipeline::new();
            commands.by_ref().take(depth).for_each(|command| {
                batch.add_command(command);
            });
            if !batch.is_empty() {
                connection.send_packed_command(&batch.get_packed_pipeline())?;
                *under_way = batch.len();
            }
        }
    }
    Ok(counted)
}

/// Sends commands about this number of items; the reply for each must be yes.
pub(crate) fn all(
    connections: &mut [Connection],
    depth: usize,
    commands: impl Iterator<Item = Cmd>,
    items: u64,
) -> Result<()> {
    let counted = count(connections, depth, commands)?;
    ensure!(counted == items, "{} of {items} items got another reply", items - counted);
    Ok(())
}

/// How many items of a command have a yes.
fn yes(reply: &Value) -> u64 {
    match reply {
        Value::Array(replies) => replies.iter().map(yes).sum(),
        Value::Int(1) | Value::Okay => 1,
        Value::SimpleString(text) => u64::from(text == "PONG"),
        _ => 0,
    }
}

/// The false positive rate, by items that were never added.
pub(crate) fn measured_rate(load: &mut [Connection], key: &str, items: u64) -> Result<f64> {
    let absent = (FIRST_ABSENT..FIRST_ABSENT + items).map(|item| about(&["CF.EXISTS", key], item));
    Ok(count(load, 64, absent)? as f64 / items as f64)
}

pub(crate) fn bytes_of(control: &mut Connection, key: &str) -> Result<u64> {
    Ok(command(&["MEMORY", "USAGE", key, "SAMPLES", "0"]).query(control)?)
}

pub(crate) fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}
