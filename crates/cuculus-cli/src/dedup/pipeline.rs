//! Blocks of documents, hashed by several threads and handed over in the order of the input. Knows
//! blocks, nothing of what is done with them.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use anyhow::{Context, Result, anyhow};
use cuculus::KeyHasher;

use super::ngrams::{Grams, Ngrams};
use crate::keys::{Block, Form, Keyless, Reader, error_in_line};

/// Blocks in use for each thread: one is worked on, one waits on each side.
const BLOCKS_PER_THREAD: usize = 3;

/// A block, and the n-grams of its documents if these are compared.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) block: Block,
    pub(super) grams: Grams,
}

/// What a thread does with a batch.
#[derive(Clone)]
pub(super) struct Work {
    pub(super) form: Form,
    pub(super) hasher: KeyHasher,
    pub(super) ngrams: Option<Ngrams>,
}

impl Work {
    fn run(&self, batch: &mut Batch) -> Result<()> {
        let Batch { block, grams } = batch;
        match self.ngrams {
            Some(ngrams) => ngrams.of_block(&self.form, &self.hasher, block, grams),
            None => {
                let hashed = self.form.hash(&self.hasher, Keyless::Note, block);
                hashed.map_err(|error| error_in_line(block, &error))
            }
        }
    }
}

/// Batches in order. The first comes from the first thread, the next from the next, and so on.
pub(super) struct Pipeline {
    from_threads: Vec<Receiver<Result<Batch>>>,
    next: usize,
    empty: Sender<Batch>,
}

impl Pipeline {
    /// Starts a thread that reads, and some that work. They end when nobody takes their batches.
    pub(super) fn start(reader: Reader, work: &Work, threads: usize) -> Result<Self> {
        let (empty, to_reader) = channel();
        for _ in 0..threads * BLOCKS_PER_THREAD {
            empty.send(Batch::default()).map_err(|_| anyhow!("a thread could not be set up"))?;
        }
        let (mut to_threads, mut from_threads) = (Vec::new(), Vec::new());
        for _ in 0..threads {
            let (to_thread, from_reader) = sync_channel(1);
            let (to_caller, from_thread) = sync_channel(1);
            let work = work.clone();
            start(move || serve(&work, &from_reader, &to_caller))?;
            to_threads.push(to_thread);
            from_threads.push(from_thread);
        }
        start(move || read(reader, &to_reader, &to_threads))?;
        Ok(Self { from_threads, next: 0, empty })
    }

    pub(super) fn next(&mut self) -> Result<Option<Batch>> {
        let Some(from) = self.from_threads.get(self.next) else { return Ok(None) };
        self.next = (self.next + 1) % self.from_threads.len();
        // A thread that has ended without the mark of the end has failed.
        let batch = from.recv().map_err(|_| anyhow!("a thread failed"))??;
        Ok(if batch.block.len() == 0 { None } else { Some(batch) })
    }

    /// Returns a batch for reuse.
    pub(super) fn reuse(&self, batch: Batch) {
        // A reader that has ended needs no more batches.
        let _ = self.empty.send(batch);
    }
}

fn start(run: impl FnOnce() + Send + 'static) -> Result<()> {
    thread::Builder::new().spawn(run).context("cannot start a thread")?;
    Ok(())
}

/// Reads blocks for each thread in turn. An empty block marks the end.
fn read(mut reader: Reader, empty: &Receiver<Batch>, to_threads: &[SyncSender<Result<Batch>>]) {
    for to_thread in to_threads.iter().cycle() {
        let Ok(mut batch) = empty.recv() else { return };
        let is_more = reader.read(&mut batch.block);
        let is_last = !matches!(is_more, Ok(true));
        if to_thread.send(is_more.map(|_| batch)).is_err() || is_last {
            return;
        }
    }
}

fn serve(work: &Work, from: &Receiver<Result<Batch>>, to: &SyncSender<Result<Batch>>) {
    for batch in from {
        let done = batch.and_then(|mut batch| {
            work.run(&mut batch)?;
            Ok(batch)
        });
        if to.send(done).is_err() {
            return;
        }
    }
}
