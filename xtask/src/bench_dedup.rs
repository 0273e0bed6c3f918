//! `cargo xtask bench-dedup`: `cuculus dedup` on gigabytes of generated documents, beside a Python set
//! and beside reading alone; then on fewer documents, killed at random moments and continued, until the
//! output must equal that of an undisturbed run.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::bench_cli::scramble;
use crate::run::{Failure, cargo, output_of, step, target_directory};
use crate::usage::{self, Usage};

/// Bytes per file.
const FILE: u64 = 1_000_000_000;
/// The bytes of the documents for the killed runs.
const SMALL: u64 = 200_000_000;
/// What people write. It keeps the texts themselves, so it reads one file only.
const PYTHON: &str = "\
import json, sys
seen = set()
kept = 0
with open(sys.argv[2], 'wb') as out:
    for line in open(sys.argv[1], 'rb'):
        text = json.loads(line)['text']
        if text not in seen:
            seen.add(text)
            out.write(line)
            kept += 1
print(kept)
";

struct Options {
    gigabytes: u64,
    kills: u64,
}

impl Options {
    fn parse(words: &[String]) -> Result<Self, Failure> {
        let mut options = Self { gigabytes: 10, kills: 50 };
        for pair in words.chunks(2) {
            let number = pair.get(1).and_then(|number| number.parse().ok());
            match (pair[0].as_str(), number) {
                ("--gigabytes", Some(number)) => options.gigabytes = number,
                ("--kills", Some(number)) => options.kills = number,
                _ => {
                    let words = "bench-dedup takes [--gigabytes N] [--kills N], both numbers";
                    return Err(Failure::Usage(words.into()));
                }
            }
        }
        Ok(options)
    }
}

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let options = Options::parse(arguments)?;
    step("build", &mut cargo(["build", "--release", "-p", "cuculus-cli", "--bin", "cuculus"]))?;
    let directory = target_directory().join("bench-dedup");
    fs::create_dir_all(&directory)?;
    let bench = Bench { cuculus: target_directory().join("release/cuculus"), directory };
    let speed = if options.gigabytes > 0 { bench.speed(options.gigabytes) } else { Ok(()) };
    let done = speed.and_then(|()| match options.kills {
        0 => Ok(()),
        kills => bench.killed(kills),
    });
    fs::remove_dir_all(&bench.directory)?;
    done
}

struct Bench {
    cuculus: PathBuf,
    directory: PathBuf,
}

