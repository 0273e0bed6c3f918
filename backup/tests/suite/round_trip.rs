//! Trees with unusual files, saved and restored by the binary: contents and metadata are exact.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::binary::{Backend, Place, number, text};
use crate::trees::{self, manifest};

#[test]
fn everything_comes_back_as_it_was() {
    for (at, encrypted) in Backend::ALL.iter().flat_map(|at| [(*at, false), (*at, true)]) {
        let place = Place::at(at, encrypted);
        let source = place.path("source");
        trees::hostile(&source);
        let readable = trees::is_root();
        if !readable {
            fs::set_permissions(source.join("zero"), fs::Permissions::from_mode(0o400))
                .expect("mode");
        }
        let before = manifest(&source);
        place.succeeds(&["backup", "source"]);
        let (target, restored) = place.restored("latest", &source);
        assert!(manifest(&restored) == before);
        // Files with several names, links and directories are replaced as well.
        let target = target.path().to_str().expect("text");
        place.succeeds(&["restore", "latest", "--target", target, "--overwrite"]);
        assert!(manifest(&restored) == before);
        place.is_sound();
        // Reading changed nothing.
        assert!(manifest(&source) == before);
    }
}

#[test]
fn the_second_backup_stores_next_to_nothing_and_a_changed_file_little() {
    Backend::ALL.iter().for_each(|at| the_second_backup_stores_little(*at));
}

fn the_second_backup_stores_little(at: Backend) {
    let (place, source) = Place::with_files(at, false, 1, 50);
    fs::write(source.join("large"), trees::noise(9, 4_000_000)).expect("a file");
    let first = place.json(&["backup", "source"]);
    let second = place.json(&["backup", "source"]);
    // Times of parent directories may have changed, and stamps of files have settled.
    let new = number(&second, "new_bytes");
    assert!(new < 10_000, "{second}");
    assert_eq!(first["files"], second["files"]);
    let mut bytes = fs::read(source.join("large")).expect("a file");
    bytes.insert(1_234_567, 0);
    fs::write(source.join("large"), bytes).expect("a file");
    let third = place.json(&["backup", "source"]);
    let new = number(&third, "new_bytes");
    assert!((1..100_000).contains(&new), "{third}");
}

#[test]
fn unchanged_files_are_not_read_and_changed_ones_are() {
    let (place, source) = Place::with_files(Backend::Directory, false, 2, 30);
    // Files that changed within the last two seconds are always read again.
    std::thread::sleep(std::time::Duration::from_millis(3100));
    place.succeeds(&["backup", "source"]);
    let again = place.json(&["backup", "source"]);
    assert_eq!(again["unchanged_files"], 30, "{again}");
    // Same size and same modification time: the change time reveals it.
    let path = source.join("dir1/file1");
    let time = fs::metadata(&path).expect("a file").modified().expect("a time");
    let len = fs::metadata(&path).expect("a file").len() as usize;
    fs::write(&path, trees::noise(77, len)).expect("a file");
    let file = fs::File::options().write(true).open(&path).expect("a file");
    file.set_modified(time).expect("a time");
    let before = manifest(&source);
    let third = place.json(&["backup", "source"]);
    assert_eq!(third["unchanged_files"], 29, "{third}");
    place.restores_as("latest", &source, &before, "");
    let all = place.json(&["backup", "source", "--read-all"]);
    assert_eq!(all["unchanged_files"], 0);
}

/// Unreadable files are reported, the rest is saved, and the exit code says so.
#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_saved() {
    if trees::is_root() {
        // Root can read everything except what the system itself refuses.
        let place = Place::new(false);
        let said = place.ends_with(3, &["backup", "/proc/self/mem", "/proc/self/status"]);
        assert!(said.contains("/proc/self/mem"), "{said}");
        assert!(place.succeeds(&["ls", "latest"]).contains("/status"));
        return;
    }
    let (place, source) = Place::with_files(Backend::Directory, false, 3, 10);
    let closed = |name: &str| {
        fs::set_permissions(source.join(name), fs::Permissions::from_mode(0o000)).expect("a mode");
    };
    closed("dir1/file1");
    closed("dir2");
    let problems = place.ends_with(3, &["backup", "source"]);
    assert!(problems.contains("dir1/file1") && problems.contains("dir2"), "{problems}");
    assert!(place.succeeds(&["ls", "latest"]).contains("dir3/file3"));
    fs::set_permissions(source.join("dir2"), fs::Permissions::from_mode(0o700)).expect("a mode");
}

