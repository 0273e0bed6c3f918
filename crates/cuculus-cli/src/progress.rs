//! How far a long work is, on standard error: a bar that moves where somebody is watching, and a
//! line for each part where not. Knows amounts and names, nothing of the work.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

pub(crate) struct Progress {
    bar: ProgressBar,
    lines: bool,
}

impl Progress {
    /// For work of so many units in all.
    pub(crate) fn new(units: u64) -> Self {
        let lines = !io::stderr().is_terminal();
        let target =
            if lines { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(units), target);
        let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {elapsed:>3}  {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        if !lines {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Self { bar, lines }
    }

    /// The next part of the work begins.
    pub(crate) fn part(&self, name: String) {
        if self.lines {
            // A closed standard error is no reason to stop.
            let _ = writeln!(io::stderr(), "{name}");
        }
        self.bar.set_message(name);
    }

    /// So many units are done since the last call.
    pub(crate) fn advance(&self, units: u64) {
        self.bar.inc(units);
    }
}

/// An error, too, leaves a clean line behind.
impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
