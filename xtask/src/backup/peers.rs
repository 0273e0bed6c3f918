//! `cargo xtask bench-backup --peers`: the backup compared with restic and borg on the same
//! versions of the same files. Knows the steps and what is measured; `tools` knows how the tools
//! are called.

use std::env;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::tools::{self, Job, Tool};
use super::versions::VERSIONS;
use super::workloads::Workload;
use crate::run::{Failure, program, target_directory};
use crate::usage::{self, Usage};

struct Options {
    workload: Workload,
    versions: usize,
}

impl Options {
    fn parse(words: &[&str]) -> Result<Self, Failure> {
        let mut options = Self { workload: Workload::Versions, versions: VERSIONS.len() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--workload" => {
                    let workload = words.next().and_then(|word| Workload::parse(word));
                    options.workload = workload.ok_or_else(|| {
                        Failure::Usage("--workload needs versions, image or small".into())
                    })?;
                }
                "--versions" => {
                    let number = words.next().and_then(|number| number.parse().ok());
                    let fits = number.filter(|number| (1..=VERSIONS.len()).contains(number));
                    options.versions = fits.ok_or_else(|| {
                        let most = VERSIONS.len();
                        Failure::Usage(format!("--versions needs a number from 1 to {most}"))
                    })?;
                }
                _ => {
                    return Err(Failure::Usage(format!(
                        "bench-backup --peers does not take {word:?}; it takes \
                         [--workload versions|image|small] [--versions N] [--write]"
                    )));
                }
            }
        }
        Ok(options)
    }
}

/// The measurements of one tool.
#[derive(Default)]
struct Figures {
    backups: Usage,
    repository_bytes: u64,
    unchanged: Usage,
    restore: Usage,
    check: Usage,
    forget: Usage,
    bytes_after: u64,
}

/// The steps that take time, and the sizes, each with its name and how to get it.
type Step = (&'static str, fn(&Figures) -> Usage);
type Size = (&'static str, fn(&Figures) -> u64);
const STEPS: [Step; 5] = [
    ("backups", |figures| figures.backups),
    ("unchanged again", |figures| figures.unchanged),
    ("restore of the last", |figures| figures.restore),
    ("check", |figures| figures.check),
    ("forget half and prune", |figures| figures.forget),
];
const SIZES: [Size; 3] = [
    ("peak memory of a backup", |figures| figures.backups.peak_bytes),
    ("repository", |figures| figures.repository_bytes),
    ("repository after the prune", |figures| figures.bytes_after),
];

pub(super) fn run(arguments: &[&str], show: super::Show<'_>) -> Result<(), Failure> {
    let options = Options::parse(arguments)?;
    let sources = options.workload.sources(options.versions)?;
    let directory = env::current_dir()?.join(target_directory().join("backup-peers"));
    // Left from an interrupted run.
    remove(&directory)?;
    let measured = tools::all(&directory).and_then(|tools| {
        let figures = measure(&tools, &sources, &directory.join("restored"))?;
        Ok(tools.into_iter().zip(figures).collect::<Vec<_>>())
    });
    remove(&directory)?;
    let measured = measured?;
    let name = format!("peers-{}", options.workload.name());
    let command =
        format!("cargo xtask bench-backup {}", [&["--peers"], arguments].concat().join(" "));
    show(&name, &command, &table(&measured))?;
    judge(&measured)
}

fn remove(directory: &Path) -> Result<(), Failure> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Each step by all tools in turn, so that a slow minute of the machine affects all of them.
fn measure(tools: &[Tool], sources: &[PathBuf], target: &Path) -> Result<Vec<Figures>, Failure> {
    let mut all: Vec<Figures> = tools.iter().map(|_| Figures::default()).collect();
    for tool in tools {
        took(tool, &Job::Init)?;
    }
    let Some(last) = sources.last() else { return Ok(all) };
    for (number, source) in sources.iter().enumerate() {
        eprintln!("    version {} of {}", number + 1, sources.len());
        // Otherwise the first tool would read from disk, and the others from memory.
        for_files_below(source, &mut |path, _| {
            io::copy(&mut File::open(path)?, &mut io::sink()).map(drop)
        })?;
        for (tool, figures) in tools.iter().zip(&mut all) {
            figures.backups = figures.backups.and(took(tool, &Job::Backup(source))?);
        }
    }
    let forget = Job::Forget { snapshots: sources.len() + 1, oldest: sources.len().div_ceil(2) };
    for (tool, figures) in tools.iter().zip(&mut all) {
        eprintln!("    {}: last version again, restore, forget, prune", tool.name);
        figures.repository_bytes = bytes_below(&tool.repository())?;
        figures.unchanged = took(tool, &Job::Backup(last))?;
        figures.restore = took(tool, &Job::Restore(target))?;
        compare(tool, last, target)?;
        figures.check = took(tool, &Job::Check)?;
        figures.forget = took(tool, &forget)?;
        figures.bytes_after = bytes_below(&tool.repository())?;
        // The remaining snapshots can still be restored.
        took(tool, &Job::Restore(target))?;
        compare(tool, last, target)?;
    }
    Ok(all)
}

fn took(tool: &Tool, job: &Job<'_>) -> Result<Usage, Failure> {
    let mut total = Usage::default();
    for mut command in tool.commands(job)? {
        total = total.and(took_by(tool.name, &mut command)?);
    }
    Ok(total)
}

fn took_by(name: &str, command: &mut Command) -> Result<Usage, Failure> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let start = Instant::now();
    let child =
        command.spawn().map_err(|error| Failure::Failed(format!("cannot run {name}: {error}")))?;
    let (status, usage, said) = usage::of(child, start)?;
    if status.success() {
        return Ok(usage);
    }
    Err(Failure::Failed(format!("{name} failed ({status}): {}", said.trim())))
}

/// Checks that the restored tree is exact, and removes it.
fn compare(tool: &Tool, source: &Path, target: &Path) -> Result<(), Failure> {
    // All three write full paths below the target.
    let restored = target.join(source.strip_prefix("/").unwrap_or(source));
    let mut diff = program("diff", ["--recursive", "--no-dereference", "--brief"]);
    let output = diff.arg(source).arg(&restored).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stdout);
        let first = said.lines().next().unwrap_or("diff failed");
        return Err(Failure::Failed(format!("{} did not restore exactly: {first}", tool.name)));
    }
    remove(target)
}

