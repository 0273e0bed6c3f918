//! `cuculus dedup`: copies data sets without repeated documents, with several threads, and continues
//! after it was killed. Knows the order of the steps; each step is a module.

mod ngrams; // documents that are nearly the same
mod output; // the files that are written
mod progress; // how far a run has come

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::json;

use crate::count::{self, Count};
use crate::keys::{
    Batch, Block, Encoding, Form, Inputs, Keyless, Packing, Part, Pointer, Reader, Stream,
    error_in_line, packing_of, shown,
};
use crate::lossless::{self, Mistakes};
use crate::progress::Meter;
use crate::rate::{Rate, Share};
use crate::saved::{self, AnyFilter, FileNote, Holds, Replacement, Saved};
use crate::text::thousands;
use crate::uniq::mistaken;
use crate::{INTERRUPTED, interrupt};
use ngrams::{Grams, Ngrams};
use output::Output;
pub(crate) use progress::Progress;
use progress::{Place, Totals};

/// Saving takes at most this part of the time, however large the state is.
const SAVING_SHARE: u32 = 20;

/// Copy data sets without repeated documents.
///
/// Reads files of lines or JSON lines, plain or compressed with gzip or zstd, and writes each to a
/// file of the same name in --out, without the documents that were seen before, in this run or in an
/// earlier one with the same --state. The number of documents need not be known. Some five bytes of
/// memory are taken per different document, and less than one in a billion is dropped by mistake, on
/// average.
///
/// A run that was killed continues where it was last saved when the same command is run again: no
/// document is dropped or repeated. `cuculus remove STATE` forgets documents. The output is the same
/// for any number of threads.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cuculus dedup *.jsonl.zst --key text --out clean --state seen.cf  by the field text
  cuculus dedup a.txt b.txt --out clean --state seen.cf             by whole lines
  cuculus dedup new.jsonl --key /id --out more --state seen.cf      without what earlier runs had
  cuculus dedup *.jsonl --key text --ngrams 13 --threshold 0.8 --out clean --state seen.cf")]
pub(crate) struct Options {
    /// The files to read
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The directory for the output; created if missing
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// The documents that were seen, and how far the run has come. Created the first time
    #[arg(short, long, value_name = "FILE")]
    state: PathBuf,
    /// What is compared: `line`, the whole line; a JSON pointer such as /url; or `text`, the same as
    /// /text. A document without such a value is always kept
    #[arg(short, long, default_value = "line")]
    key: Key,
    /// Drop documents that are nearly the same: compare all runs of this number of words (n-grams)
    #[arg(long, value_name = "WORDS", value_parser = count::between(1, 1000))]
    ngrams: Option<Count>,
    /// Drop a document when this share of its n-grams, or more, was seen before: 0.8 or 80%
    #[arg(long, value_name = "SHARE", requires = "ngrams", default_value = "0.8")]
    threshold: Share,
    /// Use less memory and drop this share of new documents: from 0.00000001, such as 1e-6 or 0.1%
    #[arg(long, value_name = "RATE")]
    fpr: Option<Rate>,
    /// The number of threads that hash; as many as processors if not given
    #[arg(short, long, value_name = "N", value_parser = count::between(1, 1000))]
    threads: Option<Count>,
    /// Seconds from one save of the state to the next; more if saving is slow, so that it takes at most
    /// a twentieth of the time. 0 saves after each block
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = count::between(0, 1_000_000))]
    save_every: Count,
    /// Print the numbers of documents as JSON
    #[arg(long)]
    json: bool,
}

/// What is compared.
#[derive(Clone, Debug)]
struct Key(Part);

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "line" => Ok(Self(Part::Line)),
            "text" => "/text".parse().map(Part::Json).map(Self),
            pointer => match pointer.parse::<Pointer>() {
                Ok(pointer) => Ok(Self(Part::Json(pointer))),
                Err(_) => Err("expected line, text, or a JSON pointer such as /url".to_owned()),
            },
        }
    }
}

/// The n-grams that a file holds, if it is a state of such a run.
pub(crate) fn ngrams_of(note: &FileNote) -> Option<Ngrams> {
    note.dedup.as_ref().and_then(|progress| progress.ngrams)
}