impl Bench {
    fn at(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn dedup(&self, inputs: &[PathBuf], name: &str, every: &str) -> Command {
        let mut command = Command::new(&self.cuculus);
        command.arg("dedup").args(inputs).args(["--key", "text", "--threads", "2", "--json"]);
        command.arg("--out").arg(self.at(name)).args(["--save-every", every]);
        command.arg("--state").arg(self.at(&format!("{name}.state")));
        command.stdout(Stdio::null());
        command
    }

    fn speed(&self, gigabytes: u64) -> Result<(), Failure> {
        let mut made = Made::default();
        let inputs: Vec<PathBuf> = (0..gigabytes).map(|n| self.at(&format!("{n}.jsonl"))).collect();
        let mut first = 0;
        for input in &inputs {
            made.write(input, FILE)?;
            first = if first == 0 { made.documents } else { first };
        }
        println!("{gigabytes} GB, {} documents, {} different", made.documents, made.different);
        println!(
            "{:<24} {:>12} {:>9} {:>9} {:>12} {:>10}",
            "program", "documents", "seconds", "CPU", "documents/s", "peak MiB"
        );
        let show = |name: &str, documents: u64, usage: Usage| {
            let Usage { wall_seconds: wall, cpu_seconds: cpu, peak_bytes } = usage;
            let (rate, peak) = (documents as f64 / wall, peak_bytes >> 20);
            println!("{name:<24} {documents:>12} {wall:>9.1} {cpu:>9.1} {rate:>12.0} {peak:>10}");
        };
        // All files together may be larger than what the system keeps in memory, so reading comes twice.
        for name in ["cat", "cat, again"] {
            let mut cat = Command::new("cat");
            show(name, made.documents, measured(cat.args(&inputs).stdout(Stdio::null()))?);
        }
        let mut python = Command::new("python3");
        python.args(["-c", PYTHON]).arg(&inputs[0]).arg(self.at("python"));
        show("Python set, one file", first, measured(python.stdout(Stdio::null()))?);
        fs::remove_file(self.at("python"))?;
        show("cuculus dedup", made.documents, measured(&mut self.dedup(&inputs, "all", "30"))?);
        // What it says again when there is nothing left to do.
        let totals = output_of(self.dedup(&inputs, "all", "30").stdout(Stdio::piped()))?;
        println!("{}", totals.trim_end());
        let kept = format!("\"kept\":{},", made.different);
        for input in &inputs {
            fs::remove_file(input)?;
        }
        fs::remove_dir_all(self.at("all"))?;
        if totals.contains(&kept) {
            return Ok(());
        }
        Err(Failure::Failed(format!(
            "{} documents are different; not all were kept",
            made.different
        )))
    }

    /// Kills runs at random moments. A run that ends is compared, and another is begun.
    fn killed(&self, kills: u64) -> Result<(), Failure> {
        let input = self.at("small.jsonl");
        let mut made = Made::default();
        made.write(&input, SMALL)?;
        let inputs = [input];
        let undisturbed = measured(&mut self.dedup(&inputs, "whole", "0"))?;
        let whole = fs::read(self.at("whole/small.jsonl"))?;
        let mut random = 1;
        let (mut killed, mut ended) = (0, 0);
        while killed < kills || ended == 0 {
            random = scramble(random);
            // Some are killed before they have read anything, and some after saving many times.
            let share = (random >> 40) as f64 / f64::from(1 << 24) * 0.1;
            let wait = Duration::from_secs_f64(undisturbed.wall_seconds * share);
            let mut child = self.dedup(&inputs, "killed", "0").spawn()?;
            if killed < kills {
                thread::sleep(wait);
                child.kill()?;
            }
            let status = child.wait()?;
            if status.code().is_none() {
                killed += 1;
                continue;
            }
            if !status.success() {
                return Err(Failure::Failed(format!(
                    "a run failed after {killed} kills: {status}"
                )));
            }
            if fs::read(self.at("killed/small.jsonl"))? != whole {
                return Err(Failure::Failed(format!("the output differs after {killed} kills")));
            }
            ended += 1;
            fs::remove_dir_all(self.at("killed"))?;
            fs::remove_file(self.at("killed.state"))?;
        }
        println!("killed {killed} times; {ended} outputs equal that of an undisturbed run");
        Ok(())
    }
}

fn measured(command: &mut Command) -> Result<Usage, Failure> {
    let start = Instant::now();
    let (status, usage, _) = usage::of(command.spawn()?, start)?;
    if status.success() {
        return Ok(usage);
    }
    Err(Failure::Failed(format!("{:?} failed ({status})", command.get_program())))
}

/// Documents of about a kilobyte, of which every third has the text of an earlier one.
#[derive(Default)]
struct Made {
    documents: u64,
    different: u64,
}

impl Made {
    fn write(&mut self, path: &Path, bytes: u64) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
        let mut written = 0;
        let mut line = String::new();
        while written < bytes {
            let is_repeated = self.documents % 3 == 2;
            let text = if is_repeated {
                scramble(self.documents) % self.different
            } else {
                self.different
            };
            self.different += u64::from(!is_repeated);
            line.clear();
            line.push_str(&format!("{{\"id\": {}, \"text\": \"document {text}:", self.documents));
            let mut random = text;
            for _ in 0..20 + scramble(text) % 32 {
                random = scramble(random);
                // Four words of a vocabulary of 4,096.
                for four in 0..4 {
                    let word = scramble(random >> (12 * four) & 0xfff) >> 28;
                    line.push(' ');
                    (0..2 + word % 6).for_each(|at| {
                        line.push(char::from(b'a' + (word >> (5 * at) & 15) as u8));
                    });
                }
            }
            line.push_str("\"}\n");
            self.documents += 1;
            written += line.len() as u64;
            out.write_all(line.as_bytes())?;
        }
        out.flush()
    }
}
