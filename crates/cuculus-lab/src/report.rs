//! The file for programs that an experiment writes beside its tables. Computes nothing.

use std::fs;
use std::path::Path;

use anyhow::Context;
use serde_json::{Value, json};

use crate::machine::processor;
use crate::verdict::Verdict;

/// Writes the machine, what was asked for, the results and the verdicts.
///
/// # Errors
/// If the file cannot be written.
pub fn write(
    path: &Path,
    asked: &Value,
    results: &Value,
    verdicts: &[Verdict],
) -> anyhow::Result<()> {
    let all = json!({
        "processor": processor(),
        "asked": asked,
        "results": results,
        "verdicts": verdicts.iter().map(verdict).collect::<Vec<_>>(),
    });
    fs::write(path, format!("{all:#}\n"))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// A verdict, for programs.
#[must_use]
pub fn verdict(verdict: &Verdict) -> Value {
    json!({
        "claim": verdict.claim,
        "value": verdict.value,
        "target": format!("{:?}", verdict.target),
        "verdict": verdict.word(),
    })
}
