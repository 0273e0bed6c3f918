//! `cargo xtask mutants`: does a test fail if the library has an error? Knows how mutants are chosen,
//! compiled and run; where they can be is in `places`.
//!
//! All mutants are in one build of a copy of the library: each is an `if` on a number that the tests take
//! from the environment. So the library is compiled once, and a mutant costs a run of the tests, where
//! cargo-mutants compiles the library and all its suites for each. A mutant that no test notices is
//! either equivalent to the original, or shows that a test is missing.

mod places;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::run::{cargo, root, step, target_directory};
use places::Place;

const PACKAGE: &str = "crates/cuculus";
/// What its tests are made with.
const TESTKIT: &str = "crates/testkit";
/// The variable that chooses a mutant.
const CHOSEN: &str = "CUCULUS_MUTANT";
/// What the tests do not judge: formatted figures, hints to the processor, and what measurements and the
/// tests themselves are made of.
const LEFT_OUT: [&str; 8] = [
    "conformance",
    "error.rs",
    "lab.rs",
    "prefetch.rs",
    "serde.rs",
    "stats.rs",
    "tests.rs",
    "work.rs",
];
/// Beside the unit tests.
const SUITES: [&str; 11] = [
    "build",
    "bulk",
    "conformance",
    "elastic",
    "failing_memory",
    "format",
    "format_elastic",
    "maplet",
    "memory",
    "sections",
    "shared",
];
/// Takes as long as everything else.
const SKIPPED: [&str; 2] = ["--skip", "every_kind_obeys_every_law"];
/// A process may have this much memory, in KiB.
const MEMORY: u32 = 4 << 20;
/// How many times as long a run may take as without a mutant, and how much longer.
const SLOWER: u32 = 4;
const LATER: Duration = Duration::from_secs(10);

/// Goes into the copy of the library.
const SWITCH: &str = r#"
/// Whether this mutant is the one of this process.
pub(crate) fn mutant(number: u32) -> bool {
    use core::sync::atomic::{AtomicU32, Ordering};
    static CHOSEN: AtomicU32 = AtomicU32::new(u32::MAX);
    // Without memory, which the tests may refuse at this moment.
    #[cold]
    fn read() -> u32 {
        use core::ffi::{CStr, c_char};
        unsafe extern "C" {
            fn getenv(name: *const c_char) -> *const c_char;
        }
        // SAFETY: nothing changes the environment.
        let chosen = unsafe { getenv(c"CUCULUS_MUTANT".as_ptr()) };
        // SAFETY: nothing changes the environment; what getenv returns ends in a zero byte.
        let chosen = (!chosen.is_null()).then(|| unsafe { CStr::from_ptr(chosen) });
        let chosen = chosen.and_then(|chosen| chosen.to_str().ok()?.parse().ok());
        let chosen = chosen.unwrap_or(u32::MAX - 1);
        CHOSEN.store(chosen, Ordering::Relaxed);
        chosen
    }
    let chosen = CHOSEN.load(Ordering::Relaxed);
    number == if chosen == u32::MAX { read() } else { chosen }
}
"#;

/// A mutant: its file, below the sources of the package, and its place there.
type Mutant = (PathBuf, Place);

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let copy = target_directory().join("mutants/copy");
    copy_package(&copy)?;
    let sources = copy.join(PACKAGE).join("src");
    let mut mutants = arguments.choose(all_mutants(&sources)?);
    ensure!(!mutants.is_empty(), "there is no place for a mutant there");
    let suites = compile(&copy, &sources, &mut mutants)?;
    let suites = measured(&copy, suites)?;
    let mut survivors = 0;
    for (number, (file, place)) in mutants.iter().enumerate() {
        let outcome = killed_by(&copy, &suites, number)?;
        survivors += usize::from(outcome.is_none());
        let outcome = outcome.map_or("SURVIVED".into(), |test| format!("killed by {test}"));
        println!("{}:{}: {}: {outcome}", file.display(), place.lines.0, place.what);
    }
    println!("{} mutants, {survivors} survived", mutants.len());
    Ok(())
}

