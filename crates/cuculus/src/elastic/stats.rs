//! The figures of a filter, to look at.

use core::fmt::Write as _;

use super::filter::ElasticFilter;
use super::level::Level;
use crate::stats::{percent, stats};

stats! {
    /// What an [`ElasticFilter`] is like at the moment. Prints as a short table.
    ElasticStats of filter: ElasticFilter {
        /// Segments, each of which is rewritten on its own.
        segments: usize = filter.engine.segments(),
        /// The bits of a hash that choose a segment, at most.
        depth: u32 = filter.engine.levels.main.depth(),
        /// Widths of slots in bits, with the number of slots in use of that width.
        slot_widths: Vec<(u32, usize)> = slot_widths(filter),
        /// Bits of a key's path that entries know, with the number of such entries: the longer, the
        /// fewer false positives. Old entries are shorter.
        entry_lengths: Vec<(u32, u64)> = filter.engine.lengths.iter().collect(),
        /// Keys whose entries have become too short for the set's size and are kept apart.
        overflow: usize = filter.engine.kept_apart(),
        /// The rate that is kept.
        false_positive_rate: f64 = filter.false_positive_rate(),
        /// The most entries that one operation has rewritten, since the filter was built, cleared or
        /// loaded.
        most_entries_written: u32 = filter.engine.most_work(),
    }
}

fn slot_widths(filter: &ElasticFilter) -> Vec<(u32, usize)> {
    let mut slot_widths: Vec<(u32, usize)> = Vec::new();
    for segment in filter.engine.levels.iter().flat_map(Level::segments) {
        let (width, slots) = (segment.form().width, segment.slots());
        match slot_widths.binary_search_by_key(&width, |entry| entry.0) {
            Ok(at) => slot_widths[at].1 += slots,
            Err(at) => slot_widths.insert(at, (width, slots)),
        }
    }
    slot_widths
}

impl ElasticStats {
    fn own_rows(&self) -> Vec<(&'static str, String)> {
        let share = |count: f64, of: usize| count / of as f64;
        let segments = format!("{} of depth at most {}", self.segments, self.depth);
        let mut rows = vec![("segments", segments)];
        if self.len > 0 {
            let widths = self.slot_widths.iter();
            let widths = widths.map(|&(bits, n)| (bits, share(n as f64, self.slots)));
            rows.push(("slots by width", list(widths)));
            let lengths = self.entry_lengths.iter();
            let lengths = lengths.map(|&(bits, n)| (bits, share(n as f64, self.len)));
            rows.push(("entries by length", list(lengths)));
        }
        if self.overflow > 0 {
            rows.push(("kept apart", self.overflow.to_string()));
        }
        rows.push(("rate kept", format!("at most {}", percent(self.false_positive_rate, 4))));
        rows
    }
}

fn list(shares: impl Iterator<Item = (u32, f64)>) -> String {
    let mut list = String::new();
    for (i, (bits, share)) in shares.enumerate() {
        let comma = if i == 0 { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(list, "{comma}{bits} bits {}", percent(share, 1));
    }
    list
}
