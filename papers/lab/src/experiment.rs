//! What an experiment is: a name, a question, options, and a function that returns one kind of
//! result. Knows nothing of particular experiments, nor of how results are printed or drawn.

use std::collections::BTreeMap;
use std::ops::Range;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::anyhow;
use cuculus_page::{Claimant, Finding, Plot, Section, Table};
use serde_json::{Value, json};

#[derive(Clone, Copy)]
pub struct Experiment {
    pub name: &'static str,
    pub title: &'static str,
    /// The question that it answers, in one line, and the figure or table of the paper if there is
    /// one.
    pub question: &'static str,
    /// Whose claims its findings are, unless a finding says otherwise.
    pub about: Claimant,
    /// Where its chance comes from, and so how often it is run.
    pub chance: Chance,
    pub options: &'static [Choice],
    pub once: Once,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chance {
    /// From the seed: it is run with several, and a finding is about all of them.
    Seed,
    /// From seeds that it draws by itself, at least as many.
    OwnSeeds,
    /// From the clock: the best of several rounds counts, and another seed would change nothing.
    Clock,
    /// There is none: it computes.
    None,
}

/// How many seeds an experiment is run with whose chance comes from the seed.
pub const SEEDS: u64 = 5;

type Once = fn(&Settings<'_>) -> anyhow::Result<Outcome>;

impl Experiment {
    /// One that judges claims of a paper, without options: its name and title, its question, its
    /// chance, and how it is run once.
    pub(crate) const fn paper(
        (name, title): (&'static str, &'static str),
        question: &'static str,
        chance: Chance,
        once: Once,
    ) -> Self {
        Self { name, title, question, about: Claimant::Paper, chance, options: &[], once }
    }

    pub(crate) const fn ours(
        names: (&'static str, &'static str),
        question: &'static str,
        chance: Chance,
        once: Once,
    ) -> Self {
        Self { about: Claimant::Ours, ..Self::paper(names, question, chance, once) }
    }

    pub(crate) const fn with(self, options: &'static [Choice]) -> Self {
        Self { options, ..self }
    }

    /// Runs it with as many seeds as its chance needs. Plots and tables are those of the first.
    ///
    /// Several seeds run on two threads: nothing of what they find is a time of the wall.
    ///
    /// # Errors
    /// If a run fails.
    pub fn run(&self, settings: &Settings<'_>) -> anyhow::Result<Outcome> {
        let seeds = if self.chance == Chance::Seed { settings.seeds.max(1) } else { 1 };
        if seeds == 1 {
            return Ok(self.over_seeds(vec![(self.once)(settings)?]));
        }
        (settings.progress)(&format!("{seeds} seeds"));
        let Settings { size, seed, given, .. } = *settings;
        let next = AtomicU64::new(0);
        let found = Mutex::new(BTreeMap::new());
        let work = || loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= seeds {
                return;
            }
            let seed = seed.wrapping_add(number);
            let outcome = (self.once)(&Settings { size, seed, seeds: 1, progress: &|_| (), given });
            found.lock().unwrap_or_else(PoisonError::into_inner).insert(number, outcome);
        };
        thread::scope(|scope| {
            scope.spawn(work);
            work();
        });
        let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let all = found.into_values().collect::<anyhow::Result<Vec<_>>>()?;
        Ok(self.over_seeds(all))
    }

    fn over_seeds(&self, mut all: Vec<Outcome>) -> Outcome {
        let mut others = all.split_off(1.min(all.len()));
        let mut first = all.pop().unwrap_or_default();
        first.wrong_answers += others.iter().map(|of| of.wrong_answers).sum::<usize>();
        for finding in &mut first.findings {
            let mut same = vec![finding.clone()];
            for other in &mut others {
                let at = other.findings.iter().position(|of| of.claim == finding.claim);
                same.extend(at.map(|at| other.findings.remove(at)));
            }
            if let Some(merged) = Finding::over_seeds(&same) {
                *finding = merged;
            }
            finding.about = finding.about.or(Some(self.about));
        }
        // A claim that only some seeds came to is not lost.
        first.findings.extend(others.into_iter().flat_map(|of| of.findings));
        first
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    pub name: &'static str,
    /// What it takes; nothing if it is a flag.
    pub value: &'static str,
    pub help: &'static str,
}

impl Choice {
    pub const fn new(name: &'static str, value: &'static str, help: &'static str) -> Self {
        Self { name, value, help }
    }
}

pub mod choices {
    use super::Choice;

    pub const ITEMS: Choice = Choice::new("items", "N,…", "numbers of keys, separated by commas");
    pub const FPR: Choice =
        Choice::new("fpr", "RATE,…", "false positive rates to build for, separated by commas");
    pub const ROUNDS: Choice = Choice::new("rounds", "N", "repetitions; the best one counts");
    pub const QUERIES: Choice =
        Choice::new("queries", "N", "lookups of each kind, or absent keys tried");
    pub const ONLY: Choice =
        Choice::new("only", "NAME,…", "only filters with one of these texts in their name");
    pub const ALL: Choice = Choice::new("all", "", "more filters and parameters than by default");
    pub const SLOTS: Choice = Choice::new("slots", "N,…", "slots per bucket");
    pub const LOG2_BUCKETS: Choice =
        Choice::new("log2-buckets", "N", "the table has two to this power buckets");
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Seconds on a laptop.
    Quick,
    /// As in the papers, or as large as the claim.
    Full,
}

#[derive(Clone, Copy)]
pub struct Settings<'a> {
    pub size: Size,
    pub seed: u64,
    /// How many seeds, that one first, where the seed is what is left to chance.
    pub seeds: u64,
    /// Called with the part of the work that begins.
    pub progress: &'a dyn Fn(&str),
    pub given: &'a [(&'a str, String)],
}

