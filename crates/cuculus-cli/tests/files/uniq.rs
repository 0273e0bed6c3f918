//! `cuculus uniq`: each line once, in order, and the statistics about it.

use std::collections::HashSet;
use std::io::{Read, Write};

use crate::binary::{is_error, is_refused, stderr_of, stdout_of};
use crate::workshop::{Workshop, fed, gzip, json, lines, piped, succeeds, zstd};

/// Random numbers, many of them repeated; the same for the same range.
fn repeated(count: usize, distinct: u64) -> String {
    let mut random = fastrand::Rng::with_seed(7);
    (0..count).map(|_| format!("line {}\n", random.u64(..distinct))).collect()
}

fn first_times(text: &str) -> Vec<&str> {
    let mut seen = HashSet::new();
    text.lines().filter(|line| seen.insert(*line)).collect()
}

/// What an exact set prints, from a file and from a pipe, each time.
#[test]
fn every_line_is_printed_the_first_time() {
    let workshop = Workshop::new();
    let text = repeated(300_000, 100_000);
    let exact: String = first_times(&text).iter().map(|line| format!("{line}\n")).collect();
    let file = workshop.write("lines", &text);
    for _ in 0..5 {
        for arguments in [&["uniq", &file][..], &["uniq"], &["uniq", "-"]] {
            assert!(succeeds(arguments, &text) == exact, "{arguments:?}");
        }
    }
}

/// With a rate, a few lines are lost that look like others, and none is printed twice.
#[test]
fn a_rate_loses_lines_and_says_so() {
    let text = repeated(300_000, 100_000);
    let exact = first_times(&text);
    let output = fed(&["uniq", "--fpr", "20%"], &text);
    let printed: Vec<&str> = stdout_of(&output).lines().collect();
    let is_printed: HashSet<&str> = printed.iter().copied().collect();
    assert_eq!(is_printed.len(), printed.len(), "no line twice");
    let kept: Vec<&str> = exact.iter().copied().filter(|l| is_printed.contains(l)).collect();
    assert!(kept == printed, "first times, in their order");
    // A small filter is far better than 20 %: some two lines in a thousand.
    assert!((1..1000).contains(&(exact.len() - printed.len())), "{}", exact.len() - printed.len());
    let said = stderr_of(&output);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("cuculus: of ") && said.contains("without --fpr"), "{said}");
    let quiet = fed(&["uniq", "--fpr", "0.001", "--quiet"], &text);
    assert!(stderr_of(&quiet).is_empty());
    // Half a line is the limit.
    let few = fed(&["uniq", "--fpr", "0.001"], lines("", 20));
    assert!(stderr_of(&few).is_empty(), "{}", stderr_of(&few));
}

/// The filter grows with the lines, keeps the rate, and the expected number of lost lines is right.
#[test]
fn as_many_lines_are_lost_as_expected() {
    const LINES: u64 = 3_000_000;
    let text = lines("", LINES as usize);
    let lost = |rate: &[&str]| {
        let arguments = [&["uniq", "--count", "--stats", "--json", "--quiet"], rate].concat();
        let output = fed(&arguments, &text);
        let count: u64 = stdout_of(&output).trim().parse().expect("a number");
        let stats = json(stderr_of(&output));
        assert_eq!(
            (stats["lines"].as_u64(), stats["printed"].as_u64()),
            (Some(LINES), Some(count))
        );
        let kept = stats["false_positive_rate"].as_f64().expect("a rate");
        let bytes = stats["filter_bytes"].as_f64().expect("a size");
        let expected = stats["expected_dropped_by_mistake"].as_f64().expect("a number");
        assert!(expected <= kept * LINES as f64 * 1.02, "{stats}");
        ((LINES - count) as f64, expected, kept, bytes / LINES as f64)
    };
    let (many, expected, rate, _) = lost(&["--fpr", "0.01"]);
    assert!(rate <= 0.01 && expected > 500.0, "enough for a test: {expected}");
    assert!((many - expected).abs() < 4.5 * expected.sqrt(), "{many}, {expected} expected");
    let (none, expected, rate, bytes) = lost(&[]);
    assert!(none == 0.0 && expected < 1e-3 && rate < 1e-10, "{none}, {expected}, {rate:e}");
    assert!((5.0..8.5).contains(&bytes), "{bytes} bytes per line");
}

#[test]
fn lines_end_in_the_chosen_separator() {
    assert_eq!(succeeds(&["uniq"], "a\n\nb\na\n\nb"), "a\n\nb\n");
    assert_eq!(succeeds(&["uniq", "--null"], "a\nb\0c\0a\nb\0c"), "a\nb\0c\0");
    assert_eq!(succeeds(&["uniq"], ""), "");
    assert_eq!(succeeds(&["uniq", "--count"], "x\nx\ny"), "2\n");
    let bytes = fed(&["uniq"], b"\xff\xfe\n\xff\n\xff\xfe\n");
    assert_eq!(bytes.stdout, b"\xff\xfe\n\xff\n", "lines need not be text");
}

