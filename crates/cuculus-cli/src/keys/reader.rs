//! Reads blocks of whole lines from the inputs. Lines are not copied, except for the line that is cut
//! by the end of a block. Knows separators, nothing of keys.

use std::io;

use anyhow::{Context, Result, bail};

use super::block::Block;
use super::inputs::{Input, Inputs};

/// Bytes per block. Large enough that calls and hand-overs do not matter (reading 24-byte lines takes
/// the same time with 64 KiB and with 4 MiB), small enough to stay in the cache of a core until the
/// lines are written.
const BLOCK: usize = 256 << 10;
/// A longer line means that the input is not made of lines.
const LONGEST_LINE: usize = 1 << 30;

pub(crate) struct Reader {
    inputs: Inputs,
    separator: u8,
    /// The input that is being read, and its index.
    open: Option<Input>,
    input: usize,
    lines: u64,
    /// Bytes of the input, unpacked, in the blocks so far.
    position: u64,
    /// The beginning of a line that continues in the next block.
    rest: Vec<u8>,
}

impl Reader {
    pub(crate) fn new(inputs: Inputs, separator: u8) -> Self {
        let rest = Vec::new();
        Self { inputs, separator, open: None, input: 0, lines: 0, position: 0, rest }
    }

    /// Continues after a block that an earlier reader of the same inputs gave.
    pub(crate) fn continue_after(&mut self, input: usize, position: u64, lines: u64) -> Result<()> {
        (self.input, self.position, self.lines) = (input, position, lines);
        if input >= self.inputs.len() {
            return Ok(());
        }
        let mut open = self.inputs.open(input)?;
        let skipped = open.skip(position);
        let skipped = skipped.with_context(|| format!("cannot read {}", open.name))?;
        if skipped < position {
            bail!(
                "{} has become shorter since the last run; start again without the state",
                open.name
            );
        }
        self.open = Some(open);
        Ok(())
    }

    /// Fills a block with the next lines; returns whether there are any.
    pub(crate) fn read(&mut self, block: &mut Block) -> Result<bool> {
        block.ends.clear();
        block.hashes.clear();
        block.keyless.clear();
        while self.input < self.inputs.len() {
            let open = match &mut self.open {
                Some(open) => open,
                none => {
                    (self.lines, self.position) = (0, 0);
                    none.insert(self.inputs.open(self.input)?)
                }
            };
            block.input = Some(open.name.clone());
            block.lines_before = self.lines;
            let has_ended = fill(block, open, &mut self.rest, self.separator)?;
            self.lines += block.len() as u64;
            self.position += block.size() as u64;
            (block.input_index, block.position) = (self.input, self.position);
            if has_ended {
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

/// Reads lines of an input; returns whether the input has ended. `rest` has the beginning of a cut
/// line, before and after.
fn fill(block: &mut Block, open: &mut Input, rest: &mut Vec<u8>, separator: u8) -> Result<bool> {
    let mut filled = rest.len();
    // However long the block was before: the blocks of a file depend on nothing but the file.
    let mut size = BLOCK;
    while size <= filled {
        size *= 2;
    }
    block.bytes.resize(size, 0);
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
            && (is_full || !open.is_regular)
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
