//! Every verdict that does not depend on the clock, at the quick size: the claim, the verdict, and
//! the number that decides, within five standard deviations of what five seeds gave. A change of
//! the library that moves a load, a rate, a bound or a size moves one of these. How many claims of
//! the papers hold must be as papers/claims.md counts them.
//!
//! `CUCULUS_VERDICTS=write cargo test -p cuculus-lab --test verdicts` rewrites the file, with five
//! seeds; names of experiments instead of `write` rewrite their lines only. Read the difference
//! before it is committed: each line is a claim in the documents. `CUCULUS_VERDICTS_OF` with names
//! of experiments compares those alone, to try a change of the library.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use cuculus_lab::claims::{Count, Counts};
use cuculus_lab::experiment::{Chance, Experiment, SEEDS, Settings, Size, choices};
use cuculus_lab::experiments::{self, ALL};
use cuculus_page::{Finding, Holds};

/// Standard deviations that a number may be off the mean of the seeds.
const SIGMAS: f64 = 5.0;
/// Five seeds say little of a deviation that is very small: so much of the value is allowed in any
/// case, unless all seeds gave the same.
const LEAST: f64 = 0.002;

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/verdicts.tsv")
}

/// They measure times, and bits, rates and refusals beside them. (So does dcf-times, but it takes half
/// a minute for two such claims.)
const NOT_ONLY_TIMES: [&str; 2] = ["cf-table3", "kicks"];

/// Those that take longest, in this order.
const SLOWEST: [&str; 5] = ["ccf-trace", "cf-table3", "cf-load", "ccf-parameters", "dcf-compact"];

/// Times are another matter on every machine. The backup needs a network; its own tests do without.
fn is_judged(experiment: &Experiment) -> bool {
    let is_timed = experiment.chance == Chance::Clock && !NOT_ONLY_TIMES.contains(&experiment.name);
    !is_timed && experiment.name != "dcf-backup"
}

/// What an experiment found with one seed. Its claims about times are left out, so one round is
/// enough.
fn findings(experiment: &Experiment, seed: u64) -> Vec<Finding> {
    let given = [(choices::ROUNDS.name, "1".to_owned())];
    let given = if experiment.options.contains(&choices::ROUNDS) { &given[..] } else { &[] };
    let settings = Settings { size: Size::Quick, seed, seeds: 1, progress: &|_| (), given };
    let outcome = experiment.run(&settings);
    let outcome = outcome.unwrap_or_else(|error| panic!("{}: {error:#}", experiment.name));
    let name = experiment.name;
    assert!(outcome.plots.iter().all(|plot| !plot.is_empty()), "{name}: an empty plot");
    assert!(outcome.tables.iter().all(|(_, table)| table.rows().count() > 1), "{name}: no rows");
    assert!(outcome.to_json()["findings"].as_array().is_some_and(|all| !all.is_empty()), "{name}");
    assert_eq!(outcome.wrong_answers, 0, "{name}");
    outcome.findings.into_iter().filter(|finding| !finding.is_timed).collect()
}

/// Runs each with these seeds, on two threads, and gives the findings in the order of the list.
fn run(seeds: u64, wanted: impl Fn(&str) -> bool) -> Vec<(&'static str, Vec<Vec<Finding>>)> {
    let judged = ALL.iter().filter(|of| is_judged(of) && wanted(of.name));
    let judged: Vec<&Experiment> = judged.collect();
    // The slowest first: at the end neither thread waits long for the other.
    let rank = |of: &&Experiment| SLOWEST.iter().position(|name| *name == of.name);
    let mut queue = judged.clone();
    queue.sort_by_key(|of| rank(of).unwrap_or(SLOWEST.len()));
    let next = AtomicUsize::new(0);
    let found = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(experiment) = queue.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let start = Instant::now();
                    let runs: Vec<Vec<Finding>> =
                        (1..=seeds).map(|seed| findings(experiment, seed)).collect();
                    println!("{}: {:.1} s", experiment.name, start.elapsed().as_secs_f64());
                    found.lock().expect("no panic").insert(experiment.name, runs);
                }
            });
        }
    });
    let mut found = found.into_inner().expect("no panic");
    judged.iter().map(|of| (of.name, found.remove(of.name).unwrap_or_default())).collect()
}

/// A line of the file.
struct Expected {
    verdicts: Vec<String>,
    mean: Option<f64>,
    tolerance: f64,
}

