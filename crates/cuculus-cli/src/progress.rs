//! A progress bar on standard error for long reads, if standard error is a terminal. Knows bytes,
//! nothing of the work.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shows how much of a stream is done.
pub(crate) struct Meter {
    bar: ProgressBar,
    is_watched: bool,
    begun: Instant,
}

/// Shorter work needs no bar.
const LONG: Duration = Duration::from_secs(1);

impl Meter {
    /// For a stream of `bytes`, if the size is known. `prints`: whether lines go to standard output
    /// meanwhile; on the same terminal they and the bar would be mixed up.
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

    /// Adds the bytes that are done since the last call.
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
