//! How far a long work is, on standard error: a bar that moves where somebody is watching, and a
//! line for each part where not. Knows amounts and names, nothing of the work.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

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

/// How much of a stream is through, where somebody is watching and it takes long.
pub(crate) struct Meter {
    bar: ProgressBar,
    is_watched: bool,
    begun: Instant,
}

/// Work that is done sooner needs no bar.
const LONG: Duration = Duration::from_secs(1);

impl Meter {
    /// For a stream of so many bytes, if that is known. `prints` if lines go to standard output
    /// meanwhile: on the same screen a bar would be in their way.
    pub(crate) fn new(bytes: Option<u64>, prints: bool) -> Self {
        let is_watched = io::stderr().is_terminal() && !(prints && io::stdout().is_terminal());
        let bar = ProgressBar::with_draw_target(bytes, ProgressDrawTarget::hidden());
        let template = match bytes {
            Some(_) => "{bar:30} {percent:>3} %  {elapsed:>3}  {bytes_per_sec}",
            None => "{bytes}  {elapsed:>3}  {bytes_per_sec}",
        };
        let style = ProgressStyle::with_template(template);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, is_watched, begun: Instant::now() }
    }

    /// So many bytes are through since the last call.
    pub(crate) fn advance(&mut self, bytes: u64) {
        if self.is_watched && self.begun.elapsed() > LONG {
            self.is_watched = false;
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.inc(bytes);
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// An error, too, leaves a clean line behind.
impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
