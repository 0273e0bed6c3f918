//! `cuculus info` and `cuculus verify`: describe a filter in a file, and check files for damage.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::{Map, Value, json};

use crate::saved::{self, AnyFilter, kind_name};
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
    let saved = saved::load(&options.file)?;
    let filter = saved.as_filter();
    let file = fs::metadata(&options.file).context("cannot read the size of the file")?;
    let (keys, memory) = (filter.len(), filter.size_in_bytes());
    let bits_per_key = (keys > 0).then(|| memory as f64 * 8.0 / keys as f64);
    let (hash, seed) = (filter.hasher().name(), filter.hasher().seed());
    let details = details(&saved);
    if options.json {
        let common = json!({
            "file": options.file.display().to_string(),
            "kind": kind_name(saved.kind()),
            "keys": keys,
            "file_bytes": file.len(),
            "memory_bytes": memory,
            "bits_per_key": bits_per_key,
            "slots": filter.slots(),
            "utilization": filter.utilization(),
            "expected_false_positive_rate": filter.expected_false_positive_rate(),
            "hash": hash,
            "seed": seed,
            "details": details,
        });
        writeln!(out, "{common:#}")?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut line = |name: &str, value: String| writeln!(out, "{name:<22}{value}");
    line("kind", kind_name(saved.kind()).to_owned())?;
    line("keys", thousands(keys as u64))?;
    line("bytes in the file", thousands(file.len()))?;
    line("bytes in memory", thousands(memory as u64))?;
    line("bits per key", bits_per_key.map_or("–".to_owned(), |bits| format!("{bits:.2}")))?;
    let (slots, used) = (thousands(filter.slots() as u64), percent(filter.utilization(), 2));
    line("slots", format!("{slots}, {used} used"))?;
    line("false positive rate", percent(filter.expected_false_positive_rate(), 4))?;
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
        AnyFilter::Dynamic(filter) => {
            let stats = filter.stats();
            json!({
                "capacity": stats.capacity,
                "filters": stats.filters,
                "capacity_per_filter": stats.capacity_per_filter,
                "slots_per_bucket": stats.slots_per_bucket,
                "fingerprint_bits": stats.fingerprint_bits,
                "refused": stats.refused,
            })
        }
        AnyFilter::IndexIndependent(filter) => {
            let stats = filter.stats();
            json!({
                "capacity": stats.capacity,
                "buckets": stats.buckets,
                "slots_per_bucket": stats.slots_per_bucket,
                "fingerprint_bits": stats.fingerprint_bits,
                "candidates": stats.candidates,
                "virtual_nodes": stats.virtual_nodes,
                "ring_bytes": stats.ring_bytes,
                "refused": stats.refused,
            })
        }
        AnyFilter::Consistent(filter) => {
            let stats = filter.stats();
            json!({
                "filters": stats.filters.len(),
                "buckets": filter.buckets(),
                "fingerprint_bits": stats.fingerprint_bits,
                "ring_bytes": stats.ring_bytes,
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
        let loaded = saved::load(path);
        if loaded.is_err() {
            code = ExitCode::from(crate::ERROR);
        }
        if options.json {
            writeln!(out, "{}", verdict(path, &loaded))?;
            continue;
        }
        match loaded {
            Ok(saved) => {
                let (kind, keys) = (kind_name(saved.kind()), saved.as_filter().len());
                writeln!(out, "{}: ok, {kind}, {} keys", path.display(), thousands(keys as u64))?;
            }
            Err(error) => crate::print_error(&format!("{error:#}")),
        }
    }
    Ok(code)
}

fn verdict(path: &Path, loaded: &Result<AnyFilter>) -> Value {
    let file = path.display().to_string();
    match loaded {
        Ok(saved) => json!({
            "file": file,
            "ok": true,
            "kind": kind_name(saved.kind()),
            "keys": saved.as_filter().len(),
        }),
        Err(error) => json!({ "file": file, "ok": false, "error": format!("{error:#}") }),
    }
}
