//! The command line: errors are one line with the remedy, and exit codes are as documented.

use std::fs;
use std::process::{Command, Stdio};

use crate::binary::{BINARY, Backend, Place, is_refused, succeeds};

#[test]
fn mistakes_are_refused_in_one_line_with_the_remedy() {
    let place = Place::new(false);
    place.refused(&["backup"], "--help");
    place.refused(&["backp"], "--help");
    place.refused(&["backup", "missing"], "missing");
    place.refused(&["backup", ".", "--exclude", "["], "pattern");
    place.refused(&["restore", "latest", "--target", "out"], "no snapshot yet");
    assert_eq!(place.succeeds(&["snapshots"]), "no snapshots yet\n");
    place.refused(&["ls", "beef"], "snapshots");
    place.refused(&["forget"], "--keep-last");
    place.refused(&["prune", "--max-unused=-1"], "--max-unused");
    place.refused(&["init", "--no-encryption"], "not empty");
    assert_eq!(fs::read_dir(place.repo().join("snapshots")).expect("a folder").count(), 0);
    let mut nowhere = Command::new(BINARY);
    is_refused(nowhere.arg("snapshots").env_remove("CUCULUS_BACKUP_REPO"), "--repo");
}

#[test]
fn a_directory_that_is_no_repository_is_refused() {
    let place = Place::new(false);
    let elsewhere = place.path("elsewhere");
    fs::create_dir(&elsewhere).expect("a directory");
    // The option is given twice.
    is_refused(place.command(&["snapshots"]).arg("--repo").arg(&elsewhere), "--repo");
    is_refused(&mut place.command_on(&elsewhere, &["snapshots"]), "init");
}

#[test]
fn a_passphrase_comes_from_the_environment_a_file_or_a_command() {
    let (place, _) = Place::with_files(Backend::Directory, true, 1, 3);
    place.succeeds(&["backup", "source"]);
    fs::write(place.path("good"), "a passphrase\n").expect("a file");
    fs::write(place.path("bad"), "another\n").expect("a file");
    let command = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.env_remove("CUCULUS_BACKUP_PASSPHRASE").stdin(Stdio::null());
        command
    };
    succeeds(&mut command(&["check", "--passphrase-file", "good"]));
    succeeds(&mut command(&["check", "--passphrase-command", "echo a passphrase"]));
    for (arguments, hint) in [
        (&["check"][..], "CUCULUS_BACKUP_PASSPHRASE"),
        (&["check", "--passphrase-file", "bad"], "wrong passphrase"),
        (&["check", "--passphrase-file", "missing"], "missing"),
        (&["check", "--passphrase-command", "false"], "false"),
    ] {
        is_refused(&mut command(arguments), hint);
    }
}

#[test]
fn json_is_for_programs() {
    let (place, _) = Place::with_files(Backend::Directory, false, 1, 5);
    let report = place.json(&["backup", "source", "--tag", "a", "--host", "h"]);
    assert_eq!(report["files"], 5);
    let dry = place.json(&["backup", "source", "--dry-run"]);
    assert!(dry["snapshot"].is_null());
    let list = place.json(&["snapshots"]);
    assert_eq!(list.as_array().map(Vec::len), Some(1));
    assert_eq!((&list[0]["host"], &list[0]["tags"][0]), (&"h".into(), &"a".into()));
    let lines = place.succeeds(&["ls", "latest", "--json"]);
    for line in lines.lines() {
        let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert!(value["path"].is_string());
    }
    for command in [&["stats"][..], &["check"], &["prune"]] {
        assert!(place.json(command).is_object(), "{command:?}");
    }
    let forgotten = place.json(&["forget", "--keep-last", "1"]);
    assert_eq!(forgotten["forgotten"].as_array().map(Vec::len), Some(0));
}
