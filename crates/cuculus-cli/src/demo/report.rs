//! The outcome of the demo, as text for people and as JSON for programs.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use super::refusal::Refusal;
use super::saved::Saved;
use super::trial::Outcome;
use crate::text::{Table, percent, thousands};

#[derive(Serialize)]
pub(super) struct Report {
    pub(super) version: &'static str,
    pub(super) items: u64,
    pub(super) trials: Vec<Outcome>,
    pub(super) refusal: Refusal,
    pub(super) saved: Saved,
    pub(super) seconds: f64,
}

/// What is said before the work begins.
pub(super) fn heading(items: u64, out: &mut dyn Write) -> Result<()> {
    writeln!(
        out,
        "cuculus {}: {} keys of 8 bytes into each filter, one thread",
        env!("CARGO_PKG_VERSION"),
        thousands(items)
    )?;
    Ok(out.flush()?)
}

impl Report {
    pub(super) fn write_json(&self, out: &mut dyn Write) -> Result<()> {
        let json = serde_json::to_string_pretty(self)?;
        writeln!(out, "{json}")?;
        Ok(())
    }

    pub(super) fn write_text(&self, full_stats: &str, out: &mut dyn Write) -> Result<()> {
        let Self { refusal, saved, .. } = self;
        writeln!(
            out,
            "\nFilled to refusal, with room for {} keys",
            thousands(refusal.capacity as u64)
        )?;
        let (keys, load) = (thousands(refusal.keys as u64), percent(refusal.load, 1));
        writeln!(out, "  took {keys} ({load} of its slots), then: {}", refusal.error)?;
        writeln!(out, "  the refusal changed nothing: same bytes as without it")?;

        writeln!(out, "\nSaved and loaded, with {} keys", thousands(saved.keys as u64))?;
        writeln!(
            out,
            "  {} bytes, written in {:.0} ms, read and checked in {:.0} ms: same bytes, every key \
             found",
            thousands(saved.file_bytes),
            1e3 * saved.write_seconds,
            1e3 * saved.read_seconds
        )?;

        let name = self.trials.last().map_or("", |trial| trial.name);
        writeln!(out, "\nThe filter {name:?} when it was full")?;
        for line in full_stats.lines() {
            writeln!(out, "  {line}")?;
        }

        writeln!(
            out,
            "\nMillions of keys a second, hashing included; lookups of present and of absent keys"
        )?;
        self.table().write(out)?;
        writeln!(out, "{:.1} s in all", self.seconds)?;
        Ok(())
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[
            "filter", "promised", "measured", "missed", "bits/key", "load", "insert", "lookup",
            "batched", "delete",
        ]);
        let millions = |speed: f64| format!("{:.1}", speed / 1e6);
        for trial in &self.trials {
            table.row(vec![
                trial.name.into(),
                percent(trial.promised_false_positive_rate, 3),
                percent(trial.measured_false_positive_rate, 3),
                thousands(trial.false_negatives),
                format!("{:.2}", trial.bits_per_key),
                percent(trial.load, 1),
                millions(trial.inserts_per_second),
                millions(trial.lookups_per_second),
                millions(trial.batched_lookups_per_second),
                millions(trial.deletes_per_second),
            ]);
        }
        table
    }
}
