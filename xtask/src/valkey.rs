//! Builds the Valkey module and starts, tests or measures servers with it. Knows what this needs to
//! be installed; the tests and the benchmark are in the module's crate.

use std::ffi::OsStr;
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;

use crate::python;
use crate::run::{cargo, output_of, program, step, succeeds, target_directory};
use crate::test::{Steps, WHOLE};
use crate::tools::{self, Package};
use crate::{Words, bench};

const PACKAGE: &str = "cuculus-valkey";
const TESTS: &str = "crates/cuculus-valkey/tests";
const LIBRARY: &str = "libcuculus_valkey.so";
const NODE_PACKAGES: [&str; 2] = ["redis@6.3.1", "ioredis@6.0.0"];
/// The port that clients try by default.
const DEFAULT_PORT: u16 = 6379;

/// What building the module needs: libclang generates the bindings from the server's header.
pub(crate) const BUILD: [Package; 2] = [tools::CLANG, tools::LIBCLANG];

/// Has what building the module needs.
pub(crate) fn prepare() -> Result<()> {
    tools::debian(&BUILD)
}

/// `cargo xtask test-valkey`: the tests of the module on these servers and on the newest Redis too, with
/// clients of Node besides. The replies of another module, a peer, are compared.
pub(crate) fn test_all(peer: Option<PathBuf>) -> Result<()> {
    let peer = peer.map(fs::canonicalize).transpose()?;
    prepare()?;
    let python = python::with_packages(&format!("{TESTS}/requirements.txt"))?;
    let directory = target_directory().join("newest-redis");
    let mut fetch = program(python, [&format!("{TESTS}/newest.py")[..]]);
    let server = output_of(fetch.arg(directory))?;
    let node = node_packages()?;
    let servers = format!("newest={}", server.trim());
    test_on(&mut Steps::default(), &servers, peer, Some(node)).map(drop)
}

/// Tests the module on Debian's Redis and the newest Valkey, through common client libraries.
pub(crate) fn test(steps: &mut Steps) -> Result<Built> {
    test_on(steps, "", None, None)
}

/// The directory of the clients of Node, installed once.
fn node_packages() -> Result<PathBuf> {
    tools::debian(&[tools::NODE, tools::NPM])?;
    let directory = target_directory().join("node");
    fs::create_dir_all(&directory)?;
    let mut install = program("npm", ["install", "--silent", "--no-audit", "--no-fund"]);
    step("node packages", install.args(NODE_PACKAGES).current_dir(&directory))?;
    Ok(directory.canonicalize()?)
}

fn test_on(
    steps: &mut Steps,
    more_servers: &str,
    peer: Option<PathBuf>,
    node: Option<PathBuf>,
) -> Result<Built> {
    let python = python::with_packages(&format!("{TESTS}/requirements.txt"))?;
    let built = build_for_tests(steps, &WHOLE)?;
    let mut tests = program(python, ["-m", "pytest", "-q", "-p", "no:cacheprovider", TESTS]);
    let environment = [("PYTHONDONTWRITEBYTECODE", OsStr::new("1"))];
    tests.env("CUCULUS_SERVERS", more_servers).envs(environment);
    tests.envs(peer.map(|peer| ("CUCULUS_PEER", peer)));
    tests.envs(node.map(|node| ("CUCULUS_NODE", node)));
    steps.run("server tests", built.environment(&mut tests))?;
    Ok(built)
}

/// What tests in Python use.
pub(crate) struct Built {
    module: PathBuf,
    tool: PathBuf,
    client: PathBuf,
}

impl Built {
    /// Tells tests where it is.
    pub(crate) fn environment<'a>(&self, tests: &'a mut Command) -> &'a mut Command {
        tests.env("CUCULUS_MODULE", &self.module).env("CUCULUS_TOOL", &self.tool);
        tests.env("CUCULUS_CLIENT", &self.client)
    }
}

/// Builds the module, the tool and the client of the tests. Of the whole workspace all of it was compiled
/// before, by the tests; then cargo only puts it where it can be found.
pub(crate) fn build_for_tests(steps: &mut Steps, packages: &[&str]) -> Result<Built> {
    tools::debian(&[tools::REDIS])?;
    let words = [&["build", "--lib", "--bin", "cuculus", "--example", "client"], packages].concat();
    steps.cargo("module, tool and client", &words)?;
    let there = |path: &str| target_directory().join("debug").join(path).canonicalize();
    let (tool, client) = (there("cuculus")?, there("examples/client")?);
    Ok(Built { module: built("debug")?, tool, client })
}

