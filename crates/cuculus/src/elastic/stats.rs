//! The figures of a filter, to look at.

use core::fmt;

use super::filter::ElasticFilter;
use super::level::Level;
use crate::{Filter, stats};

/// What an [`ElasticFilter`] is like at the moment. Prints as a short table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ElasticStats {
    /// The keys held.
    pub len: usize,
    /// The slots that exist.
    pub slots: usize,
    /// The share of the slots in use.
    pub utilization: f64,
    /// Segments, each of which is written anew on its own.
    pub segments: usize,
    /// The bits of a hash that choose a segment, at most.
    pub depth: u32,
    /// Widths of slots in bits, with the number of slots of that width.
    pub slot_widths: Vec<(u32, usize)>,
    /// Bits of a key's path that entries know, with the number of such entries: the longer, the
    /// fewer false positives. Old entries are shorter.
    pub entry_lengths: Vec<(u32, u64)>,
    /// Entries that have become too short for the set's size and are kept aside.
    pub elders: usize,
    /// All memory held.
    pub size_in_bytes: usize,
    /// The false positive rate to expect now.
    pub expected_false_positive_rate: f64,
    /// The rate that is kept.
    pub false_positive_rate: f64,
    /// The most entries that one operation has written, since the filter was built, cleared or
    /// loaded.
    pub most_entries_written: u32,
    /// The keys that [`Extend`] could not store.
    pub refused: u64,
}

impl ElasticStats {
    pub(super) fn of(filter: &ElasticFilter) -> Self {
        let mut slot_widths: Vec<(u32, usize)> = Vec::new();
        for segment in filter.tier.levels().flat_map(Level::segments) {
            let (width, slots) = (segment.form().width, segment.slots() as usize);
            match slot_widths.binary_search_by_key(&width, |entry| entry.0) {
                Ok(at) => slot_widths[at].1 += slots,
                Err(at) => slot_widths.insert(at, (width, slots)),
            }
        }
        Self {
            len: filter.len(),
            slots: filter.slots(),
            utilization: filter.utilization(),
            segments: filter.tier.levels().map(Level::segment_count).sum(),
            depth: filter.tier.level.depth(),
            slot_widths,
            entry_lengths: filter.lengths.iter().collect(),
            elders: filter.tier.levels().skip(1).map(Level::len).sum(),
            size_in_bytes: filter.size_in_bytes(),
            expected_false_positive_rate: filter.expected_false_positive_rate(),
            false_positive_rate: filter.false_positive_rate(),
            most_entries_written: filter.work.most,
            refused: filter.refused,
        }
    }

    /// All memory, divided by the keys held; infinite for an empty filter.
    #[must_use]
    pub fn bits_per_key(&self) -> f64 {
        stats::bits_per_key(self.size_in_bytes, self.len)
    }
}

impl fmt::Display for ElasticStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "keys                  {}", self.len)?;
        writeln!(
            f,
            "slots                 {} ({:.2} % used) in {} segments of depth {}",
            self.slots,
            100.0 * self.utilization,
            self.segments,
            self.depth
        )?;
        stats::memory(f, self.size_in_bytes, self.len)?;
        write!(
            f,
            "\nfalse positive rate   {:.4} % of at most {:.4} %",
            100.0 * self.expected_false_positive_rate,
            100.0 * self.false_positive_rate
        )?;
        let share = |count: f64, of: usize| 100.0 * count / of as f64;
        if self.len > 0 {
            write!(f, "\nslots by width        ")?;
            list(f, self.slot_widths.iter().map(|&(w, n)| (w, share(n as f64, self.slots))))?;
            write!(f, "\nentries by length     ")?;
            list(f, self.entry_lengths.iter().map(|&(l, n)| (l, share(n as f64, self.len))))?;
        }
        if self.elders > 0 {
            write!(f, "\nelders                {}", self.elders)?;
        }
        stats::refused(f, self.refused)
    }
}

fn list(f: &mut fmt::Formatter<'_>, shares: impl Iterator<Item = (u32, f64)>) -> fmt::Result {
    for (i, (bits, share)) in shares.enumerate() {
        let comma = if i == 0 { "" } else { ", " };
        write!(f, "{comma}{bits} bits {share:.1} %")?;
    }
    Ok(())
}
