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
    /// The number that decides, where it is one number: what runs with other seeds are compared by.
    pub value: Option<f64>,
    /// Whose claim it is, where that matters.
    pub about: Option<Claimant>,
    /// Whether times decide: another machine, or a busy one, may find otherwise.
    pub is_timed: bool,
}

/// Whose claim it is. Each kind is counted apart from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claimant {
    /// A paper's.
    Paper,
    /// Ours, about what we made.
    Ours,
    /// What others promise of what they made.
    Others,
}

impl Claimant {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; 3] = [Self::Paper, Self::Ours, Self::Others];

    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Paper => "claims of the papers",
            Self::Ours => "claims of ours",
            Self::Others => "claims of others",
        }
    }
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
    /// What was measured cannot decide: it was too small, or too short.
    Untested,
}

impl From<bool> for Holds {
    fn from(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

impl Holds {
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
        Self::graded(share >= 1.0, share >= nearly)
    }

    /// Yes if a claim holds fully, partly if at least `in_part`, and no otherwise.
    #[must_use]
    pub fn graded(fully: bool, in_part: bool) -> Self {
        match (fully, in_part) {
            (true, _) => Self::Yes,
            (false, true) => Self::Partly,
            (false, false) => Self::No,
        }
    }

    /// Yes if a number is no further off than `same`, and partly if no further than `in_part`.
    #[must_use]
    pub fn within(off: f64, same: f64, in_part: f64) -> Self {
        Self::graded(off.abs() <= same, off.abs() <= in_part)
    }

    /// The verdict in words.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Yes => "holds",
            Self::No => "does not hold",
            Self::Partly => "holds in part",
            Self::Untested => "not tested at this size",
        }
    }

    /// The verdict in words, of this many claims.
    pub(super) fn word_for(self, count: usize) -> &'static str {
        match self {
            Self::Yes if count != 1 => "hold",
            Self::No if count != 1 => "do not hold",
            Self::Partly if count != 1 => "hold in part",
            one => one.word(),
        }
    }

    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Partly => "partly",
            Self::Untested => "untested",
        }
    }
}

impl Finding {
    /// A claim with a verdict, or a condition, that the caller has computed.
    pub fn new(
        claim: impl Into<String>,
        measured: impl Into<String>,
        holds: impl Into<Holds>,
    ) -> Self {
        Self {
            claim: claim.into(),
            measured: measured.into(),
            holds: holds.into(),
            reason: String::new(),
            value: None,
            about: None,
            is_timed: false,
        }
    }

    /// A claim that holds or does not.
    pub fn when(claim: impl Into<String>, measured: impl Into<String>, holds: bool) -> Self {
        Self::new(claim, measured, holds)
    }

    /// A claim that a number is at least `limit`. A number that is not one is below every limit.
    pub fn at_least(claim: impl Into<String>, value: f64, limit: f64) -> Self {
        let claim = format!("{} at least {}", claim.into(), short(limit));
        Self::new(claim, short(value), value >= limit).valued(value)
    }

    /// A claim that a number is at most `limit`.
    pub fn at_most(claim: impl Into<String>, value: f64, limit: f64) -> Self {
        let claim = format!("{} at most {}", claim.into(), short(limit));
        Self::new(claim, short(value), value <= limit).valued(value)
    }

    /// A claim that something never happens.
    pub fn never(claim: impl Into<String>, count: usize) -> Self {
        Self::new(claim, count.to_string(), count == 0).valued(count as f64)
    }

    /// Adds the number that decides.
    #[must_use]
    pub fn valued(mut self, value: f64) -> Self {
        self.value = Some(value);
        self
    }

    /// Says whose claim it is.
    #[must_use]
    pub fn of(mut self, about: Claimant) -> Self {
        self.about = Some(about);
        self
    }

    /// Says that times decide.
    #[must_use]
    pub fn timed(mut self) -> Self {
        self.is_timed = true;
        self
    }

    /// Not decided, for this reason, unless `decides`: what was measured stays.
    #[must_use]
    pub fn if_decided(mut self, decides: bool, reason: &str) -> Self {
        if !decides {
            self.holds = Holds::Untested;
            reason.clone_into(&mut self.reason);
        }
        self
    }

