//! A repository on another machine: messages, a connection that breaks, and what the two sides leave
//! for each other.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::binary::{Backend, Place, is_refused, succeeds};
use crate::places;

#[test]
fn what_is_wrong_on_the_way_is_said_in_one_line() {
    let mut place = Place::at(Backend::Server, true);
    for (repo, hint) in [
        ("sftp://127.0.0.1", "[USER@]HOST"),
        ("sftp://-oProxyCommand=touch x/repo", "[USER@]HOST"),
        ("sftp://127.0.0.1:1/repo", "cannot connect to 127.0.0.1"),
    ] {
        is_refused(&mut place.command_on(Path::new(repo), &["snapshots"]), hint);
    }
    let nothing = place.path("nothing");
    let missing = place.sshd().location(&nothing);
    is_refused(&mut place.command_on(&missing, &["snapshots"]), "is not a repository");
    let key = place.path("sshd/stranger").display().to_string();
    for (ssh, hint) in [
        (place.sshd().ssh(&format!("-o IdentityFile=none -i {key}")), ""),
        (place.sshd().ssh("-o UserKnownHostsFile=/dev/null"), "Host key verification failed"),
        ("/no/such/program".into(), "cannot run /no/such/program"),
        ("cat".into(), "cannot connect"),
        ("true".into(), "cannot connect"),
        (" ".into(), "CUCULUS_BACKUP_SSH is empty"),
    ] {
        if hint.is_empty() {
            // The client's own key is named by its settings, so the server must forget it.
            fs::write(place.path("sshd/authorized"), "").expect("a file");
        }
        let hint = if hint.is_empty() { "Permission denied" } else { hint };
        is_refused(place.command(&["snapshots"]).env("CUCULUS_BACKUP_SSH", &ssh), hint);
        fs::copy(place.path("sshd/user.pub"), place.path("sshd/authorized")).expect("a key");
    }
    place.refused(&["init"], "not empty");
    place.sshd().stop();
    place.refused(&["snapshots"], "Connection refused");
    place.sshd().resume();
    place.succeeds(&["snapshots"]);
}

fn children(process: u32) -> Vec<u32> {
    let path = format!("/proc/{process}/task/{process}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().filter_map(|number| number.parse().ok()).collect()
}

#[test]
fn a_connection_that_breaks_costs_no_more_than_this_attempt() {
    let (place, source) = Place::with_noise(Backend::Server, true, 30_000_000);
    let mut running = place.start_until_a_pack();
    let [ssh] = children(running.id())[..] else { panic!("one ssh") };
    let ssh = rustix::process::Pid::from_raw(ssh as i32).expect("a process");
    rustix::process::kill_process(ssh, rustix::process::Signal::KILL).expect("a signal");
    running.is_refused("the connection to 127.0.0.1 is lost");
    places::another_attempt_goes_on(&place, &source);
}

/// Whoever is logged in on the server uses the same files as a directory, and drafts of the one are
/// not swept by the other.
#[test]
fn the_server_itself_can_use_the_repository() {
    let (place, source) = Place::with_files(Backend::Server, true, 7, 20);
    place.succeeds(&["backup", "source"]);
    let here = |arguments: &[&str]| succeeds(&mut place.command_on(&place.repo(), arguments));
    assert_eq!(here(&["snapshots", "--json"]), place.succeeds(&["snapshots", "--json"]));
    let mode = |path: &Path| {
        use std::os::unix::fs::PermissionsExt;
        fs::metadata(path).expect("a folder").permissions().mode() & 0o777
    };
    assert_eq!((mode(&place.repo()), mode(&place.repo().join("packs"))), (0o700, 0o700));
    assert_eq!(place.count("tmp"), 0);
    let draft = place.repo().join("tmp/remote-1");
    fs::write(&draft, "half of a pack").expect("a draft");
    here(&["prune"]);
    place.succeeds(&["prune"]);
    assert!(draft.exists());
    let old = SystemTime::now() - Duration::from_secs(25 * 60 * 60);
    for prune in [&|| here(&["prune"]), &|| place.succeeds(&["prune"])] as [&dyn Fn() -> String; 2]
    {
        fs::write(&draft, "half of a pack").expect("a draft");
        let file = fs::File::options().write(true).open(&draft).expect("a draft");
        file.set_modified(old).expect("a time");
        prune();
        assert!(!draft.exists());
    }
    here(&["backup", "source"]);
    place.restores(&source);
}

/// Paths below the home directory are made as they are needed.
#[test]
fn a_new_repository_makes_the_directories_above_it() {
    let mut place = Place::empty(Backend::Server, false);
    let deep = place.path("some/where/else");
    let location = place.sshd().location(&deep);
    succeeds(&mut place.command_on(&location, &["init", "--no-encryption"]));
    succeeds(&mut place.command_on(&location, &["check"]));
    assert!(deep.join("config").exists());
}
