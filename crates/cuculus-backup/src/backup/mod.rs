//! A backup from its announcement to its snapshot. Knows the order of the steps, on which the
//! safety of everything rests: announce, read marks, read the index, write packs, runs, the
//! snapshot, take the announcement back.

mod exclude; // what is left out
mod files; // a file's bytes as pieces
mod metadata; // what the system knows about a file
mod roots; // several paths as one tree
mod saver; // a chunk, if it is new
mod walk; // directories

use std::collections::HashSet;
use std::path::PathBuf;

use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::id::{ChunkId, Name};
use crate::index::{Entry, Index, Merged, Run, RunWriter};
use crate::intent::{self, Announced, Work};
use crate::locality::{self, Locality};
use crate::lookup::{Lookup, Lookups, Oracle};
use crate::marks;
use crate::repository::Repository;
use crate::snapshot::Snapshot;
use crate::store::Kind;
use crate::watch::Watch;

use saver::Saver;
use walk::Walk;

/// Which help a backup has in finding out what is stored already. Anything but [`Help::default`]
/// is for measurements and tests; none of them loses anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Help {
    /// What is asked before the index.
    pub digest: Asked,
    /// The chunks whose places the locality cache keeps, about 104 bytes each; 0 turns it off.
    pub cached_chunks: usize,
    /// Whether the report says which chunks were looked for, in order.
    pub trace: bool,
}

/// What is asked before the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The chunk digest.
    Digest,
    /// Something that says "maybe" to everything: the index decides alone.
    Nothing,
    /// A digest that answers wrongly half of the time. "No" by mistake stores a chunk twice.
    Erring,
}

impl Default for Help {
    fn default() -> Self {
        Self { digest: Asked::Digest, cached_chunks: locality::DEFAULT_CHUNKS, trace: false }
    }
}

/// What to back up, and how.
#[derive(Clone, Debug, Default)]
pub struct BackupOptions {
    /// Files and directories.
    pub paths: Vec<PathBuf>,
    /// Patterns of what is left out: with a slash against whole paths, without against names.
    pub exclude: Vec<String>,
    /// Other file systems than those of the paths are left out.
    pub one_file_system: bool,
    /// Every file is read, even those that seem unchanged since the last snapshot.
    pub read_all: bool,
    /// Words to find the snapshot by.
    pub tags: Vec<String>,
    /// Another name for this machine.
    pub host: Option<String>,
    /// Another time than now, in nanoseconds since 1970.
    pub time: Option<u64>,
    /// Nothing is written.
    pub dry_run: bool,
    /// For measurements.
    pub help: Help,
}

/// What a backup did.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct BackupReport {
    /// The new snapshot; none after a dry run.
    pub snapshot: Option<String>,
    /// Files in the snapshot.
    pub files: u64,
    /// Of these, taken from the last snapshot without being read.
    pub unchanged_files: u64,
    /// Directories in the snapshot.
    pub directories: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Chunks that were not stored before.
    pub new_chunks: u64,
    /// Their bytes.
    pub new_bytes: u64,
    /// Bytes by which the repository has grown for them.
    pub stored_bytes: u64,
    /// Files that could not be read, or that changed meanwhile.
    pub problems: u64,
    /// Memory of the digest.
    pub digest_bytes: u64,
    /// How look-ups were answered.
    pub lookups: Lookups,
    /// Chunks looked for, in order, if they were asked for.
    #[serde(skip)]
    pub trace: Vec<ChunkId>,
}

impl Repository {
    /// Takes a snapshot of files and directories. What cannot be read is reported to the watcher
    /// and counted, and the rest is saved.
    ///
    /// # Errors
    /// If a path does not exist, or the repository cannot be read or written. No snapshot is
    /// there then; what was stored helps the next attempt.
    pub fn backup(&self, options: &BackupOptions, watch: &dyn Watch) -> Result<BackupReport> {
        let announced = Announced::new(&self.store, &self.keys, Work::Backup)?;
        let marked = marks::marked_packs(&*self.store, &self.keys)?;
        let mut index = self.index()?;
        index.hide(marked);
        let before = index.generation();
        let oracle = self.oracle(options.help.digest, &index)?;
        let cache = Locality::new(options.help.cached_chunks);
        let mut lookup = Lookup::new(&self.store, &self.keys, index, oracle, cache);
        lookup.trace = options.help.trace.then(Vec::new);
        let sink = if options.dry_run { None } else { Some(self.sink()?) };

        let host = options.host.clone().unwrap_or_else(intent::host);
        let time = options.time.unwrap_or_else(intent::now_in_nanoseconds);
        let saver = Saver::new(lookup, sink, &self.parameters);
        let mut walk = Walk::new(self, options, saver, watch)?;
        let roots = roots::Roots::of(&options.paths)?;
        let parent = self.parent(&host, &roots.paths())?;
        let root = walk.save_roots(&roots, parent.as_ref())?;
        let (mut report, saver) = walk.finish();
        let (mut lookup, stored) = saver.finish()?;
        report.stored_bytes = stored;
        report.lookups = lookup.counts();
        report.trace = lookup.trace.take().unwrap_or_default();
        if let Oracle::Digest(digest) = &lookup.oracle {
            report.digest_bytes = digest.size_in_bytes();
        }
        if options.dry_run {
            return Ok(report);
        }

        let snapshot = Snapshot {
            name: Name::random()?,
            time,
            host,
            paths: roots.paths(),
            tags: options.tags.clone(),
            files: report.files,
            bytes: report.bytes,
            unreadable: report.problems,
            root,
        };
        self.commit(&snapshot, &announced)?;
        report.snapshot = Some(snapshot.name.to_string());

        // What follows saves work later; the snapshot is safe without it.
        drop(announced);
        let index = &mut lookup.index;
        let merged = self.merge_runs(index);
        if let (Oracle::Digest(digest), Ok(())) = (&lookup.oracle, &merged) {
            let generation = index.generation();
            // One that was made anew is worth keeping too, even if nothing was stored.
            if generation != before || !digest.was_saved() {
                digest.save(&*self.store, &self.keys, &generation)?;
            }
        }
        merged.map(|()| report)
    }

