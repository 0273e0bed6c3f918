//! Nothing good is destroyed: a restore keeps what it cannot replace, a repository survives the loss
//! of its configuration, and a backup relies only on what is there and reports only what it can find.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::binary::{Backend, Place, text};
use crate::trees::{self, manifest};

/// A file that cannot be restored does not take the place of the one that is there.
#[test]
fn a_restore_that_fails_leaves_the_old_file() {
    for encrypted in [false, true] {
        let (place, source) = Place::with_files(Backend::Directory, encrypted, 1, 30);
        place.succeeds(&["backup", "source"]);
        place.succeeds(&["restore", "latest", "--target", "out"]);
        let out = trees::below(&place.path("out"), &source);
        for i in 0..30 {
            fs::write(out.join(format!("dir{}/file{i}", i % 7)), "older").expect("a file");
        }
        let pack = &place.objects("packs")[0];
        let mut bytes = fs::read(pack).expect("a pack");
        let half = bytes.len() / 2;
        bytes[half..half + 20].fill(7);
        fs::write(pack, bytes).expect("a pack");
        place.ends_with(3, &["restore", "latest", "--target", "out", "--overwrite"]);
        let (saved, found) = (manifest(&source), manifest(&out));
        let mut kept = 0;
        for (name, seen) in saved.iter().filter(|(_, seen)| seen.is_file()) {
            let path = out.join(name);
            let is_old = fs::read(&path).expect("the file is still there") == b"older";
            assert!(is_old || found[name] == *seen, "{name:?}");
            kept += u64::from(is_old);
        }
        assert!(kept > 0, "nothing was damaged");
        // Nothing is left beside.
        assert!(saved.keys().eq(found.keys()));
    }
}

/// A large file is restored in parts by several threads: all of them, with its holes and metadata, or
/// nothing.
#[test]
fn a_large_file_is_restored_whole_or_not_at_all() {
    let place = Place::new(true);
    let source = place.path("source");
    fs::create_dir(&source).expect("a directory");
    // Holes in the middle and at the end, and parts that differ from all others.
    let large = fs::File::create(source.join("large")).expect("a file");
    let million = 1_000_000;
    for (seed, millions, at) in [(1, 8, 0), (2, 5, 17), (3, 7, 40)] {
        let bytes = trees::noise(seed, millions * million);
        large.write_all_at(&bytes, at * million as u64).expect("written");
    }
    large.set_len(55 * million as u64).expect("a hole at the end");
    large.set_permissions(fs::Permissions::from_mode(0o640)).expect("a mode");
    fs::write(source.join("small"), "small").expect("a file");
    fs::set_permissions(&source, fs::Permissions::from_mode(0o750)).expect("a mode");
    place.succeeds(&["backup", "source"]);
    let out = trees::below(&place.path("out"), &source);
    for round in 0..2 {
        place.succeeds(&["restore", "latest", "--target", "out", "--overwrite"]);
        assert!(manifest(&out) == manifest(&source), "round {round}");
    }
    // Any part of it.
    let pack = &place.objects("packs")[0];
    let whole = fs::read(pack).expect("a pack");
    for at in [100, whole.len() / 3, whole.len() / 2] {
        fs::write(pack, &whole).expect("a pack");
        trees::flip(pack, at);
        fs::write(out.join("large"), "older").expect("a file");
        let said = place.ends_with(3, &["restore", "latest", "--target", "out", "--overwrite"]);
        assert_eq!(said.matches("out/").count(), 1, "named once: {said}");
        assert_eq!(fs::read(out.join("large")).expect("a file"), b"older");
        assert_eq!(fs::read_dir(&out).expect("a directory").count(), 2, "something is left beside");
        place.ends_with(3, &["restore", "latest", "--target", "new"]);
        let new = trees::below(&place.path("new"), &source);
        assert!(!new.join("large").exists() && new.join("small").exists());
        fs::remove_dir_all(place.path("new")).expect("a directory");
    }
}