/// What seeds gave for one claim.
fn expected(runs: &[Vec<Finding>], claim: &str) -> Expected {
    let same: Vec<&Finding> = runs.iter().flatten().filter(|of| of.claim == claim).collect();
    let mut verdicts: Vec<String> = same.iter().map(|of| of.holds.word().to_owned()).collect();
    verdicts.sort();
    verdicts.dedup();
    let values: Vec<f64> = same.iter().filter_map(|of| of.value).collect();
    if values.is_empty() || values.len() < same.len() {
        return Expected { verdicts, mean: None, tolerance: 0.0 };
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let sigma = (squares / (values.len() as f64 - 1.0).max(1.0)).sqrt();
    let least = if sigma == 0.0 { 1e-6 } else { LEAST * mean.abs() };
    Expected { verdicts, mean: Some(mean), tolerance: (SIGMAS * sigma).max(least) }
}

/// Rewrites the lines of some experiments, or of all.
fn write(which: &str) {
    let wanted = |name: &str| which == "write" || which.split(',').any(|one| one == name);
    let before = fs::read_to_string(path()).unwrap_or_default();
    let mut lines: BTreeMap<&str, String> = BTreeMap::new();
    for line in before.lines().skip(1) {
        let name = line.split('\t').next().unwrap_or_default();
        if !wanted(name) {
            let _ = writeln!(lines.entry(name).or_default(), "{line}");
        }
    }
    for (name, runs) in run(SEEDS, wanted) {
        let text = lines.entry(name).or_default();
        for finding in runs.first().into_iter().flatten() {
            let Expected { verdicts, mean, tolerance } = expected(&runs, &finding.claim);
            let mean = mean.map_or_else(|| "-".to_owned(), |mean| format!("{mean:.6e}"));
            let verdicts = verdicts.join("|");
            let claim = &finding.claim;
            let _ = writeln!(text, "{name}\t{verdicts}\t{mean}\t{tolerance:.3e}\t{claim}");
        }
    }
    let ordered = ALL.iter().filter_map(|of| lines.remove(of.name));
    let head = "experiment\tverdict\tvalue\ttolerance\tclaim\n".to_owned();
    fs::write(path(), [head].into_iter().chain(ordered).collect::<String>()).expect("written");
}

/// The counts that the document has.
fn counted_in_the_document() -> Counts {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../claims.md");
    let text = fs::read_to_string(path).expect("the document");
    Counts::in_document(&text).expect("counts as a report writes them, with their sum")
}

#[test]
fn the_counts_of_the_document_are_of_experiments() {
    for (name, _) in counted_in_the_document().0 {
        let experiment = name.split(',').next().unwrap_or_default();
        assert!(experiments::named(experiment).is_some(), "{name} is no experiment");
    }
}

/// What the report counts: seeds that disagree make a claim hold in part.
fn count(experiment: &Experiment, found: &[(Finding, usize)]) -> Count {
    let merged = found.iter().map(|(finding, verdicts)| {
        let disagree = experiment.chance == Chance::Seed && *verdicts > 1;
        let holds = if disagree { Holds::Partly } else { finding.holds };
        Finding { holds, ..finding.clone() }
    });
    let mut counts = Counts::default();
    counts.add(experiment.name, &merged.collect::<Vec<_>>());
    counts.0.first().map_or([0; 4], |(_, count)| *count)
}

#[test]
fn every_verdict_is_as_it_is_written_down() {
    if let Ok(which) = std::env::var("CUCULUS_VERDICTS") {
        write(&which);
        return;
    }
    let chosen = std::env::var("CUCULUS_VERDICTS_OF").unwrap_or_default();
    let wanted = |name: &str| chosen.is_empty() || chosen.split(',').any(|one| one == name);
    let text = fs::read_to_string(path()).expect("the file of verdicts");
    let mut written: BTreeMap<(String, String), Expected> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [name, verdicts, mean, tolerance, claim] = cells[..] else { panic!("{line}") };
        if !wanted(name) {
            continue;
        }
        let verdicts = verdicts.split('|').map(str::to_owned).collect();
        let tolerance = tolerance.parse().expect("a number");
        let expected = Expected { verdicts, mean: mean.parse().ok(), tolerance };
        written.insert((name.to_owned(), claim.to_owned()), expected);
    }
    let mut faults = Vec::new();
    let counted = counted_in_the_document().0;
    for (name, runs) in run(1, wanted) {
        let mut found = Vec::new();
        for finding in runs.into_iter().flatten() {
            let key = (name.to_owned(), finding.claim.clone());
            let Some(expected) = written.remove(&key) else {
                faults.push(format!("{name}: not written down: {}", finding.claim));
                continue;
            };
            let verdict = finding.holds.word();
            if !expected.verdicts.iter().any(|one| one == verdict) {
                let expected = expected.verdicts.join(" or ");
                faults.push(format!(
                    "{name}: {}: {verdict}, not {expected}; measured {}",
                    finding.claim, finding.measured
                ));
            }
            if let (Some(mean), Some(value)) = (expected.mean, finding.value) {
                let off = (value - mean).abs();
                if off.is_nan() || off > expected.tolerance {
                    faults.push(format!(
                        "{name}: {}: {value}, not {mean} ± {}",
                        finding.claim, expected.tolerance
                    ));
                }
            }
            found.push((finding, expected.verdicts.len()));
        }
        let counts = experiments::named(name).map_or([0; 4], |of| count(of, &found));
        let written = counted.iter().find(|(of, _)| of == name).map_or([0; 4], |of| of.1);
        if counts != written {
            faults
                .push(format!("{name}: papers/claims.md counts {written:?}, here are {counts:?}"));
        }
    }
    faults.extend(written.keys().map(|(name, claim)| format!("{name}: not found: {claim}")));
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
