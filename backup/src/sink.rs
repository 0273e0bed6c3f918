//! Writes new chunks: some threads compress and seal them, one writes packs and index runs. Knows
//! the order in which things become durable: a run refers only to packs that exist.

use std::collections::{HashMap, VecDeque};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::config::Parameters;
use crate::error::{Error, Result};
use crate::id::{ChunkId, Name};
use crate::index::{Entry, Run, write_sorted};
use crate::pack::{Compressor, Footer, Group, PackInfo, PackWriter, SealedGroups};
use crate::seal::Keys;
use crate::store::Store;

/// After this many packs their chunks are written to the index, so that an interrupted backup keeps
/// most of its work and few ids are held in memory.
const PACKS_PER_RUN: usize = 32;
/// Or after this many chunks: packs of data that compresses well have more.
const ENTRIES_PER_RUN: usize = 128 * 1024;

/// Trees and data are in separate packs, so that walking trees reads few packs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChunkKind {
    Data,
    Tree,
}

/// What a sink is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Chunks of a backup: the next command may read them.
    NewChunks,
    /// Chunks that move from other packs. Most of them nobody has read for long.
    MovedChunks,
}

/// What a sink has written in all.
#[derive(Default)]
pub(crate) struct Written {
    pub(crate) bytes: u64,
    pub(crate) packs: Vec<PackInfo>,
}

pub(crate) struct WrittenRun {
    /// [`Error::LostWrite`] if it is gone: another process may have merged it already.
    pub(crate) run: Result<Run>,
    pub(crate) ids: Vec<ChunkId>,
}

/// Tiny files make many groups of few bytes; a batch of them must not grow without bound.
const GROUPS_PER_BATCH: usize = 128;

/// Groups that travel between threads together: small files would make a message each.
type Batch = (ChunkKind, Vec<Group>);
type SealedBatch = (ChunkKind, SealedGroups);

pub(crate) struct Sink {
    /// The batches being gathered; chunks go to the last group of each.
    open: [Vec<Group>; 2],
    group_size: usize,
    /// Whether chunks of different files are compressed apart. Otherwise whoever can place a file
    /// in the backup and sees the sizes of packs could find out whether it agrees with a secret one.
    apart: bool,
    jobs: Option<SyncSender<Batch>>,
    /// Past the workers, for groups that are sealed already.
    sealed: Option<SyncSender<SealedBatch>>,
    written: Receiver<WrittenRun>,
    workers: Vec<JoinHandle<Result<()>>>,
    packer: Option<JoinHandle<Result<Written>>>,
}

impl Sink {
    pub(crate) fn new(
        store: &Arc<dyn Store>,
        keys: &Arc<Keys>,
        parameters: &Parameters,
        purpose: Purpose,
    ) -> Result<Self> {
        // One core is left for chunking and hashing.
        let threads = thread::available_parallelism().map_or(1, |n| n.get() - 1).clamp(1, 4);
        let (jobs, waiting) = mpsc::sync_channel(2 * threads);
        let (sealed, packing) = mpsc::sync_channel(2 * threads);
        let (finished_runs, written) = mpsc::channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let mut workers = Vec::new();
        for _ in 0..threads {
            let mut compressor = Compressor::new(parameters)?;
            let (waiting, sealed, keys) = (Arc::clone(&waiting), sealed.clone(), Arc::clone(keys));
            workers
                .push(thread::spawn(move || seal_all(&waiting, &sealed, &mut compressor, &keys)));
        }
        let packer = Packer {
            store: Arc::clone(store),
            keys: Arc::clone(keys),
            pack_size: parameters.pack_size.into(),
            is_read_soon: purpose == Purpose::NewChunks,
            open: [None, None],
            entries: Vec::new(),
            packs: HashMap::new(),
            in_flight: InFlight::default(),
            finished_runs,
            written: Written::default(),
        };
        let packer = Some(thread::spawn(move || packer.run(&packing)));
        let group_size = parameters.group_size as usize;
        let (jobs, sealed) = (Some(jobs), Some(sealed));
        // Who can read the repository needs no sizes to learn what is in it.
        let (open, apart) = (Default::default(), keys.seal.is_secret());
        Ok(Self { open, group_size, apart, jobs, sealed, written, workers, packer })
    }

    pub(crate) fn put(&mut self, kind: ChunkKind, id: ChunkId, bytes: &[u8]) -> Result<()> {
        let batch = &mut self.open[kind as usize];
        if batch.is_empty() {
            batch.push(Group::default());
        }
        if let Some(group) = batch.last_mut() {
            group.add(id, bytes);
        }
        let size: usize = batch.iter().map(|group| group.bytes.len()).sum();
        let full = size >= self.group_size || batch.len() >= GROUPS_PER_BATCH;
        if full { self.end_batch(kind) } else { Ok(()) }
    }

    /// The next chunk is of another file or directory.
    pub(crate) fn end_stream(&mut self, kind: ChunkKind) {
        let batch = &mut self.open[kind as usize];
        if self.apart && batch.last().is_some_and(|group| !group.chunks.is_empty()) {
            batch.push(Group::default());
        }
    }

