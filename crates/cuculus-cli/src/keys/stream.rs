//! Threads that read, split and hash lines while the caller works on earlier blocks. Blocks are dealt to the
//! threads in turn and taken back in turn, so their order is that of the input. Knows nothing of filters.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Weak};
use std::thread;

use anyhow::{Context, Result, anyhow};

use super::form::Unreadable;
use super::{Block, Reader};

/// Blocks in use for each thread: one is worked on, one waits on each side.
const BLOCKS_PER_THREAD: usize = 3;
/// Characters of a line that are shown in an error message.
const SHOWN: usize = 60;

/// A block of hashed lines, and what else a thread has found in it. An empty block marks the end.
pub(crate) type Batch<T> = (Block, T);

/// Batches in order. The first comes from the first thread, the next from the next, and so on.
pub(crate) struct Stream<T> {
    from_threads: Vec<Receiver<Result<Batch<T>>>>,
    next: usize,
    empty: Sender<Batch<T>>,
    wakers: Vec<Weak<SyncSender<Result<Batch<T>>>>>,
}

impl<T: Default + Send + 'static> Stream<T> {
    /// Starts a thread that reads, and some that work. They end when nobody takes their batches; nobody waits
    /// for them, since the first may be blocked reading from a terminal.
    pub(crate) fn start(
        reader: Reader,
        threads: usize,
        work: impl Fn(&mut Block, &mut T) -> Result<()> + Clone + Send + 'static,
    ) -> Result<Self> {
        let (empty, to_reader) = channel();
        // One more evens out pauses.
        for _ in 0..threads * BLOCKS_PER_THREAD + 1 {
            empty.send(Batch::default()).map_err(|_| anyhow!("a thread could not be set up"))?;
        }
        let mut to_threads = Vec::new();
        let (mut from_threads, mut wakers) = (Vec::new(), Vec::new());
        for _ in 0..threads {
            let (to_thread, from_reader) = sync_channel(1);
            let (to_caller, from_thread) = sync_channel(1);
            let (to_caller, work) = (Arc::new(to_caller), work.clone());
            wakers.push(Arc::downgrade(&to_caller));
            spawn(move || serve(work, &from_reader, &to_caller))?;
            to_threads.push(to_thread);
            from_threads.push(from_thread);
        }
        spawn(move || read(reader, &to_reader, &to_threads))?;
        Ok(Self { from_threads, next: 0, empty, wakers })
    }

    /// Ends the stream from another thread, when the caller has taken what is read already.
    pub(crate) fn stopper(&self) -> impl Fn() + Send + use<T> {
        let wakers = self.wakers.clone();
        move || {
            for waker in wakers.iter().filter_map(Weak::upgrade) {
                // If there is no room, the caller is not waiting.
                let _ = waker.try_send(Ok(Batch::default()));
            }
        }
    }

    /// The next batch, or `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Batch<T>>> {
        let Some(from) = self.from_threads.get(self.next) else { return Ok(None) };
        self.next = (self.next + 1) % self.from_threads.len();
        // A thread that has ended without the mark of the end has failed.
        let batch = from.recv().map_err(|_| anyhow!("a thread failed"))??;
        Ok(if batch.0.len() == 0 { None } else { Some(batch) })
    }

    /// Returns a batch for reuse.
    pub(crate) fn reuse(&self, batch: Batch<T>) {
        // A reader that has ended needs no more batches.
        let _ = self.empty.send(batch);
    }
}

fn spawn(run: impl FnOnce() + Send + 'static) -> Result<()> {
    thread::Builder::new().spawn(run).context("cannot start a thread")?;
    Ok(())
}

/// Reads blocks for each thread in turn.
fn read<T>(
    mut reader: Reader,
    empty: &Receiver<Batch<T>>,
    to_threads: &[SyncSender<Result<Batch<T>>>],
) {
    for to_thread in to_threads.iter().cycle() {
        let Ok(mut batch) = empty.recv() else { return };
        let is_more = reader.read(&mut batch.0);
        let is_last = !matches!(is_more, Ok(true));
        if to_thread.send(is_more.map(|_| batch)).is_err() || is_last {
            return;
        }
    }
}

fn serve<T>(
    work: impl Fn(&mut Block, &mut T) -> Result<()>,
    from: &Receiver<Result<Batch<T>>>,
    to: &SyncSender<Result<Batch<T>>>,
) {
    for batch in from {
        let done = batch.and_then(|(mut block, mut found)| {
            work(&mut block, &mut found)?;
            Ok((block, found))
        });
        if to.send(done).is_err() {
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
