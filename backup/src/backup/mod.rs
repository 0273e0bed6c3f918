//! A backup, from its intent to its snapshot. Knows the order of the steps, on which the safety
//! argument rests: write the intent, read the marks, read the index, write packs, runs and the
//! snapshot, remove the intent.

mod exclude; // which paths to leave out
mod metadata; // metadata of one file
mod names; // the names of one directory
mod roots; // several paths as one tree
mod saver; // store a chunk unless it is stored already
mod walk; // walk directories
mod writing; // directories and files as chunks

#[cfg(test)]
mod tests; // wrong answers of filters and cache

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use crate::clock;
use crate::error::{Error, Result};
use crate::id::{ChunkId, Name};
use crate::index::{Entry, Index, Merged, Run, RunWriter};
use crate::intent::{self, Announcement, Work};
use crate::lookup::{Filters, Lookup, LookupSettings, Lookups};
use crate::marks;
use crate::origin;
use crate::pack::PackInfo;
use crate::progress::Progress;
use crate::repository::Repository;
use crate::sink::{Purpose, Sink, Written};
use crate::snapshot::Snapshot;
use crate::store::ObjectKind;
use crate::tree::DirRef;

use saver::Saver;
use walk::Walk;
use writing::TreeWriter;

pub(crate) use exclude::glob;
pub(crate) use writing::SaveError;

/// What to back up, and how.
#[derive(Clone, Debug, Default)]
pub struct BackupOptions {
    /// Files and directories to back up.
    pub paths: Vec<PathBuf>,
    /// Patterns of paths to leave out, as in gitignore: without a slash they match names, with one
    /// at the beginning whole paths, otherwise paths relative to those that are backed up.
    pub exclude: Vec<String>,
    /// Leave out the contents of directories with a valid `CACHEDIR.TAG`.
    pub exclude_caches: bool,
    /// Do not enter file systems other than those of the paths.
    pub one_file_system: bool,
    /// Read every file, even if it looks unchanged since the last snapshot.
    pub read_all: bool,
    /// Labels for the snapshot.
    pub tags: Vec<String>,
    /// Recorded instead of the name of this machine.
    pub host: Option<String>,
    /// Recorded instead of the current time, in nanoseconds since 1970.
    pub time: Option<u64>,
    /// Write nothing.
    pub dry_run: bool,
}

/// What a backup did.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct BackupReport {
    /// The name of the new snapshot; `None` after a dry run.
    pub snapshot: Option<Name>,
    /// Files in the snapshot.
    pub files: u64,
    /// Files that were not read because they look unchanged since the last snapshot.
    pub unchanged_files: u64,
    /// Directories in the snapshot.
    pub directories: u64,
    /// Total size of the files.
    pub bytes: u64,
    /// Chunks that were not stored before.
    pub new_chunks: u64,
    /// Size of the new chunks.
    pub new_bytes: u64,
    /// Bytes added to the repository for them.
    pub stored_bytes: u64,
    /// Files that could not be read, or that changed while they were read.
    pub problems: u64,
    /// Packs that the index names and that are gone; what they held was not relied on.
    pub missing_packs: u64,
    /// Memory of the filters of all index runs, in bytes.
    pub filter_bytes: u64,
    /// How the look-ups were answered.
    pub lookups: Lookups,
}

impl Repository {
    /// Takes a snapshot of files and directories. What cannot be read is reported as a problem and
    /// counted; the rest is saved.
    ///
    /// # Errors
    /// If a path does not exist, or the repository cannot be read or written. There is no snapshot
    /// then; chunks that were stored are used by the next attempt.
    pub fn backup(&self, options: &BackupOptions, progress: &dyn Progress) -> Result<BackupReport> {
        self.backup_with(options, &LookupSettings::default(), progress).map(|(report, _)| report)
    }

    /// Also returns the chunks that were looked up, in order, if the settings say so.
    pub(crate) fn backup_with(
        &self,
        options: &BackupOptions,
        settings: &LookupSettings,
        progress: &dyn Progress,
    ) -> Result<(BackupReport, Vec<ChunkId>)> {
        let roots = roots::Roots::of(&options.paths)?;
        self.run_backup(options, settings, roots.paths(), progress, |walk, parent| {
            walk.save_roots(&roots, parent)
        })
    }

    /// Takes a snapshot of what can be read from `source`, as a file of this name.
    ///
    /// # Errors
    /// If the name is not that of a file, or `source` or the repository cannot be read or written;
    /// there is no snapshot then.
    pub fn backup_stream(
        &self,
        options: &BackupOptions,
        name: &str,
        source: &mut dyn std::io::Read,
        progress: &dyn Progress,
    ) -> Result<BackupReport> {
        if matches!(name, "" | "." | "..") || name.contains(['/', '\0']) {
            return Err(Error::InvalidFileName { name: name.into() });
        }
        let paths = vec![[b"/", name.as_bytes()].concat()];
        let save = |walk: &mut Walk<'_>, _: Option<&Snapshot>| walk.save_stream(name, source);
        let saved = self.run_backup(options, &LookupSettings::default(), paths, progress, save);
        saved.map(|(report, _)| report)
    }

