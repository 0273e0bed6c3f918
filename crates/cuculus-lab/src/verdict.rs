//! Numbers against targets. A verdict is computed from a number of the same run, never written.

use cuculus_page::table::{Table, number};

/// What a number must keep to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// No less than this.
    AtLeast(f64),
    /// No more than this.
    AtMost(f64),
}

/// A claim with its number and target.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// What the number is.
    pub claim: String,
    /// The number, unless what it is computed from was not measured.
    pub value: Option<f64>,
    /// What it must keep to.
    pub target: Target,
}

impl Verdict {
    /// A claim that needs `value` to be at least `target`.
    pub fn at_least(claim: impl Into<String>, value: Option<f64>, target: f64) -> Self {
        Self { claim: claim.into(), value, target: Target::AtLeast(target) }
    }

    /// A claim that needs `value` to be at most `target`.
    pub fn at_most(claim: impl Into<String>, value: Option<f64>, target: f64) -> Self {
        Self { claim: claim.into(), value, target: Target::AtMost(target) }
    }

    /// Whether the target is kept, if the number is there.
    #[must_use]
    pub fn passed(&self) -> Option<bool> {
        self.value.map(|value| match self.target {
            Target::AtLeast(target) => value >= target,
            Target::AtMost(target) => value <= target,
        })
    }

    /// `PASS`, `MISS`, or `n/a` without a number.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self.passed() {
            Some(true) => "PASS",
            Some(false) => "MISS",
            None => "n/a",
        }
    }
}

/// The verdicts as a table.
#[must_use]
pub fn table(verdicts: &[Verdict]) -> Table {
    let mut table = Table::new(["claim", "measured", "target", "verdict"]);
    for verdict in verdicts {
        let target = match verdict.target {
            Target::AtLeast(target) => format!(">= {target:.3}"),
            Target::AtMost(target) => format!("<= {target:.3}"),
        };
        let measured = number(verdict.value, 3);
        table.row([verdict.claim.clone(), measured, target, verdict.word().to_owned()]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_follow_the_numbers() {
        let word = |value, target| Verdict { claim: String::new(), value, target }.word();
        assert_eq!(word(Some(2.0), Target::AtLeast(2.0)), "PASS");
        assert_eq!(word(Some(1.9), Target::AtLeast(2.0)), "MISS");
        assert_eq!(word(Some(2.0), Target::AtMost(2.0)), "PASS");
        assert_eq!(word(Some(2.1), Target::AtMost(2.0)), "MISS");
        assert_eq!(word(Some(f64::NAN), Target::AtMost(2.0)), "MISS");
        assert_eq!(word(None, Target::AtMost(2.0)), "n/a");
    }
}
