//! `cuculus uniq`: prints each line the first time it is seen. The lines seen are kept in a filter,
//! so its memory depends on the number of different lines and not on their length.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use cuculus::ElasticFilter;
use serde_json::json;

use crate::change;
use crate::input::Lines;
use crate::keys::{Form, Printer};
use crate::saved::{self, AnyFilter, Replacement};
use crate::text::{percent, thousands};

/// Print each line the first time it is seen.
///
/// Unlike `sort -u`, it keeps the order and prints each line at once. Unlike a hash table, it
/// stores a short fingerprint per line, however long the lines are. The price: a new line can look
/// like a line that was seen before, and is then lost. The expected number of lost lines is at most
/// --fpr times the number of different lines: with the default of 0.00001, ten lines in a million.
/// --stats prints the expected number. No line is printed twice.
///
/// --save and --load continue where another run ended. The file is an elastic filter, which
/// `cuculus query` and the other commands read too.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cuculus uniq access.log            print each line once, in the order of the file
  tail -f log | cuculus uniq         print new lines as they arrive
  cuculus uniq --count *.log         count the different lines
  cuculus uniq --save seen.cf today  remember the lines; tomorrow: --load seen.cf --save seen.cf")]
pub(crate) struct Options {
    #[command(flatten)]
    lines: Lines,
    /// The probability that a new line is lost; from 0.00001
    #[arg(long, value_name = "RATE", default_value_t = 1e-5, conflicts_with = "load")]
    fpr: f64,
    /// Print the number of different lines instead of the lines
    #[arg(short, long)]
    count: bool,
    /// Print to standard error how many lines were read, printed and probably lost
    #[arg(long)]
    stats: bool,
    /// Print the output of --stats as JSON
    #[arg(long, requires = "stats")]
    json: bool,
    /// Start with the lines that an earlier run saved
    #[arg(long, value_name = "FILE")]
    load: Option<PathBuf>,
    /// Save the lines seen to a file at the end; the file must be new, or the one loaded
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
}

/// What a run did.
#[derive(Default)]
struct Stats {
    lines: u64,
    printed: u64,
    /// New lines that looked like a line seen before.
    expected_dropped_by_mistake: f64,
    false_positive_rate: f64,
    filter_bytes: usize,
}

pub(crate) fn run(options: &Options, out: &mut impl Write) -> Result<ExitCode> {
    let replacement = match &options.save {
        None => None,
        Some(path) => Some(Replacement::of_new(path, options.load.as_ref() == Some(path))?),
    };
    let mut seen = match &options.load {
        Some(path) => saved::load(path)?,
        None => {
            let filter = ElasticFilter::builder().false_positive_rate(options.fpr).build();
            AnyFilter::Elastic(filter.context("--fpr")?)
        }
    };
    let name = || options.load.as_ref().map_or(String::new(), |path| path.display().to_string());
    let set = seen.as_insert().with_context(name)?;
    let source = options.lines.source(Form::Text, set.hasher(), !options.count)?;
    let mut printer = Printer::new(&mut *out, options.lines.separator());
    let mut stats = Stats::default();
    let mut is_new = Vec::new();
    source.each_block(|block| {
        change::insert_absent(set, block, &mut is_new)?;
        let new = match options.count {
            true => is_new.iter().filter(|&&is_new| is_new).count() as u64,
            false => printer.print(block, &is_new)?,
        };
        stats.lines += block.len() as u64;
        stats.printed += new;
        // A new line is printed with probability 1 - rate, so each printed line stands for
        // rate / (1 - rate) lost ones.
        let rate = set.expected_false_positive_rate();
        stats.expected_dropped_by_mistake += new as f64 * rate / (1.0 - rate).max(f64::EPSILON);
        Ok(ControlFlow::Continue(()))
    })?;
    stats.false_positive_rate = set.expected_false_positive_rate();
    stats.filter_bytes = set.size_in_bytes();
    if options.count {
        writeln!(out, "{}", stats.printed)?;
        out.flush()?;
    }
    if let Some(replacement) = replacement {
        seen.save(replacement)?;
    }
    if options.stats {
        report(&stats, options.json, &mut io::stderr().lock()).context("cannot write --stats")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn report(stats: &Stats, json: bool, out: &mut impl Write) -> io::Result<()> {
    let Stats { lines, printed, expected_dropped_by_mistake, false_positive_rate, filter_bytes } =
        *stats;
    if json {
        let json = json!({
            "lines": lines,
            "printed": printed,
            "expected_dropped_by_mistake": expected_dropped_by_mistake,
            "false_positive_rate": false_positive_rate,
            "filter_bytes": filter_bytes,
        });
        return writeln!(out, "{json}");
    }
    writeln!(out, "lines read            {}", thousands(lines))?;
    writeln!(out, "printed               {}", thousands(printed))?;
    writeln!(out, "seen before           {}", thousands(lines - printed))?;
    writeln!(out, "of these by mistake   {expected_dropped_by_mistake:.1} expected")?;
    writeln!(out, "false positive rate   {}", percent(false_positive_rate, 4))?;
    writeln!(out, "memory of the filter  {} bytes", thousands(filter_bytes as u64))
}
