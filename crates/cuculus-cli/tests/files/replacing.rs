//! A file is whole at any moment: the old or the new version, whatever happens to the writer.

use std::fs;
use std::io::{Read, Write};
use std::thread;
use std::time::{Duration, Instant};

use crate::binary::{is_error, stderr_of};
use crate::workshop::{Workshop, fed, json, lines, piped, succeeds};

/// The file that a writer has beside the target while it works.
const BESIDE: &str = ".filter.cuculus-new";

/// Kills a command that replaces the file, at many moments from the start to after the end: each time the
/// old file is there, or the new one. Returns what the command prints, the same before and after.
fn killed_at_any_moment(workshop: &Workshop, kills: u64, arguments: &[&str]) -> String {
    let old = workshop.read("filter");
    let start = Instant::now();
    let said = succeeds(arguments, "");
    let takes = start.elapsed();
    // The same keys give the same bytes, so there are two files that may be found.
    let new = workshop.read("filter");
    assert!(new != old);
    let mut random = fastrand::Rng::with_seed(kills);
    let mut olds = 0;
    workshop.write("filter", &old);
    for _ in 0..kills {
        let moment = takes.mul_f64(random.f64() * 1.2);
        let mut child = piped(arguments);
        thread::sleep(moment);
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        let left = workshop.read("filter");
        if left == old {
            olds += 1;
        } else {
            assert!(left == new, "killed after {moment:?}: something else");
            workshop.write("filter", &old);
        }
        // One leftover at most, however many were killed.
        let others = workshop.files().into_iter().filter(|n| n != "filter" && n != "keys");
        assert!(others.clone().all(|name| name == BESIDE), "{:?}", others.collect::<Vec<_>>());
    }
    assert!(olds > 0, "no writer was killed in time");
    workshop.write("filter", &old);
    assert_eq!(succeeds(arguments, ""), said);
    assert!(workshop.read("filter") == new);
    assert_eq!(workshop.files(), ["filter", "keys"], "the next writer clears up");
    said
}

/// Megabytes, which take some time to write.
#[test]
fn a_killed_writer_leaves_the_old_file_or_the_new_one() {
    let workshop = Workshop::new();
    let options = ["--kind", "cuckoo", "--capacity", "20000000"];
    let file = workshop.build("filter", &options, &lines("key", 1000));
    assert!(workshop.read("filter").len() > 25_000_000);
    let keys = workshop.write("keys", lines("more", 1000));
    killed_at_any_moment(&workshop, 50, &["add", &file, &keys]);
}

#[test]
fn a_killed_uniq_leaves_the_old_state_or_the_new_one() {
    let workshop = Workshop::new();
    let state = workshop.at("filter");
    let (old, new) = (lines("old", 1000), lines("new", 400_000));
    succeeds(&["uniq", "--state", &state], &old);
    let keys = workshop.write("keys", &new);
    let count = ["uniq", "--count", "--state", &state, &keys];
    assert_eq!(killed_at_any_moment(&workshop, 40, &count), "400000\n");
    assert_eq!(succeeds(&["uniq", "--count", "--state", &state], old + &new), "0\n");
}

/// A writer that has its file and waits for keys.
fn waiting_writer(workshop: &Workshop, arguments: &[&str]) -> std::process::Child {
    let mut child = piped(arguments);
    let stdin = child.stdin.as_mut().expect("a pipe");
    stdin.write_all(b"from the first\n").expect("it reads");
    let start = Instant::now();
    while !workshop.path(BESIDE).exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "the writer does not begin");
        thread::sleep(Duration::from_millis(5));
    }
    // From making the file to locking it are microseconds.
    thread::sleep(Duration::from_millis(100));
    child
}

#[test]
fn a_second_writer_is_refused_and_readers_are_not() {
    let workshop = Workshop::new();
    let file = workshop.build("filter", &[], "key\n");
    let other = workshop.build("other", &[], "key\n");
    let first = waiting_writer(&workshop, &["add", &file]);
    for arguments in [
        &["add", &file][..],
        &["remove", &file],
        &["merge", &file, &other],
        &["build", &file, "--force"],
        &["uniq", "--state", &file],
    ] {
        let second = fed(arguments, "from the second\n");
        is_error(&second, "is being written by another process");
    }
    assert_eq!(succeeds(&["query", &file], "key\nfrom the first\n"), "key\n", "the old file");
    let output = first.wait_with_output().expect("it ends when its input does");
    assert!(output.status.success(), "{}", stderr_of(&output));
    assert_eq!(
        succeeds(&["query", &file], "key\nfrom the first\nfrom the second\n"),
        "key\nfrom the first\n"
    );
    assert_eq!(workshop.files(), ["filter", "other"]);
}

#[test]
fn a_new_file_has_one_writer_too() {
    let workshop = Workshop::new();
    let file = workshop.at("filter");
    let first = waiting_writer(&workshop, &["build", &file]);
    let second = fed(&["build", &file], "from the second\n");
    assert_eq!(second.status.code(), Some(2));
    assert!(!workshop.path("filter").exists(), "nothing is there before it is whole");
    assert!(first.wait_with_output().expect("it ends").status.success());
    assert_eq!(succeeds(&["query", &file], "from the first\n"), "from the first\n");
}

