//! Commands that choose snapshots and paths: filters, patterns, standard input, `find`, `dump`,
//! `tag`, `copy`, and rules of `forget`, each through the binary.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::binary::{Backend, Place, names, number, succeeds, text};
use crate::trees::{self, manifest};

#[test]
fn snapshots_are_chosen_by_host_tag_and_path() {
    let place = Place::new(false);
    for name in ["one", "two"] {
        trees::write(&place.path(name).join("file"), name.as_bytes());
    }
    for (path, host, tags) in
        [("one", "a", "x"), ("two", "a", "y"), ("one", "b", "x"), ("two", "b", "z")]
    {
        place.succeeds(&["backup", path, "--host", host, "--tag", tags, "--tag", "all"]);
    }
    let all = place.snapshots();
    let chosen = |filter: &[&str]| names(&place.json(&[&["snapshots"], filter].concat()));
    let pick = |numbers: &[usize]| -> Vec<String> {
        numbers.iter().map(|number| all[*number].clone()).collect()
    };
    assert_eq!(chosen(&["--host", "a"]), pick(&[0, 1]));
    assert_eq!(chosen(&["--tag", "x"]), pick(&[0, 2]));
    assert_eq!(chosen(&["--tag", "x,all", "--tag", "z"]), pick(&[0, 2, 3]));
    assert_eq!(chosen(&["--tag", "x,y"]), pick(&[]));
    assert_eq!(chosen(&["--path", "two"]), pick(&[1, 3]));
    assert_eq!(chosen(&["--path", "two", "--host", "a"]), pick(&[1]));
    // What is chosen may be nothing.
    assert_eq!(place.json(&["snapshots", "--host", "nobody"]), serde_json::json!([]));
    let none = place.succeeds(&["snapshots", "--host", "nobody"]);
    assert_eq!(none, "none of 4 snapshots matches; they are of a, b\n");
    // `latest` is the newest of those.
    let one = place.path("one/file").display().to_string();
    let dump = |filter: &[&str]| place.run(&[&["dump", "latest", &one], filter].concat()).stdout;
    assert_eq!(dump(&["--path", "one"]), b"one");
    assert!(place.succeeds(&["ls", "latest", "--host", "a"]).contains("/two/file"));
    place.succeeds(&["restore", "latest", "--tag", "x", "--target", "out"]);
    assert!(place.path("out").join(one.trim_start_matches('/')).exists());
    place.refused(&["ls", "latest", "--host", "nobody"], "no snapshot has");
    let found = place.succeeds(&["find", "file", "--host", "b", "--path", "one", "--json"]);
    let found: serde_json::Value = serde_json::from_str(found.trim()).expect("one line of JSON");
    assert_eq!((&found["snapshot"], &found["found"]["size"]), (&all[2].clone().into(), &3.into()));
    // `forget` leaves alone what the filter does not choose.
    place.succeeds(&["forget", "--keep-last", "1", "--group-by", "", "--host", "a"]);
    assert_eq!(chosen(&[]), pick(&[1, 2, 3]));
    place.succeeds(&["forget", "--keep-tag", "x", "--group-by", "host"]);
    assert_eq!(chosen(&[]), pick(&[2]));
}

#[test]
fn standard_input_is_saved_and_dumped() {
    for at in Backend::ALL {
        let place = Place::at(*at, true);
        let bytes = trees::noise(1, 3_000_000);
        let words = ["backup", "--stdin", "--stdin-name", "dump.sql", "--tag", "db"];
        place.with_input(&words, &bytes);
        assert!(place.succeeds(&["ls", "latest", "--long"]).contains("3000000"));
        assert!(place.run(&["dump", "latest", "/dump.sql"]).stdout == bytes);
        assert!(place.run(&["dump", "latest", "dump.sql"]).stdout == bytes);
        place.refused(&["dump", "latest", "/nothing"], "not in snapshot");
        place.refused(&["dump", "latest", "/"], "not");
        let again = place.with_input(&[&words[..], &["--json"]].concat(), &bytes);
        let report: serde_json::Value = serde_json::from_str(&again).expect("JSON");
        assert!(number(&report, "new_bytes") < 2000, "{report}");
        place.refused(&["backup", "--stdin", "--stdin-name", "a/b"], "without a slash");
        place.refused(&["backup", "--stdin", "source"], "cannot be used with");
        place.is_sound();
    }
}

