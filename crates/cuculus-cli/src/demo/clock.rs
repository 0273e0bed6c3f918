//! The time that this thread was on a processor. Knows nothing of what it times.

use std::time::Duration;

/// Runs `work`; returns how long this thread was on a processor for it.
///
/// Processor time, because wall-clock time would include other programs. Where the system does
/// not report processor time, it is wall-clock time.
pub(super) fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = now();
    let result = work();
    (now().saturating_sub(start), result)
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
