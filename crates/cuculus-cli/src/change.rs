//! `cuculus add` and `cuculus remove`: change the keys of a filter in a file.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use cuculus::{Full, FullCause, Insert};
use serde_json::json;

use crate::input::Keys;
use crate::keys::Block;
use crate::saved::{self, AnyFilter, Replacement};
use crate::text::thousands;
use crate::{NOT_FOUND, input};

/// Add keys to a filter.
///
/// The file is replaced atomically when all keys are in: after an error, or if the process is
/// killed, it is unchanged. A key that is added twice is stored twice and must be removed twice;
/// with --unique it is stored once.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cuculus add words.cf more.txt           add the keys in more.txt
  cuculus add --unique words.cf more.txt  add only keys that are not in the filter")]
pub(crate) struct Add {
    /// The filter
    file: PathBuf,
    #[command(flatten)]
    keys: Keys,
    #[command(flatten)]
    unique: Unique,
    /// Print the numbers of keys as JSON
    #[arg(long)]
    json: bool,
}

/// Remove keys from a filter.
///
/// Remove only keys that were added: removing a key that was never inserted can remove the entry of
/// another key that looks the same. The file is replaced atomically. The exit code is 1 if some keys
/// were not in the filter; the others are removed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cuculus remove words.cf old.txt  remove the keys in old.txt")]
pub(crate) struct Remove {
    /// The filter
    file: PathBuf,
    #[command(flatten)]
    keys: Keys,
    /// Print the numbers of keys as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Clone, Copy)]
pub(crate) struct Unique {
    /// Leave out keys that the filter already contains. A key that only looks like a stored key is
    /// left out too, so do not remove keys from such a filter
    #[arg(long = "unique")]
    pub(crate) is_set: bool,
}

pub(crate) fn add(options: &Add, out: &mut impl Write) -> Result<ExitCode> {
    let (replacement, mut filter) = open(&options.file)?;
    let set = filter.as_insert().with_context(|| options.file.display().to_string())?;
    let source = options.keys.source(set.hasher(), false)?;
    let (read, added) = insert_all(source, set, options.unique)?;
    filter.save(replacement)?;
    let keys = filter.as_filter().len();
    if options.json {
        writeln!(out, "{}", json!({ "read": read, "added": added, "keys": keys }))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn remove(options: &Remove, out: &mut impl Write) -> Result<ExitCode> {
    let (replacement, mut filter) = open(&options.file)?;
    let set = filter.as_remove().with_context(|| options.file.display().to_string())?;
    let source = options.keys.source(set.hasher(), false)?;
    let (mut read, mut removed) = (0, 0);
    source.each_block(|block| {
        read += block.len() as u64;
        for &hash in &block.hashes {
            removed += u64::from(set.remove_hash(hash));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    filter.save(replacement)?;
    let (keys, missing) = (filter.as_filter().len(), read - removed);
    if options.json {
        writeln!(out, "{}", json!({ "read": read, "removed": removed, "keys": keys }))?;
    }
    if missing == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    crate::print_error(&format!(
        "{} of {} keys were not in the filter",
        thousands(missing),
        thousands(read)
    ));
    Ok(ExitCode::from(NOT_FOUND))
}

/// Locks a file against other writers and loads its filter.
fn open(path: &Path) -> Result<(Replacement, AnyFilter)> {
    Ok((Replacement::of_existing(path)?, saved::load(path)?))
}

/// Inserts all keys; returns how many were read and how many were inserted.
pub(crate) fn insert_all(
    source: input::Source,
    set: &mut dyn Insert,
    unique: Unique,
) -> Result<(u64, u64)> {
    let (mut read, mut added) = (0, 0);
    let mut absent = Vec::new();
    source.each_block(|block| {
        if unique.is_set {
            insert_absent(set, block, &mut absent)?;
            added += absent.iter().filter(|&&absent| absent).count() as u64;
        } else {
            let inserted = set.insert_batch(&block.hashes);
            inserted.map_err(|full| refusal(&full, &block.origin_of(full.inserted)))?;
            added += block.len() as u64;
        }
        read += block.len() as u64;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((read, added))
}

/// Inserts the keys of a block that are not in the filter yet; `absent` says which.
pub(crate) fn insert_absent(
    set: &mut dyn Insert,
    block: &Block,
    absent: &mut Vec<bool>,
) -> Result<()> {
    let inserted = set.insert_absent_batch(&block.hashes, absent);
    inserted.map_err(|full| refusal(&full, &block.origin_of(absent.len())))
}

/// The library's error in terms of this tool's options.
pub(crate) fn refusal(full: &Full, origin: &str) -> anyhow::Error {
    match full.cause {
        FullCause::EqualEntries { held } => anyhow!(
            "{origin}: the key is stored {held} times already, the most that fit; use --unique to \
             store each key once"
        ),
        FullCause::NoRoom { .. } => anyhow!(
            "{origin}: the filter is full at {} keys; build one with a larger --capacity, or of \
             --kind elastic, which grows",
            thousands(full.len as u64)
        ),
        _ => anyhow!("{origin}: {full}"),
    }
}
