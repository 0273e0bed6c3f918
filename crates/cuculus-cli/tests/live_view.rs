//! The live table of the demo, in a real pseudo-terminal whose screen is read back.
#![cfg(unix)]

mod terminal;

use tempfile::TempDir;
use terminal::Terminal;

const NAMES: [&str; 4] = ["elastic", "fixed CF", "DCF", "CCF 1/16"];
/// Enough for some seconds, so that the table is seen.
const KEYS: &str = "200k";
const INTERRUPT: &[u8] = b"\x03";

fn demo(directory: &TempDir, size: (u16, u16), environment: &[(&str, &str)]) -> Terminal {
    let out = directory.path().display().to_string();
    Terminal::start(&["demo", "--keys", KEYS, "--out", &out], size, environment)
}

fn directory() -> TempDir {
    TempDir::new().expect("a temporary directory")
}

/// The table's rows, if all of them are there with a number of keys.
fn rows(lines: &[String]) -> Option<&[String]> {
    let head = lines.iter().position(|line| line.starts_with("filter "))?;
    let rows = lines.get(head + 1..head + 1 + NAMES.len())?;
    let filled = |(row, name): (&String, &str)| {
        row.strip_prefix(name).is_some_and(|rest| rest.contains(|c: char| c.is_ascii_digit()))
    };
    rows.iter().zip(NAMES).all(filled).then_some(rows)
}

#[test]
fn a_usual_terminal_shows_all_columns_and_is_clean_afterwards() {
    let directory = directory();
    let terminal = demo(&directory, (80, 24), &[]);
    let lines = terminal.wait_for(|lines| rows(lines).is_some());
    let table = rows(&lines).expect("a table");
    let head = lines.iter().find(|line| line.starts_with("filter ")).expect("a head");
    for column in ["keys", "memory", "bits/key", "used", "measured", "promised", "longest"] {
        assert!(head.contains(column), "{head}");
    }
    assert!(table.iter().all(|row| row.chars().count() == head.chars().count()), "{lines:#?}");
    assert!(table.iter().all(|row| row.contains(" 1 %")), "what was promised: {table:#?}");
    assert!(lines.iter().any(|line| line.contains("growing to 200,000")), "{lines:#?}");
    terminal.wait_for(|lines| lines.iter().any(|line| line.contains("shrinking to 1,000")));

    let ended = terminal.end();
    assert_eq!(ended.exit_code, 0, "{:#?}", ended.lines);
    assert!(
        ended.lines.last().is_some_and(|line| line.contains("demo.html")),
        "{:#?}",
        ended.lines
    );
    let left = |line: &String| line.contains("shrinking to") || line.contains('░');
    assert!(!ended.lines.iter().any(left), "{:#?}", ended.lines);
    assert_eq!((ended.cursor.1, ended.cursor_is_hidden), (0, false));
    assert!(ended.raw.contains("\x1b[36m"), "the bar has a colour");
}

#[test]
fn a_narrow_terminal_loses_columns_and_no_line_is_broken() {
    let directory = directory();
    let terminal = demo(&directory, (40, 12), &[]);
    let lines = terminal.wait_for(|lines| rows(lines).is_some());
    let head = lines.iter().find(|line| line.starts_with("filter "));
    assert_eq!(head.map(String::as_str), Some("filter          keys    memory"), "{lines:#?}");
    let unit = |row: &String| row.ends_with("kB") || row.ends_with("MB") || row.ends_with(" B");
    assert!(rows(&lines).expect("a table").iter().all(unit), "{lines:#?}");
    assert_eq!(terminal.end().exit_code, 0);
}

#[test]
fn without_colours_there_are_none() {
    let directory = directory();
    let ended = demo(&directory, (80, 24), &[("NO_COLOR", "1")]).end();
    assert_eq!(ended.exit_code, 0);
    // Lines are moved and cleared; nothing is coloured, bold or dim.
    let styles = ended.raw.split("\x1b[").skip(1).filter_map(|code| {
        let end = code.find(|c: char| c.is_ascii_alphabetic())?;
        (code[end..].starts_with('m') && !["", "0"].contains(&&code[..end])).then_some(&code[..end])
    });
    assert_eq!(styles.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn an_interrupted_demo_leaves_a_clean_screen() {
    let directory = directory();
    let mut terminal = demo(&directory, (80, 24), &[]);
    terminal.wait_for(|lines| rows(lines).is_some());
    terminal.press(INTERRUPT);
    let ended = terminal.end();
    assert_eq!(ended.exit_code, 130);
    assert_eq!(ended.lines.len(), 1, "only the heading is left: {:#?}", ended.lines);
    assert_eq!((ended.cursor, ended.cursor_is_hidden), ((1, 0), false));
    let left = directory.path().read_dir().expect("a directory").count();
    assert_eq!(left, 0, "and no page");
}
