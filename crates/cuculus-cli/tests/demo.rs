//! `cuculus demo`, run as the binary: its output, its page, its exit code.

mod binary;

use std::fs;
use std::process::Stdio;

use binary::{cuculus, is_refused, output_of, stderr_of, stdout_of};
use cuculus_page::browser::{Scheme, look};
use serde_json::Value;
use tempfile::TempDir;

const NAMES: [&str; 4] = ["elastic", "fixed CF", "DCF", "CCF 1/16"];

fn directory() -> (TempDir, String) {
    let directory = TempDir::new().expect("a temporary directory");
    let name = directory.path().join("new").display().to_string();
    (directory, name)
}

#[test]
fn the_demo_prints_tables_and_the_path_of_its_page() {
    let (_directory, out) = directory();
    let output = output_of(&["demo", "--keys", "20k", "--out", &out]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    let text = stdout_of(&output);
    assert!(text.starts_with("cuculus "), "{text}");
    assert!(text.contains("20,000 keys"), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    let heads: Vec<usize> =
        (0..lines.len()).filter(|&at| lines[at].starts_with("filter ")).collect();
    assert_eq!(heads.len(), 2, "{text}");
    for head in heads {
        for (row, name) in lines[head + 1..].iter().zip(NAMES) {
            assert!(row.starts_with(name), "{row}");
            assert_eq!(row.chars().count(), lines[head].chars().count(), "aligned:\n{text}");
        }
    }
    assert!(lines.iter().all(|line| line.chars().count() < 80), "{text}");
    let page = text.lines().last().and_then(|line| line.strip_prefix("page: ")).expect("a path");
    assert!(fs::read_to_string(page).expect("the page").contains("20,000 keys"));
    // In a log: few lines and no escape codes.
    assert_eq!(stderr_of(&output), "growing to 20,000 keys\nshrinking to 1,000 keys\n");
    assert!(!text.contains('\x1b'));
}

#[test]
fn every_number_comes_as_json_and_every_promise_is_kept() {
    let (_directory, out) = directory();
    let output = output_of(&["demo", "--keys", "100_000", "--json", "--out", &out]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    let report: Value = serde_json::from_str(stdout_of(&output)).expect("JSON alone");
    assert_eq!((&report["most_keys"], &report["promised_rate"]), (&100_000.into(), &0.01.into()));
    let filters = report["filters"].as_array().expect("a list of filters");
    assert_eq!(filters.iter().map(|filter| &filter["name"]).collect::<Vec<_>>(), NAMES);
    for filter in filters {
        let every = filter["takes_every"].as_u64().expect("a number");
        assert_eq!(filter["totals"]["held_keys_missed"], 0);
        assert!(filter["totals"]["held_keys_asked"].as_u64() > Some(500_000 / every), "{filter}");
        let moments = filter["moments"].as_array().expect("a list of moments");
        let keys = |moment: &Value| moment["keys"].as_u64().expect("a number");
        assert_eq!(moments.iter().map(keys).max(), Some(100_000 / every));
        assert!(moments.last().map(keys) <= Some(1000));
        for moment in moments {
            assert!(moment["measured_rate"].as_f64() < Some(0.0125), "{moment}");
            assert!(moment["bytes"].as_u64() > Some(0) && moment["longest_nanoseconds"] != 0);
        }
    }
    // The point of the demo.
    let bytes = |filter: usize, at: fn(&[Value]) -> Option<&Value>| {
        let moments = filters[filter]["moments"].as_array().map_or(&[][..], Vec::as_slice);
        at(moments).and_then(|moment| moment["bytes"].as_u64()).expect("a number")
    };
    let largest = |filter| bytes(filter, |all| all.iter().max_by_key(|at| at["bytes"].as_u64()));
    let last = |filter| bytes(filter, <[Value]>::last);
    assert!(last(0) * 20 < largest(0), "the elastic filter gives its memory back");
    assert_eq!(last(1), largest(1), "the fixed one does not");
}

/// Narrow and wide, light and dark: nothing overflows, every plot shows something, no errors.
#[test]
fn a_browser_shows_the_page() {
    let (_directory, out) = directory();
    let output = output_of(&["demo", "--keys", "50k", "--out", &out]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    let html = fs::read_to_string(format!("{out}/demo.html")).expect("the page");
    let looks = [Scheme::Light, Scheme::Dark].map(|scheme| look(&html, scheme));
    for seen in &looks {
        assert_eq!(seen.faults(), [""; 0]);
        assert!(seen.frames.iter().all(|frame| frame["plots"] == 5), "{seen:?}");
    }
    let [light, dark] = looks.map(|seen| seen.frames[0].clone());
    assert_ne!(light["backgroundColor"], dark["backgroundColor"]);
    for page in [light, dark] {
        assert_ne!(page["backgroundColor"], page["color"]);
    }
    // One key in sixteen is not drawn as if it were all of them.
    assert!(html.contains("CCF 1/16, times 16"), "the legend says that the memory is multiplied");
    // Every filter has a line in every plot, which is drawn for wide windows and for narrow ones.
    assert_eq!(html.matches("<polyline").count(), 2 * 5 * NAMES.len());
}

/// Known before the work: nothing is printed about growing.
#[test]
fn a_page_that_cannot_be_written_is_known_at_once() {
    let directory = TempDir::new().expect("a temporary directory");
    let file = directory.path().join("file");
    fs::write(&file, "").expect("written");
    is_refused(&["demo", "--out", &file.display().to_string()], "choose another directory");
    is_refused(&["demo", "--out", &file.join("below").display().to_string()], "--out");
    fs::create_dir(directory.path().join("demo.html")).expect("made");
    is_refused(&["demo", "--out", &directory.path().display().to_string()], "--out");
}

#[cfg(unix)]
#[test]
fn without_a_directory_the_page_goes_to_the_one_for_temporary_files() {
    let directory = TempDir::new().expect("a temporary directory");
    let run = |place: &str| {
        let mut command = cuculus(&["demo", "--keys", "10k"]);
        command.env("TMPDIR", place).output().expect("the binary runs")
    };
    let output = run(&directory.path().display().to_string());
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    let page = stdout_of(&output).lines().last().unwrap_or_default().trim_start_matches("page: ");
    assert!(page.starts_with(&directory.path().display().to_string()), "{page}");
    assert!(fs::read_to_string(page).expect("the page").contains("</html>"));

    let output = run("/nonexistent/directory");
    assert_eq!((output.status.code(), stderr_of(&output).lines().count()), (Some(2), 1));
    assert!(stderr_of(&output).contains("--out"), "{}", stderr_of(&output));
}

/// As in `cuculus demo | head -1`.
#[test]
fn a_reader_that_leaves_ends_the_demo_quietly() {
    let (_directory, out) = directory();
    for arguments in [
        &["demo", "--keys", "10k", "--out", &out][..],
        &["demo", "--keys", "10k", "--json", "--out", &out],
        &["--help"],
    ] {
        let mut child = cuculus(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the binary ends");
        assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
        assert!(!stderr_of(&output).contains("cuculus:"), "{}", stderr_of(&output));
    }
}
