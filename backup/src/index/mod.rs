//! The exact index: where each chunk is. It is the union of immutable sorted runs, each with a filter.
//! Knows ids and locations; nothing of caches or files.

mod filter; // of one run
mod run; // one sorted file
mod writing; // how a run is written

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Result;
use crate::id::{ChunkId, Name};
use crate::pack::{Location, PackInfo};
use crate::seal::Keys;
use crate::store::{ObjectKind, Store};
use run::RunEntries;

#[cfg(any(test, feature = "lab"))]
pub(crate) use filter::RunFilter;
pub(crate) use run::Run;
#[cfg(feature = "fuzz")]
pub(crate) use run::{BLOCK_LEN, ENTRY_LEN, MAGIC, block_place, filter_place, tail_place};
pub(crate) use writing::{RunWriter, write_sorted};

/// Where one chunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    pub(crate) id: ChunkId,
    pub(crate) location: Location,
}

/// The location of a chunk, with the number of its run and its rank in that run.
#[derive(Clone, Copy)]
pub(crate) struct FoundEntry {
    pub(crate) run: usize,
    pub(crate) rank: u64,
    pub(crate) location: Location,
}

/// The current runs, as of when they were listed.
pub(crate) struct Index {
    runs: Vec<Run>,
    packs: HashMap<Name, PackInfo>,
    /// Packs about to be removed: their chunks must be stored again.
    hidden: HashSet<Name>,
    /// Runs that another run replaces and that still exist.
    pub(crate) replaced: Vec<Name>,
    /// Blocks read by look-ups.
    reads: AtomicU64,
    /// Whether look-ups skip runs whose filter says "no".
    pub(crate) uses_filters: bool,
}

impl Index {
    /// Opens all runs. A run that disappears between the listing and the opening was merged: the
    /// list is then read again.
    pub(crate) fn load(store: &dyn Store, keys: &Arc<Keys>) -> Result<Self> {
        let mut tries = 0;
        loop {
            let names = store.names(ObjectKind::Run)?;
            let runs = names.iter().map(|name| Run::open(store, keys, name));
            match runs.collect::<Result<Vec<Run>>>() {
                Err(error) if error.is_missing() && tries < 10 => tries += 1,
                runs => return runs.map(Self::of_runs),
            }
        }
    }

    /// The index of these runs, without those that others of them replace.
    pub(crate) fn of_runs(runs: Vec<Run>) -> Self {
        let gone: HashSet<Name> =
            runs.iter().flat_map(|run| run.tail.predecessors.iter().copied()).collect();
        let (replaced, mut runs): (Vec<Run>, Vec<Run>) =
            runs.into_iter().partition(|run| gone.contains(&run.name()));
        // The largest run has the most entries, so it is searched first.
        runs.sort_by_key(|run| (Reverse(run.len()), run.name()));
        let packs = runs.iter().flat_map(|run| run.packs().iter().map(|pack| (pack.name, *pack)));
        Self {
            packs: packs.collect(),
            hidden: HashSet::new(),
            replaced: replaced.iter().map(Run::name).collect(),
            reads: AtomicU64::new(0),
            uses_filters: false,
            runs,
        }
    }

    /// Reads the filters of all runs. Worth it for who looks up chunks that may be new.
    pub(crate) fn read_filters(&mut self) -> Result<()> {
        self.uses_filters = true;
        self.filter_bytes().map(drop)
    }

    /// A second index of these runs, with nothing hidden: one to read with, one to look up in.
    pub(crate) fn twin(&self) -> Self {
        Self::of_runs(self.runs.clone())
    }

    pub(crate) fn runs(&self) -> &[Run] {
        &self.runs
    }

    pub(crate) fn pack(&self, name: &Name) -> Option<&PackInfo> {
        self.packs.get(name)
    }

    pub(crate) fn packs(&self) -> impl Iterator<Item = &PackInfo> {
        self.packs.values()
    }

    /// Entries of all runs; a chunk that is stored twice counts twice.
    pub(crate) fn len(&self) -> u64 {
        self.runs.iter().map(Run::len).sum()
    }

