//! What no snapshot needs is removed: from packs, from the index, from the digest. Knows the two
//! phases that keep a running backup from harm; ARCHITECTURE.md has the argument.
//!
//! Phase 1 rewrites packs that are worth it and marks those to go: a backup that begins later
//! relies on none of them. Phase 2 waits for backups that began earlier, takes back what their
//! snapshots need after all, and removes the rest.

use std::collections::{HashMap, HashSet};

use crate::chunks::slice;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::id::{ChunkId, Name};
use crate::index::{Index, Run};
use crate::intent::{self, Announced, Work};
use crate::marks::{self, Mark};
use crate::pack::read_footer;
use crate::reachable::{Met, Reachable};
use crate::repository::Repository;
use crate::sink::Sort;
use crate::snapshot::Snapshot;
use crate::store::Kind;
use crate::tree::Piece;
use crate::watch::Watch;

/// How thorough a prune is.
#[derive(Clone, Copy, Debug)]
pub struct PruneOptions {
    /// Bytes that may stay unused, as a share of the bytes in use. To use less space costs more
    /// rewriting.
    pub max_unused: f64,
    /// Nothing is written.
    pub dry_run: bool,
}

impl Default for PruneOptions {
    fn default() -> Self {
        Self { max_unused: 0.05, dry_run: false }
    }
}

/// What a prune did, or would do.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct PruneReport {
    /// Packs before.
    pub packs: u64,
    /// Packs with nothing of use in them.
    pub dead_packs: u64,
    /// Packs of which what is of use was written anew.
    pub rewritten_packs: u64,
    /// Bytes of chunks in use.
    pub used_bytes: u64,
    /// Bytes of chunks that nothing needs.
    pub unused_bytes: u64,
    /// Bytes freed.
    pub freed_bytes: u64,
    /// Chunks that the index and the digest have lost.
    pub removed_chunks: u64,
    /// Memory of the digest before and after, where it was changed.
    pub digest_bytes: Option<(u64, u64)>,
    /// Who must end before the marked packs can go; the next prune removes them.
    pub waits_for: Vec<String>,
}

impl Repository {
    /// Removes what no snapshot needs.
    ///
    /// # Errors
    /// If another prune is at work, or if a snapshot needs a chunk that is not there: then nothing
    /// is removed, since what is lost must not be made worse.
    pub fn prune(&self, options: &PruneOptions, watch: &dyn Watch) -> Result<PruneReport> {
        let mut report = PruneReport::default();
        if options.dry_run {
            self.plan(options, watch, &mut report)?;
            return Ok(report);
        }
        let announced = intent::maintenance(&self.store, &self.keys)?;
        // What a prune that was cut off has left.
        self.finish_marks(&announced, watch, &mut report)?;
        // A draft is nobody's for a moment before its writer holds it, so not beside writers.
        if intent::living(&*self.store, &self.keys, &announced.name())?.is_empty() {
            report.freed_bytes += self.store.sweep_drafts()?;
        }
        self.store.remove_all(Kind::Run, self.index()?.replaced(), &|| Ok(()))?;
        let mut plan = self.plan(options, watch, &mut report)?;
        if plan.going.is_empty() {
            return Ok(report);
        }
        self.rewrite(&mut plan, watch)?;
        announced.confirm()?;
        let (packs, seen) = (plan.going.into_iter().collect(), plan.seen);
        let mark = Mark { name: Name::random()?, packs, seen, waits_for: None };
        mark.save(&*self.store, &self.keys)?;
        self.finish_marks(&announced, watch, &mut report)?;
        Ok(report)
    }

