//! The time. Knows the system's clock; every other module asks here.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    now_in_nanoseconds() / 1_000_000_000
}

pub(crate) fn now_in_nanoseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// Whether a time is known and at least this long ago.
pub(crate) fn is_past(time: Option<SystemTime>, age: Duration) -> bool {
    time.and_then(|time| time.elapsed().ok()).is_some_and(|elapsed| elapsed >= age)
}
