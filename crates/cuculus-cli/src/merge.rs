//! `cuculus merge`: adds the keys of other filters to a filter in a file.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Error, Result, anyhow, ensure};
use clap::Args;
use cuculus::{ElasticFilter, Filter};
use serde_json::json;

use crate::keys::shown;
use crate::saved::{AnyFilter, Holds, Saved, kind_name};

/// Add the keys of other filters to a filter.
///
/// All must be elastic filters with the same seed (`cuculus build --seed`) and keys of the same form.
/// The result is a multiset: a key that two of them contain is stored twice. Their false positive
/// rates together must not exceed the rate of the first. The first file is replaced atomically; the
/// others do not change.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cuculus merge all.cf monday.cf tuesday.cf  add all keys to all.cf (same --seed)")]
pub(crate) struct Options {
    /// The filter to add the keys to
    file: PathBuf,
    /// The filters whose keys are added
    #[arg(required = true, value_name = "OTHER")]
    others: Vec<PathBuf>,
    /// Print the numbers of keys as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(options: &Options, out: &mut impl Write) -> Result<ExitCode> {
    let (replacement, mut first) = Saved::open(&options.file)?;
    let before = first.as_filter().len();
    for path in &options.others {
        let at = || format!("cannot merge {} into {}", shown(path), shown(&options.file));
        ensure!(
            !is_same_file(path, &options.file),
            "{} is among the filters to add to itself; leave it out",
            shown(path)
        );
        let other = Saved::load(path)?;
        let (merged, other_filter) = (elastic(&mut first.filter, &options.file)?, &other.filter);
        let AnyFilter::Elastic(other_filter) = other_filter else {
            return Err(not_elastic(path, other_filter));
        };
        let (keys, others) = (&first.note.keys, &other.note.keys);
        ensure!(
            keys.is_none() || others.is_none() || keys == others,
            "{}: their keys have different forms; build one filter of all keys instead",
            at()
        );
        ensure!(
            first.note.dedup.is_none() && other.note.dedup.is_none(),
            "{}: the state of `cuculus dedup` cannot be merged",
            at()
        );
        let (hasher, other_hasher) = (merged.hasher(), other_filter.hasher());
        ensure!(
            (hasher.name(), hasher.seed()) == (other_hasher.name(), other_hasher.seed()),
            "{}: they were built with different hash functions or seeds; build both with the same --seed",
            at()
        );
        merged.merge(other_filter).with_context(at)?;
        first.note.expected_left_out += other.note.expected_left_out;
    }
    if first.note.holds.is_some() {
        first.note.holds = Some(Holds::Multiset);
    }
    let keys = first.as_filter().len();
    first.save(replacement)?;
    if options.json {
        writeln!(out, "{}", json!({ "added": keys - before, "keys": keys }))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

fn elastic<'a>(filter: &'a mut AnyFilter, path: &Path) -> Result<&'a mut ElasticFilter> {
    match filter {
        AnyFilter::Elastic(filter) => Ok(filter),
        other => Err(not_elastic(path, other)),
    }
}

fn not_elastic(path: &Path, filter: &AnyFilter) -> Error {
    anyhow!(
        "{} is a {}; only elastic filters can be merged; build one filter of all keys instead",
        shown(path),
        kind_name(filter.kind())
    )
}
