//! Repositories as they were written: they must stay readable, and their contents must not be stored
//! again, so that neither reading nor writing can drift unnoticed.
//!
//! If `CUCULUS_WRITE_GOLDEN` is set, a missing repository is created. An existing one is never
//! changed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::binary::{Backend, Place, number};
use crate::trees::{manifest, noise, set_time};

const SOURCE: &str = "/tmp/cuculus-golden";

fn golden(encrypted: bool) -> PathBuf {
    let name = if encrypted { "encrypted" } else { "open" };
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1").join(name)
}

/// The tree of the first snapshot, or that of the second, which differs a little.
fn write_tree(root: &Path, second: bool) {
    fs::create_dir_all(root.join("letters/empty")).expect("a directory");
    let words: String = (0..300).map(|i| format!("line {i} of a letter\n")).collect();
    fs::write(root.join("letters/long"), words).expect("a file");
    fs::write(root.join("letters/\u{fc}ber"), "short").expect("a file");
    fs::write(root.join("nothing"), "").expect("a file");
    fs::write(root.join("noise"), noise(9, 5000 + usize::from(second))).expect("a file");
    let sparse = fs::File::create(root.join("sparse")).expect("a file");
    sparse.set_len(1 << 20).expect("a hole");
    fs::hard_link(root.join("noise"), root.join("letters/same noise")).expect("a link");
    std::os::unix::fs::symlink("letters/long", root.join("link")).expect("a link");
    if second {
        fs::write(root.join("letters/new"), "a second letter").expect("a file");
    }
    let names: Vec<PathBuf> = manifest(root).into_keys().collect();
    for (i, name) in names.iter().rev().enumerate() {
        let path = root.join(name);
        let kind = fs::symlink_metadata(&path).expect("a file").file_type();
        if !kind.is_symlink() {
            let mode = if kind.is_dir() { 0o755 } else { 0o640 };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
        }
        set_time(&path, 1_700_000_000 + i as i64, 123_456_789);
    }
}

/// A description of a repository: every snapshot, and everything in each.
fn description(place: &Place) -> String {
    let snapshots = place.json(&["snapshots"]);
    let mut text = format!("{snapshots}\n");
    for snapshot in snapshots.as_array().expect("a list") {
        text += &place.succeeds(&["ls", snapshot["name"].as_str().expect("text"), "--json"]);
    }
    text
}

/// The golden repository, and its description from when it was created.
fn checked_in(encrypted: bool) -> (PathBuf, String) {
    let repository = golden(encrypted);
    let words = repository.with_extension("txt");
    if !repository.exists() && std::env::var_os("CUCULUS_WRITE_GOLDEN").is_some() {
        make(&repository, encrypted, &words);
    }
    let text = fs::read_to_string(&words);
    (repository, text.expect("a golden repository; CUCULUS_WRITE_GOLDEN=1 makes a missing one"))
}

fn make(repository: &Path, encrypted: bool, words: &Path) {
    let place = Place::with(Backend::Directory, encrypted, &["--chunk-size", "1"]);
    for (second, time) in [(false, "2026-01-01T12:00:00Z"), (true, "2026-01-02T12:00:00Z")] {
        write_tree(Path::new(SOURCE), second);
        place.succeeds(&["backup", SOURCE, "--host", "host", "--tag", "golden", "--time", time]);
        fs::remove_dir_all(SOURCE).expect("a directory");
    }
    fs::create_dir_all(repository.parent().expect("a folder")).expect("a directory");
    let from = place.repo();
    for (name, seen) in manifest(&from).iter().filter(|(_, seen)| seen.is_file()) {
        let to = repository.join(name);
        fs::create_dir_all(to.parent().expect("a folder")).expect("a directory");
        assert_eq!(fs::copy(from.join(name), to).expect("copied"), seen.size);
    }
    fs::write(words, description(&place)).expect("a file");
}

#[test]
fn golden_repositories_are_read_as_ever() {
    for encrypted in [false, true] {
        let (repository, words) = checked_in(encrypted);
        let place = Place::with_copy(&repository, encrypted);
        place.is_sound();
        assert_eq!(description(&place), words);
        for (name, second) in place.snapshots().iter().zip([false, true]) {
            let tree = place.path(&format!("tree{second}"));
            write_tree(&tree, second);
            place.restores_as(name, Path::new(SOURCE), &manifest(&tree), "is as it was");
        }
    }
}

/// Cuts, ids and directories are as they were: the same files have the same chunks.
#[test]
fn what_a_golden_repository_holds_is_not_stored_again() {
    for encrypted in [false, true] {
        let place = Place::with_copy(&checked_in(encrypted).0, encrypted);
        let tree = place.path("tree");
        write_tree(&tree, true);
        let report = place.json(&["backup", "tree"]);
        assert_eq!(report["files"], 7, "{report}");
        // Only the parent directories of the tree and metadata are new.
        assert!(number(&report, "new_bytes") < 700, "{report}");
        place.succeeds(&["forget", "--keep-last", "1"]);
        place.succeeds(&["prune", "--max-unused", "0"]);
        place.is_sound();
        place.restores(&tree);
    }
}
