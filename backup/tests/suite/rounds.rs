//! Rounds of random damage to an encrypted repository: each is noticed, what is intact stays, and
//! after a repair and a backup everything that is there still is as it was saved.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::binary::{Backend, Manifest, Place, soak, text};
use crate::trees::{self, manifest};

/// Every file of the repository that holds data: packs, runs, snapshots, and both configurations.
fn objects(place: &Place) -> Vec<PathBuf> {
    let folders = ["packs", "index", "snapshots", "config", "config.copy"];
    let is_data = |name: &Path| folders.iter().any(|folder| name.starts_with(folder));
    let files = manifest(&place.repo());
    let files = files.into_iter().filter(|(name, seen)| seen.is_file() && is_data(name));
    files.map(|(name, _)| place.repo().join(name)).collect()
}

/// Changes, cuts, wipes, removes, lengthens or swaps; returns the paths that are not as they were.
fn damage(random: &mut fastrand::Rng, mut left: Vec<PathBuf>) -> Vec<PathBuf> {
    let path = left.swap_remove(random.usize(..left.len()));
    let bytes = fs::read(&path).expect("a file");
    let at = random.usize(..bytes.len());
    let mut changed = bytes.clone();
    match random.u8(0..7) {
        0..2 => changed[at] ^= 1 << random.u8(0..8),
        2 => changed.truncate(at),
        3 => {
            // A sector that was lost.
            let end = (at + 4096).min(bytes.len());
            let fill = if bytes[at] == 0 { 0xff } else { 0 };
            changed[at..end].fill(fill);
        }
        4 => changed.extend_from_slice(b"more"),
        5 => {
            let other = left.iter().find(|other| kind(other) == kind(&path));
            if let Some(other) = other {
                let theirs = fs::read(other).expect("a file");
                if theirs != bytes {
                    fs::write(&path, theirs).expect("a file");
                    fs::write(other, bytes).expect("a file");
                    return vec![path, other.clone()];
                }
            }
            changed.clear();
        }
        _ => {
            fs::remove_file(&path).expect("a file");
            return vec![path];
        }
    }
    fs::write(&path, changed).expect("a file");
    vec![path]
}

fn kind(object: &Path) -> &'static str {
    let path = object.to_string_lossy();
    let folders = ["/packs/", "/index/", "/snapshots/"];
    folders.into_iter().find(|folder| path.contains(folder)).unwrap_or("config")
}

#[test]
fn rounds_of_damage_are_noticed_and_mended() {
    let (place, source) = Place::with_files(Backend::Directory, true, 9, 25);
    let rounds = soak("CUCULUS_BACKUP_ROUNDS").unwrap_or(4);
    let snapshots = || place.tags(&["--accept-missing-snapshots"]);
    let mut random = fastrand::Rng::with_seed(rounds);
    let mut states: BTreeMap<String, Manifest> = BTreeMap::new();
    let (mut objects_damaged, mut snapshots_damaged, mut snapshots_gone) = (0, 0, 0);
    let mut harmless = 0;
    for round in 0..rounds {
        trees::change(&source, round);
        let tag = format!("round{round}");
        states.insert(tag.clone(), manifest(&source));
        place.succeeds(&["backup", "source", "--tag", &tag]);
        let before = snapshots();
        let mut damaged: Vec<PathBuf> = vec![];
        for _ in 0..random.usize(1..4) {
            let mut left = objects(&place);
            left.retain(|path| !damaged.contains(path));
            damaged.extend(damage(&mut random, left));
        }
        let when = format!("round {round}, damaged {damaged:?}");
        let is_damaged =
            |name: &str| damaged.iter().any(|path| path.to_string_lossy().ends_with(name));
        let packs_are_intact = !damaged.iter().any(|path| kind(path) == "/packs/");
        let output = place.run(&["check", "--read-data"]);
        // A prune that drops all entries of a run leaves one without entries. If that is removed,
        // nothing is missing.
        let is_harmless = damaged.iter().all(|path| kind(path) == "/index/" && !path.exists())
            && output.status.success();
        let expected = if is_harmless { 0 } else { 1 };
        assert_eq!(output.status.code(), Some(expected), "{when}: {}", text(&output.stderr));
        for (tag, name) in before.iter().filter(|(_, name)| !is_damaged(name)) {
            let is_whole = place.restores_or_reports(name, &source, &states[tag], &when);
            assert!(is_whole || !is_harmless, "{when}: a loss was not noticed");
        }
        harmless += u64::from(is_harmless);
        let output = place.run(&["repair"]);
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 1)), "{when}: {}", text(&output.stderr));
        // What was lost of these files is stored again.
        let again = format!("{tag} again");
        states.insert(again.clone(), manifest(&source));
        place.succeeds(&["backup", "source", "--tag", &again]);
        let after = snapshots();
        let mut broken = vec![];
        for (tag, name) in &after {
            if !place.restores_or_reports(name, &source, &states[tag], &when) {
                broken.push(name.clone());
            }
        }
        for one in before.iter().filter(|(_, name)| !is_damaged(name)) {
            assert!(after.contains(one), "{when}: {one:?} is gone");
            assert!(!packs_are_intact || !broken.contains(&one.1), "{when}: {one:?}");
        }
        let newest = after.last().expect("a snapshot");
        assert!(newest.0 == again && !broken.contains(&newest.1), "{when}: the newest is broken");
        objects_damaged += damaged.len();
        snapshots_damaged += broken.len();
        snapshots_gone += before.iter().filter(|one| !after.contains(one)).count();
        // What nobody has any more cannot come back: those snapshots go, and the rest is whole.
        let old = after.iter().rev().skip(3).map(|(_, name)| name.clone());
        broken.extend(old);
        broken.sort();
        broken.dedup();
        if !broken.is_empty() {
            let names: Vec<&str> = broken.iter().map(String::as_str).collect();
            place.succeeds(&[&["forget"], &names[..]].concat());
        }
        place.succeeds(&["prune", "--max-unused", "0"]);
        place.is_sound();
    }
    println!(
        "{rounds} rounds, {objects_damaged} objects damaged, all noticed but for {harmless} rounds \
         that removed only runs without entries; {snapshots_gone} snapshots could not be opened, \
         {snapshots_damaged} had lost contents that are nowhere else"
    );
}
