//! A block of input: whole lines and their hashes. Knows where lines begin and end, not where the
//! bytes come from.

use std::ops::Range;
use std::sync::Arc;

use cuculus::KeyHash;

/// Whole lines, contiguous in memory. Blocks are reused.
#[derive(Clone, Default)]
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
    /// The number of the input, and the bytes of it up to the end of this block.
    pub(crate) input_index: usize,
    pub(crate) position: u64,
    /// One per line.
    pub(crate) hashes: Vec<KeyHash>,
    /// Lines without a key, whose hashes mean nothing. Only JSON documents can lack one.
    pub(crate) keyless: Vec<u32>,
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

    /// The lines of the input up to the end of this block.
    pub(crate) fn lines_after(&self) -> u64 {
        self.lines_before + self.len() as u64
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

    /// Appends the chosen lines to a buffer, each with its separator.
    pub(crate) fn copy_lines(&self, chosen: &[bool], separator: u8, buffer: &mut Vec<u8>) {
        for run in self.runs(chosen) {
            buffer.extend_from_slice(self.run(run.start, run.end));
            if self.is_cut(run.end) {
                buffer.push(separator);
            }
        }
    }

    /// Chosen lines that follow each other.
    pub(super) fn runs<'a>(&self, chosen: &'a [bool]) -> impl Iterator<Item = Range<usize>> + 'a {
        let position = |from: usize, wanted: bool| {
            let rest = chosen.get(from..)?;
            rest.iter().position(|&flag| flag == wanted).map(|at| from + at)
        };
        let mut from = 0;
        std::iter::from_fn(move || {
            let start = position(from, true)?;
            from = position(start, false).unwrap_or(chosen.len());
            Some(start..from)
        })
    }

    /// Whether the line before line `end` lacks its separator.
    pub(super) fn is_cut(&self, end: usize) -> bool {
        end == self.len() && !self.is_terminated
    }

    /// Lines `from` to `to`, the last one excluded, with their separators; the very last may lack
    /// its own.
    pub(super) fn run(&self, from: usize, to: usize) -> &[u8] {
        self.bytes.get(self.start_of(from)..self.end_of(to)).unwrap_or_default()
    }
}