    fn end_batch(&mut self, kind: ChunkKind) -> Result<()> {
        let mut batch = std::mem::take(&mut self.open[kind as usize]);
        batch.retain(|group| !group.chunks.is_empty());
        if batch.is_empty() {
            return Ok(());
        }
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send((kind, batch)).is_ok());
        if sent { Ok(()) } else { self.failed() }
    }

    /// Adds groups as they are stored in another pack.
    pub(crate) fn put_sealed(&mut self, kind: ChunkKind, groups: SealedGroups) -> Result<()> {
        let sent = self.sealed.as_ref().is_some_and(|sealed| sealed.send((kind, groups)).is_ok());
        if sent { Ok(()) } else { self.failed() }
    }

    /// A channel is closed: a thread has failed, and its error is the reason.
    fn failed(&mut self) -> Result<()> {
        self.join().and_then(|_| Err(ended_early()))
    }

    /// Runs that were written since the last call.
    pub(crate) fn written_runs(&mut self) -> impl Iterator<Item = WrittenRun> {
        self.written.try_iter()
    }

    /// Writes everything that is pending; [`written_runs`](Self::written_runs) returns the runs.
    pub(crate) fn finish(&mut self) -> Result<Written> {
        self.end_batch(ChunkKind::Data)?;
        self.end_batch(ChunkKind::Tree)?;
        self.join()
    }

    fn join(&mut self) -> Result<Written> {
        self.jobs = None;
        self.sealed = None;
        // The error of the packer first: the workers fail because of it, not the reverse.
        let packed = match self.packer.take().map(JoinHandle::join) {
            Some(Ok(outcome)) => outcome,
            _ => Err(ended_early()),
        };
        for worker in self.workers.drain(..) {
            worker.join().unwrap_or_else(|_| Err(ended_early()))?;
        }
        packed
    }
}

fn ended_early() -> Error {
    Error::io("a worker thread failed")(std::io::Error::other("run the command again"))
}

/// A sink that is dropped unfinished leaves packs and runs that nothing refers to; its threads end.
impl Drop for Sink {
    fn drop(&mut self) {
        if self.packer.is_some() {
            let _ = self.join();
        }
    }
}

fn seal_all(
    waiting: &Mutex<Receiver<Batch>>,
    sealed: &SyncSender<SealedBatch>,
    compressor: &mut Compressor,
    keys: &Keys,
) -> Result<()> {
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((kind, batch)) = next else { return Ok(()) };
        let mut groups = SealedGroups::default();
        batch.into_iter().try_for_each(|group| compressor.seal(keys, group, &mut groups))?;
        // The packer has failed and reports why.
        if sealed.send((kind, groups)).is_err() {
            return Ok(());
        }
    }
}

/// Packs being written to the store, the oldest first. A remote store needs long to confirm a pack,
/// and most of that time is waiting.
#[derive(Default)]
struct InFlight(VecDeque<JoinHandle<Result<(PackInfo, Footer)>>>);

/// No thread outlives the packer.
impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.drain(..).for_each(|pack| _ = pack.join());
    }
}

struct Packer {
    store: Arc<dyn Store>,
    keys: Arc<Keys>,
    pack_size: u64,
    is_read_soon: bool,
    open: [Option<PackWriter>; 2],
    entries: Vec<Entry>,
    packs: HashMap<Name, PackInfo>,
    in_flight: InFlight,
    finished_runs: Sender<WrittenRun>,
    written: Written,
}

impl Packer {
    fn run(mut self, batches: &Receiver<SealedBatch>) -> Result<Written> {
        while let Ok((kind, batch)) = batches.recv() {
            let pack = match &mut self.open[kind as usize] {
                Some(pack) => pack,
                none => none.insert(PackWriter::new(&*self.store, self.is_read_soon)?),
            };
            pack.add(batch)?;
            if pack.is_full(self.pack_size) {
                self.end_pack(kind)?;
            }
            let packs = self.packs.len() + self.in_flight.0.len();
            if packs >= PACKS_PER_RUN || self.entries.len() >= ENTRIES_PER_RUN {
                self.end_run()?;
            }
        }
        self.end_pack(ChunkKind::Data)?;
        self.end_pack(ChunkKind::Tree)?;
        self.end_run()?;
        Ok(self.written)
    }

    fn end_pack(&mut self, kind: ChunkKind) -> Result<()> {
        let Some(pack) = self.open[kind as usize].take() else { return Ok(()) };
        while self.in_flight.0.len() >= self.store.pace().concurrent_writes {
            self.wait_for_oldest()?;
        }
        let keys = Arc::clone(&self.keys);
        self.in_flight.0.push_back(thread::spawn(move || pack.finish(&keys)));
        Ok(())
    }

    /// Waits until the pack that was finished first is durable.
    fn wait_for_oldest(&mut self) -> Result<()> {
        let Some(pack) = self.in_flight.0.pop_front() else { return Ok(()) };
        let (info, footer) = pack.join().unwrap_or_else(|_| Err(ended_early()))?;
        let locations = footer.locations(info.name);
        self.entries.extend(locations.map(|(id, location)| Entry { id, location }));
        self.packs.insert(info.name, info);
        self.written.bytes += info.size;
        self.written.packs.push(info);
        Ok(())
    }

    fn end_run(&mut self) -> Result<()> {
        while !self.in_flight.0.is_empty() {
            self.wait_for_oldest()?;
        }
        if self.entries.is_empty() {
            return Ok(());
        }
        let run = match write_sorted(&*self.store, &self.keys, &mut self.entries, &self.packs) {
            Err(error) if !matches!(error, Error::LostWrite { .. }) => return Err(error),
            run => run,
        };
        self.written.bytes += run.as_ref().map_or(0, Run::size_in_bytes);
        self.packs.clear();
        let ids = self.entries.drain(..).map(|entry| entry.id).collect();
        // If nobody receives, the backup has failed elsewhere.
        let _ = self.finished_runs.send(WrittenRun { run, ids });
        Ok(())
    }
}