pub(crate) fn build_for_release() -> Result<PathBuf> {
    step("module", &mut cargo(["build", "--release", "--package", PACKAGE]))?;
    built("release")
}

fn built(directory: &str) -> Result<PathBuf> {
    let module = target_directory().join(directory).join(LIBRARY);
    module.canonicalize().with_context(|| format!("the module is not at {}", module.display()))
}

/// `cargo xtask valkey`: starts a server with the module.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let has_valkey = succeeds(&mut program("valkey-server", ["--version"]));
    let server = if has_valkey { "valkey-server" } else { "redis-server" };
    let needed = if has_valkey { BUILD.to_vec() } else { [&BUILD[..], &[tools::REDIS]].concat() };
    tools::debian(&needed)?;
    println!("==> the module is built first: some minutes on two cores, the first time");
    let module = build_for_release()?;
    let mut command = program(server, ["--bind", "127.0.0.1", "--save", ""]);
    let port = match port_in(arguments) {
        Some(port) => port,
        None => {
            let port = free_port()?;
            command.args(["--port", &port.to_string()]);
            port
        }
    };
    println!("\n    Try it, in another terminal:   {} CF.ADD animals cuckoo", client_at(port));
    println!("    Ctrl-C stops the server. It saves nothing.\n");
    step("server", command.arg("--loadmodule").arg(module).args(arguments))
}

/// The port among the options of the server; of several the server takes the last.
fn port_in(arguments: &[String]) -> Option<u16> {
    let values = arguments.iter().zip(arguments.iter().skip(1));
    let mut ports = values.rev().filter(|(option, _)| *option == "--port");
    ports.next().and_then(|(_, port)| port.parse().ok())
}

fn client_at(port: u16) -> String {
    if port == DEFAULT_PORT { "redis-cli".into() } else { format!("redis-cli -p {port}") }
}

fn free_port() -> Result<u16> {
    let listen = |port| TcpListener::bind(("127.0.0.1", port));
    let listener = listen(DEFAULT_PORT).or_else(|_| listen(0))?;
    Ok(listener.local_addr()?.port())
}

#[derive(Args)]
pub(crate) struct Bench {
    /// Measure one set of N items over a cluster that loses a server
    #[arg(long, value_name = "N", conflicts_with_all = ["copy", "words"])]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    cluster: Option<u64>,
    /// Measure a filter of N items that is copied while items are added
    #[arg(long, value_name = "N", conflicts_with = "words")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    copy: Option<u64>,
    #[command(flatten)]
    load: Words,
}

/// `cargo xtask bench-valkey`: measures the module under load, or with a script of its tests.
pub(crate) fn measure(options: &Bench) -> Result<()> {
    prepare()?;
    tools::debian(&[tools::REDIS])?;
    let module = build_for_release()?;
    let cluster = options.cluster.map(|items| ("large_set.py", items));
    let Some((script, items)) = cluster.or(options.copy.map(|items| ("copy_in_use.py", items)))
    else {
        let mut words = options.load.words.clone();
        let document = bench::takes_write(&mut words).then_some(bench::DOCUMENT);
        let mut command = cargo(["bench", "--package", PACKAGE, "--bench", "server", "--"]);
        command.args(&words).env("CUCULUS_MODULE", module);
        return bench::show(&mut command, document, &bench::named("bench-valkey", &words));
    };
    step("tool", &mut cargo(["build", "--release", "--bin", "cuculus"]))?;
    let tool = target_directory().join("release/cuculus").canonicalize()?;
    let python = python::with_packages(&format!("{TESTS}/requirements.txt"))?;
    let mut course = program(python, [&*format!("{TESTS}/{script}"), &items.to_string()]);
    course.env("CUCULUS_MODULE", module).env("CUCULUS_TOOL", tool);
    step("server", &mut course)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_names_the_port_of_the_server() {
        let client = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(String::from).collect();
            port_in(&words).map(client_at)
        };
        assert_eq!(client("--maxmemory 1gb --port 7000"), Some("redis-cli -p 7000".into()));
        assert_eq!(client("--port 7000 --port 6379"), Some("redis-cli".into()));
        assert_eq!((client("--loglevel verbose"), client("--port")), (None, None));
    }
}
