//! `cuculus query` and `cuculus count`: which keys a filter contains, and how often.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Args;
use cuculus::KeyHash;
use serde_json::json;

use crate::input::Keys;
use crate::keys::{Block, Form, Printer, error_in_line, shown};
use crate::saved::Saved;
use crate::{NOT_FOUND, dedup};

/// Print the keys that a filter contains.
///
/// A key that was added is always found. Other keys are found with the filter's false positive rate,
/// which `cuculus info` prints. With --or, a key is found if one of several filters contains it. The
/// exit code is 0 if a key was found (with --invert: if a key was not found), and 1 otherwise.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cuculus query words.cf < text            print the lines that the filter contains
  cuculus query -i words.cf < text         print the lines that it does not contain
  cuculus query a.cf --or b.cf < text      print the lines that a.cf or b.cf contains
  echo cuckoo | cuculus query -q words.cf  exit code 0 if the key is in the filter, else 1")]
pub(crate) struct Query {
    /// The filter
    file: PathBuf,
    #[command(flatten)]
    keys: Keys,
    /// Another filter; a key is found if one of the filters contains it. Can be repeated
    #[arg(short, long = "or", value_name = "FILTER")]
    others: Vec<PathBuf>,
    /// Print the keys that the filter does not contain
    #[arg(short, long)]
    invert: bool,
    /// Print nothing and stop at the first match; the exit code is the answer
    #[arg(short, long, conflicts_with_all = ["count", "json"])]
    quiet: bool,
    /// Print the number of keys instead of the keys
    #[arg(short, long, conflicts_with = "json")]
    count: bool,
    /// Print only the numbers of keys read and found, as JSON
    #[arg(long)]
    json: bool,
}

/// Print how often each key is in a filter.
///
/// Each line has the number, a tab and the key. The number is never too small; it is too large if
/// other keys look the same. The exit code is 1 if no key was found.
#[derive(Args)]
#[command(after_help = "\
Examples:
  echo cuckoo | cuculus count words.cf  how often it was added")]
pub(crate) struct Count {
    /// The filter
    file: PathBuf,
    #[command(flatten)]
    keys: Keys,
    /// Print only the totals, as JSON
    #[arg(long)]
    json: bool,
}

/// Another filter to look a key up in, with its own hash function.
struct Other {
    saved: Saved,
    form: Form,
}

impl Other {
    fn load(path: &Path, keys: &Keys) -> Result<Self> {
        let saved = Saved::load(path)?;
        no_ngrams(&saved, path)?;
        let form = saved.form(keys.encoding())?;
        Ok(Self { saved, form })
    }

    /// Adds the keys that this filter contains.
    fn look_up(&self, block: &Block, hashes: &mut Vec<KeyHash>, chosen: &mut [bool]) -> Result<()> {
        let (filter, mut keyless) = (self.saved.as_filter(), Vec::new());
        let hashed = self.form.hash_into(filter.hasher(), block, hashes, &mut keyless);
        hashed.map_err(|error| error_in_line(block, &error))?;
        let mut hits = Vec::new();
        filter.contains_batch(hashes, &mut hits);
        keyless.iter().for_each(|&line| hits[line as usize] = false);
        chosen.iter_mut().zip(hits).for_each(|(chosen, hit)| *chosen |= hit);
        Ok(())
    }
}

/// A filter of parts of documents does not know documents.
fn no_ngrams(saved: &Saved, path: &Path) -> Result<()> {
    ensure!(
        dedup::ngrams_of(&saved.note).is_none(),
        "{} holds parts of documents (`dedup --ngrams`); only `dedup` and `remove` can use it",
        shown(path)
    );
    Ok(())
}

pub(crate) fn query(options: &Query, out: &mut impl Write) -> Result<ExitCode> {
    let saved = Saved::load(&options.file)?;
    no_ngrams(&saved, &options.file)?;
    let form = saved.form(options.keys.encoding())?;
    let others = options.others.iter().map(|path| Other::load(path, &options.keys));
    let others = others.collect::<Result<Vec<Other>>>()?;
    let filter = saved.as_filter();
    let prints = !(options.quiet || options.count || options.json);
    let source = options.keys.source(form, filter.hasher(), prints)?;
    let mut hashes = Vec::new();
    let mut printer = Printer::new(&mut *out, options.keys.lines.separator());
    let mut chosen = Vec::new();
    let (mut asked, mut found, mut matched) = (0u64, 0u64, 0u64);
    source.each_block(|block| {
        filter.contains_batch(&block.hashes, &mut chosen);
        for other in &others {
            other.look_up(block, &mut hashes, &mut chosen)?;
        }
        let hits = chosen.iter().filter(|&&hit| hit).count() as u64;
        asked += block.len() as u64;
        found += hits;
        if options.invert {
            chosen.iter_mut().for_each(|hit| *hit = !*hit);
        }
        matched += if options.invert { block.len() as u64 - hits } else { hits };
        if prints {
            printer.print(block, &chosen)?;
        }
        let is_answered = options.quiet && matched > 0;
        Ok(if is_answered { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    if options.count {
        writeln!(out, "{matched}")?;
    }
    if options.json {
        writeln!(out, "{}", json!({ "asked": asked, "found": found }))?;
    }
    Ok(found_code(matched))
}

pub(crate) fn count(options: &Count, out: &mut impl Write) -> Result<ExitCode> {
    let saved = Saved::load(&options.file)?;
    no_ngrams(&saved, &options.file)?;
    let (form, filter) = (saved.form(options.keys.encoding())?, saved.as_filter());
    let source = options.keys.source(form, filter.hasher(), !options.json)?;
    let separator = options.keys.lines.separator();
    let (mut hits, mut lines) = (Vec::new(), Vec::new());
    let (mut asked, mut found, mut copies) = (0, 0, 0);
    source.each_block(|block| {
        // A batch of lookups is faster than counting, and rules out most absent keys.
        filter.contains_batch(&block.hashes, &mut hits);
        lines.clear();
        for (i, (&hash, &hit)) in block.hashes.iter().zip(&hits).enumerate() {
            let count = if hit { filter.count_hash(hash) as u64 } else { 0 };
            copies += count;
            found += u64::from(count > 0);
            if !options.json {
                write!(lines, "{count}\t")?;
                lines.extend_from_slice(block.line(i));
                lines.push(separator);
            }
        }
        asked += block.len() as u64;
        out.write_all(&lines)?;
        out.flush()?;
        Ok(ControlFlow::Continue(()))
    })?;
    if options.json {
        writeln!(out, "{}", json!({ "asked": asked, "found": found, "copies": copies }))?;
    }
    Ok(found_code(found))
}

fn found_code(found: u64) -> ExitCode {
    if found > 0 { ExitCode::SUCCESS } else { ExitCode::from(NOT_FOUND) }
}
