//! Progress on standard error: on a terminal a bar with the rate and the time left, or lines of JSON
//! for programs; problems in any case.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use cuculus_backup::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

use super::arguments;

const JSON_INTERVAL: Duration = Duration::from_secs(1);

/// What a bar counts.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Bytes,
    Steps,
}

pub(crate) struct TerminalProgress {
    bar: ProgressBar,
    shown: bool,
    done: AtomicU64,
    json: Option<Mutex<JsonLines>>,
}

struct JsonLines {
    unit: Unit,
    phase: String,
    total: Option<u64>,
    last: Instant,
}

impl JsonLines {
    fn print(&mut self, done: u64) {
        if self.phase.is_empty() {
            return;
        }
        self.last = Instant::now();
        let unit = if matches!(self.unit, Unit::Bytes) { "bytes" } else { "steps" };
        let line = json!({
            "progress": { "phase": self.phase, "done": done, "total": self.total, "unit": unit }
        });
        // If nobody reads, nothing is lost but the progress.
        let _ = writeln!(io::stderr(), "{line}");
    }
}

impl TerminalProgress {
    pub(crate) fn new(unit: Unit, how: arguments::ProgressStyle, quiet: bool) -> Self {
        let bar_wanted = how == arguments::ProgressStyle::Auto;
        let shown = bar_wanted && io::stderr().is_terminal() && !quiet;
        let target =
            if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        let template = match unit {
            Unit::Bytes => "{msg}  {bar:24} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
            Unit::Steps => "{msg}  {bar:24} {pos} of {len}, {eta} left",
        };
        let style = ProgressStyle::with_template(template);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        if shown {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        let lines = JsonLines { unit, phase: String::new(), total: None, last: Instant::now() };
        let json = (how == arguments::ProgressStyle::Json).then(|| Mutex::new(lines));
        Self { bar, shown, done: AtomicU64::new(0), json }
    }

    fn with_json(&self, change: impl FnOnce(&mut JsonLines)) {
        if let Some(json) = &self.json {
            change(&mut json.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl Progress for TerminalProgress {
    fn wants_total(&self) -> bool {
        self.shown || self.json.is_some()
    }

    fn advance(&self, units: u64) {
        if !self.shown && self.json.is_none() {
            return;
        }
        let done = self.done.fetch_add(units, Ordering::Relaxed) + units;
        // Without a total there is nothing to draw.
        if self.shown && self.bar.length().is_some() {
            self.bar.set_position(done);
        }
        self.with_json(|json| {
            if json.last.elapsed() >= JSON_INTERVAL {
                json.print(done);
            }
        });
    }

    fn phase(&self, name: &str, total: Option<u64>) {
        let done = self.done.swap(0, Ordering::Relaxed);
        self.bar.set_message(name.to_owned());
        total.map_or_else(|| self.bar.unset_length(), |total| self.bar.set_length(total));
        self.bar.reset();
        self.with_json(|json| {
            json.print(done);
            (json.phase, json.total) = (name.to_owned(), total);
        });
    }

    fn problem(&self, what: &str) {
        self.bar.suspend(|| crate::print_error(what));
    }
}

/// Clears the bar after an error too.
impl Drop for TerminalProgress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        self.with_json(|json| json.print(self.done.load(Ordering::Relaxed)));
    }
}
