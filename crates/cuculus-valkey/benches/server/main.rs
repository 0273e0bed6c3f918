//! Measures the module on a real server: a set that grows to millions of items and shrinks, and the
//! speed of the commands compared with PING. All replies are checked.

mod connection; // a minimal client
mod course; // growing and shrinking
mod server; // a server for the measurement
mod slow; // commands that take long
mod speed; // commands per second

use std::env;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use serde::Serialize;

#[derive(Parser)]
#[command(name = "bench-valkey", about = "Measures the module on a server under load")]
struct Options {
    /// The number of items that the set grows to.
    #[arg(long, default_value_t = 10_000_000)]
    items: u64,
    /// The number of measurements of each speed.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// The server to run.
    #[arg(long, default_value = "redis-server")]
    server: String,
    /// Print the results as JSON.
    #[arg(long)]
    json: bool,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Serialize)]
struct Report {
    server: String,
    items: u64,
    course: course::Course,
    speed: speed::Speeds,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-valkey: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run() -> anyhow::Result<()> {
    let options = Options::parse();
    let module = env::var("CUCULUS_MODULE")
        .context("CUCULUS_MODULE is not set; run this with `cargo xtask bench-valkey`")?;
    let server = server::Server::start(&options.server, &module)?;
    let mut control = server.connect()?;
    let name = server.version(&mut control)?;
    let course = course::run(&server, &mut control, options.items, !options.json)?;
    let speed = speed::run(&server, &mut control, options.rounds)?;
    let report = Report { server: name, items: options.items, course, speed };
    if options.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{}{}", report.course, report.speed);
    }
    Ok(())
}