    /// One finding out of those of several seeds: a verdict that all of them share, or in part, and
    /// in words how many held and how far the numbers are spread. `None` without any.
    #[must_use]
    pub fn over_seeds(all: &[Self]) -> Option<Self> {
        let mut one = all.first()?.clone();
        let held = all.iter().filter(|finding| finding.holds == Holds::Yes).count();
        if all.iter().any(|finding| finding.holds != one.holds) {
            one.holds = Holds::Partly;
            if let Some(reason) = all.iter().map(|one| &one.reason).find(|text| !text.is_empty()) {
                one.reason.clone_from(reason);
            }
            one.measured += &format!("; held with {held} of {} seeds", all.len());
        }
        let values: Vec<f64> = all.iter().filter_map(|finding| finding.value).collect();
        if all.len() > 1 && values.len() == all.len() {
            let (least, most) =
                values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |range, &value| {
                    (range.0.min(value), range.1.max(value))
                });
            one.value = Some(values.iter().sum::<f64>() / values.len() as f64);
            one.measured += &match least == most {
                true => format!(" (the same with {} seeds)", all.len()),
                false => {
                    // Both in one form, with as many decimals as tell them apart.
                    let is_small = least.abs().max(most.abs()) < 0.001;
                    let both = |decimals: usize| {
                        [least, most].map(|number| match is_small {
                            true => format!("{number:.*e}", decimals - 1),
                            false => plain(number, decimals),
                        })
                    };
                    let first = if least.abs() < 0.01 { 4 } else { 3 };
                    let told = (first..8).map(both).find(|[least, most]| least != most);
                    let [least, most] = told.unwrap_or_else(|| both(first));
                    format!(" ({least} to {most} over {} seeds)", all.len())
                }
            };
        }
        Some(one)
    }

    /// Adds the reason, unless the claim holds.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        if self.holds != Holds::Yes && self.holds != Holds::Untested {
            self.reason = reason.into();
        }
        self
    }
}

/// A number with three decimals at most, or in the scientific form if that would be nothing.
fn short(number: f64) -> String {
    if number != 0.0 && number.abs() < 0.01 {
        return format!("{number:.2e}");
    }
    plain(number, 3)
}

fn plain(number: f64, decimals: usize) -> String {
    let text = format!("{number:.decimals$}");
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
        let within = [0.009, -0.02, 0.04].map(|off| Holds::within(off, 0.01, 0.03));
        assert_eq!(within, [Holds::Yes, Holds::Partly, Holds::No]);
    }

    #[test]
    fn seeds_that_disagree_are_told_and_do_not_flip_a_verdict() {
        let at = |value| Finding::at_least("load", value, 0.9).because("chance");
        let one = Finding::over_seeds(&[at(0.95), at(0.91), at(0.89)]).unwrap();
        assert_eq!((one.holds, one.reason.as_str()), (Holds::Partly, "chance"));
        assert_eq!(one.measured, "0.95; held with 2 of 3 seeds (0.89 to 0.95 over 3 seeds)");
        assert!((one.value.unwrap() - 0.9166).abs() < 1e-3);
        let same = Finding::over_seeds(&[at(0.95), at(0.95)]).unwrap();
        assert_eq!(
            (same.holds, same.measured.as_str()),
            (Holds::Yes, "0.95 (the same with 2 seeds)")
        );
        assert_eq!(Finding::over_seeds(&[]), None);
    }

    #[test]
    fn what_cannot_decide_gives_no_verdict() {
        let tiny = || Finding::at_least("speed", 5.0, 1.0).because("noise");
        assert_eq!(tiny().if_decided(true, "in the caches").holds, Holds::Yes);
        let tiny = tiny().if_decided(false, "in the caches").because("noise");
        assert_eq!((tiny.holds, tiny.reason.as_str()), (Holds::Untested, "in the caches"));
        assert_eq!(tiny.measured, "5");
    }

    #[test]
    fn a_claim_names_its_limit_and_a_reason_stays_only_where_it_is_due() {
        let missed = Finding::at_most("bits per key", 12.3456, 12.0).because("the ring");
        assert_eq!(missed.claim, "bits per key at most 12");
        assert_eq!((missed.measured.as_str(), missed.reason.as_str()), ("12.346", "the ring"));
        assert_eq!(Finding::at_most("x", 1.0, 2.0).because("the ring").reason, "");
    }
}
