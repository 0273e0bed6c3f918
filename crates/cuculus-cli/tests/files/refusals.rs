//! An error is one line with exit code 2, and nothing is lost.

use std::fs;
use std::process::Command;

use crate::binary::{cuculus, is_error, is_refused, stderr_of, stdout_of};
use crate::workshop::{Workshop, fed, gzip, json, lines, succeeds, zstd};

#[test]
fn missing_files_and_files_that_are_not_filters() {
    let workshop = Workshop::new();
    let text = workshop.write("text", "not a filter\n");
    let empty = workshop.write("empty", "");
    let keys = workshop.write("keys", "key\n");
    let missing = workshop.at("missing");
    for command in ["add", "remove", "query", "count", "info", "verify"] {
        is_refused(&[command, &missing], "cannot open ");
        is_refused(&[command, &text], "not a saved filter");
        is_refused(&[command, &empty], "cut short");
    }
    is_refused(&["merge", &missing, &text], "No such file");
    is_refused(&["merge", &text, &missing], "not a saved filter");
    let filter = workshop.build("filter", &[], "key\n");
    // A key in place of a file.
    is_refused(&["query", &filter, "key"], "come by a pipe: echo KEY | cuculus");
    for command in ["add", "remove", "query", "count"] {
        is_refused(&[command, &filter, &keys, &missing], &format!("cannot read {missing}"));
        is_refused(&[command, &filter, &workshop.at("")], "it is a directory");
    }
    is_refused(&["build", &workshop.at("new"), &missing], "cannot read ");
    is_refused(&["uniq", &missing], "cannot read ");
    is_refused(&["uniq", "--state", &text], "not a saved filter");
    is_refused(&["build", &workshop.at("no/such/directory")], "cannot write ");
    assert_eq!(workshop.files(), ["empty", "filter", "keys", "text"]);
}

/// Their bytes would be keys that nobody has, and the filter would be full of them.
#[test]
fn filters_and_sets_in_parts_are_not_lines() {
    let workshop = Workshop::new();
    let filter = workshop.build("filter", &[], "key\n");
    let other = workshop.build("other", &["--kind", "cuckoo"], "key\n");
    let parts = workshop.write("parts", set_in_parts());
    let packed =
        [("other.gz", gzip(workshop.read("other"))), ("parts.zst", zstd(workshop.read("parts")))];
    let [other_packed, parts_packed] = packed.map(|(name, bytes)| workshop.write(name, bytes));
    let (state, out) = (workshop.at("state"), workshop.at("out"));
    let (not_a_filter, not_parts) =
        ("it is a filter, not lines; ", "it is a set in parts, not lines; ");
    let before = workshop.files();
    for (file, why) in [
        (&filter, not_a_filter),
        (&other, not_a_filter),
        (&other_packed, not_a_filter),
        (&parts, not_parts),
        (&parts_packed, not_parts),
    ] {
        for arguments in [
            &["add", &filter, file][..],
            &["remove", &filter, file],
            &["query", &filter, file],
            &["count", &filter, file],
            &["build", &state, file],
            &["uniq", file],
            &["uniq", "--state", &state, file],
            &["dedup", "--out", &out, "--state", &state, file],
            #[cfg(feature = "cluster")]
            &["cluster", "build", &state, file],
        ] {
            is_refused(arguments, &format!("cannot read {file}: {why}"));
        }
        let bytes = fs::read(file).expect("the file");
        is_error(&fed(&["uniq"], bytes), &format!("cannot read standard input: {why}"));
    }
    let _ = fs::remove_dir_all(&out);
    assert_eq!(workshop.files(), before);
    succeeds(&["verify", &filter, &other], "");
}

#[test]
fn a_set_in_parts_is_named() {
    let workshop = Workshop::new();
    let filter = workshop.build("filter", &[], "key\n");
    let parts = workshop.write("parts", set_in_parts());
    for command in ["info", "verify", "query", "count", "add", "remove"] {
        is_refused(
            &[command, &parts],
            "parts: a set in parts, not one filter; `cuculus cluster import`",
        );
    }
    is_refused(&["merge", &filter, &parts], "a set in parts, not one filter");
    is_refused(&["query", &filter, "--or", &parts], "a set in parts, not one filter");
    is_refused(&["uniq", "--state", &parts], "a set in parts, not one filter");
}

