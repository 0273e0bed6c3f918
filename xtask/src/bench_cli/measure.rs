//! Measures the run time and peak memory of programs. Knows programs and their arguments, nothing of
//! what they do.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::run::Failure;
use crate::usage::{self, Usage};

/// A program to be measured. Its output is discarded.
pub(super) struct Run {
    name: String,
    program: PathBuf,
    arguments: Vec<OsString>,
    /// A file for standard input, through a pipe.
    piped: Option<PathBuf>,
    /// A file to delete before each run.
    fresh: Option<PathBuf>,
    is_slow: bool,
}

impl Run {
    pub(super) fn new(name: &str, program: &Path) -> Self {
        let (name, program) = (name.to_owned(), program.to_owned());
        Self { name, program, arguments: Vec::new(), piped: None, fresh: None, is_slow: false }
    }

    pub(super) fn arguments(mut self, words: &str) -> Self {
        self.arguments.extend(words.split_whitespace().map(OsString::from));
        self
    }

    pub(super) fn argument(mut self, word: &str) -> Self {
        self.arguments.push(word.into());
        self
    }

    pub(super) fn file(mut self, path: &Path) -> Self {
        self.arguments.push(path.into());
        self
    }

    pub(super) fn piped(mut self, path: &Path) -> Self {
        self.piped = Some(path.to_owned());
        self
    }

    pub(super) fn fresh(mut self, path: &Path) -> Self {
        self.fresh = Some(path.to_owned());
        self
    }

    /// Measured in one round only: a slow program, for which a difference of ten percent does not
    /// matter.
    pub(super) fn slow(mut self) -> Self {
        self.is_slow = true;
        self
    }

    fn measure(&self) -> Result<Measured, Failure> {
        if let Some(path) = &self.fresh
            && path.exists()
        {
            fs::remove_file(path)?;
        }
        let mut feeder = match &self.piped {
            None => None,
            Some(path) => Some(Command::new("cat").arg(path).stdout(Stdio::piped()).spawn()?),
        };
        let stdin = feeder.as_mut().and_then(|feeder| feeder.stdout.take());
        let start = Instant::now();
        let child = Command::new(&self.program)
            .args(&self.arguments)
            .env("LC_ALL", "C")
            .stdin(stdin.map_or(Stdio::null(), Stdio::from))
            .stdout(File::options().write(true).open("/dev/null")?)
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| {
                Failure::Failed(format!(
                    "cannot run {}: {error}; install it and try again",
                    self.name
                ))
            })?;
        let (status, usage, stderr) = usage::of(child, start)?;
        if let Some(mut feeder) = feeder {
            feeder.wait()?;
        }
        if !matches!(status.code(), Some(0 | 1)) {
            return Err(Failure::Failed(format!("{} failed ({status}): {stderr}", self.name)));
        }
        let filter_bytes = number_after(&stderr, "\"filter_bytes\":");
        let Usage { wall_seconds: seconds, cpu_seconds, peak_bytes } = usage;
        Ok(Measured { name: self.name.clone(), seconds, cpu_seconds, peak_bytes, filter_bytes })
    }
}

fn number_after(text: &str, label: &str) -> Option<u64> {
    let (_, rest) = text.split_once(label)?;
    let rest = rest.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// The shortest times and the largest memory of several runs.
pub(super) struct Measured {
    pub(super) name: String,
    pub(super) seconds: f64,
    /// Of all its threads.
    pub(super) cpu_seconds: f64,
    pub(super) peak_bytes: u64,
    /// The memory of the filter, as the program reports it.
    filter_bytes: Option<u64>,
}

impl Measured {
    pub(super) fn peak_of_filter(&self) -> Option<f64> {
        self.filter_bytes.map(|bytes| self.peak_bytes as f64 / bytes.max(1) as f64)
    }

    pub(super) fn to_json(&self) -> String {
        let Self { name, seconds, cpu_seconds, peak_bytes, filter_bytes } = self;
        let filter_bytes = filter_bytes.map_or("null".to_owned(), |bytes| bytes.to_string());
        format!(
            "{{\"name\":{name:?},\"seconds\":{seconds:.3},\"cpu_seconds\":{cpu_seconds:.3},\
             \"peak_bytes\":{peak_bytes},\"filter_bytes\":{filter_bytes}}}"
        )
    }
}

/// Measures all programs in turn, `rounds` times, so that a slow phase of the machine affects all.
pub(super) fn interleaved(runs: &[Run], rounds: u32) -> Result<Vec<Measured>, Failure> {
    let mut best: Vec<Measured> = Vec::new();
    for _ in 0..rounds {
        for (i, run) in runs.iter().enumerate() {
            if run.is_slow && i < best.len() {
                continue;
            }
            let measured = run.measure()?;
            match best.get_mut(i) {
                None => best.push(measured),
                Some(best) => {
                    best.peak_bytes = best.peak_bytes.max(measured.peak_bytes);
                    best.seconds = best.seconds.min(measured.seconds);
                    best.cpu_seconds = best.cpu_seconds.min(measured.cpu_seconds);
                }
            }
        }
    }
    Ok(best)
}