/// One copy of the configuration is enough; without any, the keys have what was in it.
#[test]
fn a_damaged_configuration_is_rebuilt() {
    let (place, source) = Place::with_files(Backend::Directory, true, 2, 10);
    place.succeeds(&["backup", "source"]);
    let copies = ["config", "config.copy"].map(|name| place.repo().join(name));
    let spoil = |path: &PathBuf, how: u8| match how {
        0 => fs::remove_file(path).expect("a file"),
        1 => fs::write(path, "").expect("a file"),
        // In what is sealed, or in the salt of the header.
        2 => trees::flip(path, fs::metadata(path).expect("a file").len() as usize - 5),
        _ => trees::flip(path, 20),
    };
    for (first, second) in [
        (Some(0), None),
        (Some(1), None),
        (Some(2), None),
        (None, Some(0)),
        (Some(0), Some(0)),
        (Some(1), Some(0)),
        (Some(1), Some(1)),
        (Some(2), Some(2)),
        (Some(2), Some(3)),
        (Some(3), Some(2)),
        (Some(3), Some(1)),
        (Some(3), Some(0)),
        (Some(0), Some(2)),
    ] {
        for (path, how) in copies.iter().zip([first, second]) {
            how.into_iter().for_each(|how| spoil(path, how));
        }
        let output = place.run(&["snapshots"]);
        let said = text(&output.stderr);
        assert!(output.status.success() && said.contains("`cuculus-backup repair`"), "{said}");
        place.ends_with(1, &["check"]);
        place.restores(&source);
        place.succeeds(&["repair"]);
        let [one, other] = copies.each_ref().map(|path| fs::read(path).expect("a file"));
        assert!(one == other && one.len() > 50);
        place.succeeds(&["check"]);
    }
    // A repository that has lost everything else is not taken for an empty place.
    for path in &copies {
        fs::remove_file(path).expect("a file");
    }
    fs::remove_dir_all(place.repo().join("keys")).expect("a folder");
    place.refused(&["init"], "not empty");
    place.refused(&["snapshots"], "not a repository");
}

/// A pack that is gone is noticed at once, and what it held is stored again.
#[test]
fn a_backup_does_not_rely_on_a_pack_that_is_gone() {
    for at in Backend::ALL {
        let (place, source) = Place::with_files(*at, true, 3, 40);
        std::thread::sleep(Duration::from_millis(3100));
        place.succeeds(&["backup", "source"]);
        let pack = &place.objects("packs")[0];
        let name = pack.file_name().expect("a name").to_string_lossy().into_owned();
        fs::remove_file(pack).expect("a pack");
        let output = place.run(&["backup", "source", "--json"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains(&name), "{}", text(&output.stderr));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!((&report["missing_packs"], &report["unchanged_files"]), (&1.into(), &0.into()));
        place.restores(&source);
        // A prune keeps the copy that is there, and drops what the index says of the other.
        place.succeeds(&["forget", "--keep-last", "1"]);
        place.succeeds(&["prune", "--max-unused", "0"]);
        place.is_sound();
        place.restores(&source);
    }
}

/// What only a missing pack held is missed by a prune, which then removes nothing.
#[test]
fn a_prune_does_not_count_on_a_pack_that_is_gone() {
    let (place, _) = Place::with_files(Backend::Directory, true, 6, 20);
    place.succeeds(&["backup", "source"]);
    let before = place.objects("packs");
    fs::remove_file(&before[0]).expect("a pack");
    place.refused(&["prune", "--max-unused", "0"], "nothing was removed");
    assert_eq!(place.objects("packs"), before[1..]);
}

/// A disk that confirms writes and loses them: the backup fails, and leaves no snapshot.
#[test]
fn a_backup_that_cannot_find_what_it_wrote_fails() {
    let (place, _) = Place::with_noise(Backend::Directory, false, 40_000_000);
    let done = AtomicBool::new(false);
    let output = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                if let Some(pack) = packs_if_any(&place) {
                    let _ = fs::remove_file(pack);
                    return;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let output = place.run(&["backup", "source"]);
        done.store(true, Ordering::Relaxed);
        output
    });
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("cannot be found"), "{}", text(&output.stderr));
    assert_eq!(place.count("snapshots"), 0);
}

fn packs_if_any(place: &Place) -> Option<PathBuf> {
    let folders = fs::read_dir(place.repo().join("packs")).ok()?.flatten();
    let mut files = folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten());
    files.next()?.ok().map(|file| file.path())
}

/// `unlock` shows who is at work, and removes what it is told to; the process notices.
#[test]
fn a_lock_can_be_shown_and_removed() {
    let (place, _) = Place::with_files(Backend::Directory, true, 5, 400);
    assert!(place.succeeds(&["unlock"]).contains("no locks"));
    let mut running = place.start(&["backup", "source"]);
    place.wait_for_intent(&mut running);
    running.stop();
    let locks = place.json(&["unlock"]);
    let lock = &locks["locks"][0];
    assert_eq!((&lock["work"], &lock["counts"]), (&"backup".into(), &true.into()), "{locks}");
    assert_eq!(lock["process"], running.id());
    place.refused(&["unlock", "nothing"], "there is no lock \"nothing\"; `cuculus-backup unlock`");
    let name = lock["name"].as_str().expect("text").to_owned();
    assert!(place.succeeds(&["unlock", &name[..8]]).contains("removed"));
    running.go_on();
    running.is_refused("declared it dead");
    assert_eq!(place.count("snapshots"), 0);
    // What a killed process leaves is shown as dead, and needs no `unlock`.
    let mut killed = place.start(&["backup", "source"]);
    place.wait_for_intent(&mut killed);
    drop(killed);
    if place.count("intents") == 1 {
        assert_eq!(place.json(&["unlock"])["locks"][0]["counts"], false);
    }
    place.succeeds(&["backup", "source"]);
    place.succeeds(&["prune"]);
    assert_eq!(place.count("intents"), 0);
}
