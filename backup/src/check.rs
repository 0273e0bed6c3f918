//! Verifies a repository. Knows every kind of object and how they depend on each other; reports
//! damage and goes on. Changes nothing.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use crate::chunks::{Chunks, slice};
use crate::config;
use crate::error::{Error, Result};
use crate::id::{Name, random_bytes};
use crate::index::{Entry, Index, Run};
use crate::marks;
use crate::pack::{self, PackInfo, read_footer};
use crate::progress::Progress;
use crate::reachable::{Reachable, Visited};
use crate::repository::Repository;
use crate::snapshot::Snapshot;
use crate::store::ObjectKind;

/// What a check found.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct CheckReport {
    /// The damage, one line per finding.
    pub errors: Vec<String>,
    /// Findings that are unusual and harmless.
    pub notes: Vec<String>,
    /// Snapshots checked.
    pub snapshots: u64,
    /// Packs checked.
    pub packs: u64,
    /// Entries of the index.
    pub chunks: u64,
    /// Bytes of packs that were read and verified.
    pub read_bytes: u64,
}

/// Which packs a check reads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ReadData {
    /// Only their footers.
    #[default]
    Nothing,
    /// Every byte of every pack.
    Everything,
    /// Part `part` of `of`, from 1 on: all parts together are everything.
    Part {
        /// Which part.
        part: u64,
        /// How many parts there are.
        of: u64,
    },
    /// A random choice of this fraction of the packs.
    Fraction(f64),
}

impl ReadData {
    fn chooses(self, pack: &Name) -> bool {
        let number = u64::from_le_bytes(std::array::from_fn(|i| pack.0[i]));
        match self {
            Self::Nothing => false,
            Self::Everything => true,
            Self::Part { part, of } => number % of.max(1) == part.wrapping_sub(1),
            // If the system has no random bytes, everything is read.
            Self::Fraction(fraction) => random_bytes::<4>().map_or(true, |bytes| {
                f64::from(u32::from_le_bytes(bytes)) < fraction * f64::from(u32::MAX)
            }),
        }
    }
}

impl Repository {
    /// Checks that every snapshot can be restored, as far as the index and the footers of the packs
    /// say; also that every chunk of the packs that `read_data` chooses has the right bytes.
    ///
    /// # Errors
    /// Only if the repository cannot be listed; damage is in the report.
    pub fn check(&self, read_data: ReadData, progress: &dyn Progress) -> Result<CheckReport> {
        let runs = || -> Result<HashSet<Name>> {
            Ok(self.store.names(ObjectKind::Run)?.into_iter().collect())
        };
        // The repository is to be checked, not the cache.
        self.store.clear_cache();
        let mut tries = 0;
        loop {
            let before = runs()?;
            let report = self.check_once(read_data, progress)?;
            tries += 1;
            // A concurrent prune removes packs that the index had just listed: check again.
            if report.errors.is_empty() || tries == 3 || runs()? == before {
                report.errors.iter().for_each(|what| progress.problem(what));
                return Ok(report);
            }
        }
    }

    fn check_once(&self, read_data: ReadData, progress: &dyn Progress) -> Result<CheckReport> {
        let mut check = Check::new(self, progress);
        // Snapshots before the index, which then has everything that they need.
        let snapshots = self.store.names(ObjectKind::Snapshot)?;
        let index = Index::of_runs(check.runs()?);
        check.report.chunks = index.len();
        for name in &index.replaced {
            let run = ObjectKind::Run.describe(name);
            check.note(format!("{run} was replaced and can be removed"));
        }
        check.packs(&index, read_data)?;
        check.marks(&index)?;
        check.configuration()?;
        check.missing_snapshots()?;
        let mut chunks = self.chunks_of(index)?;
        check.snapshots(&mut chunks, snapshots)?;
        Ok(check.report)
    }
}

/// The entries of one pack: their number, and the sum of their hashes under a key of this process.
/// Equal lists have equal sums, and different ones do not but for one chance in 2^64. So the index is
/// walked once, where looking up each chunk would open a sealed block for it.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Listed {
    count: u64,
    sum: u64,
}

impl Listed {
    fn add(&mut self, hash: &RandomState, entry: &Entry) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(hash.hash_one(entry));
    }
}

pub(crate) struct Check<'a> {
    repository: &'a Repository,
    progress: &'a dyn Progress,
    pub(crate) report: CheckReport,
    pub(crate) damaged_runs: Vec<Name>,
    /// Packs that are damaged or missing.
    pub(crate) damaged_packs: Vec<Name>,
}

impl<'a> Check<'a> {
    pub(crate) fn new(repository: &'a Repository, progress: &'a dyn Progress) -> Self {
        let report = CheckReport::default();
        Self { repository, progress, report, damaged_runs: Vec::new(), damaged_packs: Vec::new() }
    }

    fn error(&mut self, what: String) {
        self.report.errors.push(what);
    }

    fn note(&mut self, what: String) {
        self.report.notes.push(what);
    }