impl Settings<'_> {
    pub fn pick<T>(&self, quick: T, full: T) -> T {
        if self.size == Size::Quick { quick } else { full }
    }

    /// The value of an option, or the default; an error if it cannot be read.
    pub fn value<T: FromStr>(&self, choice: Choice, default: T) -> anyhow::Result<T> {
        self.text(choice).map_or(Ok(default), |text| parse(choice, text))
    }

    pub fn list<T: FromStr + Clone>(
        &self,
        choice: Choice,
        default: &[T],
    ) -> anyhow::Result<Vec<T>> {
        match self.text(choice) {
            None => Ok(default.to_vec()),
            Some(text) => text.split(',').map(|part| parse(choice, part)).collect(),
        }
    }

    pub fn flag(&self, choice: Choice) -> bool {
        self.text(choice).is_some()
    }

    /// As many seeds, of a range that is another for every seed of the experiment.
    pub fn seeds_of(&self, count: u64) -> Range<u64> {
        let first = self.seed.wrapping_mul(1 << 16);
        first..first.wrapping_add(count)
    }

    /// Whether a filter of this name is among those of `--only`.
    pub fn wants(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        self.text(choices::ONLY)
            .is_none_or(|only| only.to_lowercase().split(',').any(|part| name.contains(part)))
    }

    fn text(&self, choice: Choice) -> Option<&str> {
        self.given.iter().find(|(name, _)| *name == choice.name).map(|(_, text)| text.as_str())
    }
}

fn parse<T: FromStr>(choice: Choice, text: &str) -> anyhow::Result<T> {
    let Choice { name, value, .. } = choice;
    text.trim().parse().map_err(|_| anyhow!("--{name}: {text:?} is not a value; expected {value}"))
}

#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub findings: Vec<Finding>,
    pub plots: Vec<Plot>,
    pub tables: Vec<(String, Table)>,
    pub notes: Vec<String>,
    /// Wrong answers of our own filters: keys lost, or refused where that is not the question.
    pub wrong_answers: usize,
}

impl Outcome {
    /// Claims and their verdicts; what else there is to see is added to them.
    pub fn of(findings: impl IntoIterator<Item = Finding>) -> Self {
        Self { findings: findings.into_iter().collect(), ..Self::default() }
    }

    pub fn plot(self, plot: Plot) -> Self {
        self.plots([plot])
    }

    pub fn plots(mut self, plots: impl IntoIterator<Item = Plot>) -> Self {
        self.plots.extend(plots);
        self
    }

    pub fn table(self, title: impl Into<String>, table: Table) -> Self {
        self.tables([(title.into(), table)])
    }

    pub fn tables(mut self, tables: impl IntoIterator<Item = (String, Table)>) -> Self {
        self.tables.extend(tables);
        self
    }

    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    pub fn notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }

    pub fn wrong(mut self, answers: usize) -> Self {
        self.wrong_answers += answers;
        self
    }

    pub fn section(self, experiment: &Experiment, command: String) -> Section {
        Section {
            name: experiment.name.to_owned(),
            title: experiment.title.to_owned(),
            question: experiment.question.to_owned(),
            command,
            findings: self.findings,
            plots: self.plots,
            tables: self.tables,
            notes: self.notes,
        }
    }

    pub fn to_json(&self) -> Value {
        let findings = self.findings.iter().map(|finding| {
            json!({
                "claim": finding.claim,
                "measured": finding.measured,
                "verdict": finding.holds.word(),
                "reason": finding.reason,
                "value": finding.value,
                "about": finding.about.map(Claimant::words),
                "timed": finding.is_timed,
            })
        });
        let tables = self.tables.iter().map(
            |(title, table)| json!({ "title": title, "rows": table.rows().collect::<Vec<_>>() }),
        );
        let plots = self.plots.iter().map(|plot| {
            let series = plot
                .series
                .iter()
                .map(|series| json!({ "name": series.name, "points": series.points }));
            json!({
                "title": plot.title,
                "x": plot.x.label,
                "y": plot.y.label,
                "series": series.collect::<Vec<_>>(),
            })
        });
        json!({
            "findings": findings.collect::<Vec<_>>(),
            "tables": tables.collect::<Vec<_>>(),
            "plots": plots.collect::<Vec<_>>(),
            "notes": self.notes,
            "wrong_answers": self.wrong_answers,
        })
    }
}

#[cfg(test)]
pub(crate) const QUICK: Settings<'static> =
    Settings { size: Size::Quick, seed: 1, seeds: 1, progress: &|_| (), given: &[] };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_or_refused() {
        let given =
            [("items", "3, 5".to_owned()), ("fpr", "much".to_owned()), ("only", "DCF".into())];
        let settings = Settings { given: &given, ..QUICK };
        assert_eq!(settings.list(choices::ITEMS, &[1usize]).unwrap(), [3, 5]);
        assert_eq!(settings.value(choices::ROUNDS, 7).unwrap(), 7);
        let error = settings.value(choices::FPR, 0.1).unwrap_err().to_string();
        assert_eq!(error, "--fpr: \"much\" is not a value; expected RATE,…");
        assert!(settings.wants("my dcf") && !settings.wants("CCF") && QUICK.wants("CCF"));
        assert!(settings.flag(choices::ITEMS) && !settings.flag(choices::ALL));
    }
}
