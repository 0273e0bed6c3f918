//! `cuculus add` and `cuculus remove`: change the keys of a filter in a file.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, anyhow, ensure};
use clap::Args;
use cuculus::{Full, FullCause, Insert};
use serde_json::json;

use crate::input::Keys;
use crate::keys::shown;
use crate::lossless;
use crate::saved::{Saved, kind_name};
use crate::text::thousands;
use crate::uniq::mistaken;
use crate::{NOT_FOUND, dedup, input};

/// Add keys to a filter.
///
/// Every copy of a key is added, and counts; a set (`cuculus build --set`, the states of `uniq` and
/// `dedup`) takes only keys that it does not contain. The file is replaced atomically when all keys are
/// in: after an error, or if the process is killed, it is unchanged.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cuculus add words.cf more.txt  add the keys in more.txt")]
pub(crate) struct Add {
    /// The filter
    file: PathBuf,
    #[command(flatten)]
    keys: Keys,
    /// Print the numbers of keys as JSON
    #[arg(long)]
    json: bool,
}

/// Remove keys from a filter.
///
/// Remove only keys that were added: removing a key that was never inserted can remove the entry of
/// another key that looks the same. In a set some keys share an entry because they look the same; if
/// that is likely, nothing is removed without --force. The file is replaced atomically. The exit code
/// is 1 if some keys were not in the filter; the others are removed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cuculus remove words.cf old.txt  remove the keys in old.txt")]
pub(crate) struct Remove {
    /// The filter
    file: PathBuf,
    #[command(flatten)]
    keys: Keys,
    /// Remove keys from a set although a key that stays may be lost with them
    #[arg(long)]
    force: bool,
    /// Print the numbers of keys as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn add(options: &Add, out: &mut impl Write) -> Result<ExitCode> {
    let (replacement, mut saved) = Saved::open(&options.file)?;
    let (form, is_set) = (saved.form(options.keys.encoding())?, saved.note.is_set());
    ensure!(
        saved.note.dedup.is_none(),
        "{} is the state of `cuculus dedup`; add documents with that",
        shown(&options.file)
    );
    let set = saved.as_insert()?;
    let source = options.keys.source(form, set.hasher(), false)?;
    let added = insert_all(source, set, is_set)?;
    saved.note.leave_out(added.added, saved.filter.as_filter());
    saved.save(replacement)?;
    if options.json {
        added.print(saved.as_filter().len(), out)?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn remove(options: &Remove, out: &mut impl Write) -> Result<ExitCode> {
    let (replacement, mut saved) = Saved::open(&options.file)?;
    let (form, shared) = (saved.form(options.keys.encoding())?, saved.note.expected_left_out);
    ensure!(
        shared < lossless::WORTH_SAYING || options.force,
        "{}: about {} keys of this {} share an entry with another key, and would be lost with it; \
         build it without --set, or add --force",
        shown(&options.file),
        mistaken(shared),
        kind_name(saved.filter.kind())
    );
    let ngrams = dedup::ngrams_of(&saved.note);
    let set = saved.as_remove()?;
    let (mut read, mut removed) = (0, 0);
    if let Some(ngrams) = ngrams {
        (read, removed) = ngrams.remove_all(&options.keys.lines, &form, set)?;
    } else {
        let source = options.keys.source(form, set.hasher(), false)?;
        source.each_block(|block| {
            read += block.len() as u64;
            for &hash in &block.hashes {
                removed += u64::from(set.remove_hash(hash));
            }
            Ok(ControlFlow::Continue(()))
        })?;
    }
    saved.save(replacement)?;
    let (keys, missing) = (saved.as_filter().len(), read - removed);
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

/// What came of inserting keys.
#[derive(Default)]
pub(crate) struct Added {
    pub(crate) read: u64,
    pub(crate) added: u64,
}

impl Added {
    pub(crate) fn print(&self, keys: usize, out: &mut impl Write) -> Result<()> {
        let Self { read, added, .. } = self;
        Ok(writeln!(out, "{}", json!({ "read": read, "added": added, "keys": keys }))?)
    }
}

/// Inserts all keys; into a set only those that it does not contain.
pub(crate) fn insert_all(
    source: input::Source,
    set: &mut dyn Insert,
    is_set: bool,
) -> Result<Added> {
    let mut all = Added::default();
    let mut absent = Vec::new();
    source.each_block(|block| {
        if is_set {
            lossless::insert_absent(set, block, &mut absent)?;
            all.added += absent.iter().filter(|&&absent| absent).count() as u64;
        } else {
            let inserted = set.insert_batch(&block.hashes);
            inserted.map_err(|full| refusal(&full, &block.origin_of(full.inserted)))?;
            all.added += block.len() as u64;
        }
        all.read += block.len() as u64;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(all)
}

/// The library's error in terms of this tool's options.
pub(crate) fn refusal(full: &Full, origin: &str) -> anyhow::Error {
    match full.cause {
        FullCause::EqualEntries { held } => anyhow!(
            "{origin}: the key is stored {held} times already, the most that fit; build the filter \
             with --set to store each key once"
        ),
        FullCause::NoRoom { .. } => anyhow!(
            "{origin}: the filter is full at {} keys; build one with a larger --capacity, or of \
             --kind elastic, which grows",
            thousands(full.len as u64)
        ),
        _ => anyhow!("{origin}: {full}"),
    }
}