#[test]
fn a_dump_fills_holes_with_zeros() {
    let place = Place::new(false);
    let mut file = fs::File::create(place.path("sparse")).expect("a file");
    file.set_len(5 << 20).expect("a hole");
    file.write_all(b"start").expect("bytes");
    place.succeeds(&["backup", "sparse"]);
    let path = place.path("sparse").display().to_string();
    let dumped = place.run(&["dump", "latest", &path]).stdout;
    assert!(dumped == fs::read(place.path("sparse")).expect("a file"));
}

#[test]
fn patterns_paths_and_caches_are_as_documented() {
    let place = Place::new(false);
    let source = place.path("source");
    for name in ["a/b/x", "c/a/b/x", "target/x", "c/target", "keep.log", "drop.log", "cache/big"] {
        trees::write(&source.join(name), name.as_bytes());
    }
    let tag = "Signature: 8a477f597d28d172789f06886806bc55\n# a cache";
    fs::write(source.join("cache/CACHEDIR.TAG"), tag).expect("a file");
    let listed = |arguments: &[&str]| {
        place.succeeds(&[&["backup", "source"], arguments].concat());
        let all = place.succeeds(&["ls", "latest"]);
        let prefix = format!("{}/", source.display());
        let mut names: Vec<String> =
            all.lines().filter_map(|line| line.strip_prefix(&prefix)).map(String::from).collect();
        names.retain(|name| source.join(name).is_file());
        names.sort();
        names
    };
    let all = ["a/b/x", "c/a/b/x", "c/target", "cache/CACHEDIR.TAG", "cache/big", "drop.log"]
        .into_iter()
        .chain(["keep.log", "target/x"]);
    let without = |gone: &[&str]| -> Vec<String> {
        all.clone().filter(|name| !gone.contains(name)).map(String::from).collect()
    };
    assert_eq!(listed(&[]), without(&[]));
    assert_eq!(listed(&["--exclude", "a/b"]), without(&["a/b/x"]));
    assert_eq!(listed(&["--exclude", "**/a/b"]), without(&["a/b/x", "c/a/b/x"]));
    assert_eq!(listed(&["--exclude", "target/"]), without(&["target/x"]));
    let whole = format!("{}/c", source.display());
    assert_eq!(listed(&["--exclude", &whole]), without(&["c/a/b/x", "c/target"]));
    let logs = ["--exclude", "*.log", "--exclude", "!keep.log"];
    assert_eq!(listed(&logs), without(&["drop.log"]));
    fs::write(place.path("patterns"), "# logs\n*.log\n\n!keep.log\n/nowhere\n").expect("a file");
    assert_eq!(listed(&["--exclude-file", "patterns"]), without(&["drop.log"]));
    assert_eq!(listed(&["--exclude-caches"]), without(&["cache/big"]));
    place.refused(&["backup", "source", "--exclude-file", "missing"], "missing");

    let list = format!("# paths\n{}/a\n\nsource/keep.log\n", source.display());
    fs::write(place.path("list"), &list).expect("a file");
    place.succeeds(&["backup", "--files-from", "list"]);
    let found = place.succeeds(&["ls", "latest"]);
    assert!(found.contains("a/b/x") && found.contains("keep.log") && !found.contains("target"));
    let zeros = b"source/keep.log\0source/drop.log\0";
    place.with_input(&["backup", "--files-from0", "-"], zeros);
    assert!(place.succeeds(&["ls", "latest"]).contains("drop.log"));
    place.refused(&["backup"], "--files-from");
}

#[test]
fn find_lists_what_matches_in_each_snapshot() {
    let (place, source) = Place::with_files(Backend::Directory, false, 1, 20);
    place.succeeds(&["backup", "source"]);
    fs::write(source.join("dir1/other.txt"), "").expect("a file");
    place.succeeds(&["backup", "source"]);
    let found = place.succeeds(&["find", "*.txt"]);
    assert_eq!(found.lines().count(), 2, "{found}");
    assert_eq!(place.succeeds(&["find", "file3"]).lines().count(), 4);
    let path = format!("{}/dir3/*", source.display());
    let in_latest = place.succeeds(&["find", &path, "--snapshot", "latest", "--long"]);
    assert!(in_latest.contains("-rw") && in_latest.contains("dir3/file10"), "{in_latest}");
    assert_eq!(place.succeeds(&["find", "nothing at all"]), "");
    place.refused(&["find", "["], "pattern");
}

