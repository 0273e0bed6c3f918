//! What the filters of the index save: index reads with and without them, and one digest of all chunks
//! in their place. Prints tables for benchmarks.md, each below its name.

#![allow(unexpected_cfgs, reason = "`cargo xtask bench-backup` sets `bench_fjall`")]

mod bars; // five ways to find out what is stored
mod run_filters; // a digest against a filter in each run of the index

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
struct Options {
    /// A directory with one directory per version of a tree
    #[arg(long, value_name = "DIR")]
    trees: PathBuf,
    /// Memory for filters and cache together, in KiB
    #[arg(long, value_name = "KIB", default_value_t = 1024)]
    memory: usize,
    /// Added by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let options = Options::parse();
    let trace = bars::run(&options.trees, options.memory * 1024);
    match trace.and_then(|trace| run_filters::run(&trace)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-backup: {error}");
            ExitCode::from(2)
        }
    }
}
