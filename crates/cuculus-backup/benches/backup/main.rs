//! What the digest brings: index reads with and without it, and its memory beside that of the
//! filters that it replaces. Knows the experiments' names; each is a module.

mod bars; // five ways to find out what is stored
mod digests; // the memory of three digests

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use serde::Serialize;

#[derive(Parser)]
struct Options {
    /// A directory with a directory for each version of a tree, for the five bars
    #[arg(long, value_name = "DIR")]
    trees: Option<PathBuf>,
    /// Memory for digest and cache together in each of the bars, in KiB
    #[arg(long, value_name = "KIB", default_value_t = 1024)]
    memory: usize,
    /// Chunk ids, for the memory of digests
    #[arg(long, default_value_t = 4_000_000)]
    items: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// What cargo adds
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