#[test]
fn tags_are_changed_and_nobody_misses_the_old_snapshot() {
    for at in Backend::ALL {
        let (place, source) = Place::with_files(*at, true, 2, 10);
        place.succeeds(&["backup", "source", "--tag", "one"]);
        place.succeeds(&["backup", "source"]);
        place.succeeds(&["tag", "--add", "two", "--add", "three"]);
        place.succeeds(&["tag", "--remove", "two", "--tag", "one"]);
        let tags = |number: usize| place.json(&["snapshots"])[number]["tags"].clone();
        assert_eq!(tags(0), serde_json::json!(["one", "three"]));
        assert_eq!(tags(1), serde_json::json!(["two", "three"]));
        place.succeeds(&["tag", "latest", "--set", "only"]);
        assert_eq!(tags(1), serde_json::json!(["only"]));
        assert!(place.succeeds(&["tag", "latest", "--set", "only"]).contains("0 changed"));
        place.refused(&["tag", "latest"], "--add");
        place.is_quiet(&["check", "--read-data"]);
        place.succeeds(&["prune", "--max-unused", "0"]);
        place.restores(&source);
    }
}

/// Snapshots come over once, with what is in them.
#[test]
fn a_copy_has_the_snapshots_of_the_other_repository() {
    for is_encrypted in [false, true] {
        let (old, source) = Place::with_files(Backend::Directory, is_encrypted, 1, 8);
        for step in 0..2 {
            old.succeeds(&["backup", "source"]);
            trees::change(&source, step);
        }
        old.succeeds(&["backup", "source"]);
        let place = Place::new(true);
        let from = old.repo().display().to_string();
        let copy = |more: &[&str]| {
            let mut command = place.command(&[&["copy", "--from-repo", &from], more].concat());
            let passphrase = if is_encrypted { "a passphrase" } else { "" };
            succeeds(command.env("CUCULUS_BACKUP_FROM_PASSPHRASE", passphrase))
        };
        assert!(copy(&["latest"]).contains("1 copied"));
        assert!(copy(&[]).contains("2 copied, 1 were here already"));
        assert!(copy(&[]).contains("0 copied, 3 were here already"));
        let list = |place: &Place| {
            let lines = |name: &String| place.succeeds(&["ls", name, "--json"]);
            place.snapshots().iter().map(lines).collect::<Vec<_>>()
        };
        assert_eq!(list(&place), list(&old));
        place.restores_as("latest", &source, &manifest(&source), "is a copy");
        place.is_sound();
    }
}

#[test]
fn the_passphrase_of_the_other_repository_comes_from_a_file_or_a_command() {
    let (old, _) = Place::with_files(Backend::Directory, true, 1, 3);
    old.succeeds(&["backup", "source"]);
    let from = old.repo().display().to_string();
    let place = Place::new(false);
    fs::write(place.path("good"), "a passphrase\n").expect("a file");
    fs::write(place.path("bad"), "another\n").expect("a file");
    let copy = ["copy", "--from-repo", &from];
    place.refused(&[&copy[..], &["--from-passphrase-file", "bad"]].concat(), "wrong passphrase");
    place.refused(&[&copy[..], &["--from-passphrase-command", "false"]].concat(), "false");
    for how in [["--from-passphrase-file", "good"], ["--from-passphrase-command", "cat good"]] {
        place.succeeds(&[&copy[..], &how].concat());
    }
    assert_eq!(place.snapshots().len(), 1);
}

/// Holes, links and large files survive a copy, and nothing is stored twice.
#[test]
fn a_copy_is_exact() {
    let place = Place::new(false);
    let source = place.path("source");
    trees::hostile(&source);
    place.succeeds(&["backup", "source"]);
    let other = Place::new(false);
    let from = place.repo().display().to_string();
    other.succeeds(&["copy", "--from-repo", &from]);
    other.restores(&source);
    let bytes = |place: &Place| number(&place.json(&["stats"]), "chunk_bytes");
    assert!(bytes(&other).abs_diff(bytes(&place)) < bytes(&place) / 20);
}

