//! The results of the demo as an HTML page with plots, and the file it goes to. Drawing is in
//! cuculus-page.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cuculus::KeyHasher;
use cuculus_page::{Axis, Finding, Page, Palette, Plot, Section, Shape};

use super::cannot_write;
use super::follower::{Follower, Moment, kept};
use super::keys::LAST;
use super::report::Report;
use crate::text::{bytes, nanoseconds, percent, thousands};

/// The page in a directory that the user chose.
const FILE: &str = "demo.html";
/// The horizontal axis of all plots.
const OPERATIONS: &str = "millions of inserts, then of removals";

/// Where the page goes.
pub(super) struct Place {
    directory: PathBuf,
    is_chosen: bool,
}

impl Place {
    /// Checks that a page can be written, before the work begins.
    pub(super) fn new(chosen: Option<&Path>) -> Result<Self> {
        let is_chosen = chosen.is_some();
        chosen.map_or(Ok(()), crate::saved::is_directory_name)?;
        let place =
            Self { directory: chosen.map_or_else(std::env::temp_dir, Path::to_owned), is_chosen };
        place.check().with_context(|| cannot_write(&place.directory))?;
        Ok(place)
    }

    fn check(&self) -> io::Result<()> {
        if self.is_chosen {
            fs::create_dir_all(&self.directory)?;
            if self.directory.join(FILE).is_dir() {
                return Err(io::ErrorKind::IsADirectory.into());
            }
        }
        let (_, path) = new_file(&self.directory)?;
        fs::remove_file(path)
    }

    /// Writes the page; returns its path.
    pub(super) fn write(&self, html: &str) -> Result<PathBuf> {
        let write = || {
            let (mut file, path) = if self.is_chosen {
                let path = self.directory.join(FILE);
                (File::create(&path)?, path)
            } else {
                new_file(&self.directory)?
            };
            file.write_all(html.as_bytes())?;
            Ok::<PathBuf, io::Error>(path)
        };
        write().with_context(|| cannot_write(&self.directory))
    }
}

/// A file under a name that nobody has foreseen, so that nobody else's file or link is written to.
fn new_file(directory: &Path) -> io::Result<(File, PathBuf)> {
    let number = KeyHasher::random().map_err(io::Error::other)?.seed().unwrap_or_default();
    let path = directory.join(format!("cuculus-demo-{number:016x}.html"));
    Ok((File::create_new(&path)?, path))
}