/// The package and its test kit, in a workspace of their own.
fn copy_package(copy: &Path) -> Result<()> {
    for package in [PACKAGE, TESTKIT] {
        if copy.join(package).exists() {
            fs::remove_dir_all(copy.join(package))?;
        }
        copy_directory(&root().join(package), &copy.join(package))?;
    }
    fs::copy(root().join("Cargo.lock"), copy.join("Cargo.lock"))?;
    let whole = fs::read_to_string(root().join("Cargo.toml"))?;
    // The profiles name packages that are not needed here.
    let lines = whole.lines().take_while(|line| !line.starts_with("[profile."));
    let lines = lines.map(|line| match line.split_once(" = [") {
        Some((name @ ("members" | "default-members"), _)) => {
            format!("{name} = [{PACKAGE:?}, {TESTKIT:?}]")
        }
        _ => line.into(),
    });
    let workspace =
        lines.collect::<Vec<_>>().join("\n") + "\n[profile.dev]\nopt-level = 1\ndebug = false\n";
    fs::write(copy.join("Cargo.toml"), workspace)?;
    Ok(())
}

fn copy_directory(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_directory(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

fn all_mutants(sources: &Path) -> Result<Vec<Mutant>> {
    let (mut found, mut directories) = (Vec::new(), vec![sources.to_path_buf()]);
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if LEFT_OUT.contains(&&*name) {
                continue;
            }
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let places = places::find(&fs::read_to_string(&path)?)
                .with_context(|| path.display().to_string())?;
            let file = path.strip_prefix(sources).unwrap_or(&path);
            found.extend(places.into_iter().map(|place| (file.to_path_buf(), place)));
        }
    }
    found.sort_by(|a, b| (&a.0, a.1.lines).cmp(&(&b.0, b.1.lines)));
    Ok(found)
}

/// Puts the mutants into the copy and compiles its tests. Mutants that are no Rust, for instance since
/// a type has no such operator, are dropped.
fn compile(copy: &Path, sources: &Path, mutants: &mut Vec<Mutant>) -> Result<Vec<Suite>> {
    let originals =
        mutants.iter().map(|(file, _)| Ok((file.clone(), fs::read_to_string(sources.join(file))?)));
    let mut originals = originals.collect::<Result<BTreeMap<_, _>>>()?;
    let top = PathBuf::from("lib.rs");
    if !originals.contains_key(&top) {
        originals.insert(top.clone(), fs::read_to_string(sources.join(&top))?);
    }
    loop {
        for (file, original) in &originals {
            let chosen = (0..).zip(mutants.iter()).filter(|(_, mutant)| mutant.0 == *file);
            let chosen: Vec<_> = chosen.map(|(number, (_, place))| (number, place)).collect();
            let mut text = places::with_mutants(original, &chosen);
            if *file == top {
                text += SWITCH;
            }
            fs::write(sources.join(file), text)?;
        }
        let check = ["check", "-p", "cuculus", "--message-format", "short"];
        let output = in_copy(copy, &check).stderr(Stdio::piped()).output()?;
        if output.status.success() {
            break;
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let before = mutants.len();
        mutants.retain(|mutant| !said.lines().any(|line| is_error_in(line, mutant, true)));
        if mutants.len() == before {
            // The error is where the mutant is used.
            mutants.retain(|mutant| !said.lines().any(|line| is_error_in(line, mutant, false)));
        }
        ensure!(mutants.len() < before, "the mutants do not compile:\n{said}");
        println!("    {} mutants are no Rust, and are left out", before - mutants.len());
    }
    let mut words =
        vec!["test", "--no-run", "--message-format", "json-render-diagnostics", "--lib"];
    words.extend(SUITES.iter().flat_map(|suite| ["--test", suite]));
    let messages = copy.join("messages");
    let mut command = in_copy(copy, &words);
    step("compile the tests", command.stdout(File::create(&messages)?))?;
    Ok(fs::read_to_string(messages)?.lines().filter_map(Suite::from_message).collect())
}

/// Whether a line as `crates/cuculus/src/hash.rs:7:9: error…` is about a mutant, or about its file.
fn is_error_in(line: &str, (file, place): &Mutant, is_exact: bool) -> bool {
    let Some((path, rest)) = line.split_once(".rs:") else { return false };
    let Some((number, rest)) = rest.split_once(':') else { return false };
    let is_there = |line| !is_exact || (place.lines.0..=place.lines.1).contains(&line);
    let path = PathBuf::from(format!("{path}.rs"));
    number.parse().is_ok_and(is_there)
        && rest.contains("error")
        && path.ends_with(Path::new(PACKAGE).join("src").join(file))
}

fn in_copy(copy: &Path, words: &[&str]) -> Command {
    let mut command = cargo(words.iter().copied());
    command.current_dir(copy).env("CARGO_TARGET_DIR", target_directory().join("mutants/target"));
    // Mutants make many expressions that one would write in another way.
    command.env("RUSTFLAGS", "--cap-lints=allow");
    command
}

/// A test program, and how long it takes without a mutant.
struct Suite {
    name: String,
    program: String,
    takes: Duration,
}

impl Suite {
    /// From a line of cargo.
    fn from_message(line: &str) -> Option<Self> {
        let (_, program) = line.split_once("\"executable\":\"")?;
        let program = program.split('"').next()?.to_owned();
        let name = Path::new(&program).file_name()?.to_string_lossy();
        let name = name.rsplit_once('-')?.0.to_owned();
        Some(Self { name, program, takes: Duration::ZERO })
    }

    /// Runs the tests with a mutant, if there is one. `None` in place of a status: it took too long.
    fn run(
        &self,
        copy: &Path,
        mutant: Option<usize>,
        patience: Duration,
    ) -> Result<(Option<ExitStatus>, String)> {
        let output = copy.join("output");
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("ulimit -v {MEMORY}; ulimit -c 0; exec \"$0\" \"$@\"")])
            .arg(&self.program)
            .args(SKIPPED);
        command.current_dir(copy.join(PACKAGE)).env_remove(CHOSEN).env("RUST_BACKTRACE", "0");
        command.envs(mutant.map(|number| (CHOSEN, number.to_string())));
        command.stdout(File::create(&output)?).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let end = Instant::now() + patience;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if Instant::now() > end {
                child.kill()?;
                child.wait()?;
                break None;
            }
            sleep(Duration::from_millis(10));
        };
        Ok((status, fs::read_to_string(&output).unwrap_or_default()))
    }
}

