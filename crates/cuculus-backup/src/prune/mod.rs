//! What no snapshot needs is removed: from packs, from the index, from the digest. Knows the two
//! phases that keep a running backup from harm; ARCHITECTURE.md has the argument.
//!
//! Phase 1 rewrites packs that are worth it and marks those to go: a backup that begins later
//! relies on none of them. Phase 2 waits for backups that began earlier, takes back what their
//! snapshots need after all, and removes the rest.

mod live; // what is in use
mod rewrite; // packs of which a part is

use std::collections::{HashMap, HashSet};

use crate::digest::Digest;
use crate::error::Result;
use crate::id::Name;
use crate::index::{Index, Run};
use crate::intent::{self, Announced, Work};
use crate::marks::{self, Mark};
use crate::reachable::Reachable;
use crate::repository::Repository;
use crate::sink::Sink;
use crate::snapshot::Snapshot;
use crate::store::Kind;
use crate::watch::Watch;

use live::{Gathered, Live, Usage};

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
        self.remove_replaced_runs()?;
        let mut plan = self.plan(options, watch, &mut report)?;
        if plan.going.is_empty() {
            return Ok(report);
        }
        self.make_room(&mut plan, watch)?;
        let going = plan.going.into_iter().collect();
        self.mark_and_remove(going, plan.seen, &announced, watch, &mut report)?;
        Ok(report)
    }

    /// Packs whose chunks have other places now, or none that is of use, go: at once, or after the
    /// writers that may rely on them. `seen` are the snapshots that were taken into account.
    pub(crate) fn mark_and_remove(
        &self,
        packs: Vec<Name>,
        seen: Vec<Name>,
        announced: &Announced,
        watch: &dyn Watch,
        report: &mut PruneReport,
    ) -> Result<()> {
        announced.confirm()?;
        let mark = Mark { name: Name::random()?, packs, seen, waits_for: None };
        mark.save(&*self.store, &self.keys)?;
        self.finish_marks(announced, watch, report)
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
        let mut gathered = Gathered::new(&index, &hidden, |id, at, tree| live.mark(id, at, tree));
        for snapshot in &snapshots {
            reachable.visit(&mut chunks, snapshot, &mut |met| gathered.add(met))?;
            watch.advance(1);
        }
        gathered.look_up()?;
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
            plan.rewrite.push((pack, usage));
            plan.going.insert(pack);
        }
        report.rewritten_packs = plan.rewrite.len() as u64;
        Ok(plan)
    }

    /// Writes what is in use in the chosen packs to new ones, which the index then has.
    fn make_room(&self, plan: &mut Plan, watch: &dyn Watch) -> Result<()> {
        if plan.rewrite.is_empty() {
            return Ok(());
        }
        let mut sink = self.rewrite(&plan.index, &plan.live, &plan.rewrite, watch)?;
        self.enter_again(&mut plan.index, &mut sink)
    }

    /// Lets the index have what was written to a second place. The set of ids, and so the digest, is
    /// the same.
    pub(crate) fn enter_again(&self, index: &mut Index, sink: &mut Sink) -> Result<()> {
        let digest = Digest::load(&*self.store, &self.keys, &index.generation());
        sink.entered().for_each(|entered| index.add(entered.run));
        match digest {
            Some(digest) => digest.save(&*self.store, &self.keys, &index.generation()),
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
        let mut gathered = Gathered::new(&index, marked, |_, found, _| {
            // What is nowhere is in no marked pack either.
            let pack = found.map(|found| found.location.pack);
            needed.extend(pack.filter(|pack| marked.contains(pack)));
            Ok(())
        });
        for snapshot in unseen {
            reachable.visit(&mut chunks, snapshot, &mut |met| gathered.add(met))?;
        }
        gathered.look_up()?;
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
        // Out once: when the last place of the chunk goes, however many there were.
        index.only_in(going, |id| {
            report.removed_chunks += 1;
            if let Some(digest) = &mut digest {
                digest.remove(id);
            }
        })?;
        self.replace_runs(index, &affected, |entry| !going.contains(&entry.location.pack))?;
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
    rewrite: Vec<(Name, Usage)>,
}
