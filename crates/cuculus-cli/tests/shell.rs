//! Help, completions and manual pages are complete and usable.

mod binary;

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use binary::{is_refused, output_of, stderr_of, stdout_of};
use tempfile::TempDir;

const COMMANDS: [&str; 14] = [
    "demo",
    "uniq",
    "dedup",
    "build",
    "add",
    "remove",
    "query",
    "count",
    "info",
    "verify",
    "merge",
    "plan",
    "completions",
    "man",
];

fn output_text(arguments: &[&str]) -> String {
    let output = output_of(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr_of(&output));
    stdout_of(&output).to_owned()
}

#[test]
fn help_names_every_command_and_each_has_examples() {
    let (short, long) = (output_text(&["-h"]), output_text(&["--help"]));
    for command in COMMANDS {
        assert!(short.contains(&format!("\n  {command} ")), "{short}");
        let help = output_text(&[command, "--help"]);
        let example = format!("cuculus {command} ");
        let examples = help.split_once("\nExamples:\n").map_or("", |(_, examples)| examples);
        assert!(examples.lines().all(|line| line.contains(&example)), "{help}");
        assert!(!examples.is_empty(), "{help}");
        assert!(output_text(&[command, "-h"]).len() <= help.len());
    }
    assert!(long.contains("Exit codes"), "{long}");
    assert!(output_text(&["--version"]).starts_with("cuculus "));
    let demo = (output_text(&["demo", "-h"]), output_text(&["demo", "--help"]));
    assert!(demo.0.len() < demo.1.len(), "-h is the short one");
}

/// The examples of the help are commands that exist: they are parsed, not run.
#[test]
fn examples_are_valid_commands() {
    for command in COMMANDS {
        for line in output_text(&[command, "--help"]).lines() {
            let Some((before, example)) = line.split_once("cuculus ") else { continue };
            // An example, and not a sentence that names a command.
            if !line.starts_with("  ") || !(before.trim().is_empty() || before.ends_with("| ")) {
                continue;
            }
            // The explanation starts after two spaces.
            let words = example.split("  ").next().unwrap_or_default();
            let words = words.split(['|', '<', '>']).next().unwrap_or_default();
            let mut arguments: Vec<&str> = words.split_whitespace().collect();
            arguments.push("--help");
            output_text(&arguments);
            // The wrong option at the end is the only mistake.
            arguments.pop();
            arguments.push("--no-such-option");
            is_refused(&arguments, "--no-such-option");
        }
    }
}

#[test]
fn every_shell_has_completions_and_bash_accepts_them() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = output_text(&["completions", shell]);
        for command in COMMANDS {
            assert!(script.contains(command), "{shell} lacks {command}");
        }
    }
    let script = output_text(&["completions", "bash"])
        + "\nCOMP_WORDS=(cuculus pl); COMP_CWORD=1; _cuculus cuculus pl cuculus\n\
           echo \"${COMPREPLY[@]}\"\n";
    let mut bash = Command::new("bash")
        .args(["--norc", "-s"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("bash runs");
    let mut input = bash.stdin.take().expect("its input");
    input.write_all(script.as_bytes()).expect("written");
    drop(input);
    let output = bash.wait_with_output().expect("bash ends");
    assert_eq!(stdout_of(&output).trim(), "plan");
    is_refused(&["completions", "tcsh"], "bash");
}

#[test]
fn every_command_has_a_manual_page() {
    let page = output_text(&["man"]);
    assert!(page.contains(".TH cuculus 1") && page.contains("Examples"), "{page}");
    let directory = TempDir::new().expect("a temporary directory");
    let out = directory.path().join("man1");
    output_text(&["man", "--out", &out.display().to_string()]);
    for name in ["cuculus", "cuculus-demo", "cuculus-plan", "cuculus-uniq"] {
        let page = fs::read_to_string(out.join(format!("{name}.1"))).expect(name);
        assert!(page.contains(&format!(".TH {name} 1")), "{page}");
    }
    fs::write(directory.path().join("file"), "").expect("written");
    let below = directory.path().join("file/below").display().to_string();
    is_refused(&["man", "--out", &below], "choose another --out");
}
