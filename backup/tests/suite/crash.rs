//! Processes that are killed at any moment, and several at once: finished work stays.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::binary::{Backend, Manifest, Place, number, soak, text};
use crate::trees::{self, manifest};

/// The tag of a snapshot says which state of the tree was saved.
fn is_sound(place: &Place, source: &Path, states: &BTreeMap<String, Manifest>, doing: &str) {
    place.is_sound();
    for (tag, name) in place.tags(&[]) {
        place.restores_as(&name, source, &states[&tag], &format!("{tag} after {doing}"));
    }
}

fn intents(place: &Place) -> BTreeSet<OsString> {
    let entries = std::fs::read_dir(place.repo().join("intents")).into_iter().flatten();
    entries.map(|entry| entry.expect("an entry").file_name()).collect()
}

/// `kill -9` at random moments in backup, forget and prune.
#[test]
fn a_killed_process_harms_nothing_that_was_finished() {
    Backend::ALL.iter().for_each(|at| a_killed_process_at(*at));
}

fn a_killed_process_at(at: Backend) {
    // The long run is encrypted, as repositories are; a passphrase costs a tenth of a second.
    let asked = soak("CUCULUS_BACKUP_KILLS");
    let (place, kills) = (Place::at(at, asked.is_some()), asked.unwrap_or(at.choose(30, 10)));
    let source = place.path("source");
    trees::files(&source, 1, 40);
    let mut random = fastrand::Rng::with_seed(kills);
    let mut states = BTreeMap::new();
    let (mut killed, mut ended) = (0u64, 0u64);
    // How long to wait at most, for each kind of work: it follows the machine, so that a fast one does
    // not end all work before it is killed.
    let mut longest = [Duration::from_millis(at.choose(60, 200)); 5];
    for step in 0..kills {
        let tag = format!("step{step}");
        let work: &[&str] = match step % 5 {
            0..3 => {
                trees::change(&source, step);
                states.insert(tag.clone(), manifest(&source));
                &["backup", "source", "--tag", &tag]
            }
            3 => &["forget", "--keep-last", "2", "--prune"],
            _ => &["prune", "--max-unused", "0"],
        };
        let before = intents(&place);
        let mut running = place.start(work);
        // Half of the processes get as far as their intent, however slow the machine is.
        while step % 2 == 0 && intents(&place).is_subset(&before) && !running.has_ended() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let longest = &mut longest[step as usize % 5];
        std::thread::sleep(longest.mul_f64(random.f64()));
        if running.has_ended() {
            ended += 1;
            *longest = longest.mul_f64(0.7).max(Duration::from_millis(1));
        } else {
            killed += 1;
            *longest = longest.mul_f64(1.2).min(Duration::from_secs(1));
        }
        drop(running);
        // The next command must work, and every fifth time everything is verified.
        if step % 5 == 4 {
            is_sound(&place, &source, &states, &work.join(" "));
        }
    }
    println!("{killed} were killed while at work, {ended} had ended");
    assert!(killed >= kills / 5, "only {killed} of {kills} were killed");
    // What dead processes left behind does no harm and is removed.
    states.insert("last".into(), manifest(&source));
    place.succeeds(&["backup", "source", "--tag", "last"]);
    place.succeeds(&["forget", "--keep-last", "1"]);
    if at != Backend::Directory {
        // What a process sent before it was killed may take effect later.
        let output = place.run(&["prune", "--max-unused", "0"]);
        let words = text(&output.stdout) + &text(&output.stderr);
        assert!(words.contains("it has ended, but"), "{words}");
        return is_sound(&place, &source, &states, "a prune that waits");
    }
    place.succeeds(&["prune", "--max-unused", "0"]);
    is_sound(&place, &source, &states, "the last prune");
    let left = |folder: &str| place.count(folder);
    assert_eq!((left("tmp"), left("intents"), left("marks"), left("snapshots")), (0, 0, 0, 1));
    let stats = place.json(&["stats"]);
    let size: u64 = states["last"].values().map(|seen| seen.size).sum();
    assert!(number(&stats, "chunk_bytes") < size + 100_000, "{stats}");
    assert_eq!(stats["chunks"], stats["distinct_chunks"], "{stats}");
}

/// A run that was replaced, but not removed because its process was killed, must not count again
/// when the run that replaced it is replaced in turn: it has chunks that are gone since.
#[test]
fn a_run_that_was_replaced_does_not_come_back() {
    let (place, source) = Place::with_files(Backend::Directory, false, 1, 20);
    let folder = place.repo().join("index");
    let runs = || -> BTreeMap<PathBuf, Vec<u8>> {
        let entries = std::fs::read_dir(&folder).expect("a folder");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        paths.map(|path| (path.clone(), std::fs::read(path).expect("a run"))).collect()
    };
    let mut put_back = BTreeSet::new();
    // Each command replaces runs at most once.
    let mut work = |arguments: &[&str]| {
        let before = runs();
        place.succeeds(arguments);
        let after = runs();
        // Undoes the last removals, every other time: the next process that replaces runs finds the
        // leftovers of the previous one.
        if !put_back.iter().any(|path: &PathBuf| path.exists()) {
            for (path, bytes) in before.iter().filter(|(path, _)| !after.contains_key(*path)) {
                std::fs::write(path, bytes).expect("a run");
                put_back.insert(path.clone());
            }
        }
        place.is_sound();
    };
    for step in 0..24 {
        trees::change(&source, step);
        work(&["backup", "source"]);
        if step % 11 == 10 {
            work(&["forget", "--keep-last", "1"]);
            work(&["prune", "--max-unused", "0"]);
        }
    }
    assert!(put_back.len() > 5, "{put_back:?}");
    place.restores(&source);
}

