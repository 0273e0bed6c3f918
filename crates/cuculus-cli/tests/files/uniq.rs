//! `cuculus uniq`: each line once, in order, and the statistics about it.

use std::collections::HashSet;
use std::io::{Read, Write};

use crate::binary::{stderr_of, stdout_of};
use crate::workshop::{Workshop, fed, json, lines, piped, succeeds};

/// Random numbers, many of them repeated.
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

/// The same lines as an exact set prints, except for a few that look like others.
#[test]
fn each_line_is_printed_the_first_time() {
    let workshop = Workshop::new();
    let text = repeated(300_000, 100_000);
    let exact = first_times(&text);
    let file = workshop.write("lines", &text);
    // Of 95,000 lines at most one (0.00001) or 95 (0.001) are lost on average; the limits leave
    // room for more than four standard deviations.
    for (arguments, limit) in
        [(&["uniq", &file][..], 8), (&["uniq"], 8), (&["uniq", "-", "--fpr", "0.001"], 140)]
    {
        let printed = succeeds(arguments, &text);
        let printed: Vec<&str> = printed.lines().collect();
        let is_printed: HashSet<&str> = printed.iter().copied().collect();
        assert_eq!(is_printed.len(), printed.len(), "no line twice");
        let kept: Vec<&str> = exact.iter().copied().filter(|l| is_printed.contains(l)).collect();
        assert!(kept == printed, "first times, in their order");
        let lost = exact.len() - printed.len();
        assert!(lost < limit, "{arguments:?}: {lost} lost");
    }
}

/// The filter grows with the lines, keeps the rate, and the expected number of lost lines is right.
#[test]
fn as_many_lines_are_lost_as_expected() {
    const LINES: u64 = 3_000_000;
    let text = lines("", LINES as usize);
    let lost = |rate: f64| {
        let rate_text = rate.to_string();
        let arguments = ["uniq", "--count", "--stats", "--json", "--fpr", &rate_text];
        let output = fed(&arguments, &text);
        let count: u64 = stdout_of(&output).trim().parse().expect("a number");
        let stats = json(stderr_of(&output));
        assert_eq!(
            (stats["lines"].as_u64(), stats["printed"].as_u64()),
            (Some(LINES), Some(count))
        );
        assert!(stats["false_positive_rate"].as_f64().is_some_and(|kept| kept <= rate), "{stats}");
        let expected = stats["expected_dropped_by_mistake"].as_f64().expect("a number");
        assert!(expected <= rate * LINES as f64, "{stats}");
        ((LINES - count) as f64, expected)
    };
    let (many, expected) = lost(0.01);
    assert!(expected > 500.0, "enough for a test: {expected}");
    assert!((many - expected).abs() < 4.5 * expected.sqrt(), "{many}, {expected} expected");
    let (few, expected) = lost(0.00001);
    assert!(few <= expected + 4.5 * expected.sqrt() + 1.0, "{few}, {expected} expected");
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
fn statistics_go_to_standard_error() {
    let output = fed(&["uniq", "--stats"], "a\nb\na\n");
    assert_eq!(stdout_of(&output), "a\nb\n");
    let text = stderr_of(&output);
    for part in ["lines read            3\n", "printed               2\n", "0.0 expected\n"] {
        assert!(text.contains(part), "{text}");
    }
    let quiet = fed(&["uniq"], "a\nb\na\n");
    assert!(stderr_of(&quiet).is_empty());
}

#[test]
fn a_later_run_continues_where_one_ended() {
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
