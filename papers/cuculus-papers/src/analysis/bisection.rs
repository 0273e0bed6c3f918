//! The number at which a condition stops to hold. Knows nothing of filters.

/// The largest number between `low` and `high` up to which `holds` does, if it does up to some
/// point and not beyond. Halves the interval until no number is left in between.
pub(super) fn last(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    loop {
        let middle = low + (high - low) / 2.0;
        // Also ends for bounds that are no numbers.
        if !(low < middle && middle < high) {
            return low;
        }
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
}
