//! Wrong answers of the filters and the cache: nothing is lost, whatever they say.

use std::path::{Path, PathBuf};

use cuculus_backup::{
    BackupOptions, BackupReport, FilterMode, GroupBy, Keep, LookupOptions, Parameters,
    PruneOptions, ReadData, Repository, RestoreOptions, SnapshotFilter,
};

use crate::trees::{self, manifest};

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

    fn backup(&self, filters: FilterMode, cached_chunks: usize) -> BackupReport {
        let lookup = LookupOptions { filters, cached_chunks, trace: true };
        let paths = vec![self.source()];
        let options = BackupOptions { paths, lookup, read_all: true, ..Default::default() };
        let report = self.repository.backup(&options, &()).expect("saved");
        assert_eq!(report.trace.len() as u64, report.lookups.total);
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
    for (filters, cached) in [
        (FilterMode::AlwaysMaybe, 0),
        (FilterMode::Normal, 0),
        (FilterMode::AlwaysMaybe, CACHE),
        (FilterMode::Normal, CACHE),
    ] {
        let versions = Versions::new();
        for seed in 0..4 {
            versions.backup(filters, cached);
            trees::change(&versions.source(), seed);
        }
        let last = versions.backup(filters, cached);
        let stats = versions.repository.stats().expect("read");
        assert_eq!(stats.chunks, stats.distinct_chunks);
        let lookups = last.lookups;
        let answered = lookups.from_cache + lookups.from_filters + lookups.from_index;
        assert_eq!(lookups.total, answered);
        match (filters, cached) {
            (FilterMode::AlwaysMaybe, 0) => assert_eq!(lookups.from_index, lookups.total),
            (FilterMode::Normal, 0) => assert!(lookups.from_filters > 0 && lookups.from_cache == 0),
            (FilterMode::AlwaysMaybe, _) => assert!(lookups.from_cache > 3 * lookups.from_index),
            _ => assert!(lookups.from_index * 20 < lookups.total, "{lookups:?}"),
        }
        versions.restores("latest");
        versions.is_sound();
    }
}

/// Answering "maybe" for every chunk only costs time.
#[test]
fn filters_that_say_maybe_to_everything_lose_nothing() {
    let versions = Versions::new();
    versions.backup(FilterMode::AlwaysMaybe, 0);
    let again = versions.backup(FilterMode::AlwaysMaybe, 0);
    // Stamps of files have settled, and parent directories may have other times.
    assert!(again.new_bytes < 20_000, "{again:?}");
    trees::change(&versions.source(), 5);
    let third = versions.backup(FilterMode::AlwaysMaybe, 0);
    assert!(third.new_chunks > 0 && third.lookups.false_positives == third.new_chunks);
    versions.restores("latest");
    versions.is_sound();
}

/// Wrong half of the time: a wrong "maybe" costs a look-up, a wrong "no" a second copy.
#[test]
fn filters_that_err_half_of_the_time_lose_nothing() {
    let versions = Versions::new();
    let first = versions.backup(FilterMode::RandomErrors, 0);
    let again = versions.backup(FilterMode::RandomErrors, 0);
    let share = again.new_chunks as f64 / first.new_chunks as f64;
    assert!((0.3..0.7).contains(&share), "{share}");
    trees::change(&versions.source(), 5);
    versions.backup(FilterMode::RandomErrors, 0);
    versions.restores("latest");
    versions.is_sound();
    // The second copies are removed.
    versions.backup(FilterMode::Normal, 0);
    versions.forget_all_but_one();
    let options = PruneOptions { max_unused: Some(0.0), dry_run: false };
    let pruned = versions.repository.prune(&options, &()).expect("pruned");
    assert!(pruned.unused_bytes > 0);
    let stats = versions.repository.stats().expect("read");
    assert_eq!(stats.chunks, stats.distinct_chunks, "each chunk is stored once");
    versions.restores("latest");
    versions.is_sound();
}

fn run_files(path: &Path) -> usize {
    std::fs::read_dir(path.join("repo/index")).expect("a folder").count()
}

/// Old versions leave packs, index and filters, and memory is freed.
#[test]
fn what_is_eliminated_leaves_the_filters_too() {
    let versions = Versions::new();
    let source = versions.source();
    for seed in 0..8 {
        std::fs::remove_dir_all(&source).expect("a directory");
        trees::files(&source, seed, 200);
        versions.backup(FilterMode::Normal, CACHE);
        assert!(run_files(versions.dir.path()) <= 6, "runs are merged");
    }
    let before = versions.repository.stats().expect("read");
    versions.forget_all_but_one();
    let options = PruneOptions { max_unused: Some(0.0), dry_run: false };
    let dry = PruneOptions { dry_run: true, ..options };
    let planned = versions.repository.prune(&dry, &()).expect("planned");
    assert_eq!(versions.repository.stats().expect("read").packs, before.packs);
    let pruned = versions.repository.prune(&options, &()).expect("pruned");
    assert_eq!(planned.unused_bytes, pruned.unused_bytes);
    let after = versions.repository.stats().expect("read");
    let ratio = after.chunk_bytes as f64 / before.chunk_bytes as f64;
    assert!((0.1..0.16).contains(&ratio), "{ratio}");
    assert!(after.pack_bytes < before.pack_bytes / 5);
    assert_eq!(before.chunks - after.chunks, pruned.removed_chunks);
    let (small, large) = (after.filter_bytes, before.filter_bytes);
    assert!(small < large / 4, "{small} of {large}");
    versions.restores("latest");
    versions.is_sound();
    let again = versions.repository.prune(&options, &()).expect("pruned");
    assert_eq!((again.unused_bytes, again.freed_bytes), (0, 0));
}
