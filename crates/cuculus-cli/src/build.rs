//! `cuculus build`: builds a filter of keys and saves it to a file.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use cuculus::{BuildError, CuckooFilter, ElasticFilter, Filter, KeyHash, KeyHasher};

use crate::change::{self, Added};
use crate::count::{self, Count};
use crate::input::{Keys, Source};
use crate::keys::{Form, shown};
use crate::rate::Rate;
use crate::saved::{AnyFilter, FileNote, Holds, Replacement, Saved};

/// Keys per batch when all hashes are in memory.
const PIECE: usize = 4096;

/// Build a filter of keys.
///
/// Every added key has an entry of its own, so keys can be removed later, as often as they were added.
/// With --set a key that the filter contains is not stored again: copies take no memory, but keys that
/// look the same share an entry and are lost together.
///
/// An elastic filter needs only the keys: it grows and shrinks with them and keeps its false
/// positive rate. The other kinds are built for --capacity keys. Without --capacity their keys are
/// read and counted first, which takes 8 bytes of memory per key.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cuculus build words.cf words.txt                   an elastic filter of the lines
  find / -print0 | cuculus build -0 names.cf         keys that may contain line ends
  cuculus build --set words.cf words.txt             each key once, to be queried only
  cuculus build --kind cuckoo --fpr 1e-4 w.cf w.txt  fixed size, few false positives")]
pub(crate) struct Options {
    /// The file to write
    file: PathBuf,
    #[command(flatten)]
    keys: Keys,
    /// The kind of filter
    #[arg(long, value_enum, default_value_t = FilterKind::Elastic)]
    kind: FilterKind,
    /// The false positive rate, the share of absent keys that are reported as present: 0.01 or 1%
    #[arg(long, value_name = "RATE", default_value = "0.01")]
    fpr: Rate,
    /// The largest number of keys: 1000000, 1M or 1e6. For an elastic filter a hint that makes it
    /// smaller
    #[arg(long, value_name = "KEYS", value_parser = count::between(0, usize::MAX as u64))]
    capacity: Option<Count>,
    /// The seed of the hash function; random if not given. Filters to be merged need the same seed
    #[arg(long, value_parser = count::between(0, u64::MAX))]
    seed: Option<Count>,
    /// Store each key once. Of keys that look the same only one is stored, so do not remove keys from it
    #[arg(long)]
    set: bool,
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
}

pub(crate) fn run(options: &Options, out: &mut impl Write) -> Result<ExitCode> {
    let replacement = Replacement::of_new(&options.file, options.force)?;
    let hasher = match options.seed {
        Some(seed) => KeyHasher::fold_xxh3(seed.get()),
        None => KeyHasher::random()?,
    };
    let form = Form::of(options.keys.encoding());
    let capacity = options.capacity.map(|capacity| capacity.get() as usize);
    let source = options.keys.source(form.clone(), &hasher, false)?;
    let is_counted = capacity.is_none() && !matches!(options.kind, FilterKind::Elastic);
    let (filter, added) = if is_counted {
        let mut hashes = collect(source)?;
        let read = hashes.len() as u64;
        if options.set {
            hashes.sort_unstable();
            hashes.dedup();
        }
        let mut filter = build(options, &hasher, Some(hashes.len()))?;
        let added = insert_hashes(&mut filter, &hashes, options)?;
        (filter, Added { read, added })
    } else {
        let mut filter = build(options, &hasher, capacity)?;
        let added = change::insert_all(source, filter.as_insert()?, options.set)?;
        (filter, added)
    };
    let holds = if options.set { Holds::Set } else { Holds::Multiset };
    let mut note = FileNote::new(form, holds);
    if !is_counted {
        note.leave_out(added.added, filter.as_filter());
    }
    let saved = Saved::new(filter, note, &options.file);
    saved.save(replacement)?;
    if options.json {
        added.print(saved.as_filter().len(), out)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The hashes of all keys.
fn collect(source: Source) -> Result<Vec<KeyHash>> {
    let mut hashes = Vec::new();
    source.each_block(|block| {
        hashes.extend_from_slice(&block.hashes);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(hashes)
}

/// Inserts keys by their hashes; returns how many were inserted.
fn insert_hashes(filter: &mut AnyFilter, hashes: &[KeyHash], options: &Options) -> Result<u64> {
    let set = filter.as_insert()?;
    for piece in hashes.chunks(PIECE) {
        let inserted = set.insert_batch(piece);
        inserted.map_err(|full| change::refusal(&full, &shown(&options.file)))?;
    }
    Ok(set.len() as u64)
}

fn build(options: &Options, hasher: &KeyHasher, capacity: Option<usize>) -> Result<AnyFilter> {
    let (hasher, rate, keys) = (hasher.clone(), options.fpr.get(), capacity.unwrap_or(0));
    let cuckoo = || {
        let builder = CuckooFilter::builder().hasher(hasher.clone());
        builder.capacity(keys).false_positive_rate(rate)
    };
    let built: Result<AnyFilter, BuildError> = match options.kind {
        FilterKind::Elastic => {
            let builder = ElasticFilter::builder().hasher(hasher).false_positive_rate(rate);
            let built = match builder.clone().expected_items(keys).build() {
                // Larger than can be planned for, and only a hint.
                Err(BuildError::OutOfRange { .. }) => builder.build(),
                built => built,
            };
            built.map(AnyFilter::Elastic)
        }
        FilterKind::Cuckoo => cuckoo().build().map(AnyFilter::Cuckoo),
        FilterKind::SemiSorted => cuckoo().semi_sorted(true).build().map(AnyFilter::Cuckoo),
    };
    built.with_context(|| format!("cannot build this filter with --fpr {}", options.fpr.typed()))
}
