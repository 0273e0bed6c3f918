//! Lines that the figures of all filters have in common.

use core::fmt;

/// All memory, divided by the keys held; infinite for an empty filter.
pub(crate) fn bits_per_key(size_in_bytes: usize, len: usize) -> f64 {
    size_in_bytes as f64 * 8.0 / len as f64
}

/// The slots, and how many of them are in use.
pub(crate) fn slots(f: &mut fmt::Formatter<'_>, slots: usize, utilization: f64) -> fmt::Result {
    write!(f, "slots                 {slots} ({:.2} % used)", 100.0 * utilization)
}

/// The memory, in all and a key.
pub(crate) fn memory(f: &mut fmt::Formatter<'_>, size_in_bytes: usize, len: usize) -> fmt::Result {
    write!(f, "memory                {size_in_bytes} bytes")?;
    if len > 0 {
        write!(f, ", {:.2} bits a key", bits_per_key(size_in_bytes, len))?;
    }
    Ok(())
}

/// The rate.
pub(crate) fn rate(f: &mut fmt::Formatter<'_>, expected: f64) -> fmt::Result {
    write!(f, "\nfalse positive rate   {:.4} %", 100.0 * expected)
}

/// The keys that could not be stored, if there are any.
pub(crate) fn refused(f: &mut fmt::Formatter<'_>, refused: u64) -> fmt::Result {
    if refused > 0 {
        write!(f, "\nrefused keys          {refused}")?;
    }
    Ok(())
}
