//! Where new chunks go: compressed and sealed by some threads, packed by one, entered in the index
//! from time to time. Knows the order of durable things: a run names only packs that are there.

use std::collections::{HashMap, VecDeque};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::config::Parameters;
use crate::error::{Error, Result};
use crate::id::{ChunkId, Name};
use crate::index::{Entry, Run, write_sorted};
use crate::pack::{Compressor, Footer, Group, PackInfo, PackWriter, SealedGroup};
use crate::seal::Keys;
use crate::store::Store;

/// After so many packs their chunks are entered in the index, so that a run that is cut off later
/// has not been in vain, and ids in memory stay few.
const PACKS_A_RUN: usize = 32;

/// Trees and data lie in packs of their own: who walks trees reads few packs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Data,
    Tree,
}

/// Packs that were written and entered in the index.
pub(crate) struct Entered {
    pub(crate) run: Run,
    pub(crate) ids: Vec<ChunkId>,
}

pub(crate) struct Sink {
    open: [Group; 2],
    group_size: usize,
    jobs: Option<SyncSender<(Sort, Group)>>,
    /// The way past the workers, for groups that are sealed already.
    sealed: Option<SyncSender<(Sort, SealedGroup)>>,
    entered: Receiver<Entered>,
    workers: Vec<JoinHandle<Result<()>>>,
    packer: Option<JoinHandle<Result<u64>>>,
}

impl Sink {
    pub(crate) fn new(
        store: &Arc<dyn Store>,
        keys: &Arc<Keys>,
        parameters: &Parameters,
    ) -> Result<Self> {
        // One core cuts and hashes.
        let threads = thread::available_parallelism().map_or(1, |n| n.get() - 1).clamp(1, 4);
        let (jobs, waiting) = mpsc::sync_channel(2 * threads);
        let (sealed, packing) = mpsc::sync_channel(2 * threads);
        let (enter, entered) = mpsc::channel();
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
            pack_size: parameters.pack.into(),
            open: [None, None],
            entries: Vec::new(),
            packs: HashMap::new(),
            flying: Flying::default(),
            enter,
            bytes: 0,
        };
        let packer = Some(thread::spawn(move || packer.run(&packing)));
        let group_size = parameters.group as usize;
        let (jobs, sealed) = (Some(jobs), Some(sealed));
        Ok(Self { open: Default::default(), group_size, jobs, sealed, entered, workers, packer })
    }

    pub(crate) fn put(&mut self, sort: Sort, id: ChunkId, bytes: &[u8]) -> Result<()> {
        let group = &mut self.open[sort as usize];
        group.add(id, bytes);
        if group.bytes.len() >= self.group_size { self.end_group(sort) } else { Ok(()) }
    }

    fn end_group(&mut self, sort: Sort) -> Result<()> {
        let group = std::mem::take(&mut self.open[sort as usize]);
        if group.chunks.is_empty() {
            return Ok(());
        }
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send((sort, group)).is_ok());
        if sent { Ok(()) } else { self.failed() }
    }

    /// A group as it stood in another pack.
    pub(crate) fn put_sealed(&mut self, sort: Sort, group: SealedGroup) -> Result<()> {
        let sent = self.sealed.as_ref().is_some_and(|sealed| sealed.send((sort, group)).is_ok());
        if sent { Ok(()) } else { self.failed() }
    }

    /// Nobody takes what we send: a thread has failed, and its error is the reason.
    fn failed(&mut self) -> Result<()> {
        self.join().and(Err(ended_early()))
    }

    /// Runs that were written since the last call.
    pub(crate) fn entered(&mut self) -> impl Iterator<Item = Entered> {
        self.entered.try_iter()
    }

    /// Writes all that is open; the runs come by [`entered`](Self::entered). Returns bytes written.
    pub(crate) fn finish(&mut self) -> Result<u64> {
        self.end_group(Sort::Data)?;
        self.end_group(Sort::Tree)?;
        self.join()
    }

    fn join(&mut self) -> Result<u64> {
        self.jobs = None;
        self.sealed = None;
        // The packer's error comes first: the workers fail because of it, not the other way.
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
    Error::refused("a thread of the backup has ended early; run it again")
}

