//! The server's processor time per item, of this module and of another one with the same commands, side
//! by side: the two servers take turns, so that both meet the same noise. Memory and the measured false
//! positive rate stand beside it.

use core::fmt;

use anyhow::{Context, ensure};
use serde::Serialize;

use crate::connection::{Connection, item};
use crate::server::Server;

const KEY: &[u8] = b"set";
const PIPELINE: u64 = 16;
/// While a batch of one of them is answered, those of the others wait in the server's sockets. With one
/// connection the server sleeps after each batch, and waking up takes longer than the batch.
const CONNECTIONS: usize = 8;
/// Items in each command that takes many.
const MANY: u64 = 10;
/// Items in each turn of a command.
const TURN: u64 = 20_000;
const ABSENT_ITEMS: u64 = 200_000;
const FIRST_ABSENT: u64 = 1 << 40;

/// A command, the number of items in it, and whether it asks for items that are there.
struct Case {
    name: &'static str,
    command: &'static [&'static [u8]],
    items: u64,
    is_present: bool,
}

/// What one command adds, another deletes: the set stays as large as it is.
const CASES: [Case; 5] = [
    Case { name: "EXISTS", command: &[b"CF.EXISTS", KEY], items: 1, is_present: true },
    Case { name: "MEXISTS x10", command: &[b"CF.MEXISTS", KEY], items: MANY, is_present: true },
    Case { name: "ADD", command: &[b"CF.ADD", KEY], items: 1, is_present: false },
    Case { name: "DEL", command: &[b"CF.DEL", KEY], items: 1, is_present: false },
    Case {
        name: "INSERT x10",
        command: &[b"CF.INSERT", KEY, b"ITEMS"],
        items: MANY,
        is_present: false,
    },
];

#[derive(Serialize)]
pub(crate) struct Table {
    modules: Vec<String>,
    sizes: Vec<Size>,
}

#[derive(Serialize)]
struct Size {
    items: u64,
    rows: Vec<Row>,
    bytes_per_item: Vec<f64>,
    false_positive_rate: Vec<f64>,
}

#[derive(Serialize)]
struct Row {
    command: &'static str,
    /// Of each module: nanoseconds per item in the best turn, and the median of all.
    best: Vec<f64>,
    median: Vec<f64>,
}

