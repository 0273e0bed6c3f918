//! A repository in a bucket: error messages, how many requests are sent, and what happens if the
//! server fails or the cache is damaged.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::binary::{Backend, Place, is_refused};
use crate::{places, trees};

#[test]
fn what_is_wrong_on_the_way_is_said_in_one_line() {
    let place = Place::at(Backend::Bucket, false);
    for (repo, hint) in [
        ("s3://bucket/elsewhere", "init"),
        ("s3://missing/repo", "no such bucket"),
        ("s3:///repo", "s3://BUCKET/PREFIX"),
        ("s3://bucket/a//b", "s3://BUCKET/PREFIX"),
    ] {
        is_refused(&mut place.command_on(Path::new(repo), &["snapshots"]), hint);
    }
    for (variable, value, hint) in [
        ("AWS_SECRET_ACCESS_KEY", "wrong", "AWS_SECRET_ACCESS_KEY"),
        ("AWS_ACCESS_KEY_ID", "nobody", "AWS_ACCESS_KEY_ID"),
        ("AWS_ALLOW_HTTP", "false", "AWS_ALLOW_HTTP"),
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:1", "no connection to http://127.0.0.1:1"),
        ("AWS_ENDPOINT_URL", "http://no address", "AWS_"),
        ("XDG_CACHE_HOME", "/proc/none", "--cache-dir"),
    ] {
        is_refused(place.command(&["snapshots"]).env(variable, value), hint);
    }
    place.refused(&["init", "--no-encryption"], "not empty");
}

/// Files in the cache of the only repository.
fn copies(place: &Place, kind: &str) -> Vec<PathBuf> {
    let cache = place.path("cache/cuculus-backup");
    let repositories = fs::read_dir(cache).expect("a folder");
    let folders = repositories.map(|entry| entry.expect("an entry").path());
    let folders: Vec<_> = folders.filter(|path| !path.ends_with("pins")).collect();
    assert_eq!(folders.len(), 1);
    let mode = fs::metadata(&folders[0]).expect("a folder").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let files = fs::read_dir(folders[0].join(kind)).expect("a folder");
    files.map(|entry| entry.expect("an entry").path()).collect()
}

fn names(files: &[PathBuf]) -> Vec<String> {
    let name = |path: &PathBuf| path.file_name().expect("a name").to_string_lossy().into_owned();
    let mut names: Vec<String> = files.iter().map(name).collect();
    names.sort();
    names
}

fn stored(place: &Place, kind: &str) -> Vec<String> {
    let files = fs::read_dir(place.repo().join(kind)).expect("a folder");
    names(&files.map(|entry| entry.expect("an entry").path()).collect::<Vec<_>>())
}

/// The number of requests of a backup of one unchanged file.
fn requests_of_an_unchanged_backup(len: usize) -> u64 {
    let (mut place, _) = Place::with_noise(Backend::Bucket, false, len);
    // Parent directories are saved too, and others may change them at any time.
    for _ in 0..50 {
        place.server().take_requests();
        let report = place.json(&["backup", "source", "--read-all"]);
        let requests = place.server().take_requests();
        if report["new_chunks"] == 0 {
            println!("{requests} requests for {} look-ups", report["lookups"]["total"]);
            return requests;
        }
    }
    panic!("something changes all the time");
}

#[test]
fn an_unchanged_backup_takes_few_requests_however_many_chunks_there_are() {
    let [few, many] = [100_000, 20_000_000].map(requests_of_an_unchanged_backup);
    // One footer per pack, of which the larger repository has three with data and one with lists,
    // and a group of lists.
    assert!(few <= 25 && many <= few + 6, "{few}, {many}");
}

/// The cache matches the repository, after a backup here and after work on another machine.
#[test]
fn copies_follow_the_repository() {
    let (place, source) = Place::with_files(Backend::Bucket, true, 1, 20);
    for seed in 0..3 {
        place.succeeds(&["backup", "source"]);
        trees::change(&source, seed);
    }
    let same = |place: &Place| {
        for kind in ["index", "snapshots"] {
            assert_eq!(names(&copies(place, kind)), stored(place, kind), "{kind}");
        }
        assert_eq!(copies(place, "tmp").len(), 0);
    };
    same(&place);
    // Another machine has its own cache.
    let elsewhere = place.path("elsewhere");
    let elsewhere = elsewhere.to_str().expect("text");
    place.succeeds(&["--cache-dir", elsewhere, "forget", "--keep-last", "1"]);
    place.succeeds(&["--cache-dir", elsewhere, "prune", "--max-unused", "0"]);
    place.succeeds(&["backup", "source"]);
    same(&place);
    // Without a cache everything is fetched again.
    fs::remove_dir_all(place.path("cache")).expect("a directory");
    place.restores(&source);
    assert_eq!(names(&copies(&place, "index")), stored(&place, "index"));
}

/// Changed bytes in the cache are noticed, and the object is fetched again.
#[test]
fn a_damaged_copy_is_thrown_away() {
    for encrypted in [false, true] {
        let (place, source) = Place::with_files(Backend::Bucket, encrypted, 2, 20);
        place.succeeds(&["backup", "source"]);
        let mut random = fastrand::Rng::with_seed(2);
        for kind in ["index", "snapshots"] {
            let [copy] = &copies(&place, kind)[..] else { panic!("one {kind}") };
            let good = fs::read(copy).expect("a copy");
            let mut changes = vec![vec![], good[..good.len() / 2].to_vec(), good[1..].to_vec()];
            for _ in 0..3 {
                let mut bytes = good.clone();
                bytes[random.usize(..good.len())] ^= 1 << random.u8(0..8);
                changes.push(bytes);
            }
            for bytes in changes {
                fs::write(copy, &bytes).expect("a copy");
                let report = place.json(&["stats"]);
                assert_eq!(report["chunks"], report["distinct_chunks"], "{kind}: {report}");
                place.restores(&source);
                // Only what was read was verified.
                if fs::read(copy).expect("a copy") != good {
                    place.succeeds(&["backup", "source", "--dry-run", "--read-all"]);
                }
            }
        }
        place.is_sound();
    }
}

/// The cache does not hide damage in the repository from `check`.
#[test]
fn a_check_looks_at_the_bucket_and_not_at_copies() {
    let (place, _) = Place::with_files(Backend::Bucket, false, 3, 20);
    place.succeeds(&["backup", "source"]);
    let [run] = &stored(&place, "index")[..] else { panic!("one run") };
    trees::flip(&place.repo().join("index").join(run), 100);
    let said = place.ends_with(1, &["check"]);
    assert!(said.contains(run), "{said}");
}

/// The server dies during a backup: one line, and the next attempt goes on.
#[test]
fn a_server_that_dies_costs_no_more_than_this_attempt() {
    let (mut place, source) = Place::with_noise(Backend::Bucket, false, 30_000_000);
    let mut running = place.start_until_a_pack();
    place.server().stop();
    running.is_refused("no connection to http://127.0.0.1");
    place.refused(&["snapshots"], "no connection");
    place.server().resume();
    let report = places::another_attempt_goes_on(&place, &source);
    assert_eq!(report["removed_chunks"], 0, "{report}");
}
