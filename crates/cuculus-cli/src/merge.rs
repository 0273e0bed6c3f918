//! `cuculus merge`: adds the keys of other filters to a filter in a file.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use cuculus::{ElasticFilter, Filter};
use serde_json::json;

use crate::saved::{self, AnyFilter, Replacement, kind_name};

/// Add the keys of other filters to a filter.
///
/// All must be elastic filters with the same seed (`cuculus build --seed`). Their false positive
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
    let replacement = Replacement::of_existing(&options.file)?;
    let mut merged = load(&options.file)?;
    let before = merged.len();
    for path in &options.others {
        let other = load(path)?;
        let at = || format!("cannot merge {} into {}", path.display(), options.file.display());
        merged.merge(&other).with_context(at)?;
    }
    let keys = merged.len();
    AnyFilter::Elastic(merged).save(replacement)?;
    if options.json {
        writeln!(out, "{}", json!({ "added": keys - before, "keys": keys }))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn load(path: &Path) -> Result<ElasticFilter> {
    match saved::load(path)? {
        AnyFilter::Elastic(filter) => Ok(filter),
        other => bail!(
            "{} is a {}; only elastic filters can be merged; build one filter of all keys instead",
            path.display(),
            kind_name(other.kind())
        ),
    }
}
