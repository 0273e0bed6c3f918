//! Commands per second, compared with PING, which does nothing, and SET, which does little.

use std::time::Instant;

use anyhow::Result;
use redis::{Cmd, Connection};

use crate::load::{about, all, command, median};
use crate::server::Server;

const KEY: &str = "speed";
const CONNECTIONS: usize = 16;
const HELD: u64 = 1_000_000;
/// Turns per round. A busy machine is slow for longer than a turn of some milliseconds, so the ratios
/// within a turn stay right.
const TURNS: usize = 20;
/// `CF.DEL` deletes what `CF.ADD` adds.
const COMMANDS: [&str; 5] = ["PING", "SET", "CF.ADD", "CF.EXISTS", "CF.DEL"];

fn call(name: &str, item: u64) -> Cmd {
    match name {
        "PING" => command(&["PING"]),
        "SET" => about(&["SET", "other"], item),
        _ => about(&[name, KEY], item),
    }
}

pub(crate) fn run(server: &Server, control: &mut Connection, rounds: usize) -> Result<()> {
    command(&["CONFIG", "SET", "slowlog-log-slower-than", "-1"]).exec(control)?;
    let mut load = server.connections(CONNECTIONS)?;
    all(&mut load, 64, (0..HELD).map(|item| call("CF.ADD", item)), HELD)?;
    println!("{HELD} items, {CONNECTIONS} connections");
    println!("{:>9} {:>10} {:>12} {:>8}", "pipeline", "command", "per second", "of PING");
    for (depth, count) in [(1, 5_000), (16, 20_000)] {
        let mut measured: [Vec<f64>; COMMANDS.len()] = Default::default();
        for _ in 0..rounds * TURNS {
            for (name, rates) in COMMANDS.iter().zip(&mut measured) {
                let start = Instant::now();
                all(&mut load, depth, (HELD..HELD + count).map(|item| call(name, item)), count)?;
                rates.push(count as f64 / start.elapsed().as_secs_f64());
            }
        }
        for (name, rates) in COMMANDS.iter().zip(&measured) {
            let best = rates.iter().copied().fold(0.0, f64::max);
            let ratio = median(rates.iter().zip(&measured[0]).map(|(rate, ping)| rate / ping));
            println!("{depth:>9} {name:>10} {best:>12.0} {ratio:>8.2}");
        }
    }
    println!();
    Ok(())
}
