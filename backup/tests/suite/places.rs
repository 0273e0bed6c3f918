//! Laws that hold in a directory, in a bucket and on a server, tested through the binary: damage is reported,
//! and forgotten data is removed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::binary::{Backend, Place, text};
use crate::trees::{self, manifest};

/// The files of a repository, relative to its root.
fn objects(place: &Place) -> Vec<PathBuf> {
    let files = manifest(&place.repo()).into_keys();
    files.filter(|name| place.repo().join(name).is_file()).collect()
}

/// Whether a restore returns everything. What it returns must be right in any case, and missing
/// files must be reported.
fn restores(place: &Place, source: &Path, what: &str) -> bool {
    let target = tempfile::tempdir_in(place.path("")).expect("a directory");
    let path = target.path().to_str().expect("text");
    let output = place.run(&["restore", "latest", "--target", path]);
    let saved = manifest(source);
    let tree = target.path().join(source.strip_prefix("/").expect("a full path"));
    let found = if tree.exists() { manifest(&tree) } else { Default::default() };
    for (name, seen) in found.iter().filter(|(_, seen)| seen.is_file()) {
        assert!(saved[name] == *seen, "{what}: {name:?} came back wrong");
    }
    match output.status.code() {
        Some(0) => assert!(found == saved, "{what}: something is missing, and nothing was said"),
        Some(2 | 3) => assert!(!output.stderr.is_empty(), "{what}"),
        code => panic!("{what}: {code:?} {}", text(&output.stderr)),
    }
    output.status.success()
}

#[test]
fn damage_is_named_and_nothing_wrong_is_restored() {
    Backend::ALL.iter().for_each(|at| damage_is_named(*at));
}

fn damage_is_named(at: Backend) {
    let (place, source) = Place::with_files(at, false, 5, 10);
    place.succeeds(&["backup", "source"]);
    assert!(restores(&place, &source, "nothing"));
    let mut random = fastrand::Rng::with_seed(6);
    for object in objects(&place) {
        let path = place.repo().join(&object);
        let whole = fs::read(&path).expect("an object");
        let mut changed = whole.clone();
        changed[random.usize(..whole.len())] ^= 1 << random.u8(0..8);
        for bytes in [&changed[..], &whole[..whole.len() - 1], &[]] {
            fs::write(&path, bytes).expect("an object");
            let what = format!("{at:?}: {} of {} bytes", object.display(), bytes.len());
            let output = place.run(&["check", "--read-data"]);
            let (code, said) = (output.status.code(), text(&output.stderr));
            assert_eq!(code, Some(1), "{what}: {said}");
            let is_config = object.starts_with("config") || object.starts_with("config.copy");
            let name = object.file_name().expect("a name").to_string_lossy();
            assert!(
                said.contains(if is_config { "configuration" } else { &*name }),
                "{what}: {said}"
            );
            restores(&place, &source, &what);
        }
        fs::write(&path, &whole).expect("an object");
    }
    place.succeeds(&["check", "--read-data"]);
    assert!(restores(&place, &source, "everything put back"));
}

#[test]
fn what_is_forgotten_goes() {
    Backend::ALL.iter().for_each(|at| what_is_forgotten_goes_at(*at));
}

fn what_is_forgotten_goes_at(at: Backend) {
    let place = Place::at(at, true);
    let source = place.path("source");
    for seed in 0..4 {
        if source.exists() {
            fs::remove_dir_all(&source).expect("a directory");
        }
        trees::files(&source, seed, 60);
        place.succeeds(&["backup", "source"]);
    }
    let before = place.json(&["stats"]);
    let report = place.json(&["forget", "--keep-last", "1", "--prune"]);
    assert_eq!(report["forgotten"].as_array().map(Vec::len), Some(3), "{report}");
    let after = place.json(&["stats"]);
    let bytes = |stats: &serde_json::Value| stats["pack_bytes"].as_u64().expect("a number");
    assert!(bytes(&after) * 3 < bytes(&before), "{before} {after}");
    assert_eq!((place.count("snapshots"), place.count("marks"), place.count("intents")), (1, 0, 0));
    let bits = |stats: &serde_json::Value| stats["filter_bytes"].as_u64().expect("a number");
    assert!(bits(&after) * 3 < bits(&before), "{before} {after}");
    place.succeeds(&["check", "--read-data"]);
    assert!(restores(&place, &source, "the last snapshot"));
}

/// The keys in a bucket are the paths in a directory, so one can be copied to the other.
#[cfg(feature = "s3")]
#[test]
fn a_copied_bucket_is_a_repository_in_a_directory() {
    let (place, _) = Place::with_files(Backend::Bucket, true, 7, 20);
    place.succeeds(&["backup", "source"]);
    let output = place.command_on(&place.repo(), &["snapshots", "--json"]).output();
    let output = output.expect("the binary runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), place.succeeds(&["snapshots", "--json"]));
}
