//! `cuculus uniq`: each line once, in order, and what it says about that.

use std::collections::HashSet;
use std::io::{Read, Write};

use crate::binary::{stderr_of, stdout_of};
use crate::workshop::{Workshop, fed, json, lines, piped, succeeds};

/// Numbers from a generator, of which some come again and again.
fn repeated(count: usize, distinct: u64) -> String {
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % distinct
    };
    (0..count).map(|_| format!("line {}\n", next())).collect()
}

fn first_times(text: &str) -> Vec<&str> {
    let mut seen = HashSet::new();
    text.lines().filter(|line| seen.insert(*line)).collect()
}

/// The first times of an exact set, but for a few lines that were taken for others.
#[test]
fn each_line_is_printed_the_first_time() {
    let workshop = Workshop::new();
    let text = repeated(300_000, 100_000);
    let exact = first_times(&text);
    let file = workshop.write("lines", &text);
    for arguments in [&["uniq", &file][..], &["uniq"], &["uniq", "-", "--fpr", "0.0001"]] {
        let printed = succeeds(arguments, &text);
        let printed: Vec<&str> = printed.lines().collect();
        let is_printed: HashSet<&str> = printed.iter().copied().collect();
        assert_eq!(is_printed.len(), printed.len(), "no line twice");
        let kept: Vec<&str> = exact.iter().copied().filter(|l| is_printed.contains(l)).collect();
        assert!(kept == printed, "first times, in their order");
        // A thousandth of 95,000 lines at most, and four deviations.
        let dropped = exact.len() - printed.len();
        assert!(dropped < 140, "{arguments:?}: {dropped} dropped");
    }
}

/// Without a size to go by the filters double; with one they need not.
#[test]
fn more_lines_than_expected_are_no_different() {
    let workshop = Workshop::new();
    let text = lines("", 5_000_000);
    let piped = fed(&["uniq", "--count", "--stats", "--json"], &text);
    let count: f64 = stdout_of(&piped).trim().parse().expect("a number");
    let stats = json(stderr_of(&piped));
    assert_eq!(stats["lines"], 5_000_000);
    assert_eq!(stats["printed"].as_f64(), Some(count));
    let expected = stats["expected_dropped_by_mistake"].as_f64().expect("a number");
    let dropped = 5_000_000.0 - count;
    assert!((dropped - expected).abs() < 4.5 * expected.sqrt(), "{dropped}, {expected} expected");
    assert!(expected > 100.0 && expected < 5000.0, "{expected}");
    let rate = stats["false_positive_rate"].as_f64().expect("a rate");
    assert!(rate <= 0.001, "{rate}");

    // The first lines are short and few, so the guess is far too low, or far too high.
    let mixed = lines("", 10_000) + &"long ".repeat(60_000) + "\n" + &lines("x", 500_000);
    for text in [mixed.clone(), "long ".repeat(60_000) + "\n" + &mixed] {
        let file = workshop.write("mixed", &text);
        let output = fed(&["uniq", "-c", &file, "--stats", "--json"], "");
        let count: usize = stdout_of(&output).trim().parse().expect("a number");
        assert!(count.abs_diff(510_001) < 600, "{count}");
        let rate = json(stderr_of(&output))["false_positive_rate"].as_f64().expect("a rate");
        assert!(rate <= 0.001, "{rate}");
    }
}

#[test]
fn lines_end_as_they_are_told_to() {
    assert_eq!(succeeds(&["uniq"], "a\n\nb\na\n\nb"), "a\n\nb\n");
    assert_eq!(succeeds(&["uniq", "--null"], "a\nb\0c\0a\nb\0c"), "a\nb\0c\0");
    assert_eq!(succeeds(&["uniq"], ""), "");
    assert_eq!(succeeds(&["uniq", "--count"], "x\nx\ny"), "2\n");
    let bytes = fed(&["uniq"], b"\xff\xfe\n\xff\n\xff\xfe\n");
    assert_eq!(bytes.stdout, b"\xff\xfe\n\xff\n", "lines need not be text");
}

#[test]
fn the_figures_are_said_on_standard_error() {
    let output = fed(&["uniq", "--stats"], "a\nb\na\n");
    assert_eq!(stdout_of(&output), "a\nb\n");
    let text = stderr_of(&output);
    for words in ["lines read            3\n", "printed               2\n", "0.0 expected\n"] {
        assert!(text.contains(words), "{text}");
    }
    let quiet = fed(&["uniq"], "a\nb\na\n");
    assert!(stderr_of(&quiet).is_empty());
}

#[test]
fn a_later_run_goes_on_where_one_ended() {
    let workshop = Workshop::new();
    let seen = workshop.at("seen");
    assert_eq!(succeeds(&["uniq", "--save", &seen], "a\nb\na\n"), "a\nb\n");
    let next = ["uniq", "--load", &seen, "--save", &seen];
    assert_eq!(succeeds(&next, "b\nc\nc\n"), "c\n");
    assert_eq!(succeeds(&["uniq", "--load", &seen], "a\nd\n"), "d\n", "not saved");
    assert_eq!(succeeds(&next, "a\nb\nc\nd\n"), "d\n");
    assert_eq!(succeeds(&["query", &seen, "--count"], "a\nb\nc\nd\ne\n"), "4\n");
    assert_eq!(json(&succeeds(&["info", "--json", &seen], ""))["kind"], "elastic filter");
    assert_eq!(workshop.files(), ["seen"]);
}

/// As from `tail -f`: what was written is seen before the input ends.
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
