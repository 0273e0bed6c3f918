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
        let mut from = 0;
        while let Some(start) = position(chosen, from, true) {
            let end = position(chosen, start, false).unwrap_or(chosen.len());
            printed += (end - start) as u64;
            let run = block.run(start, end);
            if end - start == block.len() {
                self.out.write_all(run)?;
            } else {
                self.buffer.extend_from_slice(run);
            }
            if end == block.len() && !block.is_terminated {
                self.buffer.push(self.separator);
            }
            from = end;
        }
        self.out.write_all(&self.buffer)?;
        self.out.flush()?;
        Ok(printed)
    }
}

/// The first index from `from` on with the value `wanted`.
fn position(flags: &[bool], from: usize, wanted: bool) -> Option<usize> {
    let rest = flags.get(from..)?;
    rest.iter().position(|&flag| flag == wanted).map(|at| from + at)
}
