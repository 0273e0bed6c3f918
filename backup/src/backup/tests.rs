//! Wrong answers of the filters and the cache: nothing is lost, whatever they say.

use std::path::PathBuf;

use super::{BackupOptions, BackupReport, Filters, LookupSettings};
use crate::trees::{self, manifest};
use crate::{
    GroupBy, Keep, Parameters, PruneOptions, ReadData, Repository, RestoreOptions, SnapshotFilter,
};

struct Versions {
    dir: tempfile::TempDir,
    repository: Repository,
}

impl Versions {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let repo = dir.path().join("repo");
        Repository::create(&repo, &Parameters::default(), None).expect("made");
        let repository = Repository::open(&repo, None).expect("opened");
        trees::files(&dir.path().join("source"), 1, 120);
        Self { dir, repository }
    }

    fn source(&self) -> PathBuf {
        self.dir.path().join("source")
    }

    fn backup(&self, filters: Filters, cached_chunks: usize) -> BackupReport {
        let settings = LookupSettings { filters, cached_chunks, trace: true };
        let paths = vec![self.source()];
        let options = BackupOptions { paths, read_all: true, ..Default::default() };
        let saved = self.repository.backup_with(&options, &settings, &());
        let (report, trace) = saved.expect("saved");
        assert_eq!(trace.len() as u64, report.lookups.total);
        report
    }

    fn restores(&self, name: &str) {
        let target = tempfile::tempdir_in(self.dir.path()).expect("a directory");
        let snapshot = self.repository.snapshot(name).expect("a snapshot");
        let options = RestoreOptions { target: target.path().into(), ..Default::default() };
        let report = self.repository.restore(&snapshot, &options, &()).expect("restored");
        assert_eq!(report.problems, 0);
        let source = self.source();
        let tree = target.path().join(source.strip_prefix("/").expect("a full path"));
        assert!(manifest(&tree) == manifest(&source));
    }

    fn forget_all_but_one(&self) {
        let keep = Keep { last: 1, ..Keep::default() };
        let all = SnapshotFilter::default();
        let forgot = self.repository.forget(&[], &keep, &all, GroupBy::default(), false);
        forgot.expect("forgot");
    }

    fn is_sound(&self) {
        let report = self.repository.check(ReadData::Everything, &()).expect("checked");
        assert!(report.errors.is_empty(), "{:?}", report.errors);
    }
}

const CACHE: usize = 100_000;

#[test]
fn every_chunk_is_stored_once_whatever_helps() {
    for (filters, cached) in
        [(Filters::Off, 0), (Filters::On, 0), (Filters::Off, CACHE), (Filters::On, CACHE)]
    {
        let versions = Versions::new();
        for seed in 0..4 {
            versions.backup(filters, cached);
            trees::change(&versions.source(), seed);
        }
        let last = versions.backup(filters, cached);
        let again = versions.backup(filters, cached);
        // Stamps of files have settled, and parent directories may have other times.
        assert!(again.new_bytes < 20_000, "{again:?}");
        let stats = versions.repository.stats().expect("read");
        assert_eq!(stats.chunks, stats.distinct_chunks);
        let lookups = last.lookups;
        let answered = lookups.from_cache + lookups.from_filters + lookups.from_index;
        assert_eq!(lookups.total, answered);
        match (filters, cached) {
            // As if a filter said "maybe" to every chunk: that only costs time.
            (Filters::Off, 0) => {
                assert_eq!(lookups.from_index, lookups.total);
                assert!(last.new_chunks > 0 && lookups.false_positives == last.new_chunks);
            }
            (Filters::On, 0) => assert!(lookups.from_filters > 0 && lookups.from_cache == 0),
            (Filters::Off, _) => assert!(lookups.from_cache > 3 * lookups.from_index),
            _ => assert!(lookups.from_index * 20 < lookups.total, "{lookups:?}"),
        }
        versions.restores("latest");
        versions.is_sound();
    }
}

/// A wrong "no" costs a second copy.
#[test]
fn filters_that_say_no_to_half_of_what_is_stored_lose_nothing() {
    let versions = Versions::new();
    let first = versions.backup(Filters::Spoiled, 0);
    let again = versions.backup(Filters::Spoiled, 0);
    let share = again.new_chunks as f64 / first.new_chunks as f64;
    assert!((0.3..0.7).contains(&share), "{share}");
    trees::change(&versions.source(), 5);
    versions.backup(Filters::Spoiled, 0);
    versions.restores("latest");
    versions.is_sound();
    // The second copies are removed.
    versions.backup(Filters::On, 0);
    versions.forget_all_but_one();
    let options = PruneOptions { max_unused: Some(0.0), dry_run: false };
    let pruned = versions.repository.prune(&options, &()).expect("pruned");
    assert!(pruned.unused_bytes > 0);
    let stats = versions.repository.stats().expect("read");
    assert_eq!(stats.chunks, stats.distinct_chunks, "each chunk is stored once");
    versions.restores("latest");
    versions.is_sound();
}

/// Files have other chunk ids in each repository: even files that are too short to
/// be cut, so that their chunks are the same bytes in both.
#[test]
fn known_files_have_other_ids_in_each_repository() {
    let dir = tempfile::tempdir().expect("a directory");
    let source = dir.path().join("source");
    trees::files(&source, 1, 10);
    for number in 0..10 {
        let path = source.join(format!("short{number}"));
        std::fs::write(path, trees::noise(number, 500)).expect("a file");
    }
    let ids = |name: &str| {
        let (kdf_memory_kib, kdf_passes) = (19 * 1024, 2);
        let parameters = Parameters { kdf_memory_kib, kdf_passes, ..Parameters::default() };
        let repo = dir.path().join(name);
        Repository::create(&repo, &parameters, Some("a passphrase")).expect("made");
        let repository = Repository::open(&repo, Some("a passphrase")).expect("opened");
        let settings = LookupSettings { cached_chunks: 0, trace: true, ..Default::default() };
        let options = BackupOptions { paths: vec![source.clone()], ..Default::default() };
        repository.backup_with(&options, &settings, &()).expect("saved").1
    };
    let (one, other) = (ids("one"), ids("other"));
    assert!(one.len() > 30);
    assert!(one.iter().all(|id| !other.contains(id)));
}
