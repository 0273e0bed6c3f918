//! Removes what no snapshot needs from packs and index. Knows the two phases that protect
//! running backups; docs/design.md has the argument.
//!
//! Phase 1 rewrites packs that are partly in use and marks packs for removal: a backup that begins
//! later relies on none of them. Phase 2 waits for backups that began earlier, keeps the packs that
//! their snapshots need, and removes the rest.

mod live; // which chunks are in use
mod rewrite; // packs that are partly in use

use std::collections::{HashMap, HashSet};

use crate::error::{Error, Result};
use crate::forgotten;
use crate::id::{ChunkId, Name};
use crate::index::{Index, Run};
use crate::intent::{self, Announcement, Work};
use crate::marks::{self, Mark};
use crate::progress::Progress;
use crate::reachable::Reachable;
use crate::repository::Repository;
use crate::sink::Sink;
use crate::snapshot::Snapshot;
use crate::store::ObjectKind;

use live::{Live, LookupBatch, Usage};

/// How thorough a prune is.
#[derive(Clone, Copy, Debug, Default)]
pub struct PruneOptions {
    /// Unused bytes that may stay, as a fraction of the bytes in use. A smaller value means more
    /// rewriting. By default 0.01 in a directory, and 0.05 where bytes travel over a network.
    pub max_unused: Option<f64>,
    /// Write nothing.
    pub dry_run: bool,
}

/// Of garbage that is spread evenly, a prune that leaves x of it moves 1 / x bytes for each that it
/// frees.
const MAX_UNUSED_NEAR: f64 = 0.01;
const MAX_UNUSED_FAR: f64 = 0.05;

/// What a prune did, or would do.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct PruneReport {
    /// Packs before the prune.
    pub packs: u64,
    /// Packs without any chunk in use.
    pub dead_packs: u64,
    /// Packs that were rewritten without their unused chunks.
    pub rewritten_packs: u64,
    /// Bytes of chunks in use.
    pub used_bytes: u64,
    /// Bytes of chunks that no snapshot needs.
    pub unused_bytes: u64,
    /// Bytes freed.
    pub freed_bytes: u64,
    /// Chunks removed from the index.
    pub removed_chunks: u64,
    /// Processes that must end before marked packs can be removed; the next prune removes them.
    pub waits_for: Vec<String>,
}

impl Repository {
    /// Removes data that no snapshot needs.
    ///
    /// # Errors
    /// If another prune is running, or if a snapshot needs a chunk that is missing: then nothing is
    /// removed, so that the damage does not grow.
    pub fn prune(&self, options: &PruneOptions, progress: &dyn Progress) -> Result<PruneReport> {
        if let Some(given) = options.max_unused.filter(|given| !(0.0..=1e6).contains(given)) {
            return Err(Error::InvalidMaxUnused(given));
        }
        let mut report = PruneReport::default();
        if options.dry_run {
            self.plan(options, progress, &mut report)?;
            return Ok(report);
        }
        let announcement = intent::maintenance(&self.store, &self.keys)?;
        // First finish what an interrupted prune left.
        self.finish_marks(&announcement, progress, &mut report)?;
        // A draft is not locked for a moment after its creation, so drafts are removed only if
        // there is no writer.
        if intent::live_writers(&*self.store, &self.keys, &announcement.name)?.is_empty() {
            report.freed_bytes += self.store.sweep_drafts()?;
        }
        self.remove_replaced_runs()?;
        forgotten::merge(&*self.store, &self.keys)?;
        let mut plan = self.plan(options, progress, &mut report)?;
        if plan.going.is_empty() {
            return Ok(report);
        }
        self.make_room(&mut plan, progress)?;
        let going = plan.going.into_iter().collect();
        self.mark_and_remove(going, plan.seen, &announcement, progress, &mut report)?;
        Ok(report)
    }

    /// Removes packs whose chunks are stored elsewhere or not needed: at once, or after the writers
    /// that may rely on them have ended. `seen` are the snapshots that were considered.
    pub(crate) fn mark_and_remove(
        &self,
        packs: Vec<Name>,
        seen: Vec<Name>,
        announcement: &Announcement,
        progress: &dyn Progress,
        report: &mut PruneReport,
    ) -> Result<()> {
        announcement.confirm()?;
        let mark = Mark { name: Name::random()?, packs, seen, waits_for: None };
        mark.save(&*self.store, &self.keys)?;
        self.finish_marks(announcement, progress, report)
    }