#[test]
fn repeated_lines_are_printed_each_time() {
    assert_eq!(succeeds(&["uniq", "--repeated"], "a\nb\na\nc\na\nb"), "a\na\nb\n");
    assert_eq!(succeeds(&["uniq", "-r", "--count"], "a\nb\na\nc\na\nb"), "3\n");
    assert_eq!(succeeds(&["uniq", "-r"], "a\nb\n"), "");
}

#[test]
fn parts_of_lines_are_compared() {
    let table = "1\tada\tx\n2\tbob\ty\n3\tada\tz\n4\tADA\tz\n";
    assert_eq!(succeeds(&["uniq", "--key", "2"], table), "1\tada\tx\n2\tbob\ty\n4\tADA\tz\n");
    assert_eq!(succeeds(&["uniq", "-k2", "-i"], table), "1\tada\tx\n2\tbob\ty\n");
    assert_eq!(succeeds(&["uniq", "--key", "2,3"], table), table);
    assert_eq!(succeeds(&["uniq", "--key", "3-", "--count"], table), "3\n");
    let csv = "a;1\nb;1\nno delimiter\n";
    assert_eq!(succeeds(&["uniq", "--key", "2", "--delimiter", ";"], csv), "a;1\nno delimiter\n");
    assert_eq!(succeeds(&["uniq", "--ignore-case"], "Ä\nä\nB\nb\n"), "Ä\nB\n");
    for (arguments, hint) in [
        (&["uniq", "--key", "0"][..], "counted from 1"),
        (&["uniq", "--key", "x"], "counted from 1"),
        (&["uniq", "--delimiter", ";"], "--key"),
        (&["uniq", "--key", "1", "--json-key", "/a"], "cannot be used with"),
        (&["uniq", "--key", "1", "--delimiter", ""], "--delimiter"),
        (&["uniq", "--json-key", "id"], "a JSON pointer"),
    ] {
        is_refused(arguments, hint);
    }
}

#[test]
fn json_documents_are_compared_by_a_value() {
    let documents = "{\"id\":1,\"n\":{\"a\":\"x\"}}\n{\"n\":{\"a\":\"y\"},\"id\":1}\n{\"id\":2}\n\
                     {\"other\":1}\n{\"other\":1}\n{\"id\":null}\n{\"id\": \"\\u0032\"}\n";
    let by = |pointer: &str| succeeds(&["uniq", "--json-key", pointer], documents);
    assert_eq!(
        by("/id"),
        "{\"id\":1,\"n\":{\"a\":\"x\"}}\n{\"id\":2}\n{\"other\":1}\n{\"other\":1}\n{\"id\":null}\n"
    );
    assert_eq!(by("/n/a"), documents.replace("\n{\"n\":{\"a\":\"z\"}}", ""));
    let stats = fed(&["uniq", "-j", "/id", "--stats", "--json"], documents);
    assert_eq!(json(stderr_of(&stats))["without_key"], 3);
    let bad = fed(&["uniq", "--json-key", "/id"], "{\"id\":1}\n{\"id\":\n");
    is_error(&bad, "standard input:2: \"{\\\"id\\\":\" is not a JSON document");
}

/// By their first bytes, whatever they are called, and several in a row.
#[test]
fn compressed_input_is_read() {
    let workshop = Workshop::new();
    let text = lines("line ", 50_000);
    for (program, packed) in [("gzip", gzip(&text)), ("zstd", zstd(&text))] {
        assert!(!packed.is_empty() && packed.len() < text.len() / 2, "{program}");
        let file = workshop.write("packed", &packed);
        assert!(succeeds(&["uniq", &file], "") == text, "{program}: a file");
        assert!(succeeds(&["uniq"], &packed) == text, "{program}: a pipe");
        let twice = [&packed[..], &packed[..]].concat();
        assert_eq!(
            succeeds(&["uniq", "-r", "--count"], &twice),
            "50000\n",
            "{program}: two in a row"
        );
        let cut = fed(&["uniq", "--count"], &packed[..packed.len() / 2]);
        is_error(&cut, "cannot read standard input");
    }
    assert_eq!(succeeds(&["uniq"], "("), "(\n", "a beginning that is shared with zstd");
}

/// Its bytes would be taken for lines.
#[test]
fn a_packing_that_is_not_read_is_refused() {
    let workshop = Workshop::new();
    let file = workshop.write("lines.xz", b"\xfd7zXZ\0\0\x04rest");
    is_refused(&["uniq", &file], "lines.xz: it is packed with xz; unpack it: xz -dc FILE |");
    is_refused(&["build", &workshop.at("filter"), &file], "xz -dc");
    is_error(&fed(&["uniq"], b"BZh91AY&SY\0\0"), "standard input: it is packed with bzip2");
    assert_eq!(succeeds(&["uniq"], "BZh9\nPK\n"), "BZh9\nPK\n");
    let (out, state) = (workshop.at("out"), workshop.at("state"));
    is_refused(&["dedup", &file, "--out", &out, "--state", &state], "packed with xz");
    assert_eq!(workshop.files(), ["lines.xz", "out"], "no state of a run that cannot end");
}

