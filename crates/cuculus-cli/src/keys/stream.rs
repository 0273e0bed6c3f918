//! A thread that reads, splits and hashes lines while the caller works on earlier blocks: for a filter
//! larger than the caches both take about the same time. Knows nothing of filters.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use cuculus::KeyHasher;

use super::Block;
use super::Inputs;
use super::Reader;
use super::form::{Form, Keyless, Unreadable};

/// Blocks in use: one is read, one waits, one is worked on, and one more evens out pauses.
const BLOCKS: usize = 4;
/// How often a caller that waits looks whether the thread still runs.
const PATIENCE: Duration = Duration::from_secs(1);
/// Characters of a line that are shown in an error message.
const SHOWN: usize = 60;

/// Hashed blocks, in order.
pub(crate) struct Stream {
    full: Receiver<Option<Result<Block>>>,
    empty: Sender<Block>,
    waker: SyncSender<Option<Result<Block>>>,
    thread: JoinHandle<()>,
}

impl Stream {
    /// Starts reading. Nobody waits for the thread when the caller is done: it may be blocked reading
    /// from a terminal.
    pub(crate) fn start(
        inputs: Inputs,
        separator: u8,
        form: Form,
        keyless: Keyless,
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
        let waker = to_caller.clone();
        let hash = move |block: &mut Block| {
            form.hash(&hasher, keyless, block).map_err(|error| error_in_line(block, &error))
        };
        let read = move || produce(reader, hash, &from_caller, &to_caller);
        let thread = thread::Builder::new().spawn(read);
        let thread = thread.context("cannot start the reading thread")?;
        Ok(Self { full, empty, waker, thread })
    }

    /// Ends the stream from another thread, when the caller has taken what is read already.
    pub(crate) fn stopper(&self) -> impl Fn() + Send + use<> {
        let waker = self.waker.clone();
        move || {
            // If there is no room, the caller is not waiting.
            let _ = waker.try_send(None);
        }
    }

    /// The next block, or `None` at the end.
    pub(crate) fn next(&self) -> Result<Option<Block>> {
        loop {
            match self.full.recv_timeout(PATIENCE) {
                Ok(next) => return next.transpose(),
                Err(_) if self.thread.is_finished() => {
                    // What it sent last may have come in between.
                    let last = self.full.try_recv().ok();
                    return last
                        .unwrap_or(Some(Err(anyhow!("the reading thread failed"))))
                        .transpose();
                }
                Err(_) => {}
            }
        }
    }

    /// Returns a block to the thread for reuse.
    pub(crate) fn reuse(&self, block: Block) {
        // A thread that has ended needs no more blocks.
        let _ = self.empty.send(block);
    }
}

fn produce(
    mut reader: Reader,
    hash: impl Fn(&mut Block) -> Result<()>,
    empty: &Receiver<Block>,
    full: &SyncSender<Option<Result<Block>>>,
) {
    while let Ok(mut block) = empty.recv() {
        let read = reader.read(&mut block).and_then(|is_more| {
            hash(&mut block)?;
            Ok(is_more)
        });
        let is_over = !matches!(read, Ok(true));
        let sent = full.send(match read {
            Ok(false) => None,
            Ok(true) => Some(Ok(block)),
            Err(error) => Some(Err(error)),
        });
        // The input has ended, or the caller is done.
        if is_over || sent.is_err() {
            return;
        }
    }
}

pub(crate) fn error_in_line(block: &Block, Unreadable { line, why }: &Unreadable) -> anyhow::Error {
    let text = String::from_utf8_lossy(block.line(*line));
    let shown: String = text.chars().take(SHOWN).collect();
    let more = if shown.len() < text.len() { "…" } else { "" };
    anyhow!("{}: {shown:?}{more} {why}", block.origin_of(*line))
}
