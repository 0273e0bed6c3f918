//! Help, completions and manual pages: made from one definition, complete, and usable.

mod binary;

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use binary::{is_refused, output_of, stderr_of, stdout_of};
use tempfile::TempDir;

const COMMANDS: [&str; 4] = ["demo", "plan", "completions", "man"];

fn said(arguments: &[&str]) -> String {
    let output = output_of(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr_of(&output));
    stdout_of(&output).to_owned()
}

#[test]
fn help_names_every_command_and_each_has_examples() {
    let (short, long) = (said(&["-h"]), said(&["--help"]));
    for command in COMMANDS {
        assert!(short.contains(&format!("\n  {command} ")), "{short}");
        let help = said(&[command, "--help"]);
        let example = format!("\n  cuculus {command}");
        assert!(help.contains("Examples:") && help.contains(&example), "{help}");
        assert!(said(&[command, "-h"]).len() <= help.len());
    }
    assert!(long.contains("Exit codes"), "{long}");
    assert!(said(&["--version"]).starts_with("cuculus "));
    let demo = (said(&["demo", "-h"]), said(&["demo", "--help"]));
    assert!(demo.0.len() < demo.1.len(), "-h is the short one");
}

/// The examples of the help are commands that exist: they are parsed, not run.
#[test]
fn examples_are_commands_that_are_understood() {
    for command in COMMANDS {
        for line in said(&[command, "--help"]).lines() {
            let Some(example) = line.trim_start().strip_prefix("cuculus ") else { continue };
            // Two spaces set the explanation off.
            let words = example.split("  ").next().unwrap_or_default();
            let words = words.split(['|', '>']).next().unwrap_or_default();
            let mut arguments: Vec<&str> = words.split_whitespace().collect();
            arguments.push("--help");
            said(&arguments);
            // A mistake after all else is the only one.
            arguments.pop();
            arguments.push("--no-such-option");
            is_refused(&arguments, "--no-such-option");
        }
    }
}

#[test]
fn completions_are_for_every_shell_and_bash_takes_them() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = said(&["completions", shell]);
        for command in COMMANDS {
            assert!(script.contains(command), "{shell} lacks {command}");
        }
    }
    let script = said(&["completions", "bash"])
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
fn manual_pages_are_for_all_commands() {
    let page = said(&["man"]);
    assert!(page.contains(".TH cuculus 1") && page.contains("Examples"), "{page}");
    let directory = TempDir::new().expect("a temporary directory");
    let out = directory.path().join("man1");
    said(&["man", "--out", &out.display().to_string()]);
    for name in ["cuculus", "cuculus-demo", "cuculus-plan"] {
        let page = fs::read_to_string(out.join(format!("{name}.1"))).expect(name);
        assert!(page.contains(&format!(".TH {name} 1")), "{page}");
    }
    fs::write(directory.path().join("file"), "").expect("written");
    let below = directory.path().join("file/below").display().to_string();
    is_refused(&["man", "--out", &below], "give another --out");
}
