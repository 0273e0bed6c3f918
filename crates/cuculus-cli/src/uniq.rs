//! `cuculus uniq`: prints each line the first time it is seen. The lines seen are kept in a filter, so the
//! memory depends on the number of different lines and not on their length.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::json;

use crate::gathered::Gathered;
use crate::input::{Compared, Lines};
use crate::keys::{Form, Keyless, Printer, shown};
use crate::lossless::{self, Mistakes};
use crate::rate::Rate;
use crate::saved::{AnyFilter, FileNote, Holds, Replacement, Saved};
use crate::text::thousands;
use crate::{INTERRUPTED, interrupt};

/// Print each line the first time it is seen.
///
/// Unlike `sort -u`, it keeps the order and prints each line at once. Unlike a hash table, it stores
/// some seven bytes per different line, however long the lines are. The price: a new line can look
/// like a line that was seen before, and is then lost. On average that is less than one line in a
/// billion different ones. No line is printed twice.
///
/// --state continues where an earlier run ended. The file is an elastic filter, which `cuculus query`
/// and the other commands read too.
#[derive(Args)]
#[command(mut_arg("files", |files| files.value_name("FILE").help(
    "Files to read, plain or compressed with gzip or zstd; standard input if none is given, and for `-`"
)))]
#[command(mut_arg("null", |null| null.help(
    "Lines end in a zero byte, as from `find -print0`; printed lines do too"
)))]
#[command(after_help = "\
Examples:
  cuculus uniq access.log              print each line once, in the order of the file
  tail -f log | cuculus uniq           print new lines as they arrive
  cuculus uniq --count *.log.gz        count the different lines
  cuculus uniq --key 2 table.tsv       the first line for each value of the second field
  cuculus uniq --json-key /id a.jsonl  the first document for each id
  cuculus uniq --state seen.cf today   print what no earlier run has seen")]
pub(crate) struct Options {
    #[command(flatten)]
    lines: Lines,
    #[command(flatten)]
    compared: Compared,
    /// Print only lines that were seen before, each time
    #[arg(short, long)]
    repeated: bool,
    // No -c, -d, -s and -u: they are other options of GNU's uniq (`arguments::HINTS`).
    /// Print the number of lines instead of the lines
    #[arg(long)]
    count: bool,
    /// Continue with the lines that are in this file, and save them there at the end. Created the
    /// first time
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Use less memory and lose this share of new lines: from 0.00000001, such as 1e-6 or 0.1%
    #[arg(long, value_name = "RATE")]
    fpr: Option<Rate>,
    /// Do not say that lines were probably lost
    #[arg(short, long)]
    quiet: bool,
    /// Print to standard error how many lines were read, printed and probably lost
    #[arg(long)]
    stats: bool,
    /// Print the output of --stats as JSON
    #[arg(long, requires = "stats")]
    json: bool,
}

/// What a run did.
#[derive(Default)]
struct Stats {
    lines: u64,
    new: u64,
    without_key: u64,
    mistakes: Mistakes,
    false_positive_rate: f64,
    filter_bytes: usize,
}