#[test]
fn forget_has_hours_years_spans_and_groups() {
    let place = Place::new(false);
    fs::create_dir(place.path("source")).expect("a directory");
    for time in [
        "2023-05-05T12:00:00Z",
        "2024-05-05T12:00:00Z",
        "2025-12-30T12:00:00Z",
        "2026-01-01T10:10:00Z",
        "2026-01-01T10:50:00Z",
        "2026-01-01T11:50:00Z",
    ] {
        place.succeeds(&["backup", "source", "--time", time]);
    }
    let kept = |rules: &[&str]| {
        let report = place.json(&[&["forget", "--dry-run"], rules].concat());
        let number = |field: &str| report[field].as_array().expect("a list").len();
        assert_eq!(number("kept") + number("forgotten"), 6);
        number("kept")
    };
    assert_eq!(kept(&["--keep-hourly", "2"]), 2);
    // The last three are of one week, with the one before.
    assert_eq!(kept(&["--keep-weekly", "9"]), 3);
    assert_eq!(kept(&["--keep-weekly", "2"]), 2);
    assert_eq!(kept(&["--keep-monthly", "9"]), 4);
    assert_eq!(kept(&["--keep-monthly", "1"]), 1);
    assert_eq!(kept(&["--keep-yearly", "9"]), 4);
    assert_eq!(kept(&["--keep-within", "2d"]), 4);
    assert_eq!(kept(&["--keep-within", "1h"]), 2);
    assert_eq!(kept(&["--keep-within", "2y"]), 5);
    assert_eq!(place.snapshots().len(), 6, "a dry run removes nothing");
    place.refused(&["forget", "--keep-within", "soon"], "--keep-within");
    place.refused(&["forget", "--keep-last", "1", "--group-by", "size"], "host, paths and tags");
    let all = place.snapshots();
    place.succeeds(&["forget", "--keep-daily", "3", "--keep-last", "1", "--prune"]);
    assert_eq!(place.snapshots(), [&*all[1], &all[2], &all[5]], "the last of each day");
    place.is_sound();
}

#[test]
fn part_of_the_data_can_be_checked() {
    let place = Place::new(false);
    let source = place.path("source");
    for seed in 0..6 {
        trees::write(&source.join(format!("f{seed}")), &trees::noise(seed, 1_000_000));
        place.succeeds(&["backup", "source"]);
    }
    let read =
        |subset: &str| number(&place.json(&["check", "--read-data-subset", subset]), "read_bytes");
    let all = number(&place.json(&["check", "--read-data"]), "read_bytes");
    let parts: Vec<u64> = (1..=3).map(|part| read(&format!("{part}/3"))).collect();
    assert_eq!(parts.iter().sum::<u64>(), all);
    assert!(parts.iter().all(|part| *part < all), "{parts:?}");
    assert_eq!(read("100%"), all);
    for bad in ["0/3", "4/3", "3", "0%", "101%", "x%"] {
        place.refused(&["check", "--read-data-subset", bad], "percentage");
    }
}

/// A dry run writes nothing at all, not even the intent that it is at work.
#[test]
fn a_dry_run_needs_no_writable_repository() {
    let (place, _) = Place::with_files(Backend::Directory, true, 3, 10);
    place.succeeds(&["backup", "source"]);
    let before = manifest(&place.repo());
    for arguments in [
        &["backup", "source", "--dry-run", "--read-all"][..],
        &["prune", "--dry-run"],
        &["forget", "--keep-last", "1", "--dry-run"],
        &["restore", "latest", "--target", "nowhere", "--dry-run"],
    ] {
        place.succeeds(arguments);
        // Times of directories tell of files that came and went.
        assert!(manifest(&place.repo()) == before, "{arguments:?}");
    }
    assert!(!place.path("nowhere").exists());
}

#[test]
fn progress_is_json_for_programs() {
    let (place, _) = Place::with_files(Backend::Directory, false, 4, 30);
    let output = place.run(&["backup", "source", "--progress", "json"]);
    assert!(output.status.success());
    let lines = text(&output.stderr);
    let last: serde_json::Value =
        serde_json::from_str(lines.lines().last().expect("a line")).expect("JSON");
    let progress = &last["progress"];
    assert_eq!((&progress["phase"], &progress["unit"]), (&"saving".into(), &"bytes".into()));
    assert!(progress["done"].as_u64() > Some(0) && progress["done"] == progress["total"]);
    assert!(place.run(&["check", "--progress", "none"]).stderr.is_empty());
}

