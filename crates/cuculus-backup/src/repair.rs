//! A way forward from damage: what is hurt is taken out, so that everything else works again and the
//! next backup of the same files stores what was lost. Knows what each kind of object can be made
//! again from; finds damage as `check` does.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::check::Check;
use crate::chunks::{Chunks, slice};
use crate::error::{Error, Result};
use crate::id::Name;
use crate::index::{Entry, Index, write_sorted};
use crate::intent;
use crate::lookup::{Answer, Lookup};
use crate::marks;
use crate::pack::{Decompressor, Location, read_footer};
use crate::prune::PruneReport;
use crate::repository::Repository;
use crate::sink::Sort;
use crate::snapshot::Snapshot;
use crate::store::{Kind, Object};
use crate::tree::{self, DirRef, Piece, What};
use crate::watch::Watch;

/// What a repair did, and what is hurt until it is backed up again.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct RepairReport {
    /// Packs that were damaged or gone; what was sound in them was moved.
    pub packs: u64,
    /// Runs of the index that were made again from the packs.
    pub runs: u64,
    /// Snapshots that could not be opened, and are gone.
    pub snapshots: Vec<String>,
    /// Chunks that are lost.
    pub lost_chunks: u64,
    /// Files and directories that have lost some, in every snapshot.
    pub hurt: Vec<Hurt>,
    /// Who must end before damaged packs can go; the next `prune` removes them.
    pub waits_for: Vec<String>,
}

/// A file that has lost chunks, or a directory that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Hurt {
    /// The snapshot's name.
    pub snapshot: String,
    /// The path in it, with what is not text replaced.
    pub path: String,
}

impl Repository {
    /// Takes out what is damaged: reads every pack, moves what is sound out of damaged ones, makes
    /// lost runs of the index again, and removes what cannot be opened. Then says which files are
    /// hurt; a backup of the same files stores their chunks again.
    ///
    /// # Errors
    /// If something cannot be read for another reason than damage, or another maintenance is at
    /// work. Nothing that was sound is gone then.
    pub fn repair(&self, watch: &dyn Watch) -> Result<RepairReport> {
        let announced = intent::maintenance(&self.store, &self.keys)?;
        // A sound copy must not hide that what it was made of is damaged.
        self.store.drop_copies();
        let mut report = RepairReport::default();
        self.remove_unreadable(&mut report)?;
        let mut check = Check::new(self, watch);
        let runs = check.runs()?;
        if check.report.errors.len() > check.hurt_runs.len() {
            return Err(stopped(&check));
        }
        report.runs = check.hurt_runs.len() as u64;
        self.replace_hurt_runs(&Index::of_runs(runs), &check.hurt_runs, &announced.name())?;

        let mut check = Check::new(self, watch);
        // Snapshots before the index, which then has all that they need.
        let seen = self.snapshots()?.iter().map(|snapshot| snapshot.name).collect();
        let mut index = self.index()?;
        check.packs(&index, true)?;
        if check.report.errors.len() > check.hurt_packs.len() {
            return Err(stopped(&check));
        }
        report.packs = check.hurt_packs.len() as u64;
        if !check.hurt_packs.is_empty() {
            let hurt: HashSet<Name> = check.hurt_packs.iter().copied().collect();
            self.move_what_is_sound(&mut index, &hurt)?;
            index.only_in(&hurt, |_| report.lost_chunks += 1)?;
            let mut pruned = PruneReport::default();
            self.mark_and_remove(check.hurt_packs, seen, &announced, watch, &mut pruned)?;
            report.waits_for = pruned.waits_for;
        }
        drop(announced);
        report.hurt = self.hurt_files(watch)?;
        Ok(report)
    }

    /// Snapshots and marks that cannot be opened keep every other command from its work. A mark only
    /// says what was about to go.
    fn remove_unreadable(&self, report: &mut RepairReport) -> Result<()> {
        for (name, _) in self.store.list(Kind::Snapshot)? {
            if let Err(Error::Damaged(_)) = Snapshot::load(&*self.store, &self.keys, &name) {
                self.store.remove(Kind::Snapshot, &name)?;
                report.snapshots.push(name.to_string());
            }
        }
        for (name, _) in self.store.list(Kind::Mark)? {
            if let Err(Error::Damaged(_)) = marks::load(&*self.store, &self.keys, &name) {
                self.store.remove(Kind::Mark, &name)?;
            }
        }
        Ok(())
    }

    /// Makes one run in place of damaged ones, from the footers of the packs that no other has: they
    /// are of a run that is damaged or gone, or of nobody, and then the next prune removes them.
    fn replace_hurt_runs(&self, sound: &Index, hurt: &[Name], own: &Name) -> Result<()> {
        let living = intent::living(&*self.store, &self.keys, own)?;
        match living.first() {
            // Its packs are in no run yet, and will be.
            Some(_) if hurt.is_empty() => return Ok(()),
            Some((_, _, who)) => {
                return Err(Error::refused(format!(
                    "{who} is at work, and the index is damaged; try again when it is done"
                )));
            }
            None => {}
        }
        let going = marks::marked_packs(&*self.store, &self.keys)?;
        let (mut entries, mut packs) = (Vec::new(), HashMap::new());
        for (name, _) in self.store.list(Kind::Pack)? {
            if sound.pack(&name).is_some() || going.contains(&name) {
                continue;
            }
            // One without a list is of no use to anybody.
            let (footer, info) = match read_footer(&*self.store, &self.keys, &name, None) {
                Ok(read) => read,
                Err(Error::Damaged(_)) => continue,
                Err(error) => return Err(error),
            };
            let locations = footer.locations(name);
            entries.extend(locations.map(|(id, location)| Entry { id, location }));
            packs.insert(name, info);
        }
        if !entries.is_empty() {
            write_sorted(&*self.store, &self.keys, &mut entries, &packs)?;
        }
        hurt.iter().try_for_each(|name| self.store.remove(Kind::Run, name))
    }