    /// Finds out what is in use and decides which packs go.
    fn plan(
        &self,
        options: &PruneOptions,
        watch: &dyn Watch,
        report: &mut PruneReport,
    ) -> Result<Plan> {
        // Snapshots before the index, which then has all that they need. Packs before it too: one
        // that is not in it was left by the dead, or is of a writer whom the mark will wait for.
        let snapshots = self.snapshots()?;
        let stored: HashMap<Name, u64> = self.store.list(Kind::Pack)?.into_iter().collect();
        let hidden = marks::marked_packs(&*self.store, &self.keys)?;
        let mut chunks = self.chunks()?;
        let index = self.index_like(&chunks.lookup.index)?;
        let mut live = Live::new(&index);
        watch.phase("finding what is in use");
        watch.total(snapshots.len() as u64);
        let mut reachable = Reachable::default();
        for snapshot in &snapshots {
            reachable.visit(&mut chunks, snapshot, &mut |met| live.mark(&index, &hidden, met))?;
            watch.advance(1);
        }
        let usage = live.usage(&index)?;
        let seen = snapshots.iter().map(|snapshot| snapshot.name).collect();
        let mut plan = Plan { index, live, seen, going: HashSet::new(), rewrite: Vec::new() };
        report.packs = stored.len() as u64;
        let mut partly = Vec::new();
        for (pack, usage) in &usage {
            report.used_bytes += usage.used;
            report.unused_bytes += usage.unused;
            if hidden.contains(pack) {
                continue;
            }
            if usage.used == 0 {
                plan.going.insert(*pack);
                report.dead_packs += 1;
            } else if usage.unused > 0 {
                partly.push((*pack, *usage));
            }
        }
        let orphans = stored.keys().filter(|pack| !usage.contains_key(*pack));
        for pack in orphans.filter(|pack| !hidden.contains(*pack)) {
            plan.going.insert(*pack);
            report.dead_packs += 1;
        }
        // The emptiest first: least to write for what is freed.
        partly.sort_by(|(_, a), (_, b)| a.share_used().total_cmp(&b.share_used()));
        let mut waste: u64 = partly.iter().map(|(_, usage)| usage.unused).sum();
        let allowed = (report.used_bytes as f64 * options.max_unused) as u64;
        for (pack, usage) in partly {
            if waste <= allowed {
                break;
            }
            waste -= usage.unused;
            plan.rewrite.push(pack);
            plan.going.insert(pack);
        }
        report.rewritten_packs = plan.rewrite.len() as u64;
        Ok(plan)
    }

    /// Writes what is in use in the chosen packs to new ones, and enters it in the index.
    fn rewrite(&self, plan: &mut Plan, watch: &dyn Watch) -> Result<()> {
        if plan.rewrite.is_empty() {
            return Ok(());
        }
        watch.phase("rewriting packs");
        watch.total(plan.rewrite.len() as u64);
        let mut sink = self.sink()?;
        let mut chunks = self.chunks()?;
        for pack in &plan.rewrite {
            let sort = if plan.live.trees.contains(pack) { Sort::Tree } else { Sort::Data };
            let (footer, _) = read_footer(&*self.store, &self.keys, pack, plan.index.pack(pack))?;
            for (id, location) in footer.locations(*pack) {
                let Some(found) = plan.index.find_where(&id, |place| *place == location)? else {
                    continue;
                };
                if !plan.live.is_live(found.run, found.rank) {
                    continue;
                }
                let group = chunks.group(&location)?;
                let bytes = slice(&group, &location);
                let bytes = bytes.filter(|bytes| self.keys.chunk_id(bytes) == id);
                let bytes = bytes.ok_or_else(|| Error::damaged(Kind::Pack.describe(pack)))?;
                sink.put(sort, id, bytes)?;
            }
            watch.advance(1);
        }
        sink.finish()?;
        // The chunks have a second place now; the set of their ids, and so the digest, is the same.
        let digest = Digest::load(&*self.store, &self.keys, &plan.index.generation());
        sink.entered().for_each(|entered| plan.index.add(entered.run));
        match digest {
            Some(digest) => digest.save(&*self.store, &self.keys, &plan.index.generation()),
            None => Ok(()),
        }
    }

