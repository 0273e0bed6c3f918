//! Commands that take long. A shared machine stops the server now and then, so the same commands run
//! twice: a command that was slow both times was slow because of the filter.

use std::collections::HashMap;

use anyhow::Result;
use redis::Connection;

use crate::load::command;

/// The shortest time that counts as slow, in microseconds.
const SLOW: u64 = 200;

/// The slow commands of one run: microseconds by item.
pub(crate) struct Slow(HashMap<Vec<u8>, u64>);

pub(crate) fn watch(control: &mut Connection) -> Result<()> {
    command(&["CONFIG", "SET", "slowlog-log-slower-than", &SLOW.to_string()]).exec(control)?;
    Ok(command(&["SLOWLOG", "RESET"]).exec(control)?)
}

/// Its number, when it was, microseconds, the words of the command, the client and its name.
type Entry = (u64, u64, u64, Vec<Vec<u8>>, String, String);

/// The slow calls of a command since `watch`.
pub(crate) fn calls_of(control: &mut Connection, name: &str) -> Result<Slow> {
    let entries: Vec<Entry> = command(&["SLOWLOG", "GET", "-1"]).query(control)?;
    let calls = entries.into_iter().filter_map(|(_, _, took, words, ..)| match &words[..] {
        [first, _, item] if first == name.as_bytes() => Some((item.clone(), took)),
        _ => None,
    });
    Ok(Slow(calls.collect()))
}

impl Slow {
    /// What two runs agree on, and the longest time in one of them, in words.
    pub(crate) fn and(&self, other: &Self) -> String {
        let both = self.0.iter().filter_map(|(item, &a)| other.0.get(item).map(|&b| a.min(b)));
        let both = both.max().map_or(format!("below {SLOW} µs"), |both| format!("{both} µs"));
        let once = self.0.values().chain(other.0.values()).copied().max().unwrap_or(0);
        format!("slowest in both of two equal runs {both}, in one of them {once} µs")
    }
}
