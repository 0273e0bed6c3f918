//! A file is whole at any moment: the old or the new version, whatever happens to the writer.

use std::fs;
use std::io::{Read, Write};
use std::thread;
use std::time::{Duration, Instant};

use crate::binary::{cuculus, stderr_of};
use crate::workshop::{Workshop, fed, json, lines, piped, succeeds};

/// The file that a writer has beside the target while it works.
const BESIDE: &str = ".filter.cuculus-new";

/// A hundred megabytes, killed at fifty moments from the start to after the end.
#[test]
fn a_killed_writer_leaves_the_old_file_or_the_new_one() {
    let workshop = Workshop::new();
    let file = workshop.build(
        "filter",
        &["--kind", "cuckoo", "--capacity", "80000000"],
        &lines("key", 1000),
    );
    let old = workshop.read("filter");
    assert!(old.len() > 100_000_000, "{} bytes", old.len());
    let keys = workshop.write("keys", lines("more", 1000));
    let start = Instant::now();
    succeeds(&["add", &file, &keys], "");
    let takes = start.elapsed();
    // The same keys give the same bytes, so there are two files that may be found.
    let new = workshop.read("filter");
    assert!(new != old);

    workshop.write("filter", &old);
    let mut random = 1u64;
    let (mut olds, mut news) = (0, 0);
    for _ in 0..50 {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let moment = takes.mul_f64((random >> 40) as f64 / (1u64 << 24) as f64 * 1.2);
        let mut child = cuculus(&["add", &file, &keys]).spawn().expect("the binary runs");
        thread::sleep(moment);
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        let left = workshop.read("filter");
        match left {
            _ if left == old => olds += 1,
            _ if left == new => {
                news += 1;
                workshop.write("filter", &old);
            }
            _ => panic!("killed after {moment:?}: {} bytes of something else", left.len()),
        }
        // One leftover at most, however many were killed.
        let others = workshop.files().into_iter().filter(|n| n != "filter" && n != "keys");
        assert!(others.clone().all(|name| name == BESIDE), "{:?}", others.collect::<Vec<_>>());
    }
    assert!(olds > 0, "no writer was killed in time");
    eprintln!("{olds} old files, {news} new ones");
    succeeds(&["add", &file, &keys], "");
    assert!(workshop.read("filter") == new);
    assert_eq!(workshop.files(), ["filter", "keys"], "the next writer clears up");
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
        assert_eq!(second.status.code(), Some(2), "{arguments:?}");
        let message = stderr_of(&second);
        assert!(message.contains("is being written by another process"), "{message}");
        assert_eq!(message.lines().count(), 1);
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

/// The state of `uniq`, killed at forty moments: what the next run prints shows that the state was
/// the old or the new one.
#[test]
fn a_killed_uniq_leaves_the_old_state_or_the_new_one() {
    let workshop = Workshop::new();
    let (old, new) = (lines("old", 1000), lines("new", 400_000));
    let state = workshop.at("filter");
    succeeds(&["uniq", "--state", &state], &old);
    let before = workshop.read("filter");
    let keys = workshop.write("keys", &new);
    let start = Instant::now();
    succeeds(&["uniq", "--count", "--state", &state, &keys], "");
    let takes = start.elapsed();
    let after = workshop.read("filter");
    workshop.write("filter", &before);
    let mut random = 3u64;
    let mut olds = 0;
    for _ in 0..40 {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let moment = takes.mul_f64((random >> 40) as f64 / (1u64 << 24) as f64 * 1.2);
        let arguments = ["uniq", "--count", "--state", &state, &keys];
        let mut child = piped(&arguments);
        thread::sleep(moment);
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        let left = workshop.read("filter");
        assert!(left == before || left == after, "killed after {moment:?}");
        olds += usize::from(left == before);
        workshop.write("filter", &before);
    }
    assert!(olds > 0, "no run was killed in time");
    assert_eq!(succeeds(&["uniq", "--count", "--state", &state], old + &new), "400000\n");
    assert_eq!(workshop.files(), ["filter", "keys"], "the next run clears up");
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
