//! The results of the demo as text and as JSON.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use cuculus_page::Table;
use serde::Serialize;

use super::RATE;
use super::follower::{Follower, Moment};
use super::keys::LAST;
use crate::text::{bytes, nanoseconds, percent, thousands, wrapped, write_table};

const CANNOT_WRITE: &str = "cannot write to standard output";

#[derive(Serialize)]
pub(super) struct Report {
    version: &'static str,
    pub(super) most_keys: u64,
    pub(super) promised_rate: f64,
    pub(super) filters: Vec<Follower>,
    pub(super) seconds: f64,
}

/// Prints the heading before the work begins.
pub(super) fn heading(most: u64, out: &mut dyn Write) -> Result<()> {
    let most = thousands(most);
    let said = writeln!(
        out,
        "cuculus {}: four filters, from 0 to {most} keys and back to {}",
        env!("CARGO_PKG_VERSION"),
        thousands(LAST)
    );
    said.and_then(|()| out.flush()).context(CANNOT_WRITE)
}

/// The current state of a filter as a row of the live table.
pub(super) fn live_row(follower: &Follower) -> Vec<String> {
    let Some(now) = follower.moments.last() else { return vec![follower.name.to_owned()] };
    let longest = nanoseconds(follower.totals.longest_nanoseconds as f64);
    [state(follower.name, now), vec![percent(RATE, 0), longest]].concat()
}

/// Name, keys, memory, bits per key, utilization and measured rate of a filter.
fn state(name: &str, at: &Moment) -> Vec<String> {
    vec![
        name.to_owned(),
        thousands(at.keys),
        bytes(at.bytes),
        format!("{:.1}", at.bits_per_key),
        percent(at.utilization, 0),
        percent(at.measured_rate, 3),
    ]
}

impl Follower {
    /// The state when the set was largest.
    pub(super) fn top(&self) -> Moment {
        self.moments.iter().copied().max_by_key(|moment| moment.keys).unwrap_or_default()
    }

    /// The state at the end.
    pub(super) fn last(&self) -> Moment {
        self.moments.last().copied().unwrap_or_default()
    }

    /// The highest measured false positive rate.
    pub(super) fn highest_rate(&self) -> f64 {
        self.moments.iter().map(|moment| moment.measured_rate).fold(0.0, f64::max)
    }

    /// The mean utilization.
    pub(super) fn mean_utilization(&self) -> f64 {
        let sum: f64 = self.moments.iter().map(|moment| moment.utilization).sum();
        sum / self.moments.len().max(1) as f64
    }
}

impl Report {
    pub(super) fn new(most_keys: u64, filters: Vec<Follower>, time: Duration) -> Self {
        let (version, seconds) = (env!("CARGO_PKG_VERSION"), time.as_secs_f64());
        Self { version, most_keys, promised_rate: RATE, filters, seconds }
    }

    pub(super) fn write_json(&self, page: &Path, out: &mut dyn Write) -> Result<()> {
        let mut json = serde_json::to_value(self)?;
        json["page"] = page.display().to_string().into();
        writeln!(out, "{json:#}").context(CANNOT_WRITE)
    }

    pub(super) fn write_text(&self, page: &Path, out: &mut dyn Write) -> Result<()> {
        self.try_write_text(page, out).context(CANNOT_WRITE)
    }

    fn try_write_text(&self, page: &Path, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "\nAt {} keys", thousands(self.most_keys))?;
        write_table(&self.largest(), out)?;
        writeln!(out, "\nOver the whole run")?;
        write_table(&self.whole_run(), out)?;
        writeln!(out)?;
        for filter in &self.filters {
            writeln!(out, "{}", wrapped(&format!("{}: {}", filter.name, filter.note)))?;
        }
        let asked: u64 = self.filters.iter().map(|filter| filter.totals.held_keys_asked).sum();
        let asked = thousands(asked);
        writeln!(
            out,
            "\n{asked} lookups of inserted keys, all found, in {} s",
            self.seconds.round()
        )?;
        writeln!(out, "page: {}", page.display())
    }

    /// The filters when the set was largest.
    pub(super) fn largest(&self) -> Table {
        let mut table = Table::new([
            "filter", "keys", "memory", "bits/key", "used", "measured", "expected", "promised",
        ]);
        for filter in &self.filters {
            let top = filter.top();
            let rates = vec![percent(top.expected_rate, 3), percent(self.promised_rate, 0)];
            table.row([state(filter.name, &top), rates].concat());
        }
        table
    }

    /// Totals of the whole run. Column names are short, to fit into 80 columns.
    pub(super) fn whole_run(&self) -> Table {
        let mut table = Table::new([
            "filter",
            "at the end",
            "used",
            "max rate",
            "missed",
            "insert",
            "lookup",
            "remove",
            "longest",
        ]);
        for filter in &self.filters {
            let totals = &filter.totals;
            table.row(vec![
                filter.name.to_owned(),
                bytes(filter.last().bytes),
                percent(filter.mean_utilization(), 0),
                percent(filter.highest_rate(), 3),
                thousands(totals.held_keys_missed),
                nanoseconds(totals.insert_nanoseconds),
                nanoseconds(totals.lookup_nanoseconds),
                nanoseconds(totals.remove_nanoseconds),
                nanoseconds(totals.longest_nanoseconds as f64),
            ]);
        }
        table
    }
}
