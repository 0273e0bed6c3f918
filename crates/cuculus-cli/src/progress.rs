//! How far long work is, on standard error: a bar that moves where somebody is watching. Knows
//! amounts, nothing of the work.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

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
