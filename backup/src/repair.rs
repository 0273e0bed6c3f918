//! Removes damage, so that every command works again and the next backup of the same files stores
//! what was lost. Knows what each kind of object can be rebuilt from; finds damage as `check` does.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::check::{Check, ReadData};
use crate::chunks::{Chunks, slice};
use crate::config;
use crate::error::{Error, Result, if_sound, if_there};
use crate::id::Name;
use crate::index::{Entry, Index, write_sorted};
use crate::intent;
use crate::lookup::Lookup;
use crate::marks;
use crate::pack::{Decompressor, Location, read_footer};
use crate::progress::Progress;
use crate::prune::PruneReport;
use crate::reachable::key_of;
use crate::repository::Repository;
use crate::sink::{ChunkKind, Purpose};
use crate::snapshot::Snapshot;
use crate::store::ObjectKind;
use crate::tree::{self, Content, DirReader, DirRef, NodeKind, Piece, Pieces};

/// What a repair did, and what stays damaged until it is backed up again.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct RepairReport {
    /// Packs that were damaged or missing; their intact chunks were moved.
    pub packs: u64,
    /// Index runs that were rebuilt from the packs.
    pub runs: u64,
    /// Copies of the configuration that were damaged or missing and have been replaced.
    pub configurations: u64,
    /// Snapshots that were damaged and have been removed.
    pub snapshots: Vec<Name>,
    /// Chunks that are lost.
    pub lost_chunks: u64,
    /// Files that lost chunks and directories that cannot be read, in every snapshot.
    pub damaged_paths: Vec<DamagedPath>,
    /// Processes that must end before damaged packs can be removed; the next `prune` removes them.
    pub waits_for: Vec<String>,
}

/// A file that has lost chunks, or a directory that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct DamagedPath {
    /// The name of the snapshot.
    pub snapshot: Name,
    /// The path in it; bytes that are not UTF-8 are replaced.
    pub path: String,
}

impl Repository {
    /// Removes damage: reads every pack, moves intact chunks out of damaged ones, rebuilds lost
    /// index runs, and removes snapshots that cannot be opened. Then lists the damaged files; a
    /// backup of the same files stores their chunks again.
    ///
    /// # Errors
    /// If something cannot be read for another reason than damage, or another process is changing
    /// the repository. Nothing intact is lost then.
    pub fn repair(&self, progress: &dyn Progress) -> Result<RepairReport> {
        let announcement = intent::maintenance(&self.store, &self.keys)?;
        // An intact copy in the cache must not hide damage in the repository.
        self.store.clear_cache();
        let configurations = config::repair_copies(&*self.store, &self.config)?;
        let mut report = RepairReport { configurations, ..RepairReport::default() };
        self.remove_unreadable(&mut report)?;
        let mut check = Check::new(self, progress);
        let runs = check.runs()?;
        if check.report.errors.len() > check.damaged_runs.len() {
            return Err(not_damage(&check));
        }
        report.runs = check.damaged_runs.len() as u64;
        self.replace_damaged_runs(&Index::of_runs(runs), &check.damaged_runs, &announcement.name)?;

        let mut check = Check::new(self, progress);
        // Snapshots before the index, which then has everything that they need.
        let seen = self.snapshots()?.iter().map(|snapshot| snapshot.name).collect();
        let mut index = self.index()?;
        check.packs(&index, ReadData::Everything)?;
        if check.report.errors.len() > check.damaged_packs.len() {
            return Err(not_damage(&check));
        }
        report.packs = check.damaged_packs.len() as u64;
        if !check.damaged_packs.is_empty() {
            let damaged: HashSet<Name> = check.damaged_packs.iter().copied().collect();
            self.move_intact_chunks(&mut index, &damaged)?;
            index.only_in(&damaged, |_| report.lost_chunks += 1)?;
            let mut pruned = PruneReport::default();
            self.mark_and_remove(check.damaged_packs, seen, &announcement, progress, &mut pruned)?;
            report.waits_for = pruned.waits_for;
        }
        drop(announcement);
        report.damaged_paths = self.find_damaged_paths(progress)?;
        Ok(report)
    }

    /// Snapshots and marks that cannot be opened make every other command fail. A mark only says
    /// what was about to be removed.
    fn remove_unreadable(&self, report: &mut RepairReport) -> Result<()> {
        for name in self.store.names(ObjectKind::Snapshot)? {
            if let Err(Error::Damaged(_)) = Snapshot::load(&*self.store, &self.keys, &name) {
                self.remove_snapshots(&[name])?;
                report.snapshots.push(name);
            }
        }
        for name in self.store.names(ObjectKind::Mark)? {
            if let Err(Error::Damaged(_)) = marks::load(&*self.store, &self.keys, &name) {
                self.store.remove(ObjectKind::Mark, &name)?;
            }
        }
        Ok(())
    }

