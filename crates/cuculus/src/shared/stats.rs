//! The figures of a shared filter, to look at.

use super::filter::SharedFilter;
use crate::elastic::engine::Engine;
use crate::stats::{percent, stats};

stats! {
    /// What a [`SharedFilter`] is like at the moment. Prints as a short table.
    SharedStats of filter: SharedFilter {
        /// The parts, each of which one thread can change at a time.
        parts: usize = filter.parts(),
        /// The parts that accept no change any more, since a thread panicked while it changed them.
        poisoned_parts: usize = filter.poisoned_parts(),
        /// Segments, each of which is rewritten on its own.
        segments: usize = filter.sum(Engine::segments),
        /// Keys whose entries have become too short for the set's size and are kept apart.
        overflow: usize = filter.sum(Engine::kept_apart),
        /// The rate that is kept.
        false_positive_rate: f64 = filter.false_positive_rate(),
        /// The most entries that one operation has rewritten, since the filter was built, cleared or
        /// loaded.
        most_entries_written: u32 = filter.most_work(),
    }
}

impl SharedFilter {
    fn most_work(&self) -> u32 {
        self.shared.parts.iter().map(|part| part.look(Engine::most_work)).max().unwrap_or(0)
    }
}

impl SharedStats {
    fn own_rows(&self) -> Vec<(&'static str, String)> {
        let parts = format!("{} with {} segments", self.parts, self.segments);
        let mut rows = vec![("parts", parts)];
        if self.poisoned_parts > 0 {
            rows.push(("unusable", format!("{} parts, after a panic", self.poisoned_parts)));
        }
        if self.overflow > 0 {
            rows.push(("kept apart", self.overflow.to_string()));
        }
        rows.push(("rate kept", format!("at most {}", percent(self.false_positive_rate, 4))));
        rows
    }
}
