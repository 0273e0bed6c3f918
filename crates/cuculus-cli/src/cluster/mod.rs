//! `cuculus cluster`: one set over a Valkey or Redis cluster, or on one server, with the module. The set is divided into
//! parts by the library's partition; every part is a filter of the module, a key of its own. Knows the
//! command line; how commands reach the cluster is in `link`.

mod add; // create, add
mod chunks; // the bytes of SCANDUMP and LOADCHUNK
mod file; // the parts of a set in one file
mod link; // a connection that goes on through failover
mod query; // query, stats
mod set; // the name, the parts and the seed of a set
mod ship; // export, import, build

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::count::{self, Count};
use crate::input::Lines;
use crate::rate::Rate;

/// Keep one set in a Valkey or Redis cluster with the module, or on one server
///
/// The set NAME is a hash with the parameters, under the key NAME, and one filter for each of its parts.
/// Commands go on while slots move and while a replica takes over from a primary that failed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cuculus cluster create seen --items 100M    make a set of 256 parts
  cuculus cluster add seen < ids              add each line
  cuculus cluster query seen < more-ids       print the lines that the set contains
  cuculus cluster stats seen                  items, memory, and the balance of the parts
  cuculus cluster export seen seen.parts      copy the set to a file, while it is in use
  cuculus cluster import again seen.parts     make a set of such a file

Nodes: --node redis://host:port, several times or once; the default is redis://127.0.0.1:6379.")]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    nodes: Nodes,
}

/// Where the cluster is.
#[derive(Args)]
pub(crate) struct Nodes {
    /// A node of the cluster, through which the others are found; or one server
    #[arg(
        long = "node",
        value_name = "URL",
        global = true,
        default_value = "redis://127.0.0.1:6379"
    )]
    urls: Vec<String>,
    /// Replicas that must have an item before it counts as added, if a primary has as many
    #[arg(long, value_name = "N", global = true, default_value = "1", value_parser = count::between(0, 1000))]
    replicas: Count,
    /// Seconds to keep trying while the cluster or the server is down
    #[arg(long, value_name = "SECONDS", global = true, default_value = "60", value_parser = count::between(0, 1_000_000))]
    patience: Count,
}

#[derive(Subcommand)]
enum Command {
    /// Make an empty set
    Create(Create),
    /// Add each line as an item
    Add(Add),
    /// Print the lines that the set contains
    Query(Query),
    /// Print items, memory, and the balance of the parts
    Stats(Stats),
    /// Copy a set to a file, while it is in use
    Export(Export),
    /// Make a set of a file
    Import(Import),
    /// Make a file of lines without a cluster, for import
    Build(Build),
}

/// What a new set is like.
#[derive(Args)]
pub(crate) struct Shape {
    /// The number of parts, a power of two up to 1,024: 256 are within 10 % of even on up to 32 primaries
    #[arg(long, value_name = "N", default_value = "256", value_parser = count::between(1, 1024))]
    parts: Count,
    /// The false positive rate of the set: from 0.00001, such as 0.001 or 0.1%
    #[arg(long, value_name = "RATE", default_value = "0.001")]
    fpr: Rate,
    /// A hint: the number of items that the set will probably hold; it then needs less memory
    #[arg(long, value_name = "N")]
    items: Option<Count>,
    /// The seed of the hash function; random if not given
    #[arg(long, value_parser = count::between(0, u64::MAX))]
    seed: Option<Count>,
}

#[derive(Args)]
struct Create {
    /// The name of the set
    name: String,
    #[command(flatten)]
    shape: Shape,
}

#[derive(Args)]
struct Add {
    /// The name of the set
    name: String,
    #[command(flatten)]
    lines: Lines,
    /// Count items that are added again, with CF.INSERT; after a failure some may be counted twice
    #[arg(long)]
    copies: bool,
}

#[derive(Args)]
struct Query {
    /// The name of the set
    name: String,
    #[command(flatten)]
    lines: Lines,
    /// Print the lines that the set does not contain
    #[arg(short, long)]
    invert: bool,
    /// Print the number of lines instead of the lines
    #[arg(short, long)]
    count: bool,
}

#[derive(Args)]
struct Stats {
    /// The name of the set
    name: String,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Export {
    /// The name of the set
    name: String,
    /// The file to write
    file: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

#[derive(Args)]
struct Import {
    /// The name of the new set
    name: String,
    /// A file from export or build
    file: PathBuf,
}

#[derive(Args)]
struct Build {
    /// The file to write
    file: PathBuf,
    #[command(flatten)]
    shape: Shape,
    #[command(flatten)]
    lines: Lines,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(options: &Options, out: &mut impl Write) -> Result<ExitCode> {
    let nodes = &options.nodes;
    match &options.command {
        Command::Create(create) => add::create(nodes, create),
        Command::Add(add) => add::add(nodes, add, out),
        Command::Query(query) => query::query(nodes, query, out),
        Command::Stats(stats) => query::stats(nodes, stats, out),
        Command::Export(export) => ship::export(nodes, export),
        Command::Import(import) => ship::import(nodes, import),
        Command::Build(build) => ship::build(build),
    }
}