#[cfg(feature = "cluster")]
#[test]
fn a_filter_is_not_a_set_in_parts() {
    let workshop = Workshop::new();
    let filter = workshop.build("filter", &[], "key\n");
    let text = workshop.write("text", lines("line", 10));
    for (file, found) in [(&filter, "a filter"), (&text, "a file with unrecognised magic bytes")] {
        let refused =
            format!("{file} is {found}, not a set in parts; `cuculus cluster build` makes");
        is_refused(&["cluster", "import", "again", file], &refused);
    }
}

/// The header of a file with one part, which nothing here reads further.
fn set_in_parts() -> Vec<u8> {
    [&cuculus::Partition::MAGIC[..], &[1, 0], &[0; 22]].concat()
}

#[test]
fn damage_is_found_wherever_it_is() {
    let workshop = Workshop::new();
    for kind in ["elastic", "cuckoo", "semi-sorted"] {
        workshop.build("whole", &["--kind", kind, "--force"], &lines("key", 2000));
        let whole = workshop.read("whole");
        for at in [0, 9, 11, 20, 50, 60, 100, whole.len() / 2, whole.len() - 1] {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            let file = workshop.write("damaged", &damaged);
            for command in ["verify", "query", "add"] {
                is_refused(&[command, &file], &file);
            }
            assert!(workshop.read("damaged") == damaged, "{kind}");
        }
        let cut = workshop.write("cut", &whole[..whole.len() - 5]);
        is_refused(&["verify", &cut], "cut short");
        let longer = workshop.write("longer", [&whole[..], b"more"].concat());
        is_refused(&["verify", &longer], "4 bytes follow the end of the filter");
    }
    // Each file has its verdict, also after a damaged one.
    let files = ["cut", "whole"].map(|name| workshop.at(name));
    let output = fed(&["verify", &files[0], &files[1], "--json"], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr_of(&output).is_empty());
    let verdicts: Vec<_> = stdout_of(&output).lines().map(json).collect();
    assert_eq!((&verdicts[0]["ok"], &verdicts[1]["ok"]), (&json("false"), &json("true")));
    assert!(verdicts[0]["error"].as_str().is_some_and(|error| error.contains("cut short")));
    assert_eq!(verdicts[1]["keys"], 2000);
}

#[test]
fn keys_that_cannot_be_read_are_named_with_file_and_line() {
    let workshop = Workshop::new();
    let filter = workshop.build("filter", &["--u64"], "1\n2\n");
    let hex = workshop.build("hex", &["--hex"], "00\n");
    let before = workshop.read("filter");
    let bad = workshop.write("bad", "1\n2\nthree\n");
    for command in ["add", "remove", "query", "count"] {
        let output = fed(&[command, &filter, &bad, "--u64"], "");
        is_error(&output, &format!("{bad}:3: \"three\" is not a number"));
        let output = fed(&[command, &hex, "--hex"], "00\n0\n");
        is_error(&output, "standard input:2: \"0\" is not hexadecimal");
    }
    let late = lines("", 200_000) + "x\n";
    let output = fed(&["add", &filter, "--u64"], &late);
    is_error(&output, "standard input:200001: \"x\"");
    let output = fed(&["build", &workshop.at("new"), "--u64"], "1\n\n");
    is_error(&output, "standard input:2: \"\"");
    assert!(workshop.read("filter") == before);
    assert_eq!(workshop.files(), ["bad", "filter", "hex"]);
}