fn bytes_below(path: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for_files_below(path, &mut |_, len| {
        bytes += len;
        Ok(())
    })?;
    Ok(bytes)
}

/// Passes every file and its length to `each`.
fn for_files_below(
    path: &Path,
    each: &mut dyn FnMut(&Path, u64) -> io::Result<()>,
) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let (path, found) = (entry.path(), entry.metadata()?);
        if found.is_dir() {
            for_files_below(&path, each)?;
        } else {
            each(&path, found.len())?;
        }
    }
    Ok(())
}

/// The promises of the documentation.
fn judge(measured: &[(Tool, Figures)]) -> Result<(), Failure> {
    let Some(((_, ours), others)) = measured.split_first() else { return Ok(()) };
    for (tool, figures) in others {
        if ours.repository_bytes > figures.repository_bytes {
            return Err(Failure::Failed(format!("the repository of {} is smaller", tool.name)));
        }
        if tool.name == "restic" && ours.backups.cpu_seconds > figures.backups.cpu_seconds {
            return Err(Failure::Failed("restic needed less CPU time for the backups".into()));
        }
    }
    Ok(())
}

/// CPU seconds, with wall seconds in brackets, and sizes.
fn table(measured: &[(Tool, Figures)]) -> String {
    let row = |name: &str, cell: &dyn Fn(&(Tool, Figures)) -> String| {
        let cells: Vec<String> = measured.iter().map(cell).collect();
        format!("| {name} | {} |\n", cells.join(" | "))
    };
    let mut text = row("measured", &|(tool, _)| format!("{} {}", tool.name, tool.version));
    text += &row("---", &|_| "---".into()).replace(' ', "");
    for (name, step) in STEPS {
        text += &row(&format!("{name}, CPU s"), &|(_, figures)| {
            let Usage { cpu_seconds, wall_seconds, .. } = step(figures);
            format!("{cpu_seconds:.1} ({wall_seconds:.1})")
        });
    }
    for (name, size) in SIZES {
        let cell = |(_, figures): &(Tool, Figures)| format!("{:.1}", size(figures) as f64 / 1e6);
        text += &row(&format!("{name}, MB"), &cell);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_versions_is_one_that_there_is() {
        let parse = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            Options::parse(&words).map(|options| options.versions).map_err(|f| f.exit_code())
        };
        assert_eq!(parse(""), Ok(23));
        assert_eq!(parse("--workload image --versions 2"), Ok(2));
        for line in ["--versions", "--versions 0", "--versions 24", "3"] {
            assert_eq!(parse(line), Err(2), "{line}");
        }
    }
}
