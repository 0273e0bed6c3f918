//! `cuculus demo`: fills filters, asks them, deletes, fills one to refusal, saves one, and says
//! what came out. Knows the order of the scenes; each is a module.

mod keys; // which keys go in, and which do not
mod refusal; // a filter that is full
mod report; // the outcome, as text and as JSON
mod saved; // a filter in a file
mod trial; // a filter that is used

use std::io::Write;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use cuculus::{CuckooFilter, CuckooFilterBuilder};

use crate::progress::Progress;
use report::Report;

/// Options of the demo.
#[derive(Args)]
pub(crate) struct Options {
    /// Keys that go into each filter
    #[arg(
        long,
        value_name = "KEYS",
        default_value_t = 4_000_000,
        value_parser = clap::value_parser!(u64).range(1_000..=1_000_000_000)
    )]
    items: u64,

    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

const CANNOT_WRITE: &str = "cannot write to standard output";

/// The same seed every time: what differs between two runs is the speed.
const SEED: u64 = 1;

struct Contestant {
    name: &'static str,
    rate: f64,
    semi_sorted: bool,
}

const CONTESTANTS: [Contestant; 3] = [
    Contestant { name: "plain, 1 %", rate: 0.01, semi_sorted: false },
    Contestant { name: "plain, 0.1 %", rate: 0.001, semi_sorted: false },
    Contestant { name: "semi-sorted, 0.1 %", rate: 0.001, semi_sorted: true },
];

impl Contestant {
    fn builder(&self, capacity: u64) -> CuckooFilterBuilder {
        CuckooFilter::builder()
            .capacity(usize::try_from(capacity).unwrap_or(usize::MAX))
            .false_positive_rate(self.rate)
            .semi_sorted(self.semi_sorted)
            .seed(SEED)
    }
}

/// Runs the demo; the figures go to `out`.
///
/// # Errors
/// A filter that cannot be built, a promise that was not kept, or an output that cannot be
/// written.
pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<()> {
    let start = Instant::now();
    let items = options.items;
    if !options.json {
        report::heading(items, out).context(CANNOT_WRITE)?;
    }
    let units = CONTESTANTS.len() as u64 * trial::units(items) + saved::units(items);
    let progress = Progress::new(units);

    let mut trials = Vec::new();
    let mut full_stats = String::new();
    let mut last = None;
    for contestant in &CONTESTANTS {
        let filter = contestant.builder(items).build().context(contestant.name)?;
        let mut trial = trial::Trial::new(contestant.name, contestant.rate, filter, &progress);
        trial.fill(items)?;
        trial.ask(items)?;
        full_stats = trial.filter.stats().to_string();
        trial.delete(items)?;
        let (outcome, filter) = trial.end();
        trials.push(outcome);
        last = Some(filter);
    }
    let refusal = refusal::stage(items)?;
    let filter = last.context("no filter was tried")?;
    let saved = saved::stage(&filter, items, &progress)?;
    let seconds = start.elapsed().as_secs_f64();

    let report =
        Report { version: env!("CARGO_PKG_VERSION"), items, trials, refusal, saved, seconds };
    let written = progress.aside(|| match options.json {
        true => report.write_json(out),
        false => report.write_text(&full_stats, out),
    });
    written.context(CANNOT_WRITE)
}
