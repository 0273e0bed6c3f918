//! The laboratory through its real door: the binary, its exit code, and its page in a browser.

use std::fs;
use std::process::{Command, Output};

use cuculus_lab::experiments::ALL;
use cuculus_page::browser::{Scheme, look};
use serde_json::Value;
use tempfile::TempDir;

fn lab(arguments: &[&str]) -> Output {
    let binary = env!("CARGO_BIN_EXE_cuculus-lab");
    Command::new(binary).args(arguments).output().expect("the binary runs")
}

/// What it printed; it must have succeeded.
fn printed(arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = lab(arguments);
    let message = String::from_utf8_lossy(&stderr);
    assert_eq!(status.code(), Some(0), "{arguments:?}: {message}");
    String::from_utf8(stdout).expect("text")
}

/// The last line on standard error is the error with its remedy, nothing is on standard output, and
/// the exit code is 2.
fn is_refused(arguments: &[&str], hint: &str) {
    let Output { status, stdout, stderr } = lab(arguments);
    let message = String::from_utf8_lossy(&stderr);
    assert_eq!(status.code(), Some(2), "{arguments:?}: {message}");
    let last = message.lines().last().unwrap_or_default();
    assert!(last.starts_with("cuculus-lab: ") && last.contains(hint), "{message}");
    assert!(stdout.is_empty());
}

#[test]
fn the_list_names_every_experiment() {
    let list = printed(&["list"]);
    let names: Vec<_> = list.lines().map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ALL.iter().map(|experiment| Some(experiment.name)).collect::<Vec<_>>());
}

#[test]
fn experiments_print_text_or_json() {
    let text = printed(&["run", "ccf-thresholds", "dcf-rates"]);
    assert!(text.contains("does not hold: below T̂"), "{text}");
    assert!(text.contains("s = 6, f = 12, b = 4"), "{text}");

    let text = printed(&["run", "ccf-thresholds", "--json"]);
    let numbers: Value = serde_json::from_str(&text).expect("JSON alone");
    let numbers = &numbers["ccf-thresholds"];
    assert_eq!(numbers["findings"][0]["verdict"], "holds");
    assert_eq!(numbers["tables"][0]["rows"].as_array().map(Vec::len), Some(25));
}

#[test]
fn options_reach_their_experiment() {
    let text = printed(&["run", "speed", "--items", "2000", "--rounds", "1", "--only", "cuculus"]);
    assert!(text.contains("2000 keys, rate 0.1 %"), "{text}");
    assert!(!text.contains("qfilter"), "{text}");
    assert!(text.contains("holds: 2000 keys, 0.1 %: our filters refuse, lose"), "{text}");
}

/// What goes into a document: the tables and nothing else, each below its title if there are several.
#[test]
fn markdown_has_the_tables_alone() {
    let one = printed(&["run", "ccf-thresholds", "--markdown"]);
    let speed = ["run", "speed", "--markdown", "--items", "2000", "--rounds", "1"];
    let several = printed(&[&speed[..], &["--only", "cuculus"]].concat());
    let is_rule = |line: &&str| line.starts_with("|---|");
    assert_eq!(one.lines().filter(is_rule).count(), 1, "{one}");
    assert!(one.lines().all(|line| line.is_empty() || line.starts_with('|')), "{one}");
    let titles = several.lines().filter(|line| line.starts_with("2000 keys, rate 0.1 %")).count();
    assert_eq!((titles, several.lines().filter(is_rule).count()), (2, 2), "{several}");
    is_refused(&["run", "speed", "--markdown", "--json"], "--json");
}

/// The parts of this one run in processes of their own.
#[test]
fn the_elastic_filter_is_measured_in_other_processes() {
    let text = printed(&["run", "elastic", "--items", "5000", "--probes", "10000"]);
    assert!(text.contains("rate 1 %, all keys declared, 5000 keys"), "{text}");
    assert!(text.contains("holds: 1 %, no wrong answers"), "{text}");
}

