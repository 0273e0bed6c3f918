//! Every option of every command, through the binary: with the option something is printed that is not
//! printed without it. An option of the help that has no case here fails a test.

#[path = "../binary/mod.rs"]
mod binary;
mod plan;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use binary::{is_refused, output_of, stderr_of, stdout_of};

/// An option of a command, a script, and a part of what it prints.
#[derive(Debug)]
struct Case {
    command: &'static str,
    option: &'static str,
    script: &'static str,
    expected: String,
}

/// The cases of a section of cases.txt: what is printed only with an option, options that change nothing that
/// is printed (`same`), and options that need servers, which have no script here (`served`).
fn cases(section: &str) -> impl Iterator<Item = Case> {
    let text = include_str!("cases.txt");
    let mut current = "printed";
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let lines = lines.filter_map(move |line| {
        if let Some(name) = line.strip_prefix('[') {
            current = name.trim_end_matches(']');
            return None;
        }
        let mut fields = line.split(" :: ");
        let (command, option) = fields.next()?.rsplit_once(' ').expect("a command and an option");
        let (script, expected) =
            (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        let expected = expected.replace(r"\n", "\n").replace(r"\t", "\t");
        Some((current, Case { command, option, script, expected }))
    });
    lines.filter(move |(of, _)| *of == section).map(|(_, case)| case)
}

fn all_cases() -> Vec<Case> {
    ["printed", "same", "served"].into_iter().flat_map(cases).collect()
}

/// Files that the cases read.
const FILES: [(&str, &str); 4] = [
    ("words", "a\nB\nb\na\n"),
    ("lines", "a\nb\na\n"),
    ("ids.jsonl", "{\"id\":1}\n{\"id\":1,\"x\":2}\n"),
    (
        "similar.jsonl",
        "{\"text\":\"one two three four five six seven eight nine ten eleven\"}\n\
         {\"text\":\"one two three four five six seven eight nine ten twelve\"}\n",
    ),
];

/// What a script prints to both outputs, and its exit code in brackets, in a directory of its own.
fn printed(script: &str) -> String {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (name, text) in FILES {
        fs::write(directory.path().join(name), text).expect("written");
    }
    let whole = format!("cuculus() {{ \"$BINARY\" \"$@\"; }}\nexec 2>&1\n{script}");
    let output = Command::new("sh")
        .args(["-c", &whole])
        .current_dir(&directory)
        .env("BINARY", env!("CARGO_BIN_EXE_cuculus"))
        .env("TMPDIR", directory.path())
        .stdin(Stdio::null())
        .output()
        .expect("sh runs");
    let code = output.status.code().unwrap_or(-1);
    format!("{}[{code}]", String::from_utf8_lossy(&output.stdout))
}

/// The script with what is in square brackets, and without it.
fn with_and_without(script: &str) -> (String, String) {
    let (mut with, mut without) = (String::new(), String::new());
    let mut rest = script;
    while let Some((before, after)) = rest.split_once('[') {
        let (inside, after) = after.split_once(']').expect("a closing bracket");
        with += &format!("{before}{inside}");
        without += before;
        rest = after;
    }
    (with + rest, without + rest)
}

#[test]
fn every_option_makes_the_difference_that_it_promises() {
    let mut faults = Vec::new();
    for Case { command, option, script, expected } in cases("printed") {
        let (with, without) = with_and_without(script);
        assert!(with.contains(option) && with.contains(&format!("cuculus {command}")), "{script}");
        let said = printed(&with);
        if !said.contains(&expected) {
            faults.push(format!("{command} {option}: no {expected:?} in\n{said}"));
        }
        // A script without brackets would take too long without the option.
        if with != without {
            let said = printed(&without);
            if said.contains(&expected) {
                faults.push(format!("{command} without {option}: {expected:?} in\n{said}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

#[test]
fn some_options_change_nothing_that_is_printed() {
    for Case { command, option, script, expected } in cases("same") {
        let (with, without) = with_and_without(script);
        assert!(with.contains(option) && with.contains(&format!("cuculus {command}")), "{script}");
        let said = printed(&with);
        assert!(said.contains(&expected), "{said}");
        assert_eq!(said, printed(&without), "{command} {option}");
    }
}

/// Words that people know from other programs.
#[test]
fn what_other_programs_call_it_has_a_hint() {
    for (arguments, hint) in [
        (&["stats", "f"][..], "unrecognized subcommand 'stats'; `cuculus info` describes a filter"),
        (&["delete", "f"], "'delete'; `cuculus remove` removes keys; see"),
        (&["contains", "f"], "'contains'; `cuculus query` prints the keys"),
        (&["exists", "f"], "'exists'; `cuculus query` prints the keys"),
        (&["uniq", "-c"], "unexpected argument '-c' found; lines are printed as they come"),
        (&["uniq", "-d"], "'-d' found; --repeated prints lines seen before"),
        (&["uniq", "-u"], "sort FILE | uniq -u; see `cuculus uniq --help`"),
        (&["uniq", "-s", "3"], "--key compares fields"),
        (&["uniq", "-f1"], "--key 2- leaves out the first"),
        (&["uniq", "-z"], "-0 is for lines"),
    ] {
        is_refused(arguments, hint);
    }
}

fn help_of(command: &str) -> String {
    let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
    let output = output_of(&words);
    assert_eq!(output.status.code(), Some(0), "{command}: {}", stderr_of(&output));
    stdout_of(&output).to_owned()
}

/// The commands below a command, and those below them.
fn commands_below(command: &str) -> Vec<String> {
    let help = help_of(command);
    let Some((_, list)) = help.split_once("\nCommands:\n") else { return Vec::new() };
    let mut found = Vec::new();
    for line in list.lines().take_while(|line| !line.is_empty()) {
        let Some(name) = line.split_whitespace().next().filter(|&name| name != "help") else {
            continue;
        };
        // A line that begins further to the right continues the one before.
        if line.starts_with("   ") {
            continue;
        }
        let name = format!("{command} {name}").trim().to_owned();
        found.extend(commands_below(&name));
        found.push(name);
    }
    found
}

/// The long options in the help of a command.
fn options_of(command: &str) -> BTreeSet<String> {
    let help = help_of(command);
    let (_, options) = help.split_once("\nOptions:\n").expect("options");
    let (options, _) = options.split_once("\nExamples:").unwrap_or((options, ""));
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let option = |line: &str| {
        let words = line.trim_start();
        let long = match words.split_once(", --") {
            Some((short, long)) if short.len() == 2 => long,
            _ => words.strip_prefix("--")?,
        };
        Some(format!("--{}", long.chars().take_while(|&c| is_name(c)).collect::<String>()))
    };
    options.lines().filter_map(option).filter(|name| name != "--help").collect()
}

#[test]
fn no_option_is_without_a_case() {
    let commands = commands_below("");
    assert!(commands.len() > 20, "{commands:?}");
    let cases = all_cases();
    let known = |command: &str, option: &str| {
        cases.iter().any(|case| (case.command, case.option) == (command, option))
    };
    let mut missing = Vec::new();
    for command in &commands {
        for option in options_of(command) {
            // Options of `cluster` are options of the commands below it.
            let is_shared = command.starts_with("cluster ") && known("cluster", &option);
            if !is_shared && !known(command, &option) {
                missing.push(format!("{command} {option}"));
            }
        }
    }
    assert!(missing.is_empty(), "options without a case: {missing:#?}");
    for Case { command, option, .. } in cases {
        assert!(options_of(command).contains(option), "{command} has no {option}");
    }
}

/// What needs a cluster is tested with one.
#[test]
fn options_that_need_servers_are_used_by_the_tests_with_servers() {
    let tests =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../cuculus-valkey/tests/test_cluster.py");
    let tests = fs::read_to_string(tests).expect("the tests with servers");
    for Case { command, option, .. } in cases("served") {
        let name = command.rsplit(' ').next().unwrap_or_default();
        let uses = |line: &str| {
            line.contains(&format!("\"{option}\""))
                && (command == "cluster" || line.contains(&format!("\"{name}\"")))
        };
        assert!(tests.lines().any(uses), "no line uses {command} {option}");
    }
}

#[test]
fn a_mistake_is_named_with_what_was_expected() {
    for (arguments, hint) in [
        (&["build", "f", "--capacity", "-5"][..], "'-5' for '--capacity <KEYS>': expected a whole"),
        (&["build", "f", "--capacity", "1e30"], "the largest number is 18446744073709551615"),
        (&["build", "f", "--fpr", "-1"], "'-1' for '--fpr <RATE>'"),
        (&["demo", "--key", "5000"], "'--keys'"),
        (&["demo", "--keys", "12"], "from 10,000 to 50,000,000"),
        (&["demo", "--keys", "many"], "1_000_000"),
        (&["demo", "more"], "`cuculus demo --help`"),
        (&["dmeo"], "'demo'"),
        (&[], "`cuculus demo`"),
        (&["plan"], "--items"),
        (&["plan", "--items", "1M"], "--fpr"),
        (&["plan", "--items", "1.5", "--fpr", "0.01"], "whole number"),
        (&["plan", "--items", "0", "--fpr", "0.01"], "from 1 to 10,000,000,000"),
        (&["plan", "--items", "1e30", "--fpr", "0.01"], "the largest number is"),
        (&["plan", "--items", "1M", "--fpr", "2"], "below 1"),
        (&["plan", "--items", "1M", "--fpr", "none"], "0.001, 1e-3 or 0.1%"),
        (&["plan", "--items", "1M", "--peak", "1k", "--fpr", "0.01"], "--peak"),
        (&["uniq", "--key", "2", "--delimiter", "ab"], "expected one character"),
        (&["uniq", "--key", "2", "--delimiter", ""], "expected one character"),
        (
            &["dedup", "f", "--out", "d", "--state", "s", "--ngrams", "3", "--threshold", "1.5"],
            "80%",
        ),
        (&["cluster"], "no command given; see `cuculus cluster --help`"),
        (&["cluster", "create"], "see `cuculus cluster create --help`"),
        (&["cluster", "build", "f", "--parts", "3"], "--parts 3: it must be a power of two"),
        (&["cluster", "build", "f", "--fpr", "0.0001%"], "--fpr 0.0001%: the smallest rate"),
        (&["cluster", "build", "-"], "not in a pipe"),
        (&["cluster", "import", "x", "-"], "not in a pipe"),
        (&["cluster", "stats", "x", "--node", "nowhere"], "--node nowhere: expected an address"),
    ] {
        is_refused(arguments, hint);
    }
}
