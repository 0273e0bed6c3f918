//! Measures the module on a real server: a set that grows to millions of items and shrinks, and the
//! speed of the commands compared with PING. All replies are checked.

mod connection; // a minimal client
mod course; // growing and shrinking
mod cpu; // the server's processor time, beside another module
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
    /// Another module with the same commands, to compare the server's processor time with.
    #[arg(long, value_name = "PATH.so")]
    peer: Option<String>,
    /// Measure only the server's processor time.
    #[arg(long)]
    cpu_only: bool,
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
    #[serde(flatten)]
    load: Option<Load>,
    cpu: cpu::Table,
}

#[derive(Serialize)]
struct Load {
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
    let load = if options.cpu_only {
        None
    } else {
        let course = course::run(&server, &mut control, options.items, !options.json)?;
        Some(Load { course, speed: speed::run(&server, &mut control, options.rounds)? })
    };
    let mut servers = vec![("cuculus".to_string(), server)];
    if let Some(peer) = &options.peer {
        servers.push(("peer".into(), server::Server::start(&options.server, peer)?));
    }
    let mut sizes = vec![1_000_000.min(options.items), options.items];
    sizes.dedup();
    let cpu = cpu::run(&servers, &sizes, 4 * options.rounds)?;
    let report = Report { server: name, items: options.items, load, cpu };
    if options.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        if let Some(load) = &report.load {
            print!("{}{}", load.course, load.speed);
        }
        print!("{}", report.cpu);
    }
    Ok(())
}