    fn run_backup(
        &self,
        options: &BackupOptions,
        settings: &LookupSettings,
        paths: Vec<Vec<u8>>,
        progress: &dyn Progress,
        save: impl FnOnce(&mut Walk<'_>, Option<&Snapshot>) -> Result<DirRef>,
    ) -> Result<(BackupReport, Vec<ChunkId>)> {
        // A dry run writes nothing at all, so that it works with a repository that cannot be
        // written. A prune beside it may make it fail.
        let announcement = match options.dry_run {
            true => None,
            false => Some(Announcement::new(&self.store, &self.keys, Work::Backup)?),
        };
        let (lookup, missing) = self.lookup(settings, progress)?;
        let sink = if options.dry_run { None } else { Some(self.sink(Purpose::NewChunks)?) };

        let host = options.host.clone().unwrap_or_else(origin::host);
        let time = options.time.unwrap_or_else(clock::now_in_nanoseconds);
        let saver = Saver::new(lookup, sink, &self.parameters);
        let mut walk = Walk::new(self, options, &paths, saver, progress)?;
        let parent = self.parent(&host, &paths)?;
        let root = save(&mut walk, parent.as_ref())?;
        let (mut report, saver) = walk.finish();
        let (mut lookup, written) = saver.finish()?;
        report.stored_bytes = written.bytes;
        report.missing_packs = missing;
        report.lookups = lookup.counts();
        let trace = lookup.trace.take().unwrap_or_default();
        if lookup.index.uses_filters {
            report.filter_bytes = lookup.index.filter_bytes()?;
        }
        let Some(announcement) = announcement else { return Ok((report, trace)) };

        let snapshot = Snapshot {
            name: Name::random()?,
            time,
            host,
            paths,
            tags: options.tags.clone(),
            files: report.files,
            bytes: report.bytes,
            unreadable: report.problems,
            root,
        };
        report.snapshot = Some(snapshot.name);
        self.end_backup(&snapshot, announcement, &written, &mut lookup.index)?;
        Ok((report, trace))
    }

    /// The last steps of a backup, after everything else was written.
    fn end_backup(
        &self,
        snapshot: &Snapshot,
        announcement: Announcement,
        written: &Written,
        index: &mut Index,
    ) -> Result<()> {
        self.confirm_packs(&written.packs)?;
        self.commit(snapshot, &announcement)?;
        drop(announcement);
        // The snapshot is safe without this, which saves work later.
        self.merge_runs(index)
    }

    pub(crate) fn begin_copy(&self, progress: &dyn Progress) -> Result<Copying> {
        let announcement = Announcement::new(&self.store, &self.keys, Work::Backup)?;
        let (lookup, _) = self.lookup(&LookupSettings::default(), progress)?;
        let saver = Saver::new(lookup, Some(self.sink(Purpose::NewChunks)?), &self.parameters);
        Ok(Copying { announcement, tree: TreeWriter::new(self, saver) })
    }

    /// Reads the marks and the index, in this order, and prepares to look chunks up. Also returns
    /// the number of packs that the index names and that are gone.
    fn lookup(&self, settings: &LookupSettings, progress: &dyn Progress) -> Result<(Lookup, u64)> {
        let marked = marks::marked_packs(&*self.store, &self.keys)?;
        let mut index = self.index()?;
        index.hide(marked);
        let missing = self.missing_packs(&index)?;
        for pack in &missing {
            progress.problem(&format!(
                "warning: {} is missing or cut off; what it held is stored again where it is met, \
                 and `check` lists what is lost",
                ObjectKind::Pack.describe(pack)
            ));
        }
        index.hide(missing.iter().copied());
        match settings.filters {
            Filters::On => index.read_filters()?,
            #[cfg(any(test, feature = "lab"))]
            Filters::Off => {}
            #[cfg(test)]
            Filters::Spoiled => index.spoil_filters(),
        }
        let mut lookup = Lookup::new(&self.store, &self.keys, index, settings.cached_chunks);
        lookup.trace = settings.trace.then(Vec::new);
        Ok((lookup, missing.len() as u64))
    }

    pub(crate) fn sink(&self, purpose: Purpose) -> Result<Sink> {
        Sink::new(&self.store, &self.keys, &self.parameters, purpose)
    }

    /// Writes the snapshot, and removes it again if this run was declared dead since: then a
    /// prune may have removed chunks that it needs.
    pub(crate) fn commit(&self, snapshot: &Snapshot, announcement: &Announcement) -> Result<()> {
        announcement.confirm()?;
        snapshot.save(&*self.store, &self.keys)?;
        snapshot.confirm(&*self.store, &self.keys)?;
        announcement.confirm().inspect_err(|_| {
            let _ = self.store.remove(ObjectKind::Snapshot, &snapshot.name);
        })?;
        self.remember(&snapshot.name)
    }

    /// Everything that was written can be found again: a store may confirm a write and lose it.
    fn confirm_packs(&self, written: &[PackInfo]) -> Result<()> {
        if written.is_empty() {
            return Ok(());
        }
        let stored: HashMap<Name, u64> = self.store.list(ObjectKind::Pack)?.into_iter().collect();
        let index = self.index()?;
        for pack in written {
            let found =
                stored.get(&pack.name) == Some(&pack.size) && index.pack(&pack.name) == Some(pack);
            if !found {
                return Err(Error::LostWrite { kind: ObjectKind::Pack, name: pack.name });
            }
        }
        Ok(())
    }

    /// The newest snapshot of the same host and paths.
    fn parent(&self, host: &str, paths: &[Vec<u8>]) -> Result<Option<Snapshot>> {
        let mut snapshots = self.snapshots()?;
        snapshots.retain(|snapshot| snapshot.host == host && snapshot.paths == paths);
        Ok(snapshots.pop())
    }

    /// Merges small runs that this backup has seen, so that each run is at least as large as all
    /// smaller ones together: a look-up reads few runs, and an entry is rewritten few times.
    fn merge_runs(&self, index: &mut Index) -> Result<()> {
        const MIN_RUNS_TO_MERGE: usize = 4;
        let mut runs: Vec<(u64, Name)> =
            index.runs().iter().map(|run| (run.len(), run.name())).collect();
        runs.sort_unstable();
        let mut sum = 0;
        let small = runs.iter().take_while(|(len, _)| {
            let small = *len <= sum * 2 || sum == 0;
            sum += len;
            small
        });
        let small: Vec<Name> = small.map(|(_, name)| *name).collect();
        if small.len() < MIN_RUNS_TO_MERGE {
            return Ok(());
        }
        // Another process is changing the index: the next backup will merge.
        let Ok(_announcement) = intent::maintenance(&self.store, &self.keys) else { return Ok(()) };
        // A prune may have replaced some of these runs since the backup began, even if they still
        // exist. Merging those would bring back entries that it dropped.
        let current: HashSet<Name> = self.index()?.runs().iter().map(Run::name).collect();
        if !small.iter().all(|name| current.contains(name)) {
            return Ok(());
        }
        self.replace_runs(index, &small, |_| true)
    }

    /// Removes runs that other runs replace, left behind by a killed process. This must happen
    /// before those other runs are replaced in turn: only they say that the old ones do not count.
    pub(crate) fn remove_replaced_runs(&self) -> Result<()> {
        self.store.remove_all(ObjectKind::Run, &self.index()?.replaced, &|| Ok(()))
    }

    /// Writes one run in place of several, with those entries for which `keep` is true, and updates
    /// `index` accordingly.
    pub(crate) fn replace_runs(
        &self,
        index: &mut Index,
        names: &[Name],
        keep: impl Fn(&Entry) -> bool,
    ) -> Result<()> {
        self.remove_replaced_runs()?;
        let chosen = index.runs().iter().enumerate();
        let chosen = chosen.filter(|(_, run)| names.contains(&run.name()));
        let most = chosen.clone().map(|(_, run)| run.len()).sum();
        let mut writer = RunWriter::new(&*self.store, &self.keys, names.to_vec(), most)?;
        for entry in Merged::new(chosen) {
            let (_, _, entry) = entry?;
            let pack = index.pack(&entry.location.pack);
            let pack =
                pack.ok_or_else(|| Error::damaged(ObjectKind::Pack, &entry.location.pack))?;
            if keep(&entry) {
                writer.push(&entry, pack)?;
            }
        }
        index.replace(names, writer.finish()?);
        self.store.remove_all(ObjectKind::Run, names, &|| Ok(()))
    }
}

/// A backup of what another repository holds: the writing half of a copy.
pub(crate) struct Copying {
    announcement: Announcement,
    pub(crate) tree: TreeWriter,
}

impl Copying {
    /// Ends as a backup does; returns the size of new chunks, and what was written for them.
    pub(crate) fn commit(self, repository: &Repository, snapshot: &Snapshot) -> Result<(u64, u64)> {
        let new = self.tree.saver.new_bytes;
        let (mut lookup, written) = self.tree.saver.finish()?;
        repository.end_backup(snapshot, self.announcement, &written, &mut lookup.index)?;
        Ok((new, written.bytes))
    }
}
