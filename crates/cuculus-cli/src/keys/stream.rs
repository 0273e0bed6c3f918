//! A thread that reads, splits and hashes lines while the caller works on earlier blocks: for a filter
//! larger than the caches both take about the same time. Knows nothing of filters.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use anyhow::{Context, Result, anyhow};
use cuculus::KeyHasher;

use super::Block;
use super::Inputs;
use super::Reader;
use super::form::{Form, Unreadable};

/// Blocks in use: one is read, one waits, one is worked on, and one more evens out pauses.
const BLOCKS: usize = 4;
/// Characters of a line that are shown in an error message.
const SHOWN: usize = 60;

/// Hashed blocks, in order.
pub(crate) struct Stream {
    full: Receiver<Result<Block>>,
    empty: Sender<Block>,
}

impl Stream {
    /// Starts reading. Nobody waits for the thread when the caller is done: it may be blocked reading
    /// from a terminal.
    pub(crate) fn start(
        inputs: Inputs,
        separator: u8,
        form: Form,
        hasher: KeyHasher,
    ) -> Result<Self> {
        let (to_caller, full) = sync_channel(BLOCKS);
        let (empty, from_caller) = channel();
        for _ in 0..BLOCKS {
            empty
                .send(Block::default())
                .map_err(|_| anyhow!("the reading thread could not be set up"))?;
        }
        let reader = Reader::new(inputs, separator);
        let read = move || produce(reader, form, &hasher, &from_caller, &to_caller);
        thread::Builder::new().spawn(read).context("cannot start the reading thread")?;
        Ok(Self { full, empty })
    }

    /// The next block, or `None` at the end.
    pub(crate) fn next(&self) -> Result<Option<Block>> {
        self.full.recv().ok().transpose()
    }

    /// Returns a block to the thread for reuse.
    pub(crate) fn reuse(&self, block: Block) {
        // A thread that has ended needs no more blocks.
        let _ = self.empty.send(block);
    }
}

fn produce(
    mut reader: Reader,
    form: Form,
    hasher: &KeyHasher,
    empty: &Receiver<Block>,
    full: &SyncSender<Result<Block>>,
) {
    while let Ok(mut block) = empty.recv() {
        let read = reader.read(&mut block).and_then(|is_more| {
            form.hash(hasher, &mut block).map_err(|error| error_in_line(&block, &error))?;
            Ok(is_more)
        });
        let sent = match read {
            Ok(false) => return,
            Ok(true) => full.send(Ok(block)),
            Err(error) => full.send(Err(error)),
        };
        // The caller is done.
        if sent.is_err() {
            return;
        }
    }
}

fn error_in_line(block: &Block, &Unreadable { line, why }: &Unreadable) -> anyhow::Error {
    let text = String::from_utf8_lossy(block.line(line));
    let shown: String = text.chars().take(SHOWN).collect();
    let more = if shown.len() < text.len() { "…" } else { "" };
    anyhow!("{}: {shown:?}{more} {why}", block.origin_of(line))
}