    pub(crate) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    /// Whether some run may have this chunk, as far as the filters say. If not, it is not stored.
    /// Without filters the answer is yes.
    pub(crate) fn may_have(&self, id: &ChunkId) -> Result<bool> {
        if !self.uses_filters {
            return Ok(true);
        }
        for run in &self.runs {
            if run.filter()?.may_have(id) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Gives each run a filter of every second id: a filter that wrongly says "no".
    #[cfg(test)]
    pub(crate) fn spoil_filters(&mut self) {
        self.uses_filters = true;
        for run in &mut self.runs {
            let ids: Vec<ChunkId> =
                run.entries().map(|entry| entry.expect("an entry").id).step_by(2).collect();
            *run = run.clone().with_spoiled_filter(RunFilter::of(&ids));
        }
    }

    /// Memory of all filters, which this reads.
    pub(crate) fn filter_bytes(&self) -> Result<u64> {
        self.runs.iter().try_fold(0, |sum, run| Ok(sum + run.filter()?.size_in_bytes()))
    }

    /// Adds a run that was written since.
    pub(crate) fn add(&mut self, run: Run) {
        self.packs.extend(run.packs().iter().map(|pack| (pack.name, *pack)));
        self.runs.push(run);
    }

    /// Replaces runs by a new one.
    pub(crate) fn replace(&mut self, gone: &[Name], run: Run) {
        self.runs.retain(|old| !gone.contains(&old.name()));
        self.runs.push(run);
        let packs = self.runs.iter().flat_map(|run| run.packs().iter());
        self.packs = packs.map(|pack| (pack.name, *pack)).collect();
    }

    /// Treats the chunks of these packs as not stored from now on.
    pub(crate) fn hide(&mut self, packs: impl IntoIterator<Item = Name>) {
        self.hidden.extend(packs);
    }

    /// Looks a chunk up; one in a hidden pack is not found.
    pub(crate) fn find(&self, id: &ChunkId) -> Result<Option<FoundEntry>> {
        let wanted = |location: &Location| !self.hidden.contains(&location.pack);
        for (number, run) in self.runs.iter().enumerate() {
            if self.uses_filters && run.says_no(id) {
                continue;
            }
            let mut reads = 0;
            let found = run.find(id, &mut reads, wanted);
            self.reads.fetch_add(reads, Ordering::Relaxed);
            if let Some((rank, location)) = found? {
                return Ok(Some(FoundEntry { run: number, rank, location }));
            }
        }
        Ok(None)
    }

    /// Passes every location of these sorted ids to `each`, with the position of the id in the
    /// list.
    pub(crate) fn find_all(
        &self,
        ids: &(impl Iterator<Item = ChunkId> + Clone),
        mut each: impl FnMut(usize, FoundEntry),
    ) -> Result<()> {
        self.runs.iter().enumerate().try_for_each(|(run, entries)| {
            entries.find_all(ids.clone(), |number, rank, location| {
                each(number, FoundEntry { run, rank, location });
            })
        })
    }

    /// Passes every chunk that is in these packs and in no other to `each`, once.
    pub(crate) fn only_in(
        &self,
        packs: &HashSet<Name>,
        mut each: impl FnMut(&ChunkId),
    ) -> Result<()> {
        let mut settle = |one: Option<(ChunkId, bool)>| {
            if let Some((id, true)) = one {
                each(&id);
            }
        };
        let mut last = None;
        for entry in self.entries() {
            let (_, _, entry) = entry?;
            let inside = packs.contains(&entry.location.pack);
            match &mut last {
                Some((id, only)) if *id == entry.id => *only &= inside,
                _ => settle(last.replace((entry.id, inside))),
            }
        }
        settle(last);
        Ok(())
    }

    /// All entries in the order of their ids.
    pub(crate) fn entries(&self) -> Merged<'_> {
        Merged::new(self.runs.iter().enumerate())
    }

    /// All entries, one run after the other: less work, if their order does not matter.
    pub(crate) fn entries_by_run(&self) -> impl Iterator<Item = Result<(usize, u64, Entry)>> {
        self.runs.iter().enumerate().flat_map(|(number, run)| {
            let ranked = (0..).zip(run.entries());
            ranked.map(move |(rank, entry)| entry.map(|entry| (number, rank, entry)))
        })
    }
}

/// Yields the entries of several runs in the order of their ids, each with the number of its run and its rank in that run.
pub(crate) struct Merged<'a> {
    sources: Vec<Source<'a>>,
    heads: BinaryHeap<Reverse<(ChunkId, usize)>>,
    started: bool,
}

struct Source<'a> {
    run: usize,
    entries: RunEntries<'a>,
    head: Option<Entry>,
    rank: u64,
}

impl<'a> Merged<'a> {
    pub(crate) fn new(runs: impl Iterator<Item = (usize, &'a Run)>) -> Self {
        let source = |(run, entries): (usize, &'a Run)| Source {
            run,
            entries: entries.entries(),
            head: None,
            rank: 0,
        };
        Self { sources: runs.map(source).collect(), heads: BinaryHeap::new(), started: false }
    }

    fn advance(&mut self, number: usize) -> Result<()> {
        let Some(source) = self.sources.get_mut(number) else { return Ok(()) };
        source.head = source.entries.next().transpose()?;
        if let Some(entry) = source.head {
            self.heads.push(Reverse((entry.id, number)));
        }
        Ok(())
    }

    fn step(&mut self) -> Result<Option<(usize, u64, Entry)>> {
        if !self.started {
            self.started = true;
            (0..self.sources.len()).try_for_each(|number| self.advance(number))?;
        }
        let Some(Reverse((_, number))) = self.heads.pop() else { return Ok(None) };
        let source = self.sources.get_mut(number);
        let Some((source, entry)) = source.and_then(|s| s.head.take().map(|head| (s, head))) else {
            return Ok(None);
        };
        let (run, rank) = (source.run, source.rank);
        source.rank += 1;
        self.advance(number)?;
        Ok(Some((run, rank, entry)))
    }
}

impl Iterator for Merged<'_> {
    type Item = Result<(usize, u64, Entry)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}