    fn failed(&mut self, error: Error) {
        match error {
            // Without the advice to run `check`.
            Error::Damaged(damage) => self.error(damage.to_string()),
            other => self.error(other.to_string()),
        }
    }

    /// The intact runs: every block was opened, and the filter has all ids.
    pub(crate) fn runs(&mut self) -> Result<Vec<Run>> {
        let (store, keys) = (&*self.repository.store, &self.repository.keys);
        let mut runs = Vec::new();
        for name in store.names(ObjectKind::Run)? {
            let read = || -> Result<Run> {
                let run = Run::open(store, keys, &name)?;
                let filter = run.stored_filter()?;
                let mut last = None;
                for entry in run.entries() {
                    let id = entry?.id;
                    if last.is_some_and(|last| last > id) || !filter.may_have(&id) {
                        return Err(Error::damaged(ObjectKind::Run, &name));
                    }
                    last = Some(id);
                }
                Ok(run)
            };
            match read() {
                Ok(run) => runs.push(run),
                Err(error) => {
                    self.damaged_runs.extend(matches!(error, Error::Damaged(_)).then_some(name));
                    self.failed(error);
                }
            }
        }
        Ok(runs)
    }

    pub(crate) fn packs(&mut self, index: &Index, read_data: ReadData) -> Result<()> {
        let stored: HashMap<Name, u64> =
            self.repository.store.list(ObjectKind::Pack)?.into_iter().collect();
        let hash = RandomState::new();
        let mut listed: HashMap<Name, Listed> = HashMap::new();
        for entry in index.entries() {
            let entry = entry?.2;
            listed.entry(entry.location.pack).or_default().add(&hash, &entry);
        }
        let known: HashSet<Name> = index.packs().map(|pack| pack.name).collect();
        for pack in stored.keys().filter(|pack| !known.contains(*pack)) {
            let pack = ObjectKind::Pack.describe(pack);
            self.note(format!(
                "{pack} is not in the index (it belongs to a running or interrupted backup)"
            ));
        }
        let mut packs: Vec<PackInfo> = index.packs().copied().collect();
        packs.sort_unstable_by_key(|pack| pack.name);
        let reads = read_data != ReadData::Nothing;
        let phase = if reads { "reading packs" } else { "checking packs" };
        self.progress.phase(phase, Some(packs.iter().map(|pack| pack.size).sum()));
        for info in packs {
            self.report.packs += 1;
            if !stored.contains_key(&info.name) {
                self.damaged_packs.push(info.name);
                self.error(format!("{} is missing", ObjectKind::Pack.describe(&info.name)));
            } else {
                let in_index = listed.get(&info.name).copied().unwrap_or_default();
                let read = read_data.chooses(&info.name);
                if let Err(error) = self.pack(&info, &hash, in_index, read) {
                    self.damaged_packs
                        .extend(matches!(error, Error::Damaged(_)).then_some(info.name));
                    self.failed(error);
                }
            }
            self.progress.advance(info.size);
        }
        Ok(())
    }

    /// The footer of a pack must match the index, and with `read_data` its bytes the footer.
    fn pack(
        &mut self,
        info: &PackInfo,
        hash: &RandomState,
        in_index: Listed,
        read_data: bool,
    ) -> Result<()> {
        let (store, keys) = (&*self.repository.store, &self.repository.keys);
        let damaged = |what: &str| Error::damaged(ObjectKind::Pack, &info.name).with_detail(what);
        let (footer, found) = read_footer(store, keys, &info.name, None)?;
        if found != *info {
            return Err(damaged("its size is not what the index says"));
        }
        let mut in_footer = Listed::default();
        for (id, location) in footer.locations(info.name) {
            in_footer.add(hash, &Entry { id, location });
        }
        if in_footer != in_index {
            let missing = in_footer.count > in_index.count;
            return Err(damaged(if missing {
                "the index does not have all of its chunks"
            } else {
                "the index lists chunks that it does not contain"
            }));
        }
        let object = store.open(ObjectKind::Pack, &info.name)?;
        if !footer.covers(info) || object.read_at(0, 8)? != pack::MAGIC {
            return Err(damaged("its parts do not fit together"));
        }
        if !read_data {
            return Ok(());
        }
        let mut open = pack::Decompressor::new(&self.repository.parameters)?;
        for group in &footer.groups {
            let sealed = object.read_at(group.offset.into(), group.len.into())?;
            self.report.read_bytes += sealed.len() as u64;
            let opened = open.open(keys, sealed);
            let bytes =
                opened.map_err(|_| damaged(&format!("the group at offset {}", group.offset)))?;
            for (id, location) in group.locations(info.name) {
                if slice(&bytes, &location).is_none_or(|bytes| keys.chunk_id(bytes) != id) {
                    return Err(damaged(&format!("chunk {id}")));
                }
            }
        }
        Ok(())
    }

