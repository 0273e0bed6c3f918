//! Prints chosen lines of a block. Adjacent lines are contiguous in memory and written as one run.

use std::io::{self, Write};

use super::block::Block;

pub(crate) struct Printer<W> {
    out: W,
    separator: u8,
    buffer: Vec<u8>,
}

impl<W: Write> Printer<W> {
    pub(crate) fn new(out: W, separator: u8) -> Self {
        Self { out, separator, buffer: Vec::new() }
    }

    /// Writes the chosen lines, each with its separator, and flushes. Returns how many.
    pub(crate) fn print(&mut self, block: &Block, chosen: &[bool]) -> io::Result<u64> {
        self.buffer.clear();
        let mut printed = 0;
        for run in block.runs(chosen) {
            printed += run.len() as u64;
            let lines = block.run(run.start, run.end);
            if run.len() == block.len() {
                self.out.write_all(lines)?;
            } else {
                self.buffer.extend_from_slice(lines);
            }
            if block.is_cut(run.end) {
                self.buffer.push(self.separator);
            }
        }
        self.out.write_all(&self.buffer)?;
        self.out.flush()?;
        Ok(printed)
    }
}
