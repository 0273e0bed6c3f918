//! The time that a thread has worked, whoever else works on the same machine.

use std::time::Instant;

/// A moment from which time is counted.
#[derive(Debug)]
pub struct Clock {
    since: Instant,
    start: f64,
}

impl Clock {
    /// Now.
    #[must_use]
    pub fn start() -> Self {
        let since = Instant::now();
        Self { since, start: worked(since) }
    }

    /// What this thread has worked since.
    #[must_use]
    pub fn nanoseconds(&self) -> f64 {
        worked(self.since) - self.start
    }
}

/// Nanoseconds that this thread has had a processor for; where nobody says, that have passed.
fn worked(since: Instant) -> f64 {
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let said = said.and_then(|line| line.split(' ').next()?.parse().ok());
    said.unwrap_or_else(|| since.elapsed().as_nanos() as f64)
}
