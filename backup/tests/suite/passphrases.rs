//! Adding, changing and removing passphrases: which of them open the repository, and that one
//! always does.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use crate::binary::{BINARY, Backend, Place, is_refused, text};

const FIRST: &str = "a passphrase";

/// With this passphrase instead of the repository's own, and with a new one if it is not empty.
fn command(place: &Place, passphrase: &str, new: &str, arguments: &[&str]) -> Command {
    let mut command = place.command(arguments);
    command.env("CUCULUS_BACKUP_PASSPHRASE", passphrase).stdin(Stdio::null());
    if !new.is_empty() {
        command.env("CUCULUS_BACKUP_NEW_PASSPHRASE", new);
    }
    command
}

fn run(place: &Place, passphrase: &str, new: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let output = command(place, passphrase, new, arguments).output().expect("the binary runs");
    (output.status.code(), text(&output.stderr))
}

fn opens(place: &Place, passphrase: &str) -> bool {
    let (code, message) = run(place, passphrase, "", &["snapshots"]);
    assert!(code == Some(0) || message.contains("wrong passphrase"), "{message}");
    code == Some(0)
}

fn refused(place: &Place, passphrase: &str, new: &str, arguments: &[&str], hint: &str) {
    is_refused(&mut command(place, passphrase, new, arguments), hint);
}

#[test]
fn a_changed_passphrase_opens_everything_and_the_old_one_nothing() {
    let (place, source) = Place::with_files(Backend::Directory, true, 1, 5);
    place.succeeds(&["backup", "source"]);
    let changed = run(&place, FIRST, "another", &["key", "change"]);
    assert_eq!(changed, (Some(0), String::new()));
    assert!(opens(&place, "another") && !opens(&place, FIRST));
    assert_eq!(place.objects("keys").len(), 1);
    // Through a file, and with restic's name of the command.
    fs::write(place.path("new"), format!("{FIRST}\n")).expect("a file");
    let words = ["key", "passwd", "--new-passphrase-file", "new"];
    assert_eq!(run(&place, "another", "", &words), (Some(0), String::new()));
    assert!(!opens(&place, "another"));
    let words = ["key", "add", "--new-passphrase-command", "echo of a command"];
    assert_eq!(run(&place, FIRST, "", &words), (Some(0), String::new()));
    assert!(opens(&place, "of a command") && opens(&place, FIRST));
    place.restores(&source);
    place.is_sound();
}

#[test]
fn several_passphrases_open_a_repository_and_the_last_cannot_be_removed() {
    let place = Place::new(true);
    assert_eq!(run(&place, FIRST, "another", &["key", "add"]).0, Some(0));
    assert!(opens(&place, FIRST) && opens(&place, "another"));
    let keys = place.json(&["key", "list"]);
    let keys = keys.as_array().expect("a list");
    let name = |current: bool| {
        let key = keys.iter().find(|key| key["current"] == current).expect("a key");
        key["name"].as_str().expect("text").to_owned()
    };
    let (own, other) = (name(true), name(false));
    assert_eq!(keys.len(), 2);
    refused(&place, FIRST, "", &["key", "remove", &own], "passphrase that you gave");
    refused(&place, FIRST, "", &["key", "remove", "nothing"], "key list");
    refused(&place, FIRST, "", &["key", "remove", ""], "several");
    assert_eq!(run(&place, FIRST, "", &["key", "remove", &other[..8]]).0, Some(0));
    assert!(opens(&place, FIRST) && !opens(&place, "another"));
    refused(&place, FIRST, "", &["key", "remove", &own], "only key");
    assert!(opens(&place, FIRST));
}