#[test]
fn options_that_conflict_or_cannot_be_kept() {
    let workshop = Workshop::new();
    let filter = workshop.build("filter", &[], "key\n");
    let new = workshop.at("new");
    for (arguments, hint) in [
        (&["query", &filter, "--hex", "--u64"][..], "cannot be used with '--u64'"),
        (&["query", &filter, "--quiet", "--count"], "cannot be used with"),
        (&["query", &filter, "--json", "--count"], "cannot be used with"),
        (&["query"], "required"),
        (&["merge", &filter], "required"),
        (&["verify"], "required"),
        (&["uniq", "--json"], "--stats"),
        (&["uniq", "--fpr", "0"], "'0' for '--fpr <RATE>': the rate must be above 0"),
        (&["uniq", "--fpr", "0.0000001%"], "--fpr 0.0000001%: "),
        (&["uniq", "--fpr", "2", "--state", &new], "'2' for '--fpr <RATE>'"),
        (&["build", &new, "--fpr", "150%"], "'150%' for '--fpr <RATE>'"),
        (&["build", &new, "--fpr", "x"], "expected a rate such as"),
        (&["build", &new, "--fpr", "1e-12"], "--fpr 1e-12: "),
        (&["build", &new, "--capacity", "1.5"], "whole number"),
        (&["build", &new, "--seed", "x"], "'x' for '--seed <SEED>'"),
        (&["build", &new, "--kind", "bloom"], "elastic, cuckoo"),
        (&["build", &new, "--kind", "cuckoo", "--capacity", "99999999999999"], "buckets"),
        (&["build", &filter], "--force"),
        (&["build", "-"], "not in a pipe"),
        (&["query", "-"], "not in a pipe"),
        (&["query", &filter, "--or", "-"], "not in a pipe"),
        (&["add", "-"], "not in a pipe"),
        (&["info", "-"], "not in a pipe"),
        (&["verify", "-"], "not in a pipe"),
        (&["merge", &filter, "-"], "not in a pipe"),
        (&["merge", "-", &filter], "not in a pipe"),
        (&["demo", "--out", "-"], "a directory"),
        (&["man", "--out", "-"], "a directory"),
    ] {
        is_refused(arguments, hint);
    }
    assert_eq!(workshop.files(), ["filter"]);
}

#[test]
fn a_full_filter_names_the_key_that_did_not_fit() {
    let workshop = Workshop::new();
    let new = workshop.at("new");
    let fixed = ["build", &new, "--kind", "cuckoo", "--capacity", "100"];
    let copies = fed(&fixed, "key\n".repeat(9));
    is_error(&copies, "standard input:9: the key is stored 8 times already");
    is_error(&copies, "with --set to store each key once");
    is_error(&fed(&fixed, lines("key", 5000)), "larger --capacity");
    assert_eq!(workshop.files(), [""; 0]);
    let small = workshop.build("small", &["--kind", "cuckoo", "--capacity", "100"], "key\n");
    let before = workshop.read("small");
    is_error(&fed(&["add", &small], lines("key", 5000)), "the filter is full");
    assert!(workshop.read("small") == before);
}

#[test]
fn filters_that_cannot_be_merged() {
    let workshop = Workshop::new();
    let a = workshop.build("a", &["--fpr", "0.001%"], &lines("a", 50_000));
    let b = workshop.build("b", &["--fpr", "0.2", "--capacity", "50000"], &lines("b", 50_000));
    let cuckoo = workshop.build("cuckoo", &["--kind", "cuckoo"], "a\n");
    let other = workshop.at("other");
    succeeds(&["build", &other, "--seed", "2"], "a\n");
    let before = workshop.read("a");
    is_refused(&["merge", &a, &cuckoo], "only elastic filters can be merged");
    is_refused(&["merge", &cuckoo, &a], "is a cuckoo filter");
    is_refused(&["merge", &a, &other], "different hash functions or seeds");
    is_refused(&["merge", &a, &b], "false positive rate");
    let numbers = workshop.build("numbers", &["--u64"], "1\n");
    is_refused(&["merge", &a, &numbers], "different forms");
    assert!(workshop.read("a") == before);
}

