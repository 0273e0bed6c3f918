//! A claim, what was measured, and the verdict. The verdict is computed from the measured number
//! in the same call that states the claim, so that the two cannot drift apart.

/// A claim and its verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What is claimed, with the limit that decides.
    pub claim: String,
    /// What was measured.
    pub measured: String,
    /// Whether the claim holds.
    pub holds: Holds,
    /// Why it does not hold; empty if it does.
    pub reason: String,
}

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// As claimed.
    Yes,
    /// Not as claimed.
    No,
    /// In some cases, or under other conditions.
    Partly,
}

impl Holds {
    /// Yes or no.
    #[must_use]
    pub fn when(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }

    /// Yes if it held in all cases, no if in none, and partly otherwise.
    #[must_use]
    pub fn in_cases(held: usize, cases: usize) -> Self {
        match held {
            held if held == cases => Self::Yes,
            0 => Self::No,
            _ => Self::Partly,
        }
    }

    /// Yes if `share` is at least one, partly if at least `nearly`, and no otherwise.
    #[must_use]
    pub fn nearly(share: f64, nearly: f64) -> Self {
        match share {
            1.0.. => Self::Yes,
            share if share >= nearly => Self::Partly,
            _ => Self::No,
        }
    }

    /// The verdict in words.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Yes => "holds",
            Self::No => "does not hold",
            Self::Partly => "holds in part",
        }
    }

    /// The class of the style sheet.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Partly => "partly",
        }
    }
}

impl Finding {
    /// A claim with a verdict that the caller has computed.
    pub fn new(claim: impl Into<String>, measured: impl Into<String>, holds: Holds) -> Self {
        Self { claim: claim.into(), measured: measured.into(), holds, reason: String::new() }
    }

    /// A claim that holds or does not.
    pub fn when(claim: impl Into<String>, measured: impl Into<String>, holds: bool) -> Self {
        Self::new(claim, measured, Holds::when(holds))
    }

    /// A claim that a number is at least `limit`. A number that is not one is below every limit.
    pub fn at_least(claim: impl Into<String>, value: f64, limit: f64) -> Self {
        let claim = format!("{} at least {}", claim.into(), short(limit));
        Self::when(claim, short(value), value >= limit)
    }

    /// A claim that a number is at most `limit`.
    pub fn at_most(claim: impl Into<String>, value: f64, limit: f64) -> Self {
        let claim = format!("{} at most {}", claim.into(), short(limit));
        Self::when(claim, short(value), value <= limit)
    }

    /// A claim that something never happens.
    pub fn never(claim: impl Into<String>, count: usize) -> Self {
        Self::when(claim, count.to_string(), count == 0)
    }

    /// Adds the reason, unless the claim holds.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        if self.holds != Holds::Yes {
            self.reason = reason.into();
        }
        self
    }
}

/// A number with three decimals at most.
fn short(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_follow_the_numbers() {
        assert_eq!(Finding::at_least("x", 2.0, 2.0).holds, Holds::Yes);
        assert_eq!(Finding::at_least("x", 1.9, 2.0).holds, Holds::No);
        assert_eq!(Finding::at_most("x", 2.0, 2.0).holds, Holds::Yes);
        assert_eq!(Finding::at_most("x", 2.1, 2.0).holds, Holds::No);
        assert_eq!(Finding::at_most("x", f64::NAN, 2.0).holds, Holds::No);
        assert_eq!(Finding::at_least("x", f64::NAN, 2.0).holds, Holds::No);
        assert_eq!(Finding::never("x", 1).holds, Holds::No);
        assert_eq!(
            [0, 1, 2].map(|held| Holds::in_cases(held, 2).word()).join(", "),
            "does not hold, holds in part, holds"
        );
        assert_eq!(
            [0.8, 0.95, 1.0].map(|share| Holds::nearly(share, 0.9)),
            [Holds::No, Holds::Partly, Holds::Yes]
        );
    }

    #[test]
    fn a_claim_names_its_limit_and_a_reason_stays_only_where_it_is_due() {
        let missed = Finding::at_most("bits per key", 12.3456, 12.0).because("the ring");
        assert_eq!(missed.claim, "bits per key at most 12");
        assert_eq!((missed.measured.as_str(), missed.reason.as_str()), ("12.346", "the ring"));
        assert_eq!(Finding::at_most("x", 1.0, 2.0).because("the ring").reason, "");
    }
}