#[test]
fn what_cannot_be_done_is_refused_and_changes_nothing() {
    let place = Place::new(true);
    let read = |path: &PathBuf| fs::read(path).expect("a key");
    let keys = || place.objects("keys").iter().map(read).collect::<Vec<_>>();
    let before = keys();
    refused(&place, FIRST, "", &["key", "change"], "CUCULUS_BACKUP_NEW_PASSPHRASE");
    refused(&place, FIRST, FIRST, &["key", "change"], "choose another");
    refused(&place, FIRST, FIRST, &["key", "add"], "already");
    refused(&place, "wrong", "new", &["key", "change"], "wrong passphrase");
    refused(&place, FIRST, "\n", &["key", "add"], "empty");
    assert_eq!(keys(), before);
    let open = Place::new(false);
    refused(&open, "", "new", &["key", "add"], "not encrypted");
    refused(&open, "", "", &["key", "list"], "not encrypted");
}

/// Between writing the new key and removing the old one, both passphrases open the repository, and
/// the change can be repeated.
#[test]
fn a_change_that_was_cut_off_can_be_made_again() {
    let place = Place::new(true);
    let old = place.objects("keys").pop().expect("a key");
    let bytes = fs::read(&old).expect("a file");
    assert_eq!(run(&place, FIRST, "another", &["key", "change"]).0, Some(0));
    fs::write(&old, bytes).expect("a file");
    assert!(opens(&place, FIRST) && opens(&place, "another"));
    assert_eq!(run(&place, FIRST, "another", &["key", "change"]).0, Some(0));
    assert!(!opens(&place, FIRST) && opens(&place, "another"));
    assert_eq!(place.objects("keys").len(), 1);
}

#[test]
fn a_change_that_is_killed_leaves_a_passphrase_that_works() {
    let place = Place::new(true);
    let mut random = fastrand::Rng::with_seed(5);
    let passphrases = [FIRST, "another"];
    for round in 0..8 {
        let (old, new) = (passphrases[round % 2], passphrases[(round + 1) % 2]);
        let mut change = command(&place, old, new, &["key", "change"]);
        let change = change.stdout(Stdio::null()).stderr(Stdio::null());
        let mut running = change.spawn().expect("the binary runs");
        std::thread::sleep(Duration::from_millis(random.u64(0..500)));
        running.kill().expect("killed");
        running.wait().expect("a process");
        assert!(opens(&place, old) || opens(&place, new), "round {round}");
    }
}

/// A new passphrase is asked for twice, on the terminal even if standard input is something else, and
/// is not shown.
#[test]
fn a_passphrase_is_asked_for_and_not_shown() {
    let place = Place::empty(Backend::Directory, true);
    let terminal = native_pty_system().openpty(PtySize::default()).expect("a terminal");
    let mut command = CommandBuilder::new("sh");
    let words = "init --kdf-memory 19 --kdf-passes 2 < /dev/null";
    command.args(["-c", &format!("{BINARY} --repo {} {words}", place.repo().display())]);
    command.env_remove("CUCULUS_BACKUP_PASSPHRASE");
    command.env("XDG_CACHE_HOME", place.path("cache"));
    let mut running = terminal.slave.spawn_command(command).expect("the binary runs");
    drop(terminal.slave);
    let name = terminal.master.tty_name().expect("a name");
    let settings = || {
        let output = Command::new("stty").arg("-aF").arg(&name).output().expect("stty runs");
        text(&output.stdout)
    };
    let mut output = terminal.master.try_clone_reader().expect("its output");
    let mut keyboard = terminal.master.take_writer().expect("its input");
    let (send, shown) = mpsc::channel();
    // Ends when the program has closed its terminal.
    std::thread::spawn(move || {
        let mut byte = [0];
        while output.read_exact(&mut byte).is_ok() && send.send(byte[0]).is_ok() {}
    });
    let mut said = Vec::new();
    for prompt in ["Passphrase: ", "Repeat: "] {
        while !said.ends_with(prompt.as_bytes()) {
            said.push(shown.recv().expect("a prompt"));
        }
        // What is typed before the echo is off is shown, and discarded.
        while !settings().contains("-echo ") {
            std::thread::sleep(Duration::from_millis(10));
        }
        writeln!(keyboard, "{FIRST}").expect("typed");
    }
    said.extend(shown.iter());
    assert!(running.wait().expect("a process").success() && !text(&said).contains(FIRST));
    assert!(opens(&place, FIRST) && !opens(&place, "another"));
}