pub(crate) fn run(options: &Options, out: &mut impl Write) -> Result<ExitCode> {
    let form = options.compared.form();
    let path = options.state.as_deref();
    let replacement = path.map(|path| Replacement::of_new(path, true)).transpose()?;
    let mut seen = match path {
        Some(path) if path.exists() => earlier(path, options, &form)?,
        _ => nothing(path.unwrap_or(Path::new("")), options, &form)?,
    };
    seen.as_insert()?;
    let mut gathered = Gathered::default();
    let mut stats = Stats::default();
    let hasher = seen.as_filter().hasher();
    let source = options.lines.source(form, Keyless::Note, hasher, !options.count)?;
    if path.is_some() {
        source.ends_when_interrupted();
    }
    let mut printer = Printer::new(&mut *out, options.lines.separator());
    let mut chosen = Vec::new();
    source.each_block(|block| {
        gathered.insert_absent(&mut seen, block, &mut chosen)?;
        let new = chosen.iter().filter(|&&is_new| is_new).count() as u64;
        if options.repeated {
            chosen.iter_mut().for_each(|is_new| *is_new = !*is_new);
        }
        if !options.count {
            printer.print(block, &chosen)?;
        }
        let without_key = block.keyless.len() as u64;
        stats.lines += block.len() as u64;
        stats.new += new;
        stats.without_key += without_key;
        stats.mistakes.add(new - without_key, seen.as_filter().expected_false_positive_rate());
        Ok(ControlFlow::Continue(()))
    })?;
    let filter = seen.as_filter();
    stats.false_positive_rate = filter.expected_false_positive_rate();
    stats.filter_bytes = filter.size_in_bytes() + gathered.heap_bytes();
    if options.count {
        writeln!(out, "{}", if options.repeated { stats.lines - stats.new } else { stats.new })?;
        out.flush()?;
    }
    if let Some(replacement) = replacement {
        gathered.finish(&mut seen)?;
        seen.note.leave_out(stats.new - stats.without_key, seen.filter.as_filter());
        seen.save(replacement)?;
    }
    if options.stats {
        report(&stats, options, &mut io::stderr().lock()).context("cannot write --stats")?;
    }
    if stats.mistakes.are_worth_saying() && !options.quiet {
        let printed = if options.repeated { "printed by mistake" } else { "lost" };
        crate::print_error(&format!(
            "of {} different lines about {:.1} were {printed}, since they look like others{}",
            thousands(stats.new),
            stats.mistakes.0,
            if options.fpr.is_some() { "; without --fpr there would be fewer" } else { "" }
        ));
    }
    Ok(ExitCode::from(if interrupt::is_requested() { INTERRUPTED } else { 0 }))
}

/// A filter without lines.
fn nothing(path: &Path, options: &Options, form: &Form) -> Result<Saved> {
    let filter = AnyFilter::Elastic(lossless::filter(options.fpr.as_ref())?);
    Ok(Saved::new(filter, FileNote::new(form.clone(), Holds::Set), path))
}

/// What an earlier run has seen, if it compared lines in the same way.
fn earlier(path: &Path, options: &Options, form: &Form) -> Result<Saved> {
    let saved = Saved::load(path)?;
    ensure!(
        saved.note.dedup.is_none(),
        "{} is the state of `cuculus dedup`; use another file",
        shown(path)
    );
    ensure!(
        saved.note.keys.as_ref().is_none_or(|keys| keys == form),
        "{} was made with other options for what is compared (--key, --delimiter, --json-key, \
         --ignore-case, --hex, --u64); use the same, or another file",
        shown(path)
    );
    lossless::check_rate(&saved, options.fpr.as_ref(), path)?;
    Ok(saved)
}

fn report(stats: &Stats, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let repeated = stats.lines - stats.new;
    let printed = if options.repeated { repeated } else { stats.new };
    if options.json {
        let json = json!({
            "lines": stats.lines,
            "printed": printed,
            "new": stats.new,
            "without_key": stats.without_key,
            "expected_dropped_by_mistake": stats.mistakes.0,
            "false_positive_rate": stats.false_positive_rate,
            "filter_bytes": stats.filter_bytes,
        });
        return writeln!(out, "{json}");
    }
    writeln!(out, "lines read            {}", thousands(stats.lines))?;
    writeln!(out, "new                   {}", thousands(stats.new))?;
    writeln!(out, "seen before           {}", thousands(repeated))?;
    writeln!(out, "of these by mistake   {} expected", mistaken(stats.mistakes.0))?;
    if stats.without_key > 0 {
        writeln!(out, "without a key         {}", thousands(stats.without_key))?;
    }
    writeln!(out, "false positive rate   {:.1e}", stats.false_positive_rate)?;
    writeln!(out, "memory for the lines  {} bytes", thousands(stats.filter_bytes as u64))
}

/// A number of lines that is often far below one.
pub(crate) fn mistaken(expected: f64) -> String {
    match expected {
        0.0 => "0".to_owned(),
        0.0..0.1 => format!("{expected:.1e}"),
        _ => format!("{expected:.1}"),
    }
}
