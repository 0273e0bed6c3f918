//! Builds the Valkey module and starts, tests or measures servers with it. Knows what this needs to
//! be installed; the tests and the benchmark are in the module's crate.

use std::ffi::OsStr;
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;

use crate::python;
use crate::run::{Failure, cargo, output_of, program, step, succeeds, target_directory};
use crate::test::{Steps, WHOLE};
use crate::tools::{self, Package};

const PACKAGE: &str = "cuculus-valkey";
const TESTS: &str = "crates/cuculus-valkey/tests";
const LIBRARY: &str = "libcuculus_valkey.so";
const NODE_PACKAGES: [&str; 2] = ["redis@6.3.1", "ioredis@6.0.0"];
/// The port that clients try by default.
const DEFAULT_PORT: u16 = 6379;

/// What building the module needs: libclang generates the bindings from the server's header.
pub(crate) const BUILD: [Package; 2] = [tools::CLANG, tools::LIBCLANG];

/// Has what building the module needs.
pub(crate) fn prepare() -> Result<(), Failure> {
    tools::debian(&BUILD)
}

/// `cargo xtask test-valkey`: the tests of the module on these servers and on the newest Redis too, with
/// clients of Node besides. With `--peer PATH.so` the replies of another module are compared.
pub(crate) fn test_all(arguments: &[String]) -> Result<(), Failure> {
    let peer = match arguments {
        [] => None,
        [name, path] if name == "--peer" => Some(fs::canonicalize(path)?),
        _ => return Err(Failure::Usage("test-valkey takes --peer PATH.so or nothing".into())),
    };
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
pub(crate) fn test(steps: &mut Steps) -> Result<Built, Failure> {
    test_on(steps, "", None, None)
}

/// The directory of the clients of Node, installed once.
fn node_packages() -> Result<PathBuf, Failure> {
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
) -> Result<Built, Failure> {
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
pub(crate) fn build_for_tests(steps: &mut Steps, packages: &[&str]) -> Result<Built, Failure> {
    tools::debian(&[tools::REDIS])?;
    let words = [&["build", "--lib", "--bin", "cuculus", "--example", "client"], packages].concat();
    steps.cargo("module, tool and client", &words)?;
    let there = |path: &str| target_directory().join("debug").join(path).canonicalize();
    let (tool, client) = (there("cuculus")?, there("examples/client")?);
    Ok(Built { module: built("debug")?, tool, client })
}

pub(crate) fn build_for_release() -> Result<PathBuf, Failure> {
    step("module", &mut cargo(["build", "--release", "--package", PACKAGE]))?;
    built("release")
}

fn built(directory: &str) -> Result<PathBuf, Failure> {
    let module = target_directory().join(directory).join(LIBRARY);
    module.canonicalize().map_err(|error| {
        Failure::Failed(format!("the module is not at {}: {error}", module.display()))
    })
}

/// `cargo xtask valkey`: starts a server with the module.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
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

fn free_port() -> Result<u16, Failure> {
    let listen = |port| TcpListener::bind(("127.0.0.1", port));
    let listener = listen(DEFAULT_PORT).or_else(|_| listen(0))?;
    Ok(listener.local_addr()?.port())
}

/// What `cargo xtask bench-valkey` measures with a script of the tests: the option, and the script.
const COURSES: [(&str, &str); 2] = [("--cluster", "large_set.py"), ("--copy", "copy_in_use.py")];

/// `cargo xtask bench-valkey`: measures the module under load; with `--cluster N`, one set of N items over
/// a cluster that loses a server; with `--copy N`, a filter of N items that is copied while it is in use.
pub(crate) fn bench(arguments: &[String]) -> Result<(), Failure> {
    let course = course(arguments)?;
    prepare()?;
    tools::debian(&[tools::REDIS])?;
    let module = build_for_release()?;
    let Some((script, items)) = course else {
        let mut command = cargo(["bench", "--package", PACKAGE, "--bench", "server", "--"]);
        return step("bench", command.args(arguments).env("CUCULUS_MODULE", module));
    };
    step("tool", &mut cargo(["build", "--release", "--bin", "cuculus"]))?;
    let tool = target_directory().join("release/cuculus").canonicalize()?;
    let python = python::with_packages(&format!("{TESTS}/requirements.txt"))?;
    let mut course = program(python, [&*format!("{TESTS}/{script}"), &items.to_string()]);
    course.env("CUCULUS_MODULE", module).env("CUCULUS_TOOL", tool);
    step("server", &mut course)
}

/// The script that is asked for, if one is, and its number of items.
fn course(arguments: &[String]) -> Result<Option<(&'static str, u64)>, Failure> {
    let Some((first, others)) = arguments.split_first() else { return Ok(None) };
    let Some((option, script)) = COURSES.into_iter().find(|(option, _)| first == option) else {
        return Ok(None);
    };
    let items = match others {
        [items] => items.parse().ok().filter(|&items| items > 0),
        _ => None,
    };
    let usage =
        || Failure::Usage(format!("{option} takes a number of items, as in {option} 1000000"));
    Ok(Some((script, items.ok_or_else(usage)?)))
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

    #[test]
    fn courses_take_a_number_and_nothing_else() {
        let course = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(String::from).collect();
            course(&words).map_err(|failure| failure.exit_code())
        };
        assert_eq!(course("--copy 5"), Ok(Some(("copy_in_use.py", 5))));
        assert_eq!(course("--cluster 7"), Ok(Some(("large_set.py", 7))));
        assert_eq!((course(""), course("--items 5 --json")), (Ok(None), Ok(None)));
        for line in ["--copy", "--copy 0", "--copy x", "--cluster 5 6", "--cluster 5 --json"] {
            assert_eq!(course(line), Err(2), "{line}");
        }
    }
}
