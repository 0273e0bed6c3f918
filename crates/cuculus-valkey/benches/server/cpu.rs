//! The server's processor time per item, of this module and of another one with the same commands, side
//! by side: the two servers take turns, so that both meet the same noise. Memory and the measured false
//! positive rate stand beside it.

use anyhow::Result;
use redis::Connection;

use crate::load::{all, bytes_of, command, measured_rate, median};
use crate::server::Server;

const KEY: &str = "set";
const PIPELINE: usize = 16;
/// With one connection the server sleeps after each batch, and waking up takes longer than the batch.
const CONNECTIONS: usize = 8;
/// Items in each turn of a command.
const TURN: u64 = 20_000;
const ABSENT_ITEMS: u64 = 200_000;

/// A command, the number of items in it, and whether it asks for items that are there.
struct Case {
    name: &'static str,
    words: &'static [&'static str],
    items: usize,
    is_present: bool,
}

const fn case(
    name: &'static str,
    words: &'static [&'static str],
    items: usize,
    is_present: bool,
) -> Case {
    Case { name, words, items, is_present }
}

/// What one command adds, another deletes: the set stays as large as it is.
const CASES: [Case; 5] = [
    case("`CF.EXISTS`", &["CF.EXISTS", KEY], 1, true),
    case("`CF.MEXISTS` of ten", &["CF.MEXISTS", KEY], 10, true),
    case("`CF.ADD`", &["CF.ADD", KEY], 1, false),
    DELETE,
    case("`CF.INSERT` of ten", INSERT, 10, false),
];
const DELETE: Case = case("`CF.DEL`", &["CF.DEL", KEY], 1, false);
const INSERT: &[&str] = &["CF.INSERT", KEY, "ITEMS"];

struct Link<'a> {
    server: &'a Server,
    control: Connection,
    load: Vec<Connection>,
}

impl Link<'_> {
    fn send(&mut self, case: &Case, items: &[u64]) -> Result<()> {
        let commands = items.chunks(case.items).map(|chunk| {
            let mut command = command(case.words);
            chunk.iter().for_each(|item| {
                command.arg(format!("item:{item}"));
            });
            command
        });
        all(&mut self.load, PIPELINE, commands, items.len() as u64)
    }
}

pub(crate) fn run(servers: &[(&str, Server)], sizes: &[u64], turns: usize) -> Result<()> {
    let mut links = Vec::new();
    for (_, server) in servers {
        let mut control = server.connect()?;
        command(&["CONFIG", "SET", "slowlog-log-slower-than", "-1"]).exec(&mut control)?;
        command(&["FLUSHALL"]).exec(&mut control)?;
        // The size is not said in advance; another module may need a factor to grow by.
        command(&["CF.RESERVE", KEY, "1024", "EXPANSION", "2"]).exec(&mut control)?;
        links.push(Link { server, control, load: server.connections(CONNECTIONS)? });
    }
    let mut head = vec!["command".to_owned()];
    let mut rows: Vec<Vec<String>> = CASES.iter().map(|case| vec![case.name.into()]).collect();
    rows.extend(["bytes per item", "false positives"].map(|name| vec![name.into()]));
    let mut held = 0;
    for &size in sizes {
        head.extend(servers.iter().map(|(name, _)| format!("{size} items: {name}")));
        let fill = case("fill", INSERT, 100, false);
        for link in &mut links {
            link.send(&fill, &(held..size).collect::<Vec<_>>())?;
        }
        held = size;
        for (row, measured) in rows.iter_mut().zip(measure(&mut links, size, turns)?) {
            row.extend(measured.into_iter().map(|times| {
                let best = times.iter().copied().fold(f64::MAX, f64::min);
                format!("{best:.0} ({:.0})", median(times.into_iter()))
            }));
        }
        let [.., bytes, rates] = &mut rows[..] else { continue };
        for link in &mut links {
            let per_item = bytes_of(&mut link.control, KEY)? as f64 / size as f64;
            bytes.push(format!("{per_item:.2}"));
            let rate = measured_rate(&mut link.load, KEY, ABSENT_ITEMS)?;
            rates.push(format!("{:.3} %", 100.0 * rate));
        }
    }
    let rule = vec!["---".to_owned(); head.len()];
    println!("## bench-valkey");
    for row in [head, rule].into_iter().chain(rows) {
        println!("| {} |", row.join(" | "));
    }
    Ok(())
}

/// For each case and each server, nanoseconds per item in each turn.
fn measure(links: &mut [Link<'_>], size: u64, turns: usize) -> Result<Vec<Vec<Vec<f64>>>> {
    let mut measured = vec![vec![Vec::new(); links.len()]; CASES.len()];
    let added: Vec<u64> = (size..size + TURN).collect();
    for turn in 0..turns as u64 {
        for (case, measured) in CASES.iter().zip(&mut measured) {
            // Asks for items of every age: a module that grows by further tables has old items in small
            // ones. Deletes what was added just before.
            let asked = if case.is_present { of_every_age(size, turn) } else { added.clone() };
            for (link, measured) in links.iter_mut().zip(measured) {
                let before = link.server.cpu_nanoseconds()?;
                link.send(case, &asked)?;
                measured.push((link.server.cpu_nanoseconds()? - before) as f64 / TURN as f64);
            }
        }
        // What INSERT added.
        links.iter_mut().try_for_each(|link| link.send(&DELETE, &added))?;
    }
    Ok(measured)
}

/// Items of a turn that are spread over the whole set, in another order than they were added.
fn of_every_age(size: u64, turn: u64) -> Vec<u64> {
    // Coprime to the powers of ten that sizes are.
    const STEP: u64 = 7_919_317_777;
    (turn * TURN..(turn + 1) * TURN)
        .map(|i| (u128::from(i) * u128::from(STEP) % u128::from(size)) as u64)
        .collect()
}
