//! The command line of the experiments.

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use cuculus_lab::heap::CountingAllocator;
use cuculus_lab::keys::Text24;
use cuculus_lab::speed::KeyKind;
use cuculus_lab::{
    capacity, dcf, elastic, fill, growing, kicks, loads, rates, ring, soak, speed, table3, trace,
};

#[global_allocator]
static HEAP: CountingAllocator = CountingAllocator::system();

/// Experiments and measurements of the cuculus filters.
#[derive(Parser)]
#[command(name = "lab")]
struct Arguments {
    #[command(subcommand)]
    experiment: Option<Experiment>,
    /// Given by `cargo bench` to every bench target.
    #[arg(long, global = true, hide = true)]
    bench: bool,
}

#[derive(Subcommand)]
enum Experiment {
    /// Speed, memory and errors beside the filters of other crates.
    Speed(speed::Options),
    /// The load at the first refusal.
    Fill(fill::Options),
    /// Table 3 of the Cuckoo Filter paper.
    Table3(table3::Options),
    /// Breadth-first search against the random walk.
    Kicks(kicks::Options),
    /// How often a filter refuses a key within its capacity.
    Capacity(capacity::Options),
    /// The elastic filter from nothing to many keys and back: rates, memory, pauses.
    Elastic(elastic::Options),
    /// The speed of the elastic filter beside ours of fixed size.
    ElasticSpeed(speed::Options),
    /// The elastic filter beside the filters of other crates that grow.
    Growing(growing::Options),
    /// Filters that follow a trace of flows that come and go (CCF paper, Figs. 4 and 5).
    Trace(trace::Options),
    /// Times of a list of filters (DCF paper, Figs. 10 to 15).
    DcfTimes(dcf::times::Options),
    /// What a list of filters gives back (DCF paper, Figs. 16 and 17).
    DcfCompact(dcf::compact::Options),
    /// The ring of the consistent filter beside other layouts.
    Ring(ring::Options),
    /// False positive rates of filters on a ring (CCF paper, Theorem 1).
    Rates(rates::Options),
    /// How full a filter on a ring gets (CCF paper, Theorem 4).
    Loads(loads::Options),
    /// Elastic filters beside exact multisets, for a long time.
    Soak(soak::Options),
}

/// Exit codes: 0, 1 if our filters gave a wrong answer, 2 if there is none.
fn main() -> ExitCode {
    match run(Arguments::parse().experiment) {
        Ok(right) => ExitCode::from(u8::from(!right)),
        Err(error) => {
            eprintln!("lab: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Runs an experiment and tells whether our filters gave no wrong answer.
fn run(experiment: Option<Experiment>) -> anyhow::Result<bool> {
    match experiment {
        Some(Experiment::Speed(options)) => match options.keys {
            KeyKind::U64 => speed::run::<u64>(&options),
            KeyKind::Str24 => speed::run::<Text24>(&options),
        },
        Some(Experiment::Fill(options)) => fill::run(&options).map(|()| true),
        Some(Experiment::Table3(options)) => table3::run(&options).map(|()| true),
        Some(Experiment::Kicks(options)) => kicks::run(&options).map(|()| true),
        Some(Experiment::Capacity(options)) => capacity::run(&options).map(|()| true),
        Some(Experiment::Elastic(options)) => elastic::run(&options),
        Some(Experiment::ElasticSpeed(options)) => match options.keys {
            KeyKind::U64 => speed::run_elastic::<u64>(&options),
            KeyKind::Str24 => speed::run_elastic::<Text24>(&options),
        },
        Some(Experiment::Growing(options)) => growing::run(&options),
        Some(Experiment::Trace(options)) => trace::run(&options),
        Some(Experiment::DcfTimes(options)) => dcf::times::run(&options),
        Some(Experiment::DcfCompact(options)) => dcf::compact::run(&options),
        Some(Experiment::Ring(options)) => ring::run(&options),
        Some(Experiment::Rates(options)) => rates::run(&options),
        Some(Experiment::Loads(options)) => loads::run(&options),
        Some(Experiment::Soak(options)) => soak::run(&options),
        // `cargo bench` alone starts every bench target without a word; that is no mistake.
        None => Ok(Arguments::command().print_help().map(|()| true)?),
    }
}