pub(crate) fn run(options: &Options, out: &mut impl Write) -> Result<ExitCode> {
    saved::is_directory_name(&options.out)?;
    fs::create_dir_all(&options.out)
        .with_context(|| format!("cannot create {}; choose another --out", shown(&options.out)))?;
    let _locked = saved::lock_directory(&options.out)?;
    let mut run = match Run::begin(options)? {
        Some(run) => run,
        None => {
            let saved = Saved::load(&options.state)?;
            let progress = saved.note.dedup.unwrap_or_default();
            report(&progress.totals, options, saved.filter.as_filter().size_in_bytes(), out)?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    interrupt::ends_in_order(|| {});
    run.copy(options)?;
    let is_done = run.progress.is_done;
    report(&run.progress.totals, options, run.saved.as_filter().size_in_bytes(), out)?;
    Ok(ExitCode::from(if is_done { 0 } else { INTERRUPTED }))
}

/// A run that is under way.
struct Run {
    saved: Saved,
    progress: Progress,
    state: State,
}

/// The file of the state, and when it was last saved.
struct State {
    path: PathBuf,
    /// What the file looked like when this run last wrote it.
    seen: Option<(u64, SystemTime)>,
    last: Instant,
    took: Duration,
    interval: Duration,
}

impl Run {
    /// Begins or continues a run; `None` if it is done already.
    fn begin(options: &Options) -> Result<Option<Self>> {
        let words = options.ngrams.map(|words| words.get() as usize);
        let ngrams = words.map(|words| Ngrams { words, threshold: options.threshold.get() });
        let form = Form { part: options.key.0.clone(), ..Form::of(Encoding::Text) };
        let asked = Progress::new(&options.files, &options.out, ngrams)?;
        // What cannot be read is refused before there is a state, which would belong to this run.
        Inputs::new(&options.files)?;
        let mut state = State {
            path: options.state.clone(),
            seen: None,
            last: Instant::now(),
            took: Duration::ZERO,
            interval: Duration::from_secs(options.save_every.get()),
        };
        let (mut saved, earlier) = if options.state.exists() {
            let saved = Saved::load(&options.state)?;
            let earlier = check_state(&saved, &form, &asked, options)?;
            state.seen = fingerprint(&options.state);
            (saved, earlier)
        } else {
            let filter = AnyFilter::Elastic(lossless::filter(options.fpr.as_ref())?);
            let holds = if ngrams.is_some() { Holds::Multiset } else { Holds::Set };
            (Saved::new(filter, FileNote::new(form, holds), &options.state), None)
        };
        let progress = match earlier {
            Some(earlier) if earlier.is_same_run(&asked) && earlier.is_done => return Ok(None),
            Some(earlier) if earlier.is_same_run(&asked) => earlier,
            Some(earlier) if !earlier.is_done => bail!(
                "{} belongs to a run over {} that has not ended; run that to its end first, with the \
                 same files and --out",
                shown(&options.state),
                earlier.inputs.first().map_or_else(String::new, |input| shown(&input.path))
            ),
            _ => {
                for input in 0..asked.inputs.len() {
                    let output = asked.output(input);
                    ensure!(
                        !output.exists(),
                        "{} exists; choose another --out, or remove it",
                        shown(&output)
                    );
                }
                asked
            }
        };
        saved.note.dedup = Some(progress.clone());
        let mut run = Self { saved, progress, state };
        run.save()?;
        Ok(Some(run))
    }

    /// Copies what is left to copy, or up to an interruption.
    fn copy(&mut self, options: &Options) -> Result<()> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = options.threads.map_or(processors, |threads| threads.get() as usize);
        let paths: Vec<PathBuf> =
            self.progress.inputs.iter().map(|input| input.path.clone()).collect();
        let inputs = Inputs::new(&paths)?;
        let packings = paths.iter().map(|path| packing_of(path));
        let packings: Vec<Packing> = packings.collect::<io::Result<_>>()?;
        let mut meter = Meter::new(inputs.size, false);
        let mut reader = Reader::new(inputs, b'\n');
        let Place { input, position, lines, written } = self.progress.at;
        reader.continue_after(input, position, lines)?;
        let form = self.saved.note.keys.clone().unwrap_or_default();
        let (hasher, ngrams) = (self.saved.as_filter().hasher().clone(), self.progress.ngrams);
        let work = move |block: &mut Block, grams: &mut Grams| match ngrams {
            Some(ngrams) => ngrams.of_block(&form, &hasher, block, grams),
            None => {
                let hashed = form.hash(&hasher, Keyless::Note, block);
                hashed.map_err(|error| error_in_line(block, &error))
            }
        };
        let mut stream = Stream::start(reader, threads, work)?;
        let open = |progress: &Progress, input: usize, written| {
            let packing = packings.get(input).copied().unwrap_or(Packing::Plain);
            Output::open(&progress.output(input), packing, written)
        };
        let mut output = open(&self.progress, input, written)?;
        let mut kept = Vec::new();
        while let Some(batch) = stream.next()? {
            let block = &batch.0;
            // An input without documents has an output too.
            while self.progress.at.input < block.input_index {
                output.finish()?;
                let input = self.progress.at.input + 1;
                self.progress.at = Place { input, ..Place::default() };
                output = open(&self.progress, input, 0)?;
            }
            self.decide(&batch, &mut kept)?;
            output.write(&kept)?;
            self.progress.at.position = block.position;
            self.progress.at.lines = block.lines_after();
            meter.advance(block.size() as u64);
            stream.reuse(batch);
            let is_interrupted = interrupt::is_requested();
            if self.state.is_due() || is_interrupted {
                self.progress.at.written = output.sync()?;
                self.save()?;
            }
            if is_interrupted {
                return Ok(());
            }
        }
        self.progress.at.written = output.finish()?;
        for input in self.progress.at.input + 1..self.progress.inputs.len() {
            open(&self.progress, input, 0)?.finish()?;
        }
        saved::sync_directory(&self.progress.out)?;
        self.progress.is_done = true;
        self.save()
    }

    /// Finds the new documents of a batch; their lines are put into `kept`.
    fn decide(&mut self, (block, grams): &Batch<Grams>, kept: &mut Vec<u8>) -> Result<()> {
        let Self { saved, progress, .. } = self;
        let set = saved.as_insert()?;
        let mut is_new = Vec::new();
        let mut mistakes = Mistakes::default();
        match progress.ngrams {
            None => {
                lossless::insert_absent(set, block, &mut is_new)?;
                let new = is_new.iter().filter(|&&is_new| is_new).count() - block.keyless.len();
                mistakes.add(new as u64, set.expected_false_positive_rate());
            }
            Some(ngrams) => {
                let mut hits = Vec::new();
                for grams in grams.iter() {
                    let new = grams.is_empty() || ngrams.insert_new(grams, set, &mut hits)?;
                    is_new.push(new);
                    if !new {
                        // At most: with one mistaken n-gram it need not be dropped by mistake.
                        let rate = grams.len() as f64 * set.expected_false_positive_rate();
                        mistakes = Mistakes(mistakes.0 + rate.min(1.0));
                    }
                }
            }
        }
        let totals = &mut progress.totals;
        totals.read += block.len() as u64;
        totals.kept += is_new.iter().filter(|&&is_new| is_new).count() as u64;
        totals.without_key += block.keyless.len() as u64;
        totals.bytes += block.size() as u64;
        totals.mistakes += mistakes.0;
        saved.note.expected_left_out += mistakes.0;
        kept.clear();
        block.copy_lines(&is_new, b'\n', kept);
        Ok(())
    }

    fn save(&mut self) -> Result<()> {
        let begun = Instant::now();
        let replacement = Replacement::of_new(&self.state.path, true)?;
        ensure!(
            fingerprint(&self.state.path) == self.state.seen,
            "{} was changed by another process while this one used it; it is left as it is",
            shown(&self.state.path)
        );
        self.saved.note.dedup = Some(self.progress.clone());
        self.saved.save(replacement)?;
        self.state.seen = fingerprint(&self.state.path);
        (self.state.last, self.state.took) = (Instant::now(), begun.elapsed());
        Ok(())
    }
}

impl State {
    fn is_due(&self) -> bool {
        let pause = match self.interval {
            Duration::ZERO => Duration::ZERO,
            interval => interval.max(self.took * SAVING_SHARE),
        };
        self.last.elapsed() >= pause
    }
}

/// What a file looks like from outside; none if it is not there.
fn fingerprint(path: &Path) -> Option<(u64, SystemTime)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.len(), metadata.modified().ok()?))
}