#[test]
fn statistics_go_to_standard_error() {
    let output = fed(&["uniq", "--stats"], "a\nb\na\n");
    assert_eq!(stdout_of(&output), "a\nb\n");
    let text = stderr_of(&output);
    for part in ["lines read            3\n", "new                   2\n", " expected\n"] {
        assert!(text.contains(part), "{text}");
    }
    let quiet = fed(&["uniq"], "a\nb\na\n");
    assert!(stderr_of(&quiet).is_empty());
}

#[test]
fn a_state_is_created_and_continued() {
    let workshop = Workshop::new();
    let seen = workshop.at("seen");
    let next = ["uniq", "--state", &seen];
    assert_eq!(succeeds(&next, "a\nb\na\n"), "a\nb\n");
    assert_eq!(succeeds(&next, "b\nc\nc\n"), "c\n");
    assert_eq!(succeeds(&next, "a\nb\nc\nd\n"), "d\n");
    assert_eq!(succeeds(&["query", &seen, "--count"], "a\nb\nc\nd\ne\n"), "4\n");
    let info = json(&succeeds(&["info", "--json", &seen], ""));
    assert_eq!((&info["kind"], &info["holds"]), (&json("\"elastic filter\""), &json("\"set\"")));
    // It can forget.
    succeeds(&["remove", &seen], "b\n");
    assert_eq!(succeeds(&next, "a\nb\n"), "b\n");
    assert_eq!(workshop.files(), ["seen"]);

    let other = workshop.at("other");
    let fields = ["uniq", "--key", "1", "-t", ":", "--fpr", "0.1%", "--state", &other];
    assert_eq!(succeeds(&fields, "a:1\na:2\nb:1\n"), "a:1\nb:1\n");
    assert_eq!(succeeds(&fields, "b:9\nc:9\n"), "c:9\n");
    assert_eq!(succeeds(&["query", &other], "a:7\nz:7\n"), "a:7\n", "by the same field");
    is_refused(&["uniq", "--state", &other], "other options for what is compared");
    is_refused(&["uniq", "--state", &other, "-k1", "-t", ":", "-i"], "other options");
    let rate = ["uniq", "--state", &other, "-k1", "-t", ":", "--fpr", "1e-5"];
    is_refused(&rate, "--fpr 1e-5: ");
    is_refused(&["uniq", "--state", "-"], "not in a pipe");
    assert_eq!(workshop.files(), ["other", "seen"]);
}

/// Lines are gathered before they are inserted into the state: nothing is lost or repeated on the way,
/// also when some are in the file already, and few or many are new.
#[test]
fn a_state_knows_every_line_of_earlier_runs() {
    let workshop = Workshop::new();
    let seen = workshop.at("seen");
    let mut exact = HashSet::new();
    for count in [100_000, 10, 120_000, 121_000, 400_000] {
        let text = repeated(count, 1 << 40);
        let new: Vec<&str> = text.lines().filter(|line| exact.insert(line.to_string())).collect();
        let printed = succeeds(&["uniq", "--state", &seen], &text);
        assert!(printed.lines().eq(new.iter().copied()), "{count}");
        let info = json(&succeeds(&["info", "--json", &seen], ""));
        assert_eq!(info["keys"], exact.len());
        assert_eq!(succeeds(&["query", "--count", &seen], &text), format!("{count}\n"));
    }
    assert!(exact.len() > 350_000, "{}", exact.len());
}

/// As from `tail -f`: lines are printed before the input ends.
#[test]
fn lines_are_printed_as_they_come() {
    let mut child = piped(&["uniq"]);
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut stdout = child.stdout.take().expect("a pipe");
    for (line, printed) in [("first\n", "first\n"), ("first\nsecond\n", "second\n")] {
        stdin.write_all(line.as_bytes()).expect("it reads");
        let mut buffer = vec![0; printed.len()];
        stdout.read_exact(&mut buffer).expect("it prints before its input ends");
        assert_eq!(buffer, printed.as_bytes());
    }
    drop(stdin);
    assert!(child.wait().expect("it ends").success());
}

/// As in `cuculus uniq | head -1`, while more input may come.
#[test]
fn a_reader_that_leaves_ends_the_work_quietly() {
    let workshop = Workshop::new();
    let text = lines("line ", 200_000);
    let file = workshop.build("filter", &[], &text);
    for arguments in [&["uniq"][..], &["query", &file], &["count", &file]] {
        let mut child = piped(arguments);
        let mut stdin = child.stdin.take().expect("a pipe");
        let mut stdout = child.stdout.take().expect("a pipe");
        stdin.write_all(b"line 1\n").expect("it reads");
        stdout.read_exact(&mut [0; 3]).expect("it prints");
        drop(stdout);
        // It may have left before it has read all of this.
        let _ = stdin.write_all(text.as_bytes());
        // Its input is still open.
        let output = child.wait_with_output().expect("it ends");
        assert!(stderr_of(&output).is_empty(), "{}", stderr_of(&output));
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        drop(stdin);
    }
}
