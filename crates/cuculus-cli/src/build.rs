//! `cuculus build`: builds a filter of keys and saves it to a file.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use cuculus::papers::{ConsistentCuckooFilter, DynamicCuckooFilter, IndexIndependentCuckooFilter};
use cuculus::{BuildError, CuckooFilter, ElasticFilter, Filter, KeyHash, KeyHasher};
use serde_json::json;

use crate::change::{self, Unique};
use crate::input::Keys;
use crate::saved::{AnyFilter, Replacement};

/// Keys per batch when all hashes are in memory.
const PIECE: usize = 4096;

/// Build a filter of keys.
///
/// An elastic filter needs only the keys: it grows and shrinks with them and keeps its false
/// positive rate. The other kinds are built for --capacity keys. Without --capacity their keys are
/// read and counted first, which takes 8 bytes of memory per key.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cuculus build words.cf words.txt                   an elastic filter of the lines
  find / -print0 | cuculus build -0 names.cf         keys that may contain line ends
  cuculus build --kind cuckoo --fpr 1e-4 w.cf w.txt  fixed size, few false positives")]
pub(crate) struct Options {
    /// The file to write
    file: PathBuf,
    #[command(flatten)]
    keys: Keys,
    /// The kind of filter
    #[arg(long, value_enum, default_value_t = FilterKind::Elastic)]
    kind: FilterKind,
    /// The false positive rate: the share of absent keys that are reported as present
    #[arg(long, value_name = "RATE", default_value_t = 0.01)]
    fpr: f64,
    /// The largest number of keys; for an elastic filter a hint that makes it smaller
    #[arg(long, value_name = "KEYS")]
    capacity: Option<usize>,
    /// The seed of the hash function; random if not given. Filters to be merged need the same seed
    #[arg(long)]
    seed: Option<u64>,
    #[command(flatten)]
    unique: Unique,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    /// Print the numbers of keys as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum FilterKind {
    /// Grows and shrinks with its keys
    Elastic,
    /// Fixed size; the fastest
    Cuckoo,
    /// Fixed size; one bit per key smaller, and slower
    SemiSorted,
    /// A list of fixed filters (DCF), as in the paper
    Dynamic,
    /// Buckets on a ring (I2CF), as in the paper
    IndexIndependent,
    /// Filters on rings that follow their keys (CCF), as in the paper
    Consistent,
}

pub(crate) fn run(options: &Options, out: &mut impl Write) -> Result<ExitCode> {
    let replacement = Replacement::of_new(&options.file, options.force)?;
    let hasher = match options.seed {
        Some(seed) => KeyHasher::fold_xxh3(seed),
        None => KeyHasher::random()?,
    };
    let is_counted = options.capacity.is_none() && !matches!(options.kind, FilterKind::Elastic);
    let (filter, read, added) = if is_counted {
        let hashes = collect(options, &hasher)?;
        let mut filter = build(options, &hasher, Some(hashes.len()))?;
        let added = insert_hashes(&mut filter, &hashes, options)?;
        (filter, hashes.len() as u64, added)
    } else {
        let mut filter = build(options, &hasher, options.capacity)?;
        let source = options.keys.source(&hasher, false)?;
        let (read, added) = change::insert_all(source, filter.as_insert()?, options.unique)?;
        (filter, read, added)
    };
    filter.save(replacement)?;
    let keys = filter.as_filter().len();
    if options.json {
        writeln!(out, "{}", json!({ "read": read, "added": added, "keys": keys }))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The hashes of all keys.
fn collect(options: &Options, hasher: &KeyHasher) -> Result<Vec<KeyHash>> {
    let mut hashes = Vec::new();
    options.keys.source(hasher, false)?.each_block(|block| {
        hashes.extend_from_slice(&block.hashes);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(hashes)
}

/// Inserts keys by their hashes; returns how many were inserted.
fn insert_hashes(filter: &mut AnyFilter, hashes: &[KeyHash], options: &Options) -> Result<u64> {
    let set = filter.as_insert()?;
    let mut absent = Vec::new();
    for piece in hashes.chunks(PIECE) {
        let inserted = match options.unique.is_set {
            true => set.insert_absent_batch(piece, &mut absent),
            false => set.insert_batch(piece),
        };
        inserted.map_err(|full| change::refusal(&full, &options.file.display().to_string()))?;
    }
    Ok(set.len() as u64)
}

fn build(options: &Options, hasher: &KeyHasher, capacity: Option<usize>) -> Result<AnyFilter> {
    let (hasher, rate, keys) = (hasher.clone(), options.fpr, capacity.unwrap_or(0));
    let cuckoo = || {
        let builder = CuckooFilter::builder().hasher(hasher.clone());
        builder.capacity(keys).false_positive_rate(rate)
    };
    let built: Result<AnyFilter, BuildError> = match options.kind {
        FilterKind::Elastic => {
            let builder = ElasticFilter::builder().hasher(hasher).expected_items(keys);
            builder.false_positive_rate(rate).build().map(AnyFilter::Elastic)
        }
        FilterKind::Cuckoo => cuckoo().build().map(AnyFilter::Cuckoo),
        FilterKind::SemiSorted => cuckoo().semi_sorted(true).build().map(AnyFilter::Cuckoo),
        FilterKind::Dynamic => {
            let builder = DynamicCuckooFilter::builder().hasher(hasher).capacity(keys);
            builder.false_positive_rate(rate).build().map(AnyFilter::Dynamic)
        }
        FilterKind::IndexIndependent => {
            let builder = IndexIndependentCuckooFilter::builder().hasher(hasher).capacity(keys);
            builder.false_positive_rate(rate).build().map(AnyFilter::IndexIndependent)
        }
        FilterKind::Consistent => {
            let builder = ConsistentCuckooFilter::builder().hasher(hasher).capacity(keys);
            builder.false_positive_rate(rate).build().map(AnyFilter::Consistent)
        }
    };
    built.context("cannot build this filter")
}
