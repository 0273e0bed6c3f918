//! Blocks of whole lines out of the inputs. Lines are found where they were read and never copied,
//! but for the one that a block ends in the middle of.

use std::io;

use anyhow::{Context, Result, bail};

use super::block::Block;
use super::inputs::{Input, Inputs};

/// Bytes of a block. Large enough that calls and hand-overs do not count (a read of 24-byte lines
/// takes as long with 64 KiB and with 4 MiB), small enough to stay in a core's cache until the
/// lines are written.
const BLOCK: usize = 256 << 10;
/// A longer line is taken for input that is not made of lines.
const LONGEST_LINE: usize = 1 << 30;

pub(crate) struct Reader {
    inputs: Inputs,
    separator: u8,
    /// The input that is being read, and its number.
    open: Option<Input>,
    input: usize,
    lines: u64,
    /// The beginning of a line that the next block will have all of.
    rest: Vec<u8>,
}

impl Reader {
    pub(crate) fn new(inputs: Inputs, separator: u8) -> Self {
        Self { inputs, separator, open: None, input: 0, lines: 0, rest: Vec::new() }
    }

    /// Fills a block with the next lines; says whether there are any.
    pub(crate) fn read(&mut self, block: &mut Block) -> Result<bool> {
        block.ends.clear();
        block.hashes.clear();
        while self.input < self.inputs.len() {
            let open = match &mut self.open {
                Some(open) => open,
                none => {
                    self.lines = 0;
                    none.insert(self.inputs.open(self.input)?)
                }
            };
            block.input = Some(open.name.clone());
            block.lines_before = self.lines;
            let is_over = fill(block, open, &mut self.rest, self.separator)?;
            self.lines += block.len() as u64;
            if is_over {
                self.open = None;
                self.input += 1;
            }
            if block.len() > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Lines of an input; says whether it is over. The beginning of a line that is not all there comes
/// from `rest` and goes there.
fn fill(block: &mut Block, open: &mut Input, rest: &mut Vec<u8>, separator: u8) -> Result<bool> {
    let mut filled = rest.len();
    if block.bytes.len() < (filled + 1).max(BLOCK) {
        block.bytes.resize((2 * filled).max(BLOCK), 0);
    }
    block.bytes[..filled].copy_from_slice(rest);
    rest.clear();
    loop {
        let read = match open.reader.read(&mut block.bytes[filled..]) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", open.name));
            }
        };
        if read == 0 {
            let ended = block.ends.last().map_or(0, |&end| end as usize + 1);
            block.is_terminated = ended == filled;
            if !block.is_terminated {
                block.ends.push(filled as u32);
            }
            return Ok(true);
        }
        let new = &block.bytes[filled..filled + read];
        let ends = memchr::memchr_iter(separator, new).map(|at| (filled + at) as u32);
        block.ends.extend(ends);
        filled += read;
        let is_full = filled == block.bytes.len();
        if let Some(&end) = block.ends.last()
            && (is_full || !open.is_plain)
        {
            rest.extend_from_slice(&block.bytes[end as usize + 1..filled]);
            block.is_terminated = true;
            return Ok(false);
        }
        if is_full {
            if filled >= LONGEST_LINE {
                let origin = block.origin_of(0);
                bail!(
                    "{origin}: the line is longer than 1 GiB; if keys end in zero bytes, add --null"
                );
            }
            block.bytes.resize(2 * filled, 0);
        }
    }
}
