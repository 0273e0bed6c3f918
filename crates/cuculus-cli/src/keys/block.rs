//! A block of input: whole lines and their hashes. Knows where lines begin and end, not where the
//! bytes come from.

use std::sync::Arc;

use cuculus::KeyHash;

/// Whole lines, contiguous in memory. Blocks are reused.
#[derive(Default)]
pub(crate) struct Block {
    /// The lines, then bytes that only the reader knows.
    pub(super) bytes: Vec<u8>,
    /// Where each line ends, without its separator.
    pub(super) ends: Vec<u32>,
    /// Whether the last line ends in a separator; only the last of a file may not.
    pub(super) is_terminated: bool,
    /// The input that the lines are from, and how many lines of it came before.
    pub(super) input: Option<Arc<str>>,
    pub(super) lines_before: u64,
    /// One per line.
    pub(crate) hashes: Vec<KeyHash>,
}

impl Block {
    /// The number of lines.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Where a line came from, for error messages: the input and the line number.
    pub(crate) fn origin_of(&self, i: usize) -> String {
        let input = self.input.as_deref().unwrap_or_default();
        format!("{input}:{}", self.lines_before + i as u64 + 1)
    }

    /// The bytes of all lines, with separators.
    pub(crate) fn size(&self) -> usize {
        self.end_of(self.len())
    }

    /// Where line `i` begins.
    fn start_of(&self, i: usize) -> usize {
        match i.checked_sub(1).and_then(|before| self.ends.get(before)) {
            Some(&end) => end as usize + 1,
            None => 0,
        }
    }

    /// Where the lines before line `i` end, the last separator included if there is one.
    fn end_of(&self, i: usize) -> usize {
        let is_open = i == self.len() && i > 0 && !self.is_terminated;
        self.start_of(i) - usize::from(is_open)
    }

    /// A line without its separator.
    pub(crate) fn line(&self, i: usize) -> &[u8] {
        let end = self.ends.get(i).map_or(0, |&end| end as usize);
        self.bytes.get(self.start_of(i)..end).unwrap_or_default()
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let line = self.bytes.get(start..end as usize).unwrap_or_default();
            start = end as usize + 1;
            line
        })
    }

    /// Lines `from` to `to`, the last one excluded, with their separators; the very last may lack
    /// its own.
    pub(super) fn run(&self, from: usize, to: usize) -> &[u8] {
        self.bytes.get(self.start_of(from)..self.end_of(to)).unwrap_or_default()
    }
}