/// Files that are rewritten, removed and replaced all the time: nothing is lost, and the snapshot
/// is intact.
#[test]
fn files_that_change_while_they_are_read_do_no_harm() {
    let (place, source) = Place::with_files(Backend::Directory, false, 4, 60);
    let steady = fs::read(source.join("dir3/file3")).expect("a file");
    let done = std::sync::atomic::AtomicBool::new(false);
    let outputs: Vec<_> = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = fastrand::Rng::with_seed(5);
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let i = random.usize(0..60);
                let path = source.join(format!("dir{}/file{i}", i % 7));
                if i == 3 {
                    continue;
                }
                match random.u8(0..4) {
                    0 => drop(fs::remove_file(&path)),
                    1 => drop(fs::remove_file(&path).and_then(|()| fs::create_dir(&path))),
                    2 => drop(fs::remove_dir(&path)),
                    _ => drop(fs::write(
                        &path,
                        trees::noise(random.u64(..), random.usize(0..90_000)),
                    )),
                }
            }
        });
        let outputs = (0..10).map(|_| place.run(&["backup", "source"])).collect();
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        outputs
    });
    for output in outputs {
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 3)), "{code:?} {}", text(&output.stderr));
    }
    place.is_sound();
    let (_kept, restored) = place.restored("latest", &source);
    assert!(fs::read(restored.join("dir3/file3")).expect("a file") == steady);
}

#[test]
fn parts_of_a_snapshot_can_be_listed_and_restored() {
    Backend::ALL.iter().for_each(|at| parts_of_a_snapshot(*at));
}

fn parts_of_a_snapshot(at: Backend) {
    let (place, source) = Place::with_files(at, false, 6, 20);
    place.succeeds(&["backup", "source"]);
    let part = source.join("dir3");
    let part = part.to_str().expect("text");
    let listed = place.succeeds(&["ls", "latest", part]);
    assert!(listed.lines().all(|line| line.starts_with(part)), "{listed}");
    assert!(listed.contains("file3") && !listed.contains("dir4"));
    place.succeeds(&["restore", "latest", "--target", "out", "--include", part]);
    let out = trees::below(&place.path("out"), &source);
    assert!(manifest(&out.join("dir3")) == manifest(&source.join("dir3")));
    assert!(!out.join("dir4").exists());
    place.refused(&["restore", "latest", "--target", "out2", "--include", "/nowhere"], "not in");
    place.refused(&["restore", "latest", "--target", "out"], "not empty");
    fs::write(out.join("dir3/file3"), "in the way").expect("a file");
    place.succeeds(&["restore", "latest", "--target", "out", "--overwrite"]);
    assert!(manifest(&out) == manifest(&source));
}

#[test]
fn chunks_may_be_of_other_sizes() {
    for size in ["1", "64", "1024"] {
        let options = ["--chunk-size", size, "--compression", "1"];
        let place = Place::with(Backend::Directory, false, &options);
        let source = place.path("source");
        trees::files(&source, 12, 20);
        fs::write(source.join("large"), trees::noise(13, 20_000_000)).expect("a file");
        place.succeeds(&["backup", "source"]);
        place.is_sound();
        place.restores(&source);
    }
    let place = Place::empty(Backend::Directory, false);
    for size in ["0", "3", "2048", "4194304"] {
        place.refused(&["init", "--no-encryption", "--chunk-size", size], "power of two");
    }
}

/// A repository below a saved path is left out: otherwise the backup would never end.
#[test]
fn a_repository_does_not_save_itself() {
    let (place, _) = Place::with_files(Backend::Directory, false, 7, 5);
    place.succeeds(&["backup", "."]);
    let listed = place.succeeds(&["ls", "latest"]);
    assert!(listed.contains("source/dir1/file1") && !listed.contains("/repo"), "{listed}");
}

#[test]
fn a_diff_names_every_change_once() {
    let (place, source) = Place::with_files(Backend::Directory, false, 8, 20);
    place.succeeds(&["backup", "source"]);
    fs::write(source.join("dir1/new"), "new").expect("a file");
    fs::write(source.join("dir1/file1"), "other").expect("a file");
    fs::remove_dir_all(source.join("dir2")).expect("a directory");
    fs::set_permissions(source.join("dir3/file3"), fs::Permissions::from_mode(0o600))
        .expect("mode");
    place.succeeds(&["backup", "source"]);
    let names = place.snapshots();
    let diff = place.succeeds(&["diff", &names[0], &names[1]]);
    let has = |sign: &str, path: &str| {
        let line = format!("{sign} {}", source.join(path).display());
        assert_eq!(diff.lines().filter(|found| *found == line).count(), 1, "{line}\n{diff}");
    };
    has("+", "dir1/new");
    has("M", "dir1/file1");
    has("-", "dir2");
    has("-", "dir2/file2");
    has("m", "dir3/file3");
    assert!(!diff.contains("dir4"));
    assert_eq!(place.succeeds(&["diff", &names[0], &names[0]]), "");
}

/// A restore writes only below its target, whatever the snapshot or the target contains.
#[test]
fn a_link_in_the_target_is_not_followed() {
    let (place, source) = Place::with_files(Backend::Directory, false, 9, 8);
    place.succeeds(&["backup", "source"]);
    let inside = trees::below(&place.path("out"), &source);
    fs::create_dir_all(&inside).expect("a directory");
    let outside = place.path("outside");
    fs::create_dir(&outside).expect("a directory");
    std::os::unix::fs::symlink(&outside, inside.join("dir1")).expect("a link");
    place.succeeds(&["restore", "latest", "--target", "out", "--overwrite"]);
    assert_eq!(fs::read_dir(&outside).expect("a directory").count(), 0);
    assert!(manifest(&inside) == manifest(&source));
    assert!(!Path::new(&inside.join("dir1")).is_symlink());
}
