//! How long work takes. Knows nothing of what it times.

use std::time::Duration;

/// Runs `work` and measures how long this thread was on a processor for it.
///
/// Time on the processor and not on the wall, because other programs that take turns with this
/// one would be counted otherwise. Where the system does not report it, wall time is used.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = now();
    let result = work();
    (now().saturating_sub(start), result)
}

pub(crate) fn mops(operations: usize, time: Duration) -> f64 {
    operations as f64 / time.as_secs_f64().max(1e-9) / 1e6
}

pub(crate) fn nanoseconds(operations: usize, time: Duration) -> f64 {
    time.as_secs_f64() * 1e9 / operations.max(1) as f64
}

#[cfg(unix)]
fn now() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(not(unix))]
fn now() -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;

    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}
