//! `cuculus demo` through its real door: the binary, its output, its exit code.

mod binary;

use std::process::Stdio;

use binary::{cuculus, is_refused, output_of, stderr_of, stdout_of};

#[test]
fn the_demo_ends_with_a_row_for_each_filter() {
    let output = output_of(&["demo", "--items", "20000"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    let text = stdout_of(&output);
    assert!(text.starts_with("cuculus "), "{text}");
    assert!(text.contains("20,000 keys"), "{text}");
    assert!(text.contains("filter is full: "), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    let head = lines.iter().position(|line| line.starts_with("filter ")).expect("a table");
    let rows = &lines[head + 1..head + 4];
    for (row, name) in rows.iter().zip(["plain, 1 %", "plain, 0.1 %", "semi-sorted, 0.1 %"]) {
        assert!(row.starts_with(name), "{row}");
        assert_eq!(row.len(), lines[head].len(), "columns are aligned:\n{text}");
    }
    assert!(stderr_of(&output).contains("semi-sorted, 0.1 %: inserting"), "plain progress lines");
}

#[test]
fn the_figures_come_as_json_too() {
    let output = output_of(&["demo", "--items", "20000", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    let report: serde_json::Value = serde_json::from_str(stdout_of(&output)).expect("JSON alone");
    assert_eq!(report["items"], 20_000);
    let trials = report["trials"].as_array().expect("a list of trials");
    assert_eq!(trials.len(), 3);
    for trial in trials {
        let number = |name: &str| trial[name].as_f64().unwrap_or_else(|| panic!("{name}: {trial}"));
        assert_eq!(trial["keys"], 20_000);
        assert_eq!(trial["false_negatives"], 0);
        assert!(number("bits_per_key") > 9.0 && number("bits_per_key") < 16.0, "{trial}");
        assert!(number("load") > 0.9 && number("load") <= 1.0, "{trial}");
        let promised = number("promised_false_positive_rate");
        assert!(number("measured_false_positive_rate") < 1.2 * promised, "{trial}");
        for speed in ["inserts", "lookups", "batched_lookups", "deletes"] {
            assert!(number(&format!("{speed}_per_second")) > 0.0, "{trial}");
        }
    }
    assert_eq!(report["refusal"]["unchanged"], true);
    assert_eq!(report["saved"]["same_bytes"], true);
    assert_eq!(report["saved"]["keys"], 10_000);
}

#[test]
fn mistakes_are_one_line_and_exit_code_2() {
    for (arguments, hint) in [
        (&["demo", "--item", "5000"][..], "'--items'"),
        (&["demo", "--items", "12"], "1000..="),
        (&["demo", "--items", "many"], "invalid digit"),
        (&["demo", "more"], "`cuculus demo --help`"),
        (&["dmeo"], "'demo'"),
        (&[], "`cuculus demo`"),
    ] {
        is_refused(arguments, hint);
    }
}

#[cfg(unix)]
#[test]
fn a_temporary_directory_that_cannot_be_used_is_named() {
    let output = cuculus(&["demo", "--items", "1000"])
        .env("TMPDIR", "/nonexistent/directory")
        .output()
        .expect("the binary runs");
    let complaint = stderr_of(&output).lines().last().unwrap_or_default();
    assert_eq!(output.status.code(), Some(2));
    assert!(complaint.starts_with("cuculus: ") && complaint.contains("TMPDIR"), "{complaint}");
}

#[test]
fn help_and_version_are_no_errors() {
    for (arguments, expected) in
        [(&["--help"][..], "demo"), (&["demo", "--help"], "--items"), (&["--version"], "cuculus ")]
    {
        let output = output_of(arguments);
        assert_eq!(output.status.code(), Some(0));
        assert!(stdout_of(&output).contains(expected), "{arguments:?}");
    }
}

/// As in `cuculus demo | head -1`.
#[test]
fn a_reader_that_leaves_ends_the_demo_quietly() {
    for arguments in
        [&["demo", "--items", "20000"][..], &["demo", "--items", "20000", "--json"], &["--help"]]
    {
        let mut child = cuculus(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the binary ends");
        let complaint = stderr_of(&output);
        assert!(!complaint.contains("panicked") && !complaint.contains("cuculus:"), "{complaint}");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    }
}