#[test]
fn a_killed_writer_leaves_no_lock() {
    let workshop = Workshop::new();
    let file = workshop.build("filter", &[], "key\n");
    for _ in 0..3 {
        let mut first = waiting_writer(&workshop, &["add", &file]);
        first.kill().expect("it can be killed");
        first.wait().expect("it ends");
        assert_eq!(workshop.files(), [BESIDE, "filter"]);
        succeeds(&["verify", &file], "");
    }
    succeeds(&["add", &file], "more\n");
    assert_eq!(workshop.files(), ["filter"]);
    assert_eq!(json(&succeeds(&["info", &file, "--json"], ""))["keys"], 2);
}

/// Many at once: each is refused or adds its key, and none is lost.
#[test]
fn writers_that_race_lose_no_key() {
    let workshop = Workshop::new();
    let file = workshop.build("filter", &[], "");
    let added: Vec<String> = thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let file = &file;
                scope.spawn(move || {
                    let keys = (0..25).map(|i| format!("writer {writer}, key {i}\n"));
                    keys.filter(|key| {
                        let output = fed(&["add", file], key);
                        let message = stderr_of(&output);
                        let code = output.status.code();
                        assert!(code == Some(0) || message.contains("being written"), "{message}");
                        code == Some(0)
                    })
                    .collect::<Vec<_>>()
                })
            })
            .collect();
        writers.into_iter().flat_map(|writer| writer.join().expect("no panic")).collect()
    });
    assert!(!added.is_empty(), "one at a time gets through");
    assert_eq!(succeeds(&["query", &file], added.concat()), added.concat());
    assert_eq!(json(&succeeds(&["info", &file, "--json"], ""))["keys"], added.len());
    assert_eq!(workshop.files(), ["filter"]);
}

/// Ctrl-C leaves nothing behind; a run of `uniq` with a state saves what it has printed.
#[cfg(unix)]
#[test]
fn an_interrupted_writer_leaves_nothing_behind() {
    let interrupt = |child: &std::process::Child| {
        let id = child.id().to_string();
        let sent = std::process::Command::new("kill").args(["-INT", &id]).status();
        assert!(sent.expect("kill runs").success());
    };
    let workshop = Workshop::new();
    let file = workshop.build("filter", &[], "key\n");
    let before = workshop.read("filter");
    let mut child = waiting_writer(&workshop, &["add", &file]);
    interrupt(&child);
    // Its input is still open, or it could end before it is interrupted.
    let stdin = child.stdin.take();
    let output = child.wait_with_output().expect("it ends");
    drop(stdin);
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(workshop.files(), ["filter"]);
    assert!(workshop.read("filter") == before);

    let mut child = waiting_writer(&workshop, &["uniq", "--state", &file]);
    let mut printed = [0; 15];
    child.stdout.as_mut().expect("a pipe").read_exact(&mut printed).expect("it prints");
    interrupt(&child);
    // Its input is still open.
    let stdin = child.stdin.take();
    let output = child.wait_with_output().expect("it ends");
    drop(stdin);
    assert_eq!(output.status.code(), Some(130), "{}", stderr_of(&output));
    assert_eq!(workshop.files(), ["filter"]);
    assert_eq!(succeeds(&["uniq", "--state", &file], "from the first\nkey\nmore\n"), "more\n");
}

/// From the moment that it is there, the new file is no wider than the old one.
#[cfg(unix)]
#[test]
fn a_private_file_is_private_all_the_time() {
    use std::os::unix::fs::PermissionsExt;
    let workshop = Workshop::new();
    let file = workshop.build("filter", &[], "key\n");
    let mode = |name: &str| {
        let metadata = fs::metadata(workshop.path(name)).expect("the file");
        metadata.permissions().mode() & 0o777
    };
    assert_eq!(mode("filter") & 0o444, 0o444, "a new file is as wide as usual");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("permissions");
    let child = waiting_writer(&workshop, &["add", &file]);
    assert_eq!(mode(BESIDE), 0o600);
    assert!(child.wait_with_output().expect("it ends").status.success());
    assert_eq!(mode("filter"), 0o600);
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let workshop = Workshop::new();
    fs::create_dir(workshop.path("directory")).expect("a directory");
    let real = workshop.build("directory/filter", &[], "key\n");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).expect("permissions");
    let link = workshop.at("link");
    symlink("directory/filter", &link).expect("a link");
    succeeds(&["add", &link], "more\n");
    assert!(fs::symlink_metadata(&link).expect("the link").is_symlink());
    let mode = fs::metadata(&real).expect("the file").permissions().mode();
    assert_eq!(mode & 0o7777, 0o640);
    assert_eq!(json(&succeeds(&["info", &real, "--json"], ""))["keys"], 2);

    let nowhere = workshop.at("nowhere");
    symlink("not/there", &nowhere).expect("a link");
    let output = fed(&["build", &nowhere], "key\n");
    assert_eq!(output.status.code(), Some(2), "a link that leads nowhere");

    // Somebody else's trap: the name beside the file leads elsewhere.
    let precious = workshop.write("precious", "precious");
    symlink(&precious, workshop.path("directory/.filter.cuculus-new")).expect("a link");
    let output = fed(&["add", &real], "key\n");
    assert_eq!(output.status.code(), Some(2), "{}", stderr_of(&output));
    assert_eq!(workshop.read("precious"), b"precious");
}