impl Report {
    pub(super) fn page(&self) -> Page {
        let most = thousands(self.most_keys);
        Page {
            title: "Four filters follow a set".to_owned(),
            introduction: format!(
                "A set grows from nothing to {most} keys and shrinks back to {}; keys are removed in \
                 an order unrelated to their age. Every filter promises a false positive rate of at most {}. All numbers were measured in this run.",
                thousands(LAST),
                percent(self.promised_rate, 0)
            ),
            palette: Palette::default(),
            facts: vec![
                ("processor".to_owned(), processor()),
                ("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
                ("time taken".to_owned(), format!("{:.0} s", self.seconds)),
            ],
            sections: vec![self.memory(), self.errors(), self.pauses(), self.numbers()],
        }
    }

    fn memory(&self) -> Section {
        let findings = self.filters.first().map(|elastic| {
            let (top, last) = (elastic.top().bytes, elastic.last().bytes);
            Finding::when(
                "the elastic filter gives its memory back",
                format!("{} at the largest size, {} at the end", bytes(top), bytes(last)),
                last < top / 4,
            )
        });
        Section {
            name: "memory".to_owned(),
            title: "Memory".to_owned(),
            question: "How much memory does each filter take while the set grows and shrinks?"
                .to_owned(),
            findings: findings.into_iter().collect(),
            notes: vec![
                "A filter that follows only a part of the keys is drawn as if it followed all of \
                 them: its memory is multiplied, as its name says."
                    .to_owned(),
            ],
            plots: vec![
                self.memory_for_all_keys(),
                self.plot("Memory per key", Axis::logarithmic("bits per key"), |now| {
                    now.bits_per_key
                }),
                self.plot("Slots in use", Axis::from_zero("percent"), |now| {
                    100.0 * now.utilization
                }),
            ],
            ..Section::default()
        }
    }

    fn errors(&self) -> Section {
        let asked: u64 = self.filters.iter().map(|filter| filter.totals.held_keys_asked).sum();
        let missed: u64 = self.filters.iter().map(|filter| filter.totals.held_keys_missed).sum();
        let highest =
            |filter: &Follower| format!("{} {}", filter.name, percent(filter.highest_rate(), 3));
        let highest: Vec<String> = self.filters.iter().map(highest).collect();
        let rates = self.plot("False positive rate", Axis::logarithmic("percent"), |now| {
            100.0 * now.measured_rate
        });
        Section {
            name: "errors".to_owned(),
            title: "Errors".to_owned(),
            question: "Is every inserted key found, and how many absent keys are found too?"
                .to_owned(),
            findings: vec![
                Finding::when(
                    "every inserted key is found",
                    format!("{missed} of {} lookups missed", thousands(asked)),
                    missed == 0,
                ),
                Finding::when(
                    "the false positive rate is kept at every size (highest measured rate, within chance)",
                    highest.join(", "),
                    self.filters.iter().all(|filter| kept(filter.highest_rate())),
                ),
            ],
            plots: vec![rates.mark("promised", 100.0 * self.promised_rate)],
            ..Section::default()
        }
    }

    fn pauses(&self) -> Section {
        let findings = self.filters.first().map(|elastic| {
            let longest = elastic.totals.longest_nanoseconds;
            Finding::when(
                "the elastic filter has no pause above one millisecond",
                format!("{} at most", nanoseconds(longest as f64)),
                longest < 1_000_000,
            )
        });
        let title = "Longest operation between two measurements";
        Section {
            name: "pauses".to_owned(),
            title: "Pauses".to_owned(),
            question: "How long does the slowest operation take?".to_owned(),
            findings: findings.into_iter().collect(),
            plots: vec![self.plot(title, Axis::logarithmic("microseconds"), |now| {
                now.longest_nanoseconds as f64 / 1e3
            })],
            notes: vec![
                "Two equal filters do every operation, and the shorter of the two times counts: \
                 interruptions by other programs are rarely in both. No operation counts for more \
                 than the processor time of its group of sixteen operations."
                    .to_owned(),
            ],
            ..Section::default()
        }
    }

    fn numbers(&self) -> Section {
        let largest = format!("At {} keys", thousands(self.most_keys));
        let note = |filter: &Follower| format!("{}: {}.", filter.name, filter.note);
        Section {
            name: "numbers".to_owned(),
            title: "Numbers".to_owned(),
            question: "The filters side by side. Lookups are in batches; times are per key."
                .to_owned(),
            tables: vec![
                (largest, self.largest()),
                ("Over the whole run".to_owned(), self.whole_run()),
            ],
            notes: self.filters.iter().map(note).collect(),
            command: format!("cuculus demo --keys {}", self.most_keys),
            ..Section::default()
        }
    }

    /// Memory as if every filter followed all keys. A filter of one key in sixteen would otherwise
    /// look the smallest.
    fn memory_for_all_keys(&self) -> Plot {
        let (course, megabytes) = (Axis::from_zero(OPERATIONS), Axis::logarithmic("megabytes"));
        self.filters.iter().fold(Plot::new("Memory", course, megabytes), |plot, filter| {
            let times = filter.takes_every;
            let name = match times {
                1 => filter.name.to_owned(),
                _ => format!("{}, times {times}", filter.name),
            };
            let at =
                |now: &Moment| (now.operations as f64 / 1e6, now.bytes as f64 * times as f64 / 1e6);
            plot.series(name, Shape::Line, filter.moments.iter().map(at))
        })
    }

    fn plot(&self, title: &str, y: Axis, of: fn(&Moment) -> f64) -> Plot {
        let course = Axis::from_zero(OPERATIONS);
        self.filters.iter().fold(Plot::new(title, course, y), |plot, filter| {
            let at = |moment: &Moment| (moment.operations as f64 / 1e6, of(moment));
            plot.series(filter.name, Shape::Line, filter.moments.iter().map(at))
        })
    }
}

/// The name of the processor, where the system tells it.
fn processor() -> String {
    let described = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = described.lines().find_map(|line| line.strip_prefix("model name"));
    let name = named.map(|name| name.trim_start_matches([' ', '\t', ':']));
    name.unwrap_or(std::env::consts::ARCH).to_owned()
}
