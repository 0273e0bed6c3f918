//! Claims about lines of numbers, and whether they hold. The limits are part of every claim.

use cuculus_page::{Finding, Holds};

/// The least value as a share of the largest: one for a flat line.
pub(super) fn evenness(line: &[f64]) -> f64 {
    let least = line.iter().copied().fold(f64::INFINITY, f64::min);
    let most = line.iter().copied().fold(0.0, f64::max);
    if most > 0.0 { least / most } else { 0.0 }
}

/// The last value as a share of the first.
pub(super) fn change(line: &[f64]) -> f64 {
    match line {
        [first, .., last] if *first > 0.0 => last / first,
        _ => 1.0,
    }
}

/// At how many points one line is above another.
pub(super) fn points_above(line: &[f64], other: &[f64]) -> usize {
    line.iter().zip(other).filter(|(one, other)| one > other).count()
}

/// Holds for all of the cases, for some, or for none.
pub(super) fn for_all(held: usize, cases: usize) -> Holds {
    match held {
        held if held == cases => Holds::Yes,
        0 => Holds::No,
        _ => Holds::Partly,
    }
}

/// So far short of a limit on times, a claim holds in part: the machine's noise decides there.
const NEARLY: f64 = 0.9;

/// What is at least one, or nearly.
fn nearly(share: f64) -> Holds {
    match share {
        1.0.. => Holds::Yes,
        NEARLY.. => Holds::Partly,
        _ => Holds::No,
    }
}

/// A claim that a line stays level: its least value is at least this share of its largest.
pub(super) fn level(what: &str, line: &[f64], least: f64) -> Finding {
    let share = evenness(line);
    Finding {
        claim: format!("{what}: the slowest is at least {:.0} % of the fastest", 100.0 * least),
        measured: format!("{:.0} %", 100.0 * share),
        holds: nearly(share / least),
        reason: String::new(),
    }
}

/// A claim that a line falls: its last value is at most this share of its first.
pub(super) fn falls(what: &str, line: &[f64], most: f64) -> Finding {
    let share = change(line);
    Finding {
        claim: format!("{what}: at the end at most {:.0} % of the start", 100.0 * most),
        measured: format!("{:.0} %", 100.0 * share),
        holds: nearly(most / share),
        reason: String::new(),
    }
}

/// The finding with a reason, given where it does not hold.
pub(super) fn because(finding: Finding, reason: &str) -> Finding {
    match finding.holds {
        Holds::Yes => finding,
        _ => Finding { reason: reason.to_owned(), ..finding },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_follow_the_lines() {
        assert_eq!(evenness(&[2.0, 4.0, 3.0]), 0.5);
        assert_eq!(change(&[4.0, 9.0, 1.0]), 0.25);
        assert_eq!(points_above(&[1.0, 3.0], &[2.0, 2.0]), 1);
        assert_eq!(level("x", &[9.0, 10.0], 0.9).holds, Holds::Yes);
        assert_eq!(level("x", &[8.5, 10.0], 0.9).holds, Holds::Partly);
        assert_eq!(level("x", &[8.0, 10.0], 0.9).holds, Holds::No);
        assert_eq!(falls("x", &[10.0, 5.0], 0.5).holds, Holds::Yes);
        let falls = because(falls("x", &[10.0, 6.0], 0.5), "caches");
        assert_eq!((falls.holds, falls.reason.as_str()), (Holds::No, "caches"));
        assert_eq!([0, 1, 2].map(|held| for_all(held, 2)), [Holds::No, Holds::Partly, Holds::Yes]);
    }
}
