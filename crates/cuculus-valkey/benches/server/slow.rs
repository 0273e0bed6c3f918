//! Commands that take long. A shared machine stops the server now and then, so the same commands run
//! twice: a command that was slow both times was slow because of the filter.

use std::collections::HashMap;

use serde::Serialize;

use crate::connection::Connection;

/// The shortest time that counts as slow, in microseconds.
const SLOW: u64 = 200;

/// The slow commands of one run: microseconds by item.
pub(crate) struct Slow(HashMap<Vec<u8>, u64>);

/// What two runs agree on.
#[derive(Serialize)]
pub(crate) struct Slowest {
    /// The longest time of a command in both runs, in microseconds; `None` if no command was slow
    /// twice.
    pub(crate) both_us: Option<u64>,
    /// The longest time in one run, including what the machine did meanwhile.
    pub(crate) once_us: u64,
    pub(crate) slow_from_us: u64,
}

pub(crate) fn watch(control: &mut Connection) -> anyhow::Result<()> {
    let limit = SLOW.to_string();
    control.call(&[b"CONFIG", b"SET", b"slowlog-log-slower-than", limit.as_bytes()])?;
    control.call(&[b"SLOWLOG", b"RESET"])?;
    Ok(())
}

/// The slow calls of a command since `watch`.
pub(crate) fn calls_of(control: &mut Connection, command: &[u8]) -> anyhow::Result<Slow> {
    let mut slow = HashMap::new();
    for entry in control.call(&[b"SLOWLOG", b"GET", b"-1"])?.array()? {
        let mut fields = entry.array()?.into_iter().skip(2);
        let (Some(took), Some(words)) = (fields.next(), fields.next()) else { continue };
        let words = words.array()?;
        if let [name, _, item] = words.as_slice()
            && name.text()?.as_bytes() == command
        {
            slow.insert(item.text()?.into_bytes(), took.integer()? as u64);
        }
    }
    Ok(Slow(slow))
}

impl Slow {
    pub(crate) fn and(&self, other: &Self) -> Slowest {
        let both = self.0.iter().filter_map(|(item, &a)| other.0.get(item).map(|&b| a.min(b)));
        Slowest {
            both_us: both.max(),
            once_us: self.0.values().chain(other.0.values()).copied().max().unwrap_or(0),
            slow_from_us: SLOW,
        }
    }
}