/// The suites with the time that each takes, the fastest first.
fn measured(copy: &Path, mut suites: Vec<Suite>) -> Result<Vec<Suite>> {
    for suite in &mut suites {
        let start = Instant::now();
        let (status, said) = suite.run(copy, None, Duration::from_secs(1800))?;
        if !status.is_some_and(|status| status.success()) {
            bail!("{} fails without a mutant:\n{said}", suite.name);
        }
        suite.takes = start.elapsed();
        println!("    {} takes {:.1} s", suite.name, suite.takes.as_secs_f64());
    }
    suites.sort_by_key(|suite| suite.takes);
    Ok(suites)
}

/// The first test that fails with a mutant.
fn killed_by(copy: &Path, suites: &[Suite], number: usize) -> Result<Option<String>> {
    for suite in suites {
        let (status, said) = suite.run(copy, Some(number), suite.takes * SLOWER + LATER)?;
        let name = &suite.name;
        let Some(status) = status else { return Ok(Some(format!("{name}, which did not end"))) };
        if !status.success() {
            let failed = said.lines().find_map(|line| {
                line.strip_prefix("test ")?.strip_suffix(" ... FAILED").map(String::from)
            });
            let test = failed.unwrap_or_else(|| status.to_string());
            return Ok(Some(format!("{name}, {test}")));
        }
    }
    Ok(None)
}

#[derive(Args)]
pub(crate) struct Arguments {
    /// Chooses the mutants
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many there are, beside those of --at
    #[arg(long, default_value_t = 56)]
    count: usize,
    /// A line that has all its mutants, as in elastic/level.rs:476; can be repeated
    #[arg(long, value_name = "FILE:LINE", value_parser = line_of_file)]
    at: Vec<(PathBuf, usize)>,
}

fn line_of_file(text: &str) -> Result<(PathBuf, usize)> {
    let (file, line) = text.split_once(':').context("expected FILE:LINE")?;
    Ok((file.into(), line.parse()?))
}

impl Arguments {
    /// All mutants of the lines that were named, and as many others as asked for, by the seed.
    fn choose(&self, all: Vec<Mutant>) -> Vec<Mutant> {
        let (mut named, mut all): (Vec<_>, Vec<_>) = all.into_iter().partition(|(file, place)| {
            self.at.iter().any(|(at, line)| at == file && *line == place.lines.0)
        });
        let mut state = self.seed;
        for chosen in 0..self.count.min(all.len()) {
            // splitmix64.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut bits = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            let left = all.len() - chosen;
            all.swap(chosen, chosen + (bits >> 32) as usize % left);
        }
        all.truncate(self.count);
        named.append(&mut all);
        named
    }
}
