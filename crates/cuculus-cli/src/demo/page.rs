//! The outcome of the demo on a page with plots, and where the page goes. Drawing is the
//! laboratory's.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cuculus_lab::machine;
use cuculus_page::{Axis, Finding, Holds, Page, Plot, Section, Shape};

use super::cannot_write;
use super::follower::{Follower, Moment, kept};
use super::keys::LAST;
use super::report::Report;
use crate::text::{bytes, nanoseconds, percent, thousands};

/// Where the page will be.
pub(super) enum Place {
    /// A file of this name, which may have been there before.
    Named(PathBuf),
    /// A new file in a directory for all.
    New(PathBuf),
}

impl Place {
    /// A place that can be written to: known before the work begins.
    pub(super) fn new(directory: Option<&Path>) -> Result<Self> {
        let (place, within) = match directory {
            Some(directory) => (Self::Named(directory.join("demo.html")), directory.to_owned()),
            None => (Self::New(std::env::temp_dir()), std::env::temp_dir()),
        };
        let made = match &place {
            Self::Named(file) => fs::create_dir_all(&within).and_then(|()| match file.is_dir() {
                true => Err(std::io::ErrorKind::IsADirectory.into()),
                false => Ok(()),
            }),
            Self::New(_) => Ok(()),
        };
        made.and_then(|()| tempfile::tempfile_in(&within).map(drop))
            .with_context(|| cannot_write(&within))?;
        Ok(place)
    }

    /// Writes the page and tells its path.
    pub(super) fn write(&self, html: &str) -> Result<PathBuf> {
        match self {
            Self::Named(file) => {
                fs::write(file, html).with_context(|| cannot_write(file))?;
                Ok(file.clone())
            }
            Self::New(directory) => {
                let file = tempfile::Builder::new()
                    .prefix("cuculus-demo-")
                    .suffix(".html")
                    .tempfile_in(directory)
                    .with_context(|| cannot_write(directory))?;
                fs::write(&file, html).with_context(|| cannot_write(directory))?;
                let (_, path) = file.keep().with_context(|| cannot_write(directory))?;
                Ok(path)
            }
        }
    }
}

impl Report {
    pub(super) fn page(&self) -> Page {
        let most = thousands(self.most_keys);
        Page {
            title: "Four filters follow a set".to_owned(),
            introduction: format!(
                "A set grows from nothing to {most} keys and back to {}; keys go in an order that \
                 has nothing to do with their age. Every filter promises that at most {} of absent \
                 keys are found by mistake. All numbers were measured in this run.",
                thousands(LAST),
                percent(self.promised_rate, 0)
            ),
            facts: vec![
                ("processor".to_owned(), machine::processor()),
                ("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
                ("time taken".to_owned(), format!("{:.0} s", self.seconds)),
            ],
            sections: vec![self.memory(), self.mistakes(), self.pauses(), self.numbers()],
        }
    }

    fn memory(&self) -> Section {
        let findings = self.filters.first().map(|elastic| {
            let (top, last) = (elastic.top().bytes, elastic.last().bytes);
            finding(
                "the elastic filter gives its memory back",
                format!("{} at its largest, {} at the end", bytes(top), bytes(last)),
                last < top / 4,
            )
        });
        Section {
            name: "memory".to_owned(),
            title: "Memory".to_owned(),
            question: "What does each filter take while the set grows and shrinks?".to_owned(),
            findings: findings.into_iter().collect(),
            plots: vec![
                self.plot("Memory", Axis::from_zero("megabytes"), |now| now.bytes as f64 / 1e6),
                self.plot("Memory for each key", Axis::logarithmic("bits a key"), |now| {
                    now.bits_per_key
                }),
                self.plot("Slots in use", Axis::from_zero("per cent"), |now| {
                    100.0 * now.utilization
                }),
            ],
            ..Section::default()
        }
    }

    fn mistakes(&self) -> Section {
        let asked: u64 = self.filters.iter().map(|filter| filter.totals.held_keys_asked).sum();
        let missed: u64 = self.filters.iter().map(|filter| filter.totals.held_keys_missed).sum();
        let highest =
            |filter: &Follower| format!("{} {}", filter.name, percent(filter.highest_rate(), 3));
        let highest: Vec<String> = self.filters.iter().map(highest).collect();
        let rates = self.plot("Absent keys found", Axis::logarithmic("per cent"), |now| {
            100.0 * now.measured_rate
        });
        Section {
            name: "mistakes".to_owned(),
            title: "Mistakes".to_owned(),
            question: "Is every key found that is in, and how many that are not?".to_owned(),
            findings: vec![
                finding(
                    "every key that is in is found",
                    format!("{missed} missed of {} asked for", thousands(asked)),
                    missed == 0,
                ),
                finding(
                    "the rate is kept at every size (the highest at any stop, within chance)",
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
            finding(
                "the elastic filter has no pause above one millisecond",
                format!("{} at most", nanoseconds(longest as f64)),
                longest < 1_000_000,
            )
        });
        let title = "The longest operation between two stops";
        Section {
            name: "pauses".to_owned(),
            title: "Pauses".to_owned(),
            question: "How long does a program wait at worst?".to_owned(),
            findings: findings.into_iter().collect(),
            plots: vec![self.plot(title, Axis::logarithmic("microseconds"), |now| {
                now.longest_nanoseconds as f64 / 1e3
            })],
            notes: vec![
                "Every operation was done by two equal filters, and the shorter of the two times \
                 counts: what other programs take from the processor is rarely in both. Nor does an \
                 operation count for more than the program was on a processor for it and fifteen others."
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
            question: "The filters side by side. Lookups are in batches; times are for one key."
                .to_owned(),
            tables: vec![
                (largest, self.largest().for_a_page()),
                ("On the whole way".to_owned(), self.whole_way().for_a_page()),
            ],
            notes: self.filters.iter().map(note).collect(),
            command: format!("cuculus demo --keys {}", self.most_keys),
            ..Section::default()
        }
    }

    fn plot(&self, title: &str, y: Axis, of: fn(&Moment) -> f64) -> Plot {
        let course = Axis::from_zero("millions of keys inserted, then removed");
        self.filters.iter().fold(Plot::new(title, course, y), |plot, filter| {
            let at = |moment: &Moment| (moment.operations as f64 / 1e6, of(moment));
            plot.series(filter.name, Shape::Line, filter.moments.iter().map(at))
        })
    }
}

fn finding(claim: &str, measured: String, holds: bool) -> Finding {
    let holds = Holds::when(holds);
    Finding { claim: claim.to_owned(), measured, holds, reason: String::new() }
}
