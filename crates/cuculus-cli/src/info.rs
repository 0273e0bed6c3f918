//! `cuculus info` and `cuculus verify`: describe a filter in a file, and check files for damage.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::{Map, Value, json};

use crate::keys::{Form, Part, shown};
use crate::saved::{AnyFilter, Holds, Saved, kind_name};
use crate::text::{percent, thousands};

/// Describe a filter in a file.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cuculus info words.cf         kind, keys, memory, false positive rate
  cuculus info --json words.cf  the same for programs")]
pub(crate) struct Info {
    /// The filter
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Check filters in files for damage.
///
/// Checks both checksums, every field and every entry. The exit code is 2 if a file is damaged or is
/// not a filter.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cuculus verify *.cf  exit code 0 if all files are intact")]
pub(crate) struct Verify {
    /// The filters
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print one line of JSON per file
    #[arg(long)]
    json: bool,
}

pub(crate) fn info(options: &Info, out: &mut impl Write) -> Result<ExitCode> {
    let saved = Saved::load(&options.file)?;
    let filter = saved.as_filter();
    let file = fs::metadata(&options.file).context("cannot read the size of the file")?;
    let (keys, memory) = (filter.len(), filter.size_in_bytes());
    let bits_per_key = (keys > 0).then(|| memory as f64 * 8.0 / keys as f64);
    let (hash, seed) = (filter.hasher().name(), filter.hasher().seed());
    let details = details(&saved.filter);
    if options.json {
        let common = json!({
            "file": options.file.display().to_string(),
            "kind": kind_name(saved.filter.kind()),
            "keys": keys,
            "file_bytes": file.len(),
            "memory_bytes": memory,
            "bits_per_key": bits_per_key,
            "slots": filter.slots(),
            "utilization": filter.utilization(),
            "expected_false_positive_rate": filter.expected_false_positive_rate(),
            "hash": hash,
            // As text: programs that read numbers as floating point would change it.
            "seed": seed.map(|seed| seed.to_string()),
            "holds": saved.note.holds,
            "keys_are": saved.note.keys,
            "expected_left_out": saved.note.expected_left_out,
            "details": details,
        });
        writeln!(out, "{common:#}")?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut line = |name: &str, value: String| writeln!(out, "{name:<22}{value}");
    line("kind", kind_name(saved.filter.kind()).to_owned())?;
    line("keys", thousands(keys as u64))?;
    line("keys are", saved.note.keys.as_ref().map_or("not noted".to_owned(), described))?;
    let holds = match saved.note.holds {
        Some(Holds::Set) => "set: each key once",
        Some(Holds::Multiset) => "multiset: every copy of a key",
        None => "not noted; taken for a multiset",
    };
    line("holds", holds.to_owned())?;
    line("bytes in the file", thousands(file.len()))?;
    line("bytes in memory", thousands(memory as u64))?;
    line("bits per key", bits_per_key.map_or("–".to_owned(), |bits| format!("{bits:.2}")))?;
    let (slots, used) = (thousands(filter.slots() as u64), percent(filter.utilization(), 2));
    line("slots", format!("{slots}, {used} used"))?;
    line("false positive rate", rate_text(filter.expected_false_positive_rate()))?;
    let seed = seed.map_or("with a secret key".to_owned(), |seed| format!("with seed {seed}"));
    line("hash", format!("{hash} {seed}"))?;
    for (name, value) in details {
        let value = match value.as_u64() {
            Some(number) => thousands(number),
            None => value.to_string(),
        };
        line(&name.replace('_', " "), value)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A rate in percent, or as a power of ten if that would be all zeros.
fn rate_text(rate: f64) -> String {
    if rate == 0.0 || rate >= 1e-6 { percent(rate, 4) } else { format!("{rate:.1e}") }
}

/// How lines become keys, in words.
fn described(form: &Form) -> String {
    let part = match &form.part {
        Part::Line => String::new(),
        Part::Fields { fields, delimiter } => {
            format!(", fields {} between {delimiter:?}", String::from(fields.clone()))
        }
        Part::Json(pointer) => format!(", the value at {pointer} of a JSON document"),
    };
    let case = if form.ignore_case { ", in lower case" } else { "" };
    format!("{}{part}{case}", form.encoding)
}

/// Fields that only some kinds have.
fn details(saved: &AnyFilter) -> Map<String, Value> {
    let details = match saved {
        AnyFilter::Cuckoo(filter) => {
            let stats = filter.stats();
            json!({
                "capacity": stats.capacity,
                "buckets": stats.buckets,
                "slots_per_bucket": stats.slots_per_bucket,
                "fingerprint_bits": stats.fingerprint_bits,
                "semi_sorted": stats.semi_sorted,
                "refused": stats.refused,
            })
        }
        AnyFilter::Maplet(maplet) => {
            json!({ "capacity": maplet.capacity(), "value_bits": maplet.value_bits() })
        }
        AnyFilter::Elastic(filter) => {
            let stats = filter.stats();
            json!({
                "largest_rate": stats.false_positive_rate,
                "segments": stats.segments,
                "overflow": stats.overflow,
                "refused": stats.refused,
            })
        }
    };
    match details {
        Value::Object(details) => details,
        _ => Map::new(),
    }
}

pub(crate) fn verify(options: &Verify, out: &mut impl Write) -> Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    for path in &options.files {
        let loaded = Saved::load(path);
        if loaded.is_err() {
            code = ExitCode::from(crate::ERROR);
        }
        if options.json {
            writeln!(out, "{}", verdict(path, &loaded))?;
            continue;
        }
        match loaded {
            Ok(saved) => {
                let (kind, keys) = (kind_name(saved.filter.kind()), saved.as_filter().len());
                writeln!(out, "{}: ok, {kind}, {} keys", shown(path), thousands(keys as u64))?;
            }
            Err(error) => crate::print_error(&crate::in_one_line(&error)),
        }
    }
    Ok(code)
}

fn verdict(path: &Path, loaded: &Result<Saved>) -> Value {
    let file = path.display().to_string();
    match loaded {
        Ok(saved) => json!({
            "file": file,
            "ok": true,
            "kind": kind_name(saved.filter.kind()),
            "keys": saved.as_filter().len(),
        }),
        Err(error) => json!({ "file": file, "ok": false, "error": crate::in_one_line(error) }),
    }
}
