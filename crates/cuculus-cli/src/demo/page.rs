//! The outcome of the demo on a page with plots, and where the page goes. Drawing is the
//! laboratory's.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cuculus_lab::machine;
use cuculus_lab::page::{Axis, Finding, Holds, Page, Plot, Section, Shape};

use super::cannot_write;
use super::follower::{Follower, Moment};
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
            sections: vec![self.course()],
        }
    }

    fn course(&self) -> Section {
        let mut notes: Vec<String> = self
            .filters
            .iter()
            .map(|filter| format!("{}: {}.", filter.name, filter.note))
            .collect();
        notes.push(
            "Every operation was done by two equal filters, and the shorter of the two times counts: \
             what other programs take from the processor is rarely in both. Lookups are in batches."
                .to_owned(),
        );
        Section {
            name: "course".to_owned(),
            title: "From nothing to millions and back".to_owned(),
            question:
                "What does each filter take while the set grows and shrinks, and does it keep \
                       its promise?"
                    .to_owned(),
            command: format!("cuculus demo --keys {}", self.most_keys),
            findings: self.findings(),
            plots: self.plots(),
            tables: vec![
                (format!("At {} keys", thousands(self.most_keys)), self.largest().for_a_page()),
                ("On the whole way".to_owned(), self.whole_way().for_a_page()),
            ],
            notes,
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let asked: u64 = self.filters.iter().map(|filter| filter.totals.held_keys_asked).sum();
        let missed: u64 = self.filters.iter().map(|filter| filter.totals.held_keys_missed).sum();
        let each = |tell: &dyn Fn(&Follower) -> String| {
            let told: Vec<String> = self
                .filters
                .iter()
                .map(|filter| format!("{} {}", filter.name, tell(filter)))
                .collect();
            told.join(", ")
        };
        let plain = |claim: &str, measured: String, holds: bool| Finding {
            claim: claim.to_owned(),
            measured,
            holds: Holds::when(holds),
            reason: String::new(),
        };
        let mut findings = vec![
            plain(
                "every key that is in is found",
                format!("{missed} missed of {} asked for", thousands(asked)),
                missed == 0,
            ),
            plain(
                "the rate is kept at every size (highest at a stop, chance included)",
                each(&|filter| percent(filter.highest_rate(), 3)),
                self.filters
                    .iter()
                    .all(|filter| filter.highest_rate() <= 1.25 * self.promised_rate),
            ),
        ];
        if let Some(elastic) = self.filters.first() {
            let (top, last) = (elastic.top(), elastic.last());
            findings.push(plain(
                "the elastic filter gives its memory back",
                format!("{} at its largest, {} at the end", bytes(top.bytes), bytes(last.bytes)),
                last.bytes < top.bytes / 4,
            ));
            let longest = elastic.totals.longest_nanoseconds;
            findings.push(plain(
                "the elastic filter has no pause above one millisecond",
                format!("{} at most", nanoseconds(longest as f64)),
                longest < 1_000_000,
            ));
        }
        findings
    }

    fn plots(&self) -> Vec<Plot> {
        let course = || Axis::from_zero("millions of keys inserted, then removed");
        let plot = |title: &str, y: Axis, of: fn(&Moment) -> f64| {
            self.filters.iter().fold(Plot::new(title, course(), y), |plot, filter| {
                let at = |moment: &Moment| (moment.operations as f64 / 1e6, of(moment));
                plot.series(filter.name, Shape::Line, filter.moments.iter().map(at))
            })
        };
        vec![
            plot("Memory", Axis::from_zero("megabytes"), |now| now.bytes as f64 / 1e6),
            plot("Memory for each key", Axis::logarithmic("bits a key"), |now| now.bits_per_key),
            plot("Slots in use", Axis::from_zero("per cent"), |now| 100.0 * now.utilization),
            plot("Absent keys found by mistake", Axis::logarithmic("per cent"), |now| {
                100.0 * now.measured_rate
            })
            .mark("promised", 100.0 * self.promised_rate),
            plot(
                "The longest operation between two stops",
                Axis::logarithmic("microseconds"),
                |now| now.longest_nanoseconds as f64 / 1e3,
            ),
        ]
    }
}
