//! Whether a repository is what it should be. Knows every kind of object and how they must fit;
//! names what is hurt and goes on. Changes nothing.

use std::collections::{HashMap, HashSet};

use crate::chunks::{Chunks, slice};
use crate::digest::{Digest, State};
use crate::error::{Error, Result};
use crate::id::Name;
use crate::index::{Index, Run};
use crate::lookup::Answer;
use crate::marks;
use crate::pack::{self, PackInfo, read_footer};
use crate::reachable::{Met, Reachable};
use crate::repository::Repository;
use crate::snapshot::Snapshot;
use crate::store::Kind;
use crate::tree::Piece;
use crate::watch::Watch;

/// What a check found.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct CheckReport {
    /// What is hurt, a line each.
    pub errors: Vec<String>,
    /// What is unusual and harmless.
    pub notes: Vec<String>,
    /// Snapshots looked at.
    pub snapshots: u64,
    /// Packs looked at.
    pub packs: u64,
    /// Entries of the index.
    pub chunks: u64,
    /// Bytes of packs that were read and opened.
    pub read_bytes: u64,
}

impl Repository {
    /// Checks that every snapshot can be restored as far as the index and the packs' footers tell;
    /// with `read_data` that every chunk has the bytes it should.
    ///
    /// # Errors
    /// Only if the repository cannot be listed; damage is in the report.
    pub fn check(&self, read_data: bool, watch: &dyn Watch) -> Result<CheckReport> {
        let runs = || -> Result<HashSet<Name>> {
            Ok(self.store.list(Kind::Run)?.into_iter().map(|(name, _)| name).collect())
        };
        // What is wanted to be known is whether the repository is sound, not its copies.
        self.store.drop_copies();
        let mut tries = 0;
        loop {
            let before = runs()?;
            let report = self.check_once(read_data, watch)?;
            tries += 1;
            // A prune beside us removes packs that we have just read of: look again.
            if report.errors.is_empty() || tries == 3 || runs()? == before {
                report.errors.iter().for_each(|what| watch.problem(what));
                return Ok(report);
            }
        }
    }

    fn check_once(&self, read_data: bool, watch: &dyn Watch) -> Result<CheckReport> {
        let mut check = Check::new(self, watch);
        // Before the index, which then has all that they need.
        let snapshots = self.store.list(Kind::Snapshot)?;
        let index = Index::of_runs(check.runs()?);
        check.report.chunks = index.len();
        for name in index.replaced() {
            check.note(format!("{} was replaced and can go", Kind::Run.describe(name)));
        }
        check.packs(&index, read_data)?;
        check.digest(&index)?;
        check.marks(&index)?;
        let mut chunks = self.chunks_of(index)?;
        check.snapshots(&mut chunks, snapshots)?;
        Ok(check.report)
    }
}

pub(crate) struct Check<'a> {
    repository: &'a Repository,
    watch: &'a dyn Watch,
    pub(crate) report: CheckReport,
    /// Runs that are not what was written.
    pub(crate) hurt_runs: Vec<Name>,
    /// Packs that are not what was written, or gone.
    pub(crate) hurt_packs: Vec<Name>,
}

impl<'a> Check<'a> {
    pub(crate) fn new(repository: &'a Repository, watch: &'a dyn Watch) -> Self {
        let report = CheckReport::default();
        Self { repository, watch, report, hurt_runs: Vec::new(), hurt_packs: Vec::new() }
    }

    fn error(&mut self, what: String) {
        self.report.errors.push(what);
    }

    fn note(&mut self, what: String) {
        self.report.notes.push(what);
    }

    fn failed(&mut self, error: Error) {
        match error {
            // Not "run check": this is it.
            Error::Damaged(what) => self.error(format!("{what} is damaged")),
            other => self.error(other.to_string()),
        }
    }

    /// The runs that are whole: each of their blocks was opened.
    pub(crate) fn runs(&mut self) -> Result<Vec<Run>> {
        let (store, keys) = (&*self.repository.store, &self.repository.keys);
        let mut runs = Vec::new();
        for (name, _) in store.list(Kind::Run)? {
            let read = || -> Result<Run> {
                let run = Run::open(store, keys, &name)?;
                let mut last = None;
                for entry in run.entries() {
                    let id = entry?.id;
                    if last.is_some_and(|last| last > id) {
                        return Err(Error::damaged(Kind::Run.describe(&name)));
                    }
                    last = Some(id);
                }
                Ok(run)
            };
            match read() {
                Ok(run) => runs.push(run),
                Err(error) => {
                    self.hurt_runs.extend(matches!(error, Error::Damaged(_)).then_some(name));
                    self.failed(error);
                }
            }
        }
        Ok(runs)
    }