    fn plan(
        &self,
        options: &PruneOptions,
        progress: &dyn Progress,
        report: &mut PruneReport,
    ) -> Result<Plan> {
        // Snapshots before the index, which then has everything that they need. Packs before it
        // too: a pack that is not in the index was left by a dead process, or belongs to a writer
        // that the mark will wait for.
        let snapshots = self.snapshots()?;
        let stored: HashMap<Name, u64> = self.store.list(ObjectKind::Pack)?.into_iter().collect();
        let hidden = marks::marked_packs(&*self.store, &self.keys)?;
        let mut chunks = self.chunks()?;
        let index = chunks.lookup.index.twin();
        let mut live = Live::new(&index);
        progress.phase("finding chunks in use", Some(snapshots.len() as u64));
        let mut reachable = Reachable::default();
        // A chunk whose only pack is gone is missing; one that was stored again is not.
        let absent = self.missing_packs(&index)?;
        let mark = |id: &ChunkId, at, is_tree| live.mark(id, at, is_tree);
        let mut batch = LookupBatch::new(&index, &hidden, absent, mark);
        for snapshot in &snapshots {
            reachable.visit(&mut chunks, snapshot, &mut |item| batch.add(item))?;
            progress.advance(1);
        }
        batch.look_up()?;
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
        // The emptiest packs first: they free the most bytes per byte written.
        partly.sort_by(|(_, a), (_, b)| a.share_used().total_cmp(&b.share_used()));
        let mut waste: u64 = partly.iter().map(|(_, usage)| usage.unused).sum();
        let is_near = self.store.pace().late_writes.is_zero();
        let by_default = if is_near { MAX_UNUSED_NEAR } else { MAX_UNUSED_FAR };
        let max_unused = options.max_unused.unwrap_or(by_default);
        let allowed = (report.used_bytes as f64 * max_unused) as u64;
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

    fn make_room(&self, plan: &mut Plan, progress: &dyn Progress) -> Result<()> {
        if plan.rewrite.is_empty() {
            return Ok(());
        }
        let mut sink = self.rewrite(&plan.index, &plan.live, &plan.rewrite, progress)?;
        self.index_moved_chunks(&mut plan.index, &mut sink)
    }

    pub(crate) fn index_moved_chunks(&self, index: &mut Index, sink: &mut Sink) -> Result<()> {
        // Nobody else merges runs meanwhile: one that is gone is lost.
        for written in sink.written_runs() {
            index.add(written.run?);
        }
        Ok(())
    }

    /// Phase 2 for every mark whose writers have ended.
    fn finish_marks(
        &self,
        announcement: &Announcement,
        progress: &dyn Progress,
        report: &mut PruneReport,
    ) -> Result<()> {
        report.waits_for.clear();
        for mut mark in marks::all(&*self.store, &self.keys)? {
            let live_writers = intent::live_writers(&*self.store, &self.keys, &announcement.name)?;
            let writers = live_writers.iter().filter(|(_, work, _)| *work == Work::Backup);
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
                self.finish_mark(&mark, announcement, progress, report)?;
            } else {
                report.waits_for.extend(waiting);
            }
        }
        Ok(())
    }

    fn finish_mark(
        &self,
        mark: &Mark,
        announcement: &Announcement,
        progress: &dyn Progress,
        report: &mut PruneReport,
    ) -> Result<()> {
        progress.phase("removing packs", None);
        let marked: HashSet<Name> = mark.packs.iter().copied().collect();
        let needed = self.needed_after_all(mark, &marked)?;
        let going: HashSet<Name> = marked.difference(&needed).copied().collect();
        let mut index = self.index()?;
        announcement.confirm()?;
        self.drop_from_index(&mut index, &going, report)?;
        let sizes: HashMap<Name, u64> = self.store.list(ObjectKind::Pack)?.into_iter().collect();
        let going: Vec<Name> = going.into_iter().collect();
        // A prune that was suspended for a day and declared dead must not go on.
        self.store.remove_all(ObjectKind::Pack, &going, &|| announcement.confirm())?;
        report.freed_bytes += going.iter().filter_map(|pack| sizes.get(pack)).sum::<u64>();
        self.store.remove(ObjectKind::Mark, &mark.name)
    }

    /// Marked packs that are still needed: a snapshot that was written since, by a backup that did
    /// not see the mark, needs chunks that are nowhere else.
    fn needed_after_all(&self, mark: &Mark, marked: &HashSet<Name>) -> Result<HashSet<Name>> {
        let mut needed = HashSet::new();
        let snapshots = self.snapshots()?;
        let unseen: Vec<&Snapshot> =
            snapshots.iter().filter(|snapshot| !mark.seen.contains(&snapshot.name)).collect();
        if unseen.is_empty() {
            return Ok(needed);
        }
        let mut chunks = self.chunks()?;
        let index = chunks.lookup.index.twin();
        let mut reachable = Reachable::default();
        let absent = self.missing_packs(&index)?;
        let mut batch = LookupBatch::new(&index, marked, absent, |_, found, _| {
            // A chunk that is not stored is in no marked pack either.
            let pack = found.map(|found| found.location.pack);
            needed.extend(pack.filter(|pack| marked.contains(pack)));
            Ok(())
        });
        for snapshot in unseen {
            reachable.visit(&mut chunks, snapshot, &mut |item| batch.add(item))?;
        }
        batch.look_up()?;
        Ok(needed)
    }

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
        index.only_in(going, |_| report.removed_chunks += 1)?;
        self.replace_runs(index, &affected, |entry| !going.contains(&entry.location.pack))
    }
}

struct Plan {
    index: Index,
    live: Live,
    seen: Vec<Name>,
    going: HashSet<Name>,
    /// Of the packs to remove, those with chunks in use.
    rewrite: Vec<(Name, Usage)>,
}