/// A sink that is dropped unfinished leaves packs and runs that nothing refers to; no thread goes on.
impl Drop for Sink {
    fn drop(&mut self) {
        if self.packer.is_some() {
            let _ = self.join();
        }
    }
}

fn seal_all(
    waiting: &Mutex<Receiver<(Sort, Group)>>,
    sealed: &SyncSender<(Sort, SealedGroup)>,
    compressor: &mut Compressor,
    keys: &Keys,
) -> Result<()> {
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((sort, group)) = next else { return Ok(()) };
        // The packer has failed, and says why.
        if sealed.send((sort, compressor.seal(keys, group)?)).is_err() {
            return Ok(());
        }
    }
}

/// Packs on their way to the store, the oldest first. A place far away takes long to say that it
/// has one, and most of that time is waiting.
#[derive(Default)]
struct Flying(VecDeque<JoinHandle<Result<(PackInfo, Footer)>>>);

/// Whatever the packer fails for, no thread goes on after it.
impl Drop for Flying {
    fn drop(&mut self) {
        self.0.drain(..).for_each(|pack| _ = pack.join());
    }
}

struct Packer {
    store: Arc<dyn Store>,
    keys: Arc<Keys>,
    pack_size: u64,
    open: [Option<PackWriter>; 2],
    entries: Vec<Entry>,
    packs: HashMap<Name, PackInfo>,
    flying: Flying,
    enter: Sender<Entered>,
    bytes: u64,
}

impl Packer {
    fn run(mut self, groups: &Receiver<(Sort, SealedGroup)>) -> Result<u64> {
        while let Ok((sort, group)) = groups.recv() {
            let pack = match &mut self.open[sort as usize] {
                Some(pack) => pack,
                none => none.insert(PackWriter::new(&*self.store)?),
            };
            pack.add(group)?;
            if pack.size() >= self.pack_size {
                self.end_pack(sort)?;
            }
            if self.packs.len() + self.flying.0.len() >= PACKS_A_RUN {
                self.end_run()?;
            }
        }
        self.end_pack(Sort::Data)?;
        self.end_pack(Sort::Tree)?;
        self.end_run()?;
        Ok(self.bytes)
    }

    fn end_pack(&mut self, sort: Sort) -> Result<()> {
        let Some(pack) = self.open[sort as usize].take() else { return Ok(()) };
        while self.flying.0.len() >= self.store.writes_at_once() {
            self.land()?;
        }
        let keys = Arc::clone(&self.keys);
        self.flying.0.push_back(thread::spawn(move || pack.finish(&keys)));
        Ok(())
    }

    /// Waits for the pack that was ended first, which is durable then.
    fn land(&mut self) -> Result<()> {
        let Some(pack) = self.flying.0.pop_front() else { return Ok(()) };
        let (info, footer) = pack.join().unwrap_or_else(|_| Err(ended_early()))?;
        let locations = footer.locations(info.name);
        self.entries.extend(locations.map(|(id, location)| Entry { id, location }));
        self.packs.insert(info.name, info);
        self.bytes += info.size;
        Ok(())
    }

    fn end_run(&mut self) -> Result<()> {
        while !self.flying.0.is_empty() {
            self.land()?;
        }
        if self.entries.is_empty() {
            return Ok(());
        }
        let run = write_sorted(&*self.store, &self.keys, &mut self.entries, &self.packs)?;
        self.bytes += run.size_in_bytes();
        self.packs.clear();
        let ids = self.entries.drain(..).map(|entry| entry.id).collect();
        // One who no longer listens has failed elsewhere.
        let _ = self.enter.send(Entered { run, ids });
        Ok(())
    }
}
