//! The module on a real server under load: a set from nothing to millions and back, and the speed of
//! its commands beside the speed of none. Answers are checked; figures are for the machine they
//! were measured on.

mod connection; // commands out, replies in
mod course; // growing and shrinking
mod server; // a server for the measurement
mod slow; // commands that take long, whatever the machine does
mod speed; // commands a second

use std::env;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use serde::Serialize;

#[derive(Parser)]
#[command(name = "bench-valkey", about = "The module on a server under load")]
struct Options {
    /// The items that the set grows to.
    #[arg(long, default_value_t = 10_000_000)]
    items: u64,
    /// Times that each speed is measured.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// The server's program.
    #[arg(long, default_value = "redis-server")]
    server: String,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
    /// Given by cargo.
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