#[test]
fn completions_and_manual_pages_are_made() {
    let place = Place::empty(Backend::Directory, false);
    for shell in ["bash", "zsh", "fish"] {
        assert!(place.succeeds(&["completions", shell]).contains("exclude-caches"), "{shell}");
    }
    place.succeeds(&["manual", "pages"]);
    let page = |name: &str| fs::read_to_string(place.path("pages").join(name)).expect("a page");
    assert!(page("cuculus-backup.1").contains("Deduplicating"));
    assert!(page("cuculus-backup-restore.1").contains("overwrite"));
}

#[test]
fn quiet_commands_print_nothing_but_errors() {
    let (place, _) = Place::with_files(Backend::Directory, false, 5, 3);
    for arguments in [&["backup", "source", "--quiet"][..], &["check", "--quiet"], &["prune", "-q"]]
    {
        let output = place.run(arguments);
        assert!(output.status.success());
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{arguments:?}");
    }
    place.refused(&["backup", "missing", "--quiet"], "missing");
}

/// A directory of another file system is saved without what is in it.
#[test]
fn other_file_systems_are_left_out_if_asked() {
    use std::os::unix::fs::MetadataExt;

    let device = |path: &str| fs::metadata(path).map(|found| found.dev()).ok();
    // The one mount that nearly every Linux has and everybody may write to.
    if device("/dev/shm").is_none() || device("/dev/shm") == device("/dev") {
        return;
    }
    let file = tempfile::NamedTempFile::new_in("/dev/shm").expect("a file");
    let path = file.path().display().to_string();
    let place = Place::new(false);
    let listed = |more: &[&str]| {
        let only = ["backup", "/dev", "--exclude", "/dev/*", "--exclude", "!/dev/shm"];
        place.succeeds(&[&only[..], more].concat());
        place.succeeds(&["ls", "latest"])
    };
    assert!(listed(&[]).lines().any(|line| line == path));
    let without = listed(&["--one-file-system"]);
    assert!(without.lines().any(|line| line == "/dev/shm"));
    assert!(!without.contains(&path), "{without}");
}

/// The words after `Commands:` in a help text, and the long options.
fn words_of_help(help: &str) -> (Vec<String>, Vec<String>) {
    let first = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let commands = help.split("Commands:\n").nth(1).unwrap_or_default();
    let commands = commands.lines().take_while(|line| line.starts_with("  ")).filter_map(first);
    let options = help.lines().filter(|line| line.trim_start().starts_with('-'));
    let options = options.filter_map(|line| {
        let word = line.split_whitespace().find(|word| word.starts_with("--"))?;
        Some(word.trim_end_matches(['.', ',']).to_owned())
    });
    (commands.filter(|name| name != "help").collect(), options.collect())
}

/// Every command and every option is run in a test. The help of a command also checks that its
/// definition is sound.
#[test]
fn every_command_and_every_option_is_in_a_test() {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite");
    let files = fs::read_dir(suite).expect("a directory").map(|file| file.expect("a file").path());
    let tests: String = files.map(|path| fs::read_to_string(path).expect("a text")).collect();
    let place = Place::empty(Backend::Directory, false);
    let mut waiting = vec![Vec::<String>::new()];
    let (mut commands, mut missing) = (0, Vec::new());
    while let Some(command) = waiting.pop() {
        let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let (below, options) = words_of_help(&place.succeeds(&words));
        commands += 1;
        for word in command.last().into_iter().chain(&options) {
            let said = [format!("\"{word}\""), format!("\"{word}=")];
            if !said.iter().any(|said| tests.contains(said.as_str())) {
                missing.push([command.join(" "), word.clone()].join(": "));
            }
        }
        waiting.extend(below.into_iter().map(|word| [&command[..], &[word]].concat()));
    }
    missing.retain(|word| !word.ends_with(": --help") && !word.ends_with(": --version"));
    assert!(missing.is_empty(), "{missing:?}");
    assert!(commands > 22, "{commands}");
}
