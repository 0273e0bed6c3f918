//! `cuculus build`: a file with a new filter of some keys.

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

/// Keys that are inserted at a time, where all are known.
const PIECE: usize = 4096;

/// Build a filter of keys.
///
/// An elastic filter needs nothing else: it follows its keys, up and down, and keeps its rate. The
/// others are sized once; without --capacity their keys are counted first, which takes eight bytes
/// a key while it lasts.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cuculus build words.cf words.txt                   an elastic filter of the lines
  find / -print0 | cuculus build -0 names.cf         of names, whatever is in them
  cuculus build --kind cuckoo --fpr 1e-4 w.cf w.txt  of fixed size, with few mistakes")]
pub(crate) struct Options {
    /// The file to write
    file: PathBuf,
    #[command(flatten)]
    keys: Keys,
    /// What kind of filter
    #[arg(long, value_enum, default_value_t = FilterKind::Elastic)]
    kind: FilterKind,
    /// The share of absent keys that may be found by mistake
    #[arg(long, value_name = "RATE", default_value_t = 0.01)]
    fpr: f64,
    /// The most keys that the filter will hold; a hint for an elastic one, which is then smaller
    #[arg(long, value_name = "KEYS")]
    capacity: Option<usize>,
    /// The seed of the hash function: the same for filters that are to be merged. Random if not
    /// given
    #[arg(long)]
    seed: Option<u64>,
    #[command(flatten)]
    unique: Unique,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum FilterKind {
    /// Follows its keys, up and down
    Elastic,
    /// Of fixed size: the fastest
    Cuckoo,
    /// Of fixed size, one bit a key smaller and slower
    SemiSorted,
    /// A list of filters, as in the paper
    Dynamic,
    /// Buckets on a ring, as in the paper
    IndexIndependent,
    /// Filters on rings that follow their keys, as in the paper
    Consistent,
}

pub(crate) fn run(options: &Options, out: &mut impl Write) -> Result<ExitCode> {
    let replacement = Replacement::of_new(&options.file, options.force)?;
    let hasher = match options.seed {
        Some(seed) => KeyHasher::xxh3(seed),
        None => KeyHasher::random()?,
    };
    let is_counted = options.capacity.is_none() && !matches!(options.kind, FilterKind::Elastic);
    let (filter, read, added) = if is_counted {
        let hashes = collect(options, &hasher)?;
        let mut filter = build(options, &hasher, Some(hashes.len()))?;
        let added = insert_known(&mut filter, &hashes, options)?;
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

/// Inserts keys of which only the hashes are left; returns how many went in.
fn insert_known(filter: &mut AnyFilter, hashes: &[KeyHash], options: &Options) -> Result<u64> {
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
    built.context("this filter cannot be built")
}