/// Checks that a state can be continued with these options; returns the run that it is from.
fn check_state(
    saved: &Saved,
    form: &Form,
    asked: &Progress,
    options: &Options,
) -> Result<Option<Progress>> {
    let name = shown(&options.state);
    let earlier = saved.note.dedup.clone();
    let is_same = saved.note.keys.as_ref().is_none_or(|keys| keys == form)
        && ngrams_of(&saved.note) == asked.ngrams
        && (asked.ngrams.is_none() || earlier.is_some());
    ensure!(is_same, "{name} was made with other --key, --ngrams or --threshold; use the same");
    lossless::check_rate(saved, options.fpr.as_ref(), &options.state)?;
    Ok(earlier)
}

fn report(totals: &Totals, options: &Options, bytes: usize, out: &mut impl Write) -> Result<()> {
    let Totals { read, kept, without_key, mistakes, .. } = *totals;
    let dropped = read - kept;
    if options.json {
        let json = json!({
            "read": read,
            "kept": kept,
            "dropped": dropped,
            "without_key": without_key,
            "expected_dropped_by_mistake": mistakes,
            "bytes": totals.bytes,
            "filter_bytes": bytes,
        });
        writeln!(out, "{json}")?;
        return Ok(());
    }
    writeln!(out, "documents read        {}", thousands(read))?;
    writeln!(out, "kept                  {}", thousands(kept))?;
    writeln!(out, "dropped               {}", thousands(dropped))?;
    writeln!(out, "of these by mistake   {} expected", mistaken(mistakes))?;
    if without_key > 0 {
        writeln!(out, "without a key, kept   {}", thousands(without_key))?;
    }
    writeln!(out, "memory of the filter  {} bytes", thousands(bytes as u64))?;
    Ok(())
}