    fn configuration(&mut self) -> Result<()> {
        let repository = self.repository;
        for kind in config::damaged_copies(&*repository.store, &repository.config)? {
            let what = kind.noun();
            self.error(format!("the {what} is damaged or missing (`repair` replaces it)"));
        }
        Ok(())
    }

    /// Snapshots that this machine has seen and that somebody without the key has removed.
    fn missing_snapshots(&mut self) -> Result<()> {
        for name in self.repository.missing_snapshots(false)? {
            self.error(format!(
                "snapshot {name} was here and is gone, and nobody with the key has forgotten it: \
                 the repository may have been rolled back (--accept-missing-snapshots accepts it)"
            ));
        }
        Ok(())
    }

    fn marks(&mut self, index: &Index) -> Result<()> {
        match marks::all(&*self.repository.store, &self.repository.keys) {
            Ok(marks) => {
                let packs: u64 = marks.iter().map(|mark| mark.packs.len() as u64).sum();
                if packs > 0 {
                    self.note(format!(
                        "{packs} of {} packs are marked for removal; `prune` removes them",
                        index.packs().count()
                    ));
                }
            }
            Err(error) => self.failed(error),
        }
        Ok(())
    }

    /// Every chunk that a snapshot needs is in the index, and the chunks of each file add up to its
    /// size.
    fn snapshots(&mut self, chunks: &mut Chunks, names: Vec<Name>) -> Result<()> {
        let repository = self.repository;
        self.progress.phase("checking snapshots", Some(names.len() as u64));
        let mut reachable = Reachable::default();
        // Trees are read through one set of caches, chunks are looked up through another.
        let mut lookup = repository.chunks_of(chunks.lookup.index.twin())?.lookup;
        for name in names {
            self.report.snapshots += 1;
            let snapshot = match Snapshot::load(&*repository.store, &repository.keys, &name) {
                Ok(snapshot) => snapshot,
                // Forgotten since it was listed.
                Err(error) if error.is_missing() => continue,
                Err(error) => {
                    self.failed(error);
                    continue;
                }
            };
            let mut damaged = 0;
            // Whether the file whose chunks are passing is whole.
            let mut whole = true;
            let visited = reachable.visit(chunks, &snapshot, &mut |item| {
                match item {
                    Visited::Tree(_) => {}
                    Visited::Data { id, len } => match lookup.locate(id)? {
                        Some(location) if u64::from(location.len) == len => {}
                        _ => whole = false,
                    },
                    Visited::Unreadable(_) => whole = false,
                    Visited::File { node, bytes } => {
                        damaged += u64::from(!whole || bytes != node.size());
                        whole = true;
                    }
                }
                Ok(())
            });
            if damaged > 0 {
                self.error(format!("snapshot {name}: {damaged} files have lost chunks"));
            }
            if let Err(error) = visited {
                self.failed(error);
            }
            self.progress.advance(1);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backup::BackupOptions;
    use crate::config::Parameters;
    use crate::index::RunWriter;

    /// Whatever differs between the index and the list of a pack is noticed without reading the pack.
    #[test]
    fn an_index_that_is_not_what_a_pack_lists_is_noticed() {
        let dir = tempfile::tempdir().expect("a directory");
        let (location, source) = (dir.path().join("repository"), dir.path().join("source"));
        crate::trees::files(&source, 1, 20);
        Repository::create(&location, &Parameters::default(), None).expect("made");
        let repository = Repository::open(&location, None).expect("opened");
        let options = BackupOptions { paths: vec![source], ..Default::default() };
        repository.backup(&options, &()).expect("saved");
        let index = repository.index().expect("an index");
        let entries: Vec<Entry> = index.entries().map(|entry| entry.expect("an entry").2).collect();
        let errors_with = |entries: &[Entry]| {
            let (store, keys) = (&*repository.store, &repository.keys);
            let now = repository.index().expect("an index");
            let gone = now.runs().iter().map(Run::name).collect();
            let mut run = RunWriter::new(store, keys, gone, entries.len() as u64).expect("a run");
            for entry in entries {
                run.push(entry, index.pack(&entry.location.pack).expect("a pack")).expect("added");
            }
            run.finish().expect("written");
            repository.check(ReadData::Nothing, &()).expect("checked").errors
        };
        assert_eq!(errors_with(&entries), Vec::<String>::new());
        let last = entries.len() - 1;
        let missing = errors_with(&entries[..last]);
        assert!(missing.iter().any(|line| line.contains("does not have all")), "{missing:?}");
        let twice = [&entries[..], &entries[last..]].concat();
        let of_another = [&entries[..last], &entries[last - 1..last]].concat();
        let mut moved = entries.clone();
        moved[0].location.offset += 1;
        let mut longer = entries.clone();
        longer[0].location.group_len += 1;
        for wrong in [twice, of_another, moved, longer] {
            let errors = errors_with(&wrong);
            assert!(errors.iter().any(|line| line.contains("lists chunks")), "{errors:?}");
        }
    }
}
