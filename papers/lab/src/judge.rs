//! Claims and tables in few words, and findings about lines of numbers: whether a line is level,
//! falls, or is above another.

use cuculus_page::{Finding, Holds};

/// What is claimed, what was measured, and whether that holds: two texts with their arguments, and
/// a verdict or a condition; then, where there are, the number that decides, and why it does not
/// hold.
macro_rules! claim {
    (
        $claim:literal $(, $of:expr)*; $measured:literal $(, $by:expr)*;
        $holds:expr $(=> $value:expr)? $(; $reason:expr)?
    ) => {
        Finding::new(format!($claim $(, $of)*), format!($measured $(, $by)*), $holds)
            $(.valued($value))? $(.because($reason))?
    };
}
pub(crate) use claim;

/// A table with a row for each thing, and a column for each heading and what it has of the thing.
macro_rules! table {
    ($rows:expr, |$row:pat_param| { $($head:literal: $cell:expr;)* }) => {
        Table::of($rows, &[$(($head, &|row| {
            #[allow(unused_variables, reason = "a column need not need all of a row")]
            let $row = row;
            $cell
        })),*])
    };
}
pub(crate) use table;

/// This close to a limit on times, a claim holds in part: the machine's noise decides there.
const NEARLY: f64 = 0.9;

/// A claim that a line is level: its least value is at least this share of its largest.
pub(crate) fn level(what: &str, line: &[f64], least: f64) -> Finding {
    let (low, high) = range(line.iter().copied());
    let share = if high > 0.0 { low / high } else { 0.0 };
    claim!("{what}: the slowest is at least {:.0} % of the fastest", 100.0 * least;
        "{:.0} %", 100.0 * share; Holds::nearly(share / least, NEARLY))
}

/// A claim that a line falls: its last value is at most this share of its first.
pub(crate) fn falls(what: &str, line: &[f64], most: f64) -> Finding {
    let share = match line {
        [first, .., last] if *first > 0.0 => last / first,
        _ => 1.0,
    };
    claim!("{what}: at the end at most {:.0} % of the start", 100.0 * most;
        "{:.0} %", 100.0 * share; Holds::nearly(most / share, NEARLY))
}

/// At how many points one line is above another.
pub(crate) fn points_above(line: &[f64], other: &[f64]) -> usize {
    line.iter().zip(other).filter(|(one, other)| one > other).count()
}

pub(crate) fn range(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    values.into_iter().fold(none, |range, value| (range.0.min(value), range.1.max(value)))
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_follow_the_lines() {
        assert_eq!(points_above(&[1.0, 3.0], &[2.0, 2.0]), 1);
        assert_eq!(level("x", &[9.0, 10.0], 0.9).holds, Holds::Yes);
        assert_eq!(level("x", &[8.5, 10.0], 0.9).holds, Holds::Partly);
        assert_eq!(level("x", &[8.0, 10.0], 0.9).holds, Holds::No);
        assert_eq!(level("x", &[2.0, 4.0, 3.0], 0.9).measured, "50 %");
        assert_eq!(falls("x", &[10.0, 5.0], 0.5).holds, Holds::Yes);
        assert_eq!(falls("x", &[4.0, 9.0, 1.0], 0.1).measured, "25 %");
        let falls = falls("x", &[10.0, 6.0], 0.5).because("caches");
        assert_eq!((falls.holds, falls.reason.as_str()), (Holds::No, "caches"));
    }
}
