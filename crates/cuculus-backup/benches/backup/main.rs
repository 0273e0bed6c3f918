//! What the digest saves: index reads with and without it, and its memory compared with the filters
//! that it replaces. Knows the names of the experiments; each is a module.

#![allow(unexpected_cfgs, reason = "`cargo xtask bench-backup` sets `bench_fjall`")]

mod bars; // five ways to find out what is stored
mod digests; // the memory of three digests

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use serde::Serialize;

#[derive(Parser)]
struct Options {
    /// A directory with one directory per version of a tree, for the comparison of look-ups
    #[arg(long, value_name = "DIR")]
    trees: Option<PathBuf>,
    /// Memory for digest and cache together, in KiB
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
    let bars = match &options.trees {
        Some(trees) => Some(bars::run(trees, options.memory * 1024)?),
        None => None,
    };
    let report = Report { bars, digests: digests::run(options.items)? };
    if options.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
        return Ok(());
    }
    if let Some(bars) = &report.bars {
        bars.print();
    }
    digests::print(&report.digests);
    Ok(())
}
