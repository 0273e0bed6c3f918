//! Damage, repair, another backup: what was lost is stored again, and every snapshot is intact.

use std::fs;
use std::path::{Path, PathBuf};

use crate::binary::{Backend, Manifest, Place, text};
use crate::trees::{self, flip, manifest};

/// A repository with two snapshots, and their contents.
struct Sample {
    place: Place,
    source: PathBuf,
    saved: Vec<Manifest>,
}

impl Sample {
    fn new(encrypted: bool) -> Self {
        let (place, source) = Place::with_files(Backend::Directory, encrypted, 1, 30);
        let mut saved = vec![];
        for step in 0..2 {
            fs::write(source.join("step"), format!("step {step}")).expect("a file");
            place.succeeds(&["backup", "source"]);
            saved.push(manifest(&source));
        }
        Self { place, source, saved }
    }

    fn repair(&self) -> (Option<i32>, serde_json::Value) {
        let output = self.place.run(&["repair", "--json"]);
        let report = serde_json::from_slice(&output.stdout);
        (output.status.code(), report.unwrap_or_else(|_| panic!("{}", text(&output.stderr))))
    }

    /// Everything is as it was saved, and no problem is reported.
    fn is_whole(&self) {
        self.place.is_sound();
        assert_eq!(self.repair().0, Some(0));
        for (name, saved) in self.place.snapshots().iter().zip(&self.saved) {
            let (_kept, restored) = self.place.restored(name, &self.source);
            for (name, seen) in saved {
                // Directories and their times have changed since.
                assert!(!seen.is_file() || manifest(&restored)[name] == *seen, "{name:?}");
            }
        }
        self.place.succeeds(&["prune", "--max-unused", "0"]);
        self.place.is_sound();
    }
}

fn len(path: &Path) -> usize {
    fs::metadata(path).expect("a file").len() as usize
}

#[test]
fn what_a_damaged_pack_has_lost_is_stored_again() {
    for encrypted in [false, true] {
        let sample = Sample::new(encrypted);
        let pack = &sample.place.objects("packs")[0];
        flip(pack, len(pack) / 2);
        sample.place.ends_with(1, &["check", "--read-data"]);
        let (code, report) = sample.repair();
        assert_eq!((code, &report["packs"]), (Some(1), &1.into()), "{report}");
        assert!(report["lost_chunks"].as_u64() > Some(0), "{report}");
        let damaged: Vec<PathBuf> = report["damaged_paths"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|one| one["path"].as_str().expect("text").into())
            .collect();
        // A group of 256 KiB contains some of the files, and nothing of others.
        let files = sample.saved[0].values().filter(|seen| seen.is_file()).count();
        assert!(!damaged.is_empty() && damaged.len() < 2 * files, "{damaged:?}");
        assert!(damaged.iter().all(|path| path.starts_with(&sample.source)), "{damaged:?}");
        assert!(!pack.exists());
        // Files that are listed cannot be restored; the others can.
        let target = sample.place.path("partly");
        sample.place.ends_with(3, &["restore", "latest", "--target", "partly"]);
        let found = manifest(&trees::below(&target, &sample.source));
        for (name, seen) in sample.saved[1].iter().filter(|(_, seen)| seen.is_file()) {
            let is_damaged = damaged.contains(&sample.source.join(name));
            assert_eq!(found.get(name) != Some(seen), is_damaged, "{name:?}");
        }
        // No option is needed: a file whose chunks are gone is read again.
        let backup = sample.place.json(&["backup", "source"]);
        assert!(backup["new_chunks"].as_u64() >= report["lost_chunks"].as_u64(), "{backup}");
        sample.is_whole();
    }
}

#[test]
fn a_pack_that_is_gone_or_has_lost_its_list_is_replaced() {
    let sample = Sample::new(false);
    fs::remove_file(&sample.place.objects("packs")[0]).expect("a file");
    assert_eq!(sample.repair().0, Some(1));
    // The first snapshot needs its own version of the file to become intact.
    for step in 0..2 {
        fs::write(sample.source.join("step"), format!("step {step}")).expect("a file");
        sample.place.succeeds(&["backup", "source"]);
    }
    sample.place.is_sound();
    assert_eq!(sample.repair().0, Some(0));
    // All chunks are intact, only the footer is damaged: nothing is lost.
    let pack = &sample.place.objects("packs")[0];
    flip(pack, len(pack) - 20);
    let (code, report) = sample.repair();
    assert_eq!((code, &report["lost_chunks"]), (Some(0), &0.into()), "{report}");
    sample.place.is_sound();
}

/// Directories of old snapshots cannot be rebuilt, but the current state can be saved, and damaged
/// snapshots can be forgotten.
#[test]
fn snapshots_that_have_lost_directories_are_named_and_can_be_forgotten() {
    let mut sample = Sample::new(true);
    for pack in &sample.place.objects("packs")[1..] {
        fs::remove_file(pack).expect("a file");
    }
    let names = sample.place.snapshots();
    let (code, report) = sample.repair();
    assert_eq!(code, Some(1));
    let damaged = report["damaged_paths"].as_array().expect("a list");
    let root = |i: usize| serde_json::json!({ "snapshot": names[i], "path": "/" });
    assert!(damaged.contains(&root(0)) && damaged.contains(&root(1)), "{report}");
    sample.place.refused(&["prune"], "a directory of snapshot");
    sample.place.succeeds(&["backup", "source"]);
    sample.place.succeeds(&["forget", &names[0], &names[1]]);
    sample.saved.remove(0);
    sample.is_whole();
}

#[test]
fn a_lost_index_is_made_again_from_the_packs() {
    let sample = Sample::new(true);
    for run in sample.place.objects("index") {
        flip(&run, len(&run) / 3);
    }
    sample.place.ends_with(2, &["backup", "source"]);
    let (code, report) = sample.repair();
    assert_eq!((code, &report["lost_chunks"]), (Some(0), &0.into()), "{report}");
    assert!(report["runs"].as_u64() > Some(0), "{report}");
    sample.place.succeeds(&["backup", "source"]);
    sample.is_whole();
    for run in sample.place.objects("index") {
        fs::remove_file(run).expect("a file");
    }
    assert_eq!(sample.repair().0, Some(0));
    sample.place.succeeds(&["backup", "source"]);
    sample.is_whole();
}

/// One snapshot that cannot be opened makes every command fail, until `repair` removes and names
/// it.
#[test]
fn a_damaged_snapshot_is_taken_out() {
    let mut sample = Sample::new(false);
    let name = sample.place.snapshots().remove(0);
    flip(&sample.place.repo().join("snapshots").join(&name), 30);
    sample.place.refused(&["backup", "source"], "damaged");
    let (code, report) = sample.repair();
    assert_eq!((code, &report["snapshots"][0]), (Some(0), &name.into()), "{report}");
    sample.place.succeeds(&["backup", "source"]);
    sample.saved.remove(0);
    sample.is_whole();
}

#[test]
fn a_sound_repository_is_left_as_it_is() {
    let sample = Sample::new(false);
    let before = manifest(&sample.place.repo());
    let (code, report) = sample.repair();
    assert_eq!((code, &report["packs"]), (Some(0), &0.into()), "{report}");
    let after = manifest(&sample.place.repo());
    // Except for the times of directories: an intent was written and removed.
    for (name, seen) in before.iter().filter(|(_, seen)| seen.is_file()) {
        assert!(after[name] == *seen, "{name:?}");
    }
    assert_eq!(before.len(), after.len());
}