    /// Writes one run in place of damaged ones, from the footers of the packs that no other run
    /// has. Such a pack belongs to a damaged or missing run, or to nobody; then the next prune
    /// removes it.
    fn replace_damaged_runs(&self, sound: &Index, damaged: &[Name], own: &Name) -> Result<()> {
        let live_writers = intent::live_writers(&*self.store, &self.keys, own)?;
        match live_writers.first() {
            // The packs of a running backup are not in a run yet.
            Some(_) if damaged.is_empty() => return Ok(()),
            Some((_, _, who)) => {
                return Err(Error::Busy { by: who.clone() });
            }
            None => {}
        }
        let going = marks::marked_packs(&*self.store, &self.keys)?;
        let (mut entries, mut packs) = (Vec::new(), HashMap::new());
        for name in self.store.names(ObjectKind::Pack)? {
            if sound.pack(&name).is_some() || going.contains(&name) {
                continue;
            }
            // A pack without a readable footer is useless.
            let read = if_sound(read_footer(&*self.store, &self.keys, &name, None))?;
            let Some((footer, info)) = read else { continue };
            let locations = footer.locations(name);
            entries.extend(locations.map(|(id, location)| Entry { id, location }));
            packs.insert(name, info);
        }
        if !entries.is_empty() {
            write_sorted(&*self.store, &self.keys, &mut entries, &packs)?;
        }
        damaged.iter().try_for_each(|name| self.store.remove(ObjectKind::Run, name))
    }

    fn move_intact_chunks(&self, index: &mut Index, damaged: &HashSet<Name>) -> Result<()> {
        let mut by_pack: BTreeMap<Name, Vec<Entry>> = BTreeMap::new();
        for entry in index.entries() {
            let (_, _, entry) = entry?;
            if damaged.contains(&entry.location.pack) {
                by_pack.entry(entry.location.pack).or_default().push(entry);
            }
        }
        let mut open = Decompressor::new(&self.parameters)?;
        for (pack, mut entries) in by_pack {
            let object = if_there(self.store.open(ObjectKind::Pack, &pack))?;
            let Some(object) = object else { continue };
            entries.sort_unstable_by_key(|entry| (entry.location.group, entry.location.offset));
            // One sink per pack, so that trees and data stay in separate packs.
            let mut sink = self.sink(Purpose::MovedChunks)?;
            for group in entries.chunk_by(|a, b| a.location.group == b.location.group) {
                let Some(first) = group.first() else { continue };
                let Location { group: at, group_len: len, .. } = first.location;
                // A damaged group is left out.
                let sealed = if_sound(object.read_at(at.into(), len.into()))?;
                let bytes = sealed.and_then(|sealed| open.open(&self.keys, sealed).ok());
                let Some(bytes) = bytes else { continue };
                for Entry { id, location } in group {
                    let chunk = slice(&bytes, location);
                    if let Some(chunk) = chunk.filter(|chunk| self.keys.chunk_id(chunk) == *id) {
                        sink.put(ChunkKind::Data, *id, chunk)?;
                    }
                }
                sink.end_stream(ChunkKind::Data);
            }
            sink.finish()?;
            self.index_moved_chunks(index, &mut sink)?;
        }
        Ok(())
    }

    fn find_damaged_paths(&self, progress: &dyn Progress) -> Result<Vec<DamagedPath>> {
        let snapshots = self.snapshots()?;
        progress.phase("looking for damaged files", Some(snapshots.len() as u64));
        let mut chunks = self.chunks()?;
        // Trees are read through one set of caches, chunks are looked up through another.
        let lookup = self.chunks_of(chunks.lookup.index.twin())?.lookup;
        let mut search = Search { chunks: &mut chunks, lookup, whole: HashSet::new() };
        let mut damaged = Vec::new();
        for snapshot in &snapshots {
            search.dir(&snapshot.root, b"", &mut |path| {
                let path = String::from_utf8_lossy(path).into_owned();
                damaged.push(DamagedPath { snapshot: snapshot.name, path });
            })?;
            progress.advance(1);
        }
        Ok(damaged)
    }
}

/// Errors that may not be damage: treating them as damage would remove intact data.
fn not_damage(check: &Check<'_>) -> Error {
    Error::Unreadable { errors: check.report.errors.clone() }
}

struct Search<'a> {
    chunks: &'a mut Chunks,
    lookup: Lookup,
    /// Directories below which nothing is damaged; snapshots share most of them.
    whole: HashSet<Name>,
}

impl Search<'_> {
    /// Returns whether a directory and everything below it is intact; passes damaged paths to
    /// `damaged`.
    fn dir(&mut self, dir: &DirRef, path: &[u8], damaged: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let key = key_of(&[&dir.contents, &dir.metadata]);
        if self.whole.contains(&key) {
            return Ok(true);
        }
        let mut whole = true;
        let mut nodes = DirReader::new(dir);
        loop {
            let node = match nodes.next(self.chunks) {
                Ok(Some(node)) if path.len() <= tree::MAX_PATH_LEN => node,
                Ok(None) => break,
                Ok(_) | Err(Error::Damaged(_)) => {
                    damaged(&[path, b"/"].concat());
                    return Ok(false);
                }
                Err(error) => return Err(error),
            };
            let path = [path, b"/", &node.name].concat();
            match &node.kind {
                NodeKind::Dir(below) => whole &= self.dir(below, &path, damaged)?,
                NodeKind::File { content, .. } if !self.has_all(content)? => {
                    damaged(&path);
                    whole = false;
                }
                _ => {}
            }
        }
        if whole {
            self.whole.insert(key);
        }
        Ok(whole)
    }

    fn has_all(&mut self, content: &Content) -> Result<bool> {
        let mut pieces = Pieces::new(content);
        loop {
            match pieces.next(self.chunks) {
                Ok(None) => return Ok(true),
                Ok(Some(Piece::Hole(_))) => {}
                Ok(Some(Piece::Chunk { id, .. })) if self.lookup.locate(&id)?.is_some() => {}
                Ok(Some(Piece::Chunk { .. })) | Err(Error::Damaged(_)) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }
}