    pub(crate) fn packs(&mut self, index: &Index, read_data: bool) -> Result<()> {
        let stored: HashMap<Name, u64> =
            self.repository.store.list(Kind::Pack)?.into_iter().collect();
        let mut entries: HashMap<Name, u64> = HashMap::new();
        for entry in index.entries() {
            *entries.entry(entry?.2.location.pack).or_default() += 1;
        }
        let known: HashSet<Name> = index.packs().map(|pack| pack.name).collect();
        for pack in stored.keys().filter(|pack| !known.contains(*pack)) {
            let pack = Kind::Pack.describe(pack);
            self.note(format!("{pack} is in no index (of a running or unfinished backup)"));
        }
        let mut packs: Vec<PackInfo> = index.packs().copied().collect();
        packs.sort_unstable_by_key(|pack| pack.name);
        self.watch.phase(if read_data { "reading packs" } else { "checking packs" });
        self.watch.total(packs.iter().map(|pack| pack.size).sum());
        for info in packs {
            self.report.packs += 1;
            if !stored.contains_key(&info.name) {
                self.hurt_packs.push(info.name);
                self.error(format!("{} is gone", Kind::Pack.describe(&info.name)));
            } else {
                let count = entries.get(&info.name).copied().unwrap_or_default();
                if let Err(error) = self.pack(index, &info, count, read_data) {
                    self.hurt_packs.extend(matches!(error, Error::Damaged(_)).then_some(info.name));
                    self.failed(error);
                }
            }
            self.watch.advance(info.size);
        }
        Ok(())
    }

    /// A pack's footer says what the index says, and its bytes are what the footer says.
    fn pack(&mut self, index: &Index, info: &PackInfo, count: u64, read_data: bool) -> Result<()> {
        let (store, keys) = (&*self.repository.store, &self.repository.keys);
        let hurt =
            |what: &str| Error::damaged(format!("{} ({what})", Kind::Pack.describe(&info.name)));
        let (footer, found) = read_footer(store, keys, &info.name, None)?;
        if found != *info {
            return Err(hurt("its size is not what the index says"));
        }
        let mut listed = 0;
        for (id, location) in footer.locations(info.name) {
            listed += 1;
            if index.find_where(&id, |place| *place == location)?.is_none() {
                return Err(hurt("the index does not have all of its chunks"));
            }
        }
        if listed != count {
            return Err(hurt("the index has chunks that it does not hold"));
        }
        let object = store.open(Kind::Pack, &info.name)?;
        if !footer.covers(info) || object.read_at(0, 8)? != pack::MAGIC {
            return Err(hurt("its parts do not fit together"));
        }
        if !read_data {
            return Ok(());
        }
        let mut open = pack::Decompressor::new(&self.repository.parameters)?;
        for group in &footer.groups {
            let sealed = object.read_at(group.offset.into(), group.len.into())?;
            self.report.read_bytes += sealed.len() as u64;
            let opened = open.open(keys, sealed);
            let bytes = opened.map_err(|_| hurt(&format!("the group at {}", group.offset)))?;
            let group_chunks = footer.locations(info.name);
            for (id, location) in group_chunks.filter(|(_, place)| place.group == group.offset) {
                if slice(&bytes, &location).is_none_or(|bytes| keys.chunk_id(bytes) != id) {
                    return Err(hurt(&format!("chunk {id}")));
                }
            }
        }
        Ok(())
    }

    fn digest(&mut self, index: &Index) -> Result<()> {
        let (store, keys) = (&*self.repository.store, &self.repository.keys);
        match Digest::state(store, keys, &index.generation())? {
            State::Current(_) | State::Absent => {}
            State::Stale => {
                self.note(
                    "the digest is of another generation; the next backup makes it anew".into(),
                );
            }
            State::Damaged => {
                self.error("the digest is damaged (the next backup makes it anew)".into());
            }
        }
        Ok(())
    }

    fn marks(&mut self, index: &Index) -> Result<()> {
        match marks::all(&*self.repository.store, &self.repository.keys) {
            Ok(marks) => {
                let packs: u64 = marks.iter().map(|mark| mark.packs.len() as u64).sum();
                if packs > 0 {
                    self.note(format!(
                        "{packs} of {} packs are marked to go; `prune` removes them",
                        index.packs().count()
                    ));
                }
            }
            Err(error) => self.failed(error),
        }
        Ok(())
    }

    /// Every chunk that a snapshot needs is in the index, and adds up to the size of its file.
    fn snapshots(&mut self, chunks: &mut Chunks, names: Vec<(Name, u64)>) -> Result<()> {
        let repository = self.repository;
        self.watch.phase("checking snapshots");
        self.watch.total(names.len() as u64);
        let mut reachable = Reachable::default();
        // Trees are read through one set of caches, chunks are looked for through another.
        let mut lookup = repository.chunks_of(repository.index_like(&chunks.lookup.index)?)?.lookup;
        for (name, _) in names {
            self.report.snapshots += 1;
            let snapshot = match Snapshot::load(&*repository.store, &repository.keys, &name) {
                Ok(snapshot) => snapshot,
                // Forgotten meanwhile.
                Err(error) if error.is_missing() => continue,
                Err(error) => {
                    self.failed(error);
                    continue;
                }
            };
            let mut hurt = 0;
            let visited = reachable.visit(chunks, &snapshot, &mut |met| {
                if let Met::File(node, pieces) = met {
                    let mut bytes = 0u64;
                    for piece in pieces {
                        bytes = bytes.saturating_add(match piece {
                            Piece::Hole(len) => *len,
                            Piece::Chunk(id) => match lookup.locate(id)? {
                                Answer::At(location) => location.len.into(),
                                _ => u64::MAX,
                            },
                        });
                    }
                    hurt += u64::from(bytes != node.size());
                }
                Ok(())
            });
            if hurt > 0 {
                self.error(format!("snapshot {name}: {hurt} files have lost chunks"));
            }
            if let Err(error) = visited {
                self.failed(error);
            }
            self.watch.advance(1);
        }
        Ok(())
    }
}