pub(crate) fn run(
    servers: &[(String, Server)],
    sizes: &[u64],
    turns: usize,
) -> anyhow::Result<Table> {
    let mut links = Vec::new();
    for (_, server) in servers {
        let mut control = server.connect()?;
        control.call(&[b"CONFIG", b"SET", b"slowlog-log-slower-than", b"-1"])?;
        control.call(&[b"FLUSHALL"])?;
        // The size is not said in advance; another module may need a factor to grow by.
        control.call(&[b"CF.RESERVE", KEY, b"1024", b"EXPANSION", b"2"])?;
        let load =
            (0..CONNECTIONS).map(|_| server.connect()).collect::<anyhow::Result<Vec<_>>>()?;
        links.push((server, control, load));
    }
    let mut table = Table {
        modules: servers.iter().map(|(name, _)| name.clone()).collect(),
        sizes: Vec::new(),
    };
    let mut held = 0;
    for &size in sizes {
        for (_, _, load) in &mut links {
            let insert =
                Case { name: "fill", command: CASES[4].command, items: 100, is_present: false };
            send(load, &insert, &(held..size).collect::<Vec<_>>())?;
        }
        held = size;
        let mut measured = vec![vec![Vec::new(); links.len()]; CASES.len()];
        for turn in 0..turns as u64 {
            for (case, measured) in CASES.iter().zip(&mut measured) {
                // Asks for items of every age: a module that grows by further tables has old items in small
                // ones. Deletes what was added just before.
                let asked = if case.is_present { of_every_age(size, turn) } else { added(size) };
                for ((server, _, load), measured) in links.iter_mut().zip(measured) {
                    let before = server.cpu_nanoseconds()?;
                    send(load, case, &asked)?;
                    measured.push((server.cpu_nanoseconds()? - before) as f64 / TURN as f64);
                }
            }
            // What INSERT added.
            for (_, _, load) in &mut links {
                send(load, &CASES[3], &added(size))?;
            }
        }
        let rows = CASES.iter().zip(measured).map(|(case, measured)| Row {
            command: case.name,
            best: measured
                .iter()
                .map(|times| times.iter().copied().fold(f64::MAX, f64::min))
                .collect(),
            median: measured.into_iter().map(median).collect(),
        });
        let rows = rows.collect();
        let (mut bytes_per_item, mut false_positive_rate) = (Vec::new(), Vec::new());
        for (_, control, load) in &mut links {
            let bytes = control.call(&[b"MEMORY", b"USAGE", KEY, b"SAMPLES", b"0"])?.integer()?;
            bytes_per_item.push(bytes as f64 / size as f64);
            false_positive_rate.push(measured_rate(load)?);
        }
        table.sizes.push(Size { items: size, rows, bytes_per_item, false_positive_rate });
    }
    Ok(table)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The items that a turn adds to a set of this size.
fn added(size: u64) -> Vec<u64> {
    (size..size + TURN).collect()
}

/// Items of a turn that are spread over the whole set, in another order than they were added.
fn of_every_age(size: u64, turn: u64) -> Vec<u64> {
    // Coprime to the powers of ten that sizes are.
    const STEP: u64 = 7_919_317_777;
    (turn * TURN..(turn + 1) * TURN)
        .map(|i| (u128::from(i) * u128::from(STEP) % u128::from(size)) as u64)
        .collect()
}

/// Sends the command for these items; every reply must be yes.
fn send(load: &mut [Connection], case: &Case, items: &[u64]) -> anyhow::Result<()> {
    let mut chunks = items.chunks(case.items as usize).peekable();
    // Lines to come on each connection.
    let mut under_way = vec![0; load.len()];
    let mut yes = 0;
    while chunks.peek().is_some() || under_way.iter().any(|&lines| lines > 0) {
        for (load, lines) in load.iter_mut().zip(&mut under_way) {
            yes += load.count(*lines, b":1\r\n")?;
            *lines = 0;
            for chunk in chunks.by_ref().take(PIPELINE as usize) {
                let names: Vec<_> = chunk.iter().copied().map(item).collect();
                let mut words = case.command.to_vec();
                words.extend(names.iter().map(|name| &name[..]));
                load.add(&words);
                // Commands that take many reply with a line for the array too.
                *lines += chunk.len() + usize::from(case.items > 1);
            }
            if *lines > 0 {
                load.send()?;
            }
        }
    }
    let wanted = items.len();
    ensure!(yes == wanted, "{}: {} of {wanted} items got another reply", case.name, wanted - yes);
    Ok(())
}

fn measured_rate(load: &mut [Connection]) -> anyhow::Result<f64> {
    let load = load.first_mut().context("no connection")?;
    let mut wrong = 0;
    for first in (0..ABSENT_ITEMS).step_by(1000) {
        for number in first..first + 1000 {
            load.add(&[b"CF.EXISTS", KEY, &item(FIRST_ABSENT + number)]);
        }
        load.send()?;
        wrong += load.count(1000, b":1\r\n")?;
    }
    Ok(wrong as f64 / ABSENT_ITEMS as f64)
}

impl Server {
    /// The processor time of the server's main thread.
    fn cpu_nanoseconds(&self) -> anyhow::Result<u64> {
        let path = format!("/proc/{}/schedstat", self.pid());
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        let first = text.split_whitespace().next().context("no time")?;
        Ok(first.parse()?)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "processor time of the server per item, in ns: best turn (median)")?;
        for Size { items, rows, bytes_per_item, false_positive_rate } in &self.sizes {
            write!(f, "{items:>12} items")?;
            self.modules.iter().try_for_each(|name| write!(f, " {name:>20}"))?;
            writeln!(f)?;
            for Row { command, best, median } in rows {
                write!(f, "{command:>18}")?;
                for (best, median) in best.iter().zip(median) {
                    write!(f, " {:>20}", format!("{best:.0} ({median:.0})"))?;
                }
                writeln!(f)?;
            }
            let mut line = |name: &str, numbers: Vec<String>| {
                write!(f, "{name:>18}")?;
                numbers.iter().try_for_each(|number| write!(f, " {number:>20}"))?;
                writeln!(f)
            };
            line("bytes per item", bytes_per_item.iter().map(|n| format!("{n:.2}")).collect())?;
            let percent = |rate: &f64| format!("{:.3} %", 100.0 * rate);
            line("false positives", false_positive_rate.iter().map(percent).collect())?;
        }
        Ok(())
    }
}