    fn oracle(&self, asked: Asked, index: &Index) -> Result<Oracle> {
        let digest = || Digest::of(index, &*self.store, &self.keys, &self.parameters);
        Ok(match asked {
            Asked::Digest => Oracle::Digest(digest()?),
            Asked::Nothing => Oracle::Maybe,
            Asked::Erring => Oracle::Erring(digest()?, 1),
        })
    }

    pub(crate) fn sink(&self) -> Result<crate::sink::Sink> {
        crate::sink::Sink::new(&self.store, &self.keys, &self.parameters)
    }

    /// Writes the snapshot, and takes it back if we were taken for dead while we wrote it: chunks
    /// that it relies on may have been removed then.
    fn commit(&self, snapshot: &Snapshot, announced: &Announced) -> Result<()> {
        announced.confirm()?;
        snapshot.save(&*self.store, &self.keys)?;
        announced.confirm().inspect_err(|_| {
            let _ = self.store.remove(Kind::Snapshot, &snapshot.name);
        })
    }

    /// The newest snapshot of the same machine and paths.
    fn parent(&self, host: &str, paths: &[Vec<u8>]) -> Result<Option<Snapshot>> {
        let mut snapshots = self.snapshots()?;
        snapshots.retain(|snapshot| snapshot.host == host && snapshot.paths == paths);
        Ok(snapshots.pop())
    }

    /// Merges small runs of those that this backup knows, so that each is at least as large as all
    /// smaller ones together: a look-up asks few runs, and an entry is rewritten few times.
    fn merge_runs(&self, index: &mut Index) -> Result<()> {
        const FEW: usize = 4;
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
        if small.len() < FEW {
            return Ok(());
        }
        // Somebody else is at work on the index: there will be another backup.
        let Ok(_announced) = intent::maintenance(&self.store, &self.keys) else { return Ok(()) };
        // A prune since we began may have replaced some of them, even if they are still there; to
        // merge those would bring back what it has dropped.
        let current: HashSet<Name> = self.index()?.runs().iter().map(Run::name).collect();
        if !small.iter().all(|name| current.contains(name)) {
            return Ok(());
        }
        self.replace_runs(index, &small, |_| true)
    }

    /// Removes runs that others have replaced; whoever did that was cut off. It must be done before
    /// those others are replaced in turn: with them would go what says that these do not count.
    pub(crate) fn remove_replaced_runs(&self) -> Result<()> {
        self.store.remove_all(Kind::Run, self.index()?.replaced(), &|| Ok(()))
    }

    /// Writes one run in place of several, with those of their entries that are to be kept.
    /// `index` is what it was before, but for that.
    pub(crate) fn replace_runs(
        &self,
        index: &mut Index,
        names: &[Name],
        keep: impl Fn(&Entry) -> bool,
    ) -> Result<()> {
        self.remove_replaced_runs()?;
        let mut writer = RunWriter::new(&*self.store, &self.keys, names.to_vec())?;
        let chosen = index.runs().iter().enumerate();
        let chosen = chosen.filter(|(_, run)| names.contains(&run.name()));
        for entry in Merged::new(chosen) {
            let (_, _, entry) = entry?;
            let pack = index.pack(&entry.location.pack);
            let pack = pack.ok_or_else(|| Error::damaged("the index"))?;
            if keep(&entry) {
                writer.push(&entry, pack)?;
            }
        }
        let run = writer.finish()?;
        index.replace(names, run);
        self.store.remove_all(Kind::Run, names, &|| Ok(()))
    }
}
