//! The Valkey module: built, tried out, tested and measured on real servers. Knows what these need;
//! what is asked of the servers stands with the module.

use std::ffi::OsStr;
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;

use crate::python;
use crate::run::{Failure, cargo, program, root, step, succeeds, target_directory};
use crate::tools;

const PACKAGE: &str = "cuculus-valkey";
const TESTS: &str = "crates/cuculus-valkey/tests";
const LIBRARY: &str = "libcuculus_valkey.so";
/// Where clients look for a server that they are told nothing about.
const USUAL_PORT: u16 = 6379;

/// What building the module needs: bindings to the server are made from its header with libclang.
pub(crate) fn prepare() -> Result<(), Failure> {
    tools::debian("clang", "clang")?;
    tools::debian_for("libclang-dev", has_libclang)
}

fn has_libclang() -> bool {
    if std::env::var_os("LIBCLANG_PATH").is_some() {
        return true;
    }
    let versions = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let llvm = versions.map(|entry| entry.path().join("lib")).filter(|path| path.is_dir());
    let directories = llvm.chain(["/usr/lib64".into(), "/usr/local/lib".into()]);
    directories
        .flat_map(|directory: PathBuf| fs::read_dir(directory).into_iter().flatten().flatten())
        .any(|file| {
            let name = file.file_name().to_string_lossy().into_owned();
            name.starts_with("libclang") && name.contains(".so")
        })
}

/// The tests of the module on both servers, through a client that people use.
pub(crate) fn test() -> Result<(), Failure> {
    tools::debian("redis-server", "redis-server")?;
    let python = python::with_packages(&format!("{TESTS}/requirements.txt"))?;
    // As the other tests are built: optimised, with overflow checks and debug assertions.
    let module = build(&["--profile", "test"], "debug")?;
    let example = ["build", "--package", PACKAGE, "--profile", "test", "--example", "client"];
    step("client", &mut cargo(example))?;
    let client = target_directory().join("debug/examples/client");
    let mut tests = program(python, ["-m", "pytest", "-q", "-p", "no:cacheprovider", TESTS]);
    let environment = [("PYTHONDONTWRITEBYTECODE", OsStr::new("1"))];
    tests.env("CUCULUS_MODULE", module).env("CUCULUS_CLIENT", client.canonicalize()?);
    step("valkey tests", tests.envs(environment))
}

fn build(profile: &[&str], directory: &str) -> Result<PathBuf, Failure> {
    let words = ["build", "--package", PACKAGE].into_iter().chain(profile.iter().copied());
    step("module", &mut cargo(words))?;
    let module = target_directory().join(directory).join(LIBRARY);
    module.canonicalize().map_err(|error| {
        Failure::Failed(format!("the module is not at {}: {error}", module.display()))
    })
}

/// `cargo xtask valkey`: a server with the module, to try it out.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    prepare()?;
    let server = if succeeds(&mut program("valkey-server", ["--version"])) {
        "valkey-server"
    } else {
        tools::debian("redis-server", "redis-server")?;
        "redis-server"
    };
    let module = build(&["--release"], "release")?;
    let port = free_port()?;
    let client = if port == USUAL_PORT { String::new() } else { format!(" -p {port}") };
    println!("\n    Try it, in another terminal:   redis-cli{client} CF.ADD animals cuckoo");
    println!("    The server ends with Ctrl-C, and keeps nothing.\n");
    let port = port.to_string();
    let mut command = program(server, ["--bind", "127.0.0.1", "--port", &port, "--save", ""]);
    step("server", command.arg("--loadmodule").arg(module).args(arguments))
}

fn free_port() -> Result<u16, Failure> {
    let listen = |port| TcpListener::bind(("127.0.0.1", port));
    let listener = listen(USUAL_PORT).or_else(|_| listen(0))?;
    Ok(listener.local_addr()?.port())
}

/// `cargo xtask bench-valkey`: the module under load.
pub(crate) fn bench(arguments: &[String]) -> Result<(), Failure> {
    prepare()?;
    tools::debian("redis-server", "redis-server")?;
    let module = build(&["--release"], "release")?;
    let mut command = cargo(["bench", "--package", PACKAGE, "--bench", "server", "--"]);
    let module = module.strip_prefix(root()).unwrap_or(&module);
    step("bench", command.args(arguments).env("CUCULUS_MODULE", root().join(module)))
}