    /// Phase 2 for every mark whose writers are gone.
    fn finish_marks(
        &self,
        announced: &Announced,
        watch: &dyn Watch,
        report: &mut PruneReport,
    ) -> Result<()> {
        report.waits_for.clear();
        for mut mark in marks::all(&*self.store, &self.keys)? {
            let living = intent::living(&*self.store, &self.keys, &announced.name())?;
            let writers = living.iter().filter(|(_, work, _)| *work == Work::Backup);
            if mark.waits_for.is_none() {
                // Writers that announce themselves from now on will see the mark.
                mark.waits_for = Some(writers.clone().map(|(name, ..)| *name).collect());
                mark.save(&*self.store, &self.keys)?;
            }
            let waits_for = mark.waits_for.as_deref().unwrap_or_default();
            let waiting: Vec<String> = writers
                .filter(|(name, ..)| waits_for.contains(name))
                .map(|(_, _, who)| who.clone())
                .collect();
            if waiting.is_empty() {
                self.finish_mark(&mark, announced, watch, report)?;
            } else {
                report.waits_for.extend(waiting);
            }
        }
        Ok(())
    }

    fn finish_mark(
        &self,
        mark: &Mark,
        announced: &Announced,
        watch: &dyn Watch,
        report: &mut PruneReport,
    ) -> Result<()> {
        watch.phase("removing what nothing needs");
        let marked: HashSet<Name> = mark.packs.iter().copied().collect();
        let needed = self.needed_after_all(mark, &marked)?;
        let going: HashSet<Name> = marked.difference(&needed).copied().collect();
        let mut index = self.index()?;
        announced.confirm()?;
        self.drop_from_index(&mut index, &going, report)?;
        let sizes: HashMap<Name, u64> = self.store.list(Kind::Pack)?.into_iter().collect();
        let going: Vec<Name> = going.into_iter().collect();
        // A prune that slept for a day and was taken for dead must not go on.
        self.store.remove_all(Kind::Pack, &going, &|| announced.confirm())?;
        report.freed_bytes += going.iter().filter_map(|pack| sizes.get(pack)).sum::<u64>();
        self.store.remove(Kind::Mark, &mark.name)
    }

    /// Marked packs that hold the only copy of what a snapshot needs that was written since: by a
    /// backup that did not know of the mark.
    fn needed_after_all(&self, mark: &Mark, marked: &HashSet<Name>) -> Result<HashSet<Name>> {
        let mut needed = HashSet::new();
        let snapshots = self.snapshots()?;
        let unseen: Vec<&Snapshot> =
            snapshots.iter().filter(|snapshot| !mark.seen.contains(&snapshot.name)).collect();
        if unseen.is_empty() {
            return Ok(needed);
        }
        let mut chunks = self.chunks()?;
        let index = self.index_like(&chunks.lookup.index)?;
        let mut reachable = Reachable::default();
        for snapshot in unseen {
            reachable.visit(&mut chunks, snapshot, &mut |met| {
                for id in ids_of(&met) {
                    if index.find_where(id, |at| !marked.contains(&at.pack))?.is_none() {
                        let found = index.find_where(id, |_| true)?.ok_or_else(|| lost(id))?;
                        needed.insert(found.location.pack);
                    }
                }
                Ok(())
            })?;
        }
        Ok(needed)
    }