/// A full disk: a file system of one MiB in memory.
#[test]
fn a_full_disk_leaves_the_old_file() {
    struct Mounted(String);
    impl Drop for Mounted {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg(&self.0).status();
        }
    }
    let workshop = Workshop::new();
    let disk = workshop.at("disk");
    fs::create_dir(&disk).expect("a directory");
    let mount = ["-t", "tmpfs", "-o", "size=1m", "tmpfs", &disk];
    let mounted = Command::new("mount").args(mount).status().is_ok_and(|status| status.success());
    assert!(mounted, "this test mounts a small file system, which needs root: run it as root");
    let _mounted = Mounted(disk.clone());

    let file = format!("{disk}/filter");
    succeeds(&["build", &file, "--seed", "1"], lines("key", 100_000));
    let before = fs::read(&file).expect("the file");
    is_error(&fed(&["add", &file], lines("more", 1_000_000)), "No space left on device");
    assert!(fs::read(&file).expect("the file") == before);
    let left = fs::read_dir(&disk).expect("the directory").count();
    assert_eq!(left, 1, "what could not be written is removed");
    let new = format!("{disk}/new");
    is_error(&fed(&["build", &new, "--capacity", "9000000", "--kind", "cuckoo"], ""), "No space");
    assert!(fs::metadata(&new).is_err());
    let save = ["uniq", "--count", "--state", &new];
    is_error(&fed(&save, lines("line", 1_000_000)), "No space left on device");
    assert!(fs::metadata(&new).is_err());
    // A smaller filter fits again.
    let output = fed(&["remove", "--force", &file], lines("key", 90_000));
    assert_ne!(output.status.code(), Some(2), "{}", stderr_of(&output));
}

/// Without root: files may not be larger than 64 KiB.
#[test]
fn a_file_size_limit_leaves_the_old_file() {
    let workshop = Workshop::new();
    let file = workshop.build("filter", &[], &lines("key", 1000));
    let before = workshop.read("filter");
    let keys = workshop.write("keys", lines("more", 200_000));
    let limited = "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\"";
    let binary = cuculus(&[]).get_program().to_owned();
    let output = Command::new("bash")
        .args(["-c", limited])
        .arg(binary)
        .args(["add", &file, &keys])
        .output()
        .expect("bash runs");
    is_error(&output, "File too large");
    assert!(workshop.read("filter") == before);
    assert_eq!(workshop.files(), ["filter", "keys"]);
}

#[test]
fn keys_of_another_form_are_refused() {
    let workshop = Workshop::new();
    let files = [
        workshop.build("text", &[], "10\n"),
        workshop.build("hex", &["--hex"], "10\n"),
        workshop.build("number", &["--u64"], "10\n"),
    ];
    let forms = [&[][..], &["--hex"], &["--u64"]];
    for (file, own) in files.iter().zip(forms) {
        for command in ["query", "count", "add", "remove"] {
            for form in forms {
                let output = fed(&[&[command, file], form].concat(), "10\n");
                match form == own {
                    true => assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output)),
                    false => is_error(&output, "the keys of this file are "),
                }
            }
            if command == "remove" {
                succeeds(&[&["add", file], own].concat(), "10\n");
            }
        }
    }
}

/// A name cannot write to the terminal, and an error is said once.
#[test]
fn names_are_escaped_and_causes_are_said_once() {
    let workshop = Workshop::new();
    let name = workshop.at("two\nlines\x1b[31m");
    for command in ["query", "info", "verify", "add", "build"] {
        let output = match command {
            "build" => fed(&[command, &workshop.at("new"), &name], ""),
            _ => fed(&[command, &name], ""),
        };
        is_error(&output, "two\\nlines\\u{1b}[31m\"");
        assert_eq!(stderr_of(&output).matches("No such file").count(), 1, "{}", stderr_of(&output));
    }
    fs::create_dir(workshop.path("directory")).expect("a directory");
    let output = fed(&["verify", &workshop.at("directory")], "");
    is_error(&output, "Is a directory");
    assert_eq!(stderr_of(&output).matches("Is a directory").count(), 1, "{}", stderr_of(&output));
}
