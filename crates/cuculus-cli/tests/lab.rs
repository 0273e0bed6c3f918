//! `cuculus lab` through its real door: the binary, its exit code, and its page in a browser.

mod binary;
mod browser;

use std::fs;

use binary::{is_refused, output_of, stderr_of, stdout_of};
use browser::{Scheme, look};
use cuculus_lab::figures;
use tempfile::TempDir;

#[test]
fn the_list_names_every_experiment() {
    let output = output_of(&["lab", "list"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    let lines: Vec<&str> = stdout_of(&output).lines().collect();
    assert_eq!(lines.len(), figures::ALL.len());
    for (line, figure) in lines.iter().zip(figures::ALL) {
        assert_eq!(line.split_whitespace().next(), Some(figure.name));
    }
}

#[test]
fn an_experiment_prints_text_or_json() {
    let output = output_of(&["lab", "run", "ccf-thresholds"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    assert!(stdout_of(&output).contains("does not hold: below T̂"), "{}", stdout_of(&output));

    let output = output_of(&["lab", "run", "ccf-thresholds", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    let numbers: serde_json::Value = serde_json::from_str(stdout_of(&output)).expect("JSON alone");
    assert_eq!(numbers["findings"][0]["verdict"], "holds");
    assert_eq!(numbers["tables"][0]["rows"].as_array().map(Vec::len), Some(25));
}

#[test]
fn mistakes_are_one_line_and_exit_code_2() {
    let directory = TempDir::new().expect("a temporary directory");
    let file = directory.path().join("file");
    fs::write(&file, "").expect("written");
    let below_a_file = file.join("report").display().to_string();
    for (arguments, hint) in [
        (&["lab", "run", "ccf-threshold"][..], "`cuculus lab list`"),
        (&["lab", "report", "--only", "dcf-rates,no-such", "--out", &below_a_file], "\"no-such\""),
        (&["lab", "report", "--only", "dcf-rates", "--out", &below_a_file], "give another --out"),
        (&["lab", "report"], "--out"),
        (&["lab", "run", "dcf-rates", "--sed", "5"], "'--seed'"),
        (&["lab", "run", "dcf-rates", "--seed", "many"], "invalid digit"),
    ] {
        is_refused(arguments, hint);
    }
}

/// Nothing is run before the whole trace is read.
#[test]
fn a_malformed_trace_is_named_by_its_line() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("flows.csv");
    let csv = path.display().to_string();
    is_refused(&["lab", "run", "ccf-trace", "--csv", &csv], "flows.csv");
    for (text, hint) in [
        ("source,destination,start,end\na,b,1,2\na,b,soon,2\n", "line 3: start is \"soon\""),
        ("a,b,1,2\na,b,3\n", "line 2: 3 columns"),
        ("a,b,5,2\n", "line 1: the flow ends at 2"),
        ("", "no flows"),
    ] {
        fs::write(&path, text).expect("written");
        is_refused(&["lab", "run", "ccf-trace", "--csv", &csv], hint);
    }
    is_refused(&["lab", "run", "dcf-rates", "--csv", &csv], "only ccf-trace");
    let flows = |n: u32| format!("10.0.0.{n},10.0.1.{n},{n},{}\n", n + 40);
    fs::write(&path, (0..200).map(flows).collect::<String>()).expect("written");
    let output = output_of(&["lab", "run", "ccf-trace", "--csv", &csv]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    assert!(stdout_of(&output).contains("200 flows, at most 41 alive"), "{}", stdout_of(&output));
}

fn report(names: &str) -> (TempDir, String) {
    let directory = TempDir::new().expect("a temporary directory");
    let out = directory.path().join("new").join("report").display().to_string();
    let output = output_of(&["lab", "report", "--only", names, "--out", &out]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    let page = stdout_of(&output).trim();
    assert!(page.ends_with("report.html"), "{page}");
    let html = fs::read_to_string(page).expect("the page that it named");
    (directory, html)
}

#[test]
fn a_report_has_the_numbers_beside_the_page() {
    let (directory, html) = report("dcf-rates,ccf-thresholds");
    let numbers = fs::read(directory.path().join("new/report/report.json")).expect("a file");
    let numbers: serde_json::Value = serde_json::from_slice(&numbers).expect("JSON");
    let names: Vec<&String> = numbers.as_object().expect("an object").keys().collect();
    assert_eq!(names, ["ccf-thresholds", "dcf-rates"]);
    assert!(html.contains("cuculus lab run ccf-thresholds"), "the command is there");
}

/// Narrow and wide, light and dark: nothing sticks out, every plot shows something, no errors.
#[test]
fn a_browser_shows_the_report() {
    // With many tables, plots of lines and of dots, and numbers of all sizes.
    let names = "dbf,dcf-duplicates,dcf-memory,dcf-compact,ccf-features,ccf-thresholds";
    let (_directory, html) = report(names);
    let looks = [Scheme::Light, Scheme::Dark].map(|scheme| look(&html, scheme));
    for seen in &looks {
        assert_eq!(seen.faults(), [""; 0]);
        assert!(seen.frames.iter().all(|frame| frame["plots"] == 10), "{seen:?}");
    }
    let [light, dark] = looks.map(|seen| seen.frames[0].clone());
    assert_ne!(light["backgroundColor"], dark["backgroundColor"]);
    for page in [light, dark] {
        assert_ne!(page["backgroundColor"], page["color"]);
    }
}

/// The browser's judgement is worth something: it sees what is wrong with a broken page.
#[test]
fn a_browser_sees_a_broken_page() {
    let broken = "<!doctype html><div style=\"width: 600px\">wide</div>\
                  <svg class=\"plot\" aria-label=\"nothing\"></svg><script>missing()</script>";
    let faults = look(broken, Scheme::Light).faults();
    for part in
        ["the page is 608 wide", "DIV wide", "empty plot: nothing", "missing is not defined"]
    {
        assert!(faults.iter().any(|fault| fault.contains(part)), "{part}: {faults:#?}");
    }
}
