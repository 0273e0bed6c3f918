//! What the filters of the index save: index reads with and without them; one digest of all chunks in
//! their place; and the memory of such digests. Knows the names of the experiments; each is a module.

#![allow(unexpected_cfgs, reason = "`cargo xtask bench-backup` sets `bench_fjall`")]

mod bars; // five ways to find out what is stored
mod digests; // the memory of three digests
mod run_filters; // a digest against a filter in each run of the index

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use serde::Serialize;

#[derive(Parser)]
struct Options {
    /// A directory with one directory per version of a tree, for the comparison of look-ups
    #[arg(long, value_name = "DIR")]
    trees: Option<PathBuf>,
    /// Memory for filters and cache together, in KiB
    #[arg(long, value_name = "KIB", default_value_t = 1024)]
    memory: usize,
    /// The number of chunk ids, for the memory of digests
    #[arg(long, default_value_t = 4_000_000)]
    items: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Added by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Serialize)]
struct Report {
    bars: Option<bars::Report>,
    run_filters: Vec<run_filters::Row>,
    digests: Vec<digests::Row>,
}

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-backup: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<(), Failure> {
    let (bars, run_filters) = match &options.trees {
        Some(trees) => {
            let (bars, trace) = bars::run(trees, options.memory * 1024)?;
            (Some(bars), run_filters::run(&trace)?)
        }
        None => (None, Vec::new()),
    };
    let report = Report { bars, run_filters, digests: digests::run(options.items)? };
    if options.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
        return Ok(());
    }
    if let Some(bars) = &report.bars {
        bars.print();
        run_filters::print(&report.run_filters);
    }
    digests::print(&report.digests);
    Ok(())
}
