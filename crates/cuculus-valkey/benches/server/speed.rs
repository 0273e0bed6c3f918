//! Commands per second, compared with PING, which does nothing, and SET, which does little.

use core::fmt;
use std::time::Instant;

use anyhow::ensure;
use serde::Serialize;

use crate::connection::{Connection, item};
use crate::server::Server;

const KEY: &[u8] = b"speed";
const CONNECTIONS: usize = 16;
const HELD: u64 = 1_000_000;
/// Turns per round. A busy machine is slow for longer than a turn of some milliseconds, so the ratios
/// within a turn stay right.
const TURNS: usize = 20;
const ADD: (&str, &[u8]) = ("CF.ADD", b":1\r\n");
/// `CF.DEL` deletes what `CF.ADD` adds.
const COMMANDS: [(&str, &[u8]); 5] = [
    ("PING", b"+PONG\r\n"),
    ("SET", b"+OK\r\n"),
    ADD,
    ("CF.EXISTS", b":1\r\n"),
    ("CF.DEL", b":1\r\n"),
];

#[derive(Serialize)]
pub(crate) struct Speeds {
    items_held: u64,
    connections: usize,
    pipelines: Vec<Pipeline>,
}

#[derive(Serialize)]
struct Pipeline {
    depth: usize,
    commands: Vec<Speed>,
}

#[derive(Serialize)]
struct Speed {
    command: &'static str,
    /// In the best turn.
    per_second: f64,
    /// The median of all turns.
    ratio_to_ping: f64,
}

pub(crate) fn run(
    server: &Server,
    control: &mut Connection,
    rounds: usize,
) -> anyhow::Result<Speeds> {
    control.call(&[b"CONFIG", b"SET", b"slowlog-log-slower-than", b"-1"])?;
    let mut connections =
        (0..CONNECTIONS).map(|_| server.connect()).collect::<anyhow::Result<Vec<_>>>()?;
    send(&mut connections, 64, HELD, ADD, 0)?;
    let mut pipelines = Vec::new();
    for (depth, count) in [(1, 5_000), (16, 20_000)] {
        let mut measured: [Vec<f64>; COMMANDS.len()] = Default::default();
        for _ in 0..rounds * TURNS {
            for (command, rates) in COMMANDS.iter().zip(&mut measured) {
                let start = Instant::now();
                send(&mut connections, depth, count, *command, HELD)?;
                rates.push(count as f64 / start.elapsed().as_secs_f64());
            }
        }
        let pings = measured[0].clone();
        let commands = COMMANDS.iter().zip(&measured).map(|((command, _), rates)| Speed {
            command,
            per_second: rates.iter().copied().fold(0.0, f64::max),
            ratio_to_ping: median(rates.iter().zip(&pings).map(|(rate, ping)| rate / ping)),
        });
        pipelines.push(Pipeline { depth, commands: commands.collect() });
    }
    Ok(Speeds { items_held: HELD, connections: CONNECTIONS, pipelines })
}

/// Sends the command for items from `first` on. Each connection sends its next batch as soon as the
/// previous one is answered, while the server works on the batches of the others.
fn send(
    connections: &mut [Connection],
    depth: usize,
    count: u64,
    (command, expected): (&str, &[u8]),
    first: u64,
) -> anyhow::Result<()> {
    let mut items = first..first + count;
    let mut under_way = vec![0; connections.len()];
    let mut yes = 0;
    loop {
        for (connection, under_way) in connections.iter_mut().zip(&mut under_way) {
            yes += connection.count(*under_way, expected)? as u64;
            let batch = items.by_ref().take(depth).map(|number| match command {
                "PING" => connection.add(&[b"PING"]),
                "SET" => connection.add(&[b"SET", b"other", &item(number)]),
                _ => connection.add(&[command.as_bytes(), KEY, &item(number)]),
            });
            *under_way = batch.count();
            if *under_way > 0 {
                connection.send()?;
            }
        }
        if under_way.iter().all(|&commands| commands == 0) {
            break;
        }
    }
    ensure!(yes == count, "{command} gave an unexpected reply {} times", count - yes);
    Ok(())
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

impl fmt::Display for Speeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} items, {} connections", self.items_held, self.connections)?;
        writeln!(f, "{:>9} {:>10} {:>12} {:>8}", "pipeline", "command", "per second", "of PING")?;
        for Pipeline { depth, commands } in &self.pipelines {
            for Speed { command, per_second, ratio_to_ping } in commands {
                writeln!(f, "{depth:>9} {command:>10} {per_second:>12.0} {ratio_to_ping:>8.2}")?;
            }
        }
        Ok(())
    }
}
