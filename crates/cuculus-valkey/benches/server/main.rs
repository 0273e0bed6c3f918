//! Measures the module on a real server: a set that grows to millions of items and shrinks, and the
//! speed of the commands compared with PING. All replies are checked.

mod course; // growing and shrinking
mod cpu; // the server's processor time, beside another module
mod load; // commands in batches
mod server; // a server for the measurement
mod slow; // commands that take long
mod speed; // commands per second

use std::env;

use anyhow::{Context, Result};
use clap::Parser;
use server::Server;

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
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let module = env::var("CUCULUS_MODULE")
        .context("CUCULUS_MODULE is not set; run this with `cargo xtask bench-valkey`")?;
    let server = Server::start(&options.server, &module)?;
    let mut control = server.connect()?;
    println!("{}\n", server::version(&mut control)?);
    if !options.cpu_only {
        course::run(&server, &mut control, options.items)?;
        speed::run(&server, &mut control, options.rounds)?;
    }
    let mut servers = vec![("cuculus", server)];
    if let Some(peer) = &options.peer {
        servers.push(("peer", Server::start(&options.server, peer)?));
    }
    let mut sizes = vec![1_000_000.min(options.items), options.items];
    sizes.dedup();
    cpu::run(&servers, &sizes, 4 * options.rounds)
}