#[test]
fn mistakes_name_their_remedy_and_exit_with_2() {
    let directory = TempDir::new().expect("a temporary directory");
    let file = directory.path().join("file");
    fs::write(&file, "").expect("written");
    let below_a_file = file.join("report").display().to_string();
    for (arguments, hint) in [
        (&["run", "ccf-threshold"][..], "`cuculus-lab list`"),
        (&["report", "--only", "dcf-rates,no-such", "--out", &below_a_file], "\"no-such\""),
        (&["report", "--only", "dcf-rates", "--out", &below_a_file], "give another --out"),
        (&["report"], "--out"),
        (&["run", "dcf-rates", "--sed", "5"], "'--seed'"),
        (&["run", "dcf-rates", "--seed", "many"], "invalid digit"),
        (&["run", "dcf-rates", "--csv", "x"], "dcf-rates does not take --csv"),
        (&["run", "speed", "--rounds", "x"], "--rounds: \"x\" is not a value; expected N"),
        (&["run", "cf-table3", "--log2-buckets", "60"], "at most the paper's 25"),
        (&["run", "ccf-trace", "--m", "many"], "--m: \"many\" is not a value"),
        (&[], "subcommand"),
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
    is_refused(&["run", "ccf-trace", "--csv", &csv], "flows.csv");
    for (text, hint) in [
        ("source,destination,start,end\na,b,1,2\na,b,soon,2\n", "line 3: start is \"soon\""),
        ("", "no flows"),
    ] {
        fs::write(&path, text).expect("written");
        is_refused(&["run", "ccf-trace", "--csv", &csv], hint);
    }
    let flows = |n: u32| format!("10.0.0.{n},10.0.1.{n},{n},{}\n", n + 40);
    fs::write(&path, (0..200).map(flows).collect::<String>()).expect("written");
    let text = printed(&["run", "ccf-trace", "--csv", &csv]);
    assert!(text.contains("200 flows, at most 41 alive"), "{text}");
    // Parameters that are set arrive: one filter of 64 buckets of three is enough, eight are not.
    let list = ["run", "ccf-trace", "--repeat", "1", "--only", "DCF as printed", "--csv", &csv];
    let filters = |text: &str| -> usize {
        let row = text.lines().find(|line| line.starts_with("DCF as printed ")).expect("a row");
        row.split_whitespace().rev().nth(2).expect("a cell").parse().expect("a number")
    };
    assert_eq!(filters(&printed(&list)), 1);
    assert!(filters(&printed(&[&list[..], &["--m", "8"]].concat())) > 1);
}

fn report(names: &str) -> (TempDir, String) {
    let directory = TempDir::new().expect("a temporary directory");
    let out = directory.path().join("new").join("report").display().to_string();
    let page = printed(&["report", "--only", names, "--repeat", "1", "--out", &out]);
    assert!(page.trim().ends_with("report.html"), "{page}");
    let html = fs::read_to_string(page.trim()).expect("the page that it named");
    (directory, html)
}

#[test]
fn a_report_has_the_numbers_beside_the_page() {
    let (directory, html) = report("dcf-rates,ccf-thresholds");
    let numbers = fs::read(directory.path().join("new/report/report.json")).expect("a file");
    let numbers: Value = serde_json::from_slice(&numbers).expect("JSON");
    let names: Vec<&String> = numbers.as_object().expect("an object").keys().collect();
    assert_eq!(names, ["ccf-thresholds", "dcf-rates"]);
    assert!(html.contains("cuculus-lab run ccf-thresholds"), "the command is there");
    // Which size ran, how to get the other, and where everything is.
    assert!(html.contains("Size of this run: quick") && html.contains("report --full --out DIR"));
    assert!(html.contains("<nav id=\"contents\">") && html.contains("href=\"#dcf-rates\""));
    assert!(html.contains("claims of the papers, "));
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
        assert!(seen.frames.iter().all(|frame| frame["plots"] == 12), "{seen:?}");
    }
    let [light, dark] = looks.map(|seen| seen.frames[0].clone());
    assert_ne!(light["backgroundColor"], dark["backgroundColor"]);
    for page in [light, dark] {
        assert_ne!(page["backgroundColor"], page["color"]);
    }
}
