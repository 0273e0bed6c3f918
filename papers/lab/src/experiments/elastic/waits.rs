//! How long single operations take, and what the longest were busy with.
//!
//! Operations are the same in every walk of a seed. So the whole way is walked twice, and the
//! shorter time of each operation is its own, the rest the machine's. A third walk looks at the
//! filter before and after the longest.

use cuculus::{ElasticFilter, ElasticStats};
use serde::{Deserialize, Serialize};

use super::walk::{Walk, step};
use crate::pauses::{Pauses, Summary};

/// The longest waits that are looked into.
const LONGEST: usize = 5;

/// The waits of all insertions, or of all removals.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Waits {
    /// Of the first walk.
    pub(super) raw: Summary,
    /// Of the shorter times of two walks.
    pub(super) least: Summary,
    /// The longest of the first walk.
    pub(super) longest_raw: Vec<Wait>,
    /// The longest of the shorter times.
    pub(super) longest: Vec<Wait>,
}

/// One long operation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Wait {
    /// Keys in the filter before it.
    pub(super) keys: usize,
    pub(super) first_nanoseconds: u32,
    pub(super) second_nanoseconds: u32,
    pub(super) cause: String,
    pub(super) segments: i64,
    pub(super) slots: i64,
    pub(super) bytes: i64,
}

/// Walks three times; waits of insertions, and of removals.
pub(super) fn measure(walk: &Walk, name: &str) -> anyhow::Result<(Waits, Waits)> {
    eprintln!("{name}: waits, first walk");
    let first = timed(walk)?;
    eprintln!("{name}: waits, second walk");
    let second = timed(walk)?;
    eprintln!("{name}: causes of the longest");
    let mut filter = walk.empty()?;
    let mut explained = |up: bool| {
        let (first, second) = (&first[usize::from(!up)], &second[usize::from(!up)]);
        let least = first.least(second);
        let (longest_raw, longest) = (first.longest(LONGEST), least.longest(LONGEST));
        let wanted: Vec<usize> = longest_raw.iter().chain(&longest).copied().collect();
        let seen = match up {
            true => explain(&mut filter, up, walk.insertions(), &wanted),
            false => explain(&mut filter, up, walk.removals(), &wanted),
        };
        let describe = |at: &usize| {
            let wait = seen.iter().find(|(seen, _)| seen == at).map(|(_, wait)| wait.clone());
            Wait {
                first_nanoseconds: first.get(*at).unwrap_or(0),
                second_nanoseconds: second.get(*at).unwrap_or(0),
                ..wait.unwrap_or_default()
            }
        };
        Waits {
            raw: first.summary(),
            least: least.summary(),
            longest_raw: longest_raw.iter().map(describe).collect(),
            longest: longest.iter().map(describe).collect(),
        }
    };
    Ok((explained(true), explained(false)))
}

/// Times of all insertions and of all removals.
fn timed(walk: &Walk) -> anyhow::Result<[Pauses; 2]> {
    let mut filter = walk.empty()?;
    let mut inserts = Pauses::with_capacity(walk.insertions().len());
    for key in walk.insertions() {
        inserts.time(|| step(&mut filter, true, key));
    }
    let mut removes = Pauses::with_capacity(walk.removals().len());
    for key in walk.removals() {
        removes.time(|| step(&mut filter, false, key));
    }
    Ok([inserts, removes])
}

/// Goes on with the filter and looks at it around the wanted operations.
fn explain(
    filter: &mut ElasticFilter,
    up: bool,
    keys: impl Iterator<Item = u64>,
    wanted: &[usize],
) -> Vec<(usize, Wait)> {
    let mut seen = Vec::new();
    for (at, key) in keys.enumerate() {
        if wanted.contains(&at) {
            let before = filter.stats();
            step(filter, up, key);
            seen.push((at, Wait::between(&before, &filter.stats())));
        } else {
            step(filter, up, key);
        }
    }
    seen
}

impl Wait {
    fn between(before: &ElasticStats, after: &ElasticStats) -> Self {
        let change = |before: usize, after: usize| after as i64 - before as i64;
        let segments = change(before.segments, after.segments);
        let slots = change(before.slots, after.slots);
        let bytes = change(before.size_in_bytes, after.size_in_bytes);
        let widths = |stats: &ElasticStats| -> Vec<u32> {
            stats.slot_widths.iter().map(|&(width, _)| width).collect()
        };
        let mut causes = Vec::new();
        match segments {
            1.. => causes.push("split"),
            ..0 => causes.push("merge"),
            0 if slots != 0 => causes.push("segment rewritten"),
            0 => {}
        }
        if widths(before) != widths(after) {
            causes.push("width changed");
        }
        if before.overflow != after.overflow {
            causes.push("overflow moved");
        }
        if bytes != 0 {
            causes.push("memory allocated or freed");
        }
        let cause =
            if causes.is_empty() { "machine, or a search".to_owned() } else { causes.join(", ") };
        Self { keys: before.len, cause, segments, slots, bytes, ..Self::default() }
    }
}