    /// Writes the chunks of damaged packs that are what they should be to new packs.
    fn move_what_is_sound(&self, index: &mut Index, hurt: &HashSet<Name>) -> Result<()> {
        let mut by_pack: BTreeMap<Name, Vec<Entry>> = BTreeMap::new();
        for entry in index.entries() {
            let (_, _, entry) = entry?;
            if hurt.contains(&entry.location.pack) {
                by_pack.entry(entry.location.pack).or_default().push(entry);
            }
        }
        let mut open = Decompressor::new(&self.parameters)?;
        for (pack, mut entries) in by_pack {
            let object = match self.store.open(Kind::Pack, &pack) {
                Ok(object) => object,
                Err(error) if error.is_missing() => continue,
                Err(error) => return Err(error),
            };
            entries.sort_unstable_by_key(|entry| (entry.location.group, entry.location.offset));
            // A sink for each: trees and data stay in packs of their own.
            let mut sink = self.sink()?;
            for group in entries.chunk_by(|a, b| a.location.group == b.location.group) {
                let Some(first) = group.first() else { continue };
                let Some(bytes) = self.opened(&*object, &first.location, &mut open)? else {
                    continue;
                };
                for Entry { id, location } in group {
                    let chunk = slice(&bytes, location);
                    if let Some(chunk) = chunk.filter(|chunk| self.keys.chunk_id(chunk) == *id) {
                        sink.put(Sort::Data, *id, chunk)?;
                    }
                }
            }
            sink.finish()?;
            self.enter_again(index, &mut sink)?;
        }
        Ok(())
    }

    /// The bytes of a group; `None` if it is damaged.
    fn opened(
        &self,
        pack: &dyn Object,
        at: &Location,
        open: &mut Decompressor,
    ) -> Result<Option<Vec<u8>>> {
        match pack.read_at(at.group.into(), at.group_len.into()) {
            Ok(sealed) => Ok(open.open(&self.keys, sealed).ok()),
            Err(Error::Damaged(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Every file of every snapshot that cannot be restored.
    fn hurt_files(&self, watch: &dyn Watch) -> Result<Vec<Hurt>> {
        let snapshots = self.snapshots()?;
        watch.phase("looking for files that are hurt");
        watch.total(snapshots.len() as u64);
        let mut chunks = self.chunks()?;
        // Trees are read through one set of caches, chunks are looked for through another.
        let lookup = self.chunks_of(self.index_like(&chunks.lookup.index)?)?.lookup;
        let mut search = Search { chunks: &mut chunks, lookup, whole: HashSet::new() };
        let mut hurt = Vec::new();
        for snapshot in &snapshots {
            search.dir(&snapshot.root, b"", &mut |path| {
                let path = String::from_utf8_lossy(path).into_owned();
                hurt.push(Hurt { snapshot: snapshot.name.to_string(), path });
            })?;
            watch.advance(1);
        }
        Ok(hurt)
    }
}

/// Not damage: a repair that took it for such would take out what is sound.
fn stopped(check: &Check<'_>) -> Error {
    let what = check.report.errors.join("; ");
    Error::refused(format!(
        "not everything can be read, which may not be damage: {what}; copy the repository to \
         another disk and repair it there"
    ))
}

struct Search<'a> {
    chunks: &'a mut Chunks,
    lookup: Lookup,
    /// Directories below which nothing is hurt; snapshots share most of them.
    whole: HashSet<DirRef>,
}

impl Search<'_> {
    /// Says whether a directory and all below it is whole; hands what is not to `hurt`.
    fn dir(&mut self, dir: &DirRef, path: &[u8], hurt: &mut dyn FnMut(&[u8])) -> Result<bool> {
        if self.whole.contains(dir) {
            return Ok(true);
        }
        let nodes = match tree::read_dir(self.chunks, dir) {
            Ok(nodes) if path.len() <= tree::MOST_PATH => nodes,
            Ok(_) | Err(Error::Damaged(_)) => {
                hurt(&[path, b"/"].concat());
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        let mut whole = true;
        for node in nodes {
            let path = [path, b"/", &node.name].concat();
            match &node.what {
                What::Dir(below) => whole &= self.dir(below, &path, hurt)?,
                What::File { pieces, .. } if !self.has_all(pieces)? => {
                    hurt(&path);
                    whole = false;
                }
                _ => {}
            }
        }
        if whole {
            self.whole.insert(dir.clone());
        }
        Ok(whole)
    }

    fn has_all(&mut self, pieces: &[Piece]) -> Result<bool> {
        for piece in pieces {
            if let Piece::Chunk(id) = piece
                && !matches!(self.lookup.locate(id)?, Answer::At(_))
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
