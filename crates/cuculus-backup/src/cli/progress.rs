//! Progress on standard error: on a terminal a bar with the rate and the time left; problems in any
//! case.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cuculus_backup::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

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
}

impl TerminalProgress {
    pub(crate) fn new(unit: Unit, quiet: bool) -> Self {
        let shown = io::stderr().is_terminal() && !quiet;
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
        Self { bar, shown, done: AtomicU64::new(0) }
    }
}

impl Progress for TerminalProgress {
    fn wants_total(&self) -> bool {
        self.shown
    }

    fn total(&self, units: u64) {
        self.bar.set_length(units);
        self.bar.reset();
    }

    fn advance(&self, units: u64) {
        if self.shown {
            // Without a total there is nothing to draw.
            let done = self.done.fetch_add(units, Ordering::Relaxed) + units;
            if self.bar.length().is_some() {
                self.bar.set_position(done);
            }
        }
    }

    fn phase(&self, name: &str) {
        self.done.store(0, Ordering::Relaxed);
        self.bar.set_message(name.to_owned());
    }

    fn problem(&self, what: &str) {
        self.bar.suspend(|| crate::print_error(what));
    }
}

/// Clears the bar after an error too.
impl Drop for TerminalProgress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
