//! `cuculus uniq`: each line the first time it is seen, in bounded memory.

mod seen; // what was seen, for one run
mod set; // what was seen, also for the next run

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;

use crate::input::Lines;
use crate::keys::{Form, Printer};
use crate::saved::Replacement;
use crate::text::{percent, thousands};
use set::Set;

/// Print each line the first time it is seen.
///
/// Unlike `sort -u` it keeps the order and prints at once; unlike a hash table it remembers some
/// twenty bits a line, however long the lines are. The price: a line that is new may be
/// taken for one that was seen, and dropped, with the probability --fpr. --stats says how many
/// such lines are to be expected. A line that was seen is never printed again.
///
/// --save and --load go on with what was seen in another run. The file is an elastic filter, which
/// `cuculus query` and the other commands also read; such a run takes some ten times as long or more.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cuculus uniq access.log            each line once, in order
  tail -f log | cuculus uniq         at once, for as long as it runs
  cuculus uniq --count *.log         how many different lines
  cuculus uniq --save seen.cf today  and tomorrow: --load seen.cf --save seen.cf")]
pub(crate) struct Options {
    #[command(flatten)]
    lines: Lines,
    /// The probability to drop a new line
    #[arg(long, value_name = "RATE", default_value_t = 0.001, conflicts_with = "load")]
    fpr: f64,
    /// Print the number of different lines instead of the lines
    #[arg(short, long)]
    count: bool,
    /// Say on standard error what was read, printed and probably dropped by mistake
    #[arg(long)]
    stats: bool,
    /// With --stats: as JSON
    #[arg(long, requires = "stats")]
    json: bool,
    /// Begin with the lines that a run with --save has seen
    #[arg(long, value_name = "FILE")]
    load: Option<PathBuf>,
    /// Write what was seen to a file at the end; it must be new, or the one that was loaded
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
}

/// What a run did.
#[derive(Default, Serialize)]
struct Stats {
    lines: u64,
    printed: u64,
    /// New lines that were taken for ones that were seen.
    expected_dropped_by_mistake: f64,
    false_positive_rate: f64,
    filter_bytes: usize,
}

pub(crate) fn run(options: &Options, out: &mut impl Write) -> Result<ExitCode> {
    let inputs = options.lines.inputs()?;
    let replacement = match &options.save {
        None => None,
        Some(path) => Some(Replacement::of_new(path, options.load.as_ref() == Some(path))?),
    };
    let mut set = match &options.load {
        Some(path) => Set::load(path)?,
        None => Set::new(options.fpr, options.save.is_some())?,
    };
    let source = options.lines.source(Form::Text, set.hasher(), !options.count)?;
    let mut printer = Printer::new(&mut *out, options.lines.separator());
    let mut stats = Stats::default();
    let mut fresh = Vec::new();
    source.each_block(|block| {
        if stats.lines == 0
            && let Some(size) = inputs.size
        {
            set.expect(guess(size, block.len(), block.size()));
        }
        set.note(block, &mut fresh)?;
        let new = match options.count {
            true => fresh.iter().filter(|&&fresh| fresh).count() as u64,
            false => printer.print(block, &fresh)?,
        };
        stats.lines += block.len() as u64;
        stats.printed += new;
        // Of the lines that were new, those not printed are to those printed as the rate is to what
        // it leaves of one.
        let rate = set.rate();
        stats.expected_dropped_by_mistake += new as f64 * rate / (1.0 - rate).max(f64::EPSILON);
        Ok(ControlFlow::Continue(()))
    })?;
    if options.count {
        writeln!(out, "{}", stats.printed)?;
        out.flush()?;
    }
    if let Some(replacement) = replacement {
        set.save(replacement)?;
    }
    (stats.false_positive_rate, stats.filter_bytes) = (set.rate(), set.size_in_bytes());
    if options.stats {
        report(&stats, options.json, &mut io::stderr().lock()).context("cannot write --stats")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// How many lines there are in so many bytes, by the first of them, and a few more.
fn guess(bytes: u64, lines: usize, of_bytes: usize) -> usize {
    let lines = bytes as f64 * lines as f64 / of_bytes.max(1) as f64;
    (lines * 1.02) as usize + 1
}

fn report(stats: &Stats, json: bool, out: &mut impl Write) -> Result<()> {
    if json {
        return Ok(writeln!(out, "{}", serde_json::to_string(stats)?)?);
    }
    let seen = stats.lines - stats.printed;
    writeln!(out, "lines read            {}", thousands(stats.lines))?;
    writeln!(out, "printed               {}", thousands(stats.printed))?;
    writeln!(out, "seen before           {}", thousands(seen))?;
    let dropped = stats.expected_dropped_by_mistake;
    writeln!(out, "of these by mistake   {dropped:.1} expected")?;
    writeln!(out, "false positive rate   {}", percent(stats.false_positive_rate, 4))?;
    writeln!(out, "memory of the filter  {} bytes", thousands(stats.filter_bytes as u64))?;
    Ok(())
}