    /// Rewrites the runs that name these packs, and lets the digest follow.
    fn drop_from_index(
        &self,
        index: &mut Index,
        going: &HashSet<Name>,
        report: &mut PruneReport,
    ) -> Result<()> {
        let names = |run: &&Run| run.packs().iter().any(|pack| going.contains(&pack.name));
        let affected: Vec<Name> = index.runs().iter().filter(names).map(Run::name).collect();
        if affected.is_empty() {
            return Ok(());
        }
        let mut digest = Digest::load(&*self.store, &self.keys, &index.generation());
        let before = digest.as_ref().map(Digest::size_in_bytes);
        let others = self.index_like(index)?;
        let mut last = None;
        let mut removed = 0;
        self.replace_runs(index, &affected, |entry| {
            if !going.contains(&entry.location.pack) {
                return Ok(true);
            }
            // Out once: when the last place of the chunk goes, however many there were.
            let first = last.replace(entry.id) != Some(entry.id);
            if first && others.find_where(&entry.id, |at| !going.contains(&at.pack))?.is_none() {
                removed += 1;
                if let Some(digest) = &mut digest {
                    digest.remove(&entry.id);
                }
            }
            Ok(false)
        })?;
        report.removed_chunks += removed;
        if let Some(digest) = &mut digest {
            digest.shrink();
            digest.save(&*self.store, &self.keys, &index.generation())?;
            report.digest_bytes = before.map(|bytes| (bytes, digest.size_in_bytes()));
        }
        Ok(())
    }
}

struct Plan {
    index: Index,
    live: Live,
    seen: Vec<Name>,
    going: HashSet<Name>,
    /// Of these, those with something to keep.
    rewrite: Vec<Name>,
}

/// What is in use: a bit for each entry of the index, 17 MiB for a terabyte of chunks.
struct Live {
    runs: Vec<Vec<u64>>,
    /// Packs in which trees were found.
    trees: HashSet<Name>,
}

#[derive(Clone, Copy, Default)]
struct Usage {
    used: u64,
    unused: u64,
}

impl Usage {
    fn share_used(&self) -> f64 {
        self.used as f64 / (self.used + self.unused).max(1) as f64
    }
}

impl Live {
    fn new(index: &Index) -> Self {
        let bits = |run: &Run| vec![0; usize::try_from(run.len().div_ceil(64)).unwrap_or(0)];
        Self { runs: index.runs().iter().map(bits).collect(), trees: HashSet::new() }
    }

    fn is_live(&self, run: usize, rank: u64) -> bool {
        let word = self.runs.get(run).and_then(|bits| bits.get((rank / 64) as usize));
        word.is_some_and(|word| word >> (rank % 64) & 1 == 1)
    }

    /// One place of each chunk is in use, not in a pack that is about to go if there is another.
    fn mark(&mut self, index: &Index, hidden: &HashSet<Name>, met: Met<'_>) -> Result<()> {
        for id in ids_of(&met) {
            let found = match index.find_where(id, |at| !hidden.contains(&at.pack))? {
                Some(found) => found,
                None => index.find_where(id, |_| true)?.ok_or_else(|| lost(id))?,
            };
            if matches!(met, Met::Tree(_)) {
                self.trees.insert(found.location.pack);
            }
            let word = self.runs.get_mut(found.run);
            if let Some(word) = word.and_then(|bits| bits.get_mut((found.rank / 64) as usize)) {
                *word |= 1 << (found.rank % 64);
            }
        }
        Ok(())
    }

    fn usage(&self, index: &Index) -> Result<HashMap<Name, Usage>> {
        let mut usage: HashMap<Name, Usage> =
            index.packs().map(|pack| (pack.name, Usage::default())).collect();
        for entry in index.entries() {
            let (run, rank, entry) = entry?;
            let usage = usage.entry(entry.location.pack).or_default();
            let bytes = u64::from(entry.location.len);
            *(if self.is_live(run, rank) { &mut usage.used } else { &mut usage.unused }) += bytes;
        }
        Ok(usage)
    }
}

fn ids_of<'a>(met: &'a Met<'a>) -> impl Iterator<Item = &'a ChunkId> {
    let (tree, pieces) = match met {
        Met::Tree(id) => (Some(*id), [].as_slice()),
        Met::File(_, pieces) => (None, *pieces),
    };
    tree.into_iter().chain(pieces.iter().filter_map(|piece| match piece {
        Piece::Chunk(id) => Some(id),
        Piece::Hole(_) => None,
    }))
}

fn lost(id: &ChunkId) -> Error {
    Error::damaged(format!("the index (chunk {id} is not in it; nothing was removed)"))
}