/// Two backups, a prune and a forget at the same time, repeatedly.
#[test]
fn writers_at_the_same_time_do_not_hurt_each_other() {
    Backend::ALL.iter().for_each(|at| writers_at_the_same_time(*at));
}

fn writers_at_the_same_time(at: Backend) {
    let place = Place::at(at, false);
    let sources: Vec<PathBuf> = (0..2).map(|i| place.path(&format!("source{i}"))).collect();
    for (i, source) in sources.iter().enumerate() {
        trees::files(source, i as u64, 60);
    }
    let mut states = BTreeMap::new();
    for round in 0..at.choose(4, 2) {
        let mut running = vec![];
        for (i, source) in sources.iter().enumerate() {
            // They share most data, so that one relies on what the other stores or removes.
            trees::change(source, round);
            let tag = format!("round{round} source{i}");
            states.insert(tag.clone(), (source.clone(), manifest(source)));
            let path = source.to_str().expect("text");
            running.push(place.start(&["backup", path, "--tag", &tag]));
        }
        running.push(place.start(&["forget", "--keep-last", "1", "--prune"]));
        running.push(place.start(&["prune", "--max-unused", "0"]));
        for running in &mut running[..2] {
            running.succeeds(&format!("round {round}"));
        }
        for running in &mut running[2..] {
            // Of two prunes, one may be told to wait.
            running.end();
        }
        place.is_sound();
        for (tag, name) in place.tags(&[]) {
            let (source, state) = &states[&tag];
            place.restores_as(&name, source, state, &format!("{tag} in round {round}"));
        }
    }
}

/// A backup that is suspended while a prune removes everything that it relies on.
#[test]
fn a_prune_waits_for_a_backup_that_began_before() {
    Backend::ALL.iter().for_each(|at| a_prune_waits(*at));
}

fn a_prune_waits(at: Backend) {
    let (place, source) = Place::with_files(at, false, 3, 150);
    place.succeeds(&["backup", "source", "--tag", "old"]);
    let state = manifest(&source);
    let mut stopped_in_time = 0;
    for round in 0..at.choose(4, 2) {
        let tag = format!("new{round}");
        let mut running = place.start(&["backup", "source", "--read-all", "--tag", &tag]);
        place.wait_for_intent(&mut running);
        std::thread::sleep(Duration::from_millis(at.choose(4, 30) * round));
        running.stop();
        // All snapshots are removed; the running backup may rely on their chunks.
        let at_work = place.count("intents");
        let snapshots = place.tags(&[]);
        // It may have written its snapshot already, and not yet taken its intent back.
        let is_finished = snapshots.iter().any(|(of, _)| *of == tag);
        for (_, name) in snapshots {
            place.succeeds(&["forget", &name]);
        }
        let report = place.json(&["prune", "--max-unused", "0"]);
        let waits = report["waits_for"].as_array().expect("a list").len();
        assert!(waits <= at_work, "{report}");
        stopped_in_time += if is_finished { 0 } else { waits };
        running.go_on();
        running.succeeds(&format!("round {round}, is_finished {is_finished}, waits {waits}"));
        place.is_sound();
        if waits > 0 && !is_finished {
            place.restores_as("latest", &source, &state, &format!("in round {round}"));
        } else {
            place.succeeds(&["backup", "source", "--tag", "again"]);
        }
        // Marked packs that are needed stay, and the others go with the next prune.
        place.succeeds(&["prune", "--max-unused", "0"]);
        place.is_sound();
        place.restores_as("latest", &source, &state, &format!("in round {round}"));
    }
    assert!(stopped_in_time > 0, "no backup was caught at work");
}

/// Nobody waits for a process that is stopped, whatever it was about to do.
#[test]
fn a_stopped_process_stops_no_other() {
    let (place, source) = Place::with_files(Backend::Directory, false, 5, 30);
    for moment in 0..30 {
        trees::change(&source, moment);
        let mut running = place.start(&["backup", "source"]);
        std::thread::sleep(Duration::from_micros(1000 * moment));
        running.stop();
        place.succeeds(&["snapshots"]);
        place.succeeds(&["backup", "source"]);
        running.go_on();
        running.succeeds(&format!("moment {moment}"));
    }
    place.succeeds(&["check"]);
}
