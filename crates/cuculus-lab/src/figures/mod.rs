//! The papers' figures and tables, each as an experiment with a name and a question. An experiment
//! returns what it found; printing and drawing are done elsewhere.

mod acf;
mod ccf_features;
mod ccf_model;
mod ccf_ring;
mod ccf_trace;
mod cf_contenders;
mod cf_judge;
mod cf_load;
mod cf_lookup;
mod cf_occupancy;
mod cf_properties;
mod cf_space;
pub(crate) mod cf_table3;
mod cuckoo_table;
mod dbf;
mod dcf_compact;
mod dcf_duplicates;
mod dcf_model;
mod dcf_times;
mod peers;
mod systems;

pub use ccf_trace::of_trace;

use serde_json::{Value, json};

use cuculus_page::table::Table;
use cuculus_page::{Finding, Plot, Section};

/// How large experiments are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Seconds on a laptop.
    Quick,
    /// As in the papers.
    Paper,
}

/// What an experiment is run with.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    /// How large.
    pub size: Size,
    /// The seed of everything random.
    pub seed: u64,
    /// Told what is being done, for long work.
    pub progress: &'a dyn Fn(&str),
}

/// An experiment.
#[derive(Clone, Copy)]
pub struct Figure {
    /// Names it on the command line.
    pub name: &'static str,
    /// What it is called on a page.
    pub title: &'static str,
    /// The question that it answers, in one line, and the figure or table of the paper.
    pub question: &'static str,
    /// Runs it.
    pub run: fn(&Settings<'_>) -> anyhow::Result<Outcome>,
}

/// What an experiment found.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Claims and what became of them.
    pub findings: Vec<Finding>,
    /// To look at.
    pub plots: Vec<Plot>,
    /// To look up, each with a title.
    pub tables: Vec<(String, Table)>,
    /// What else there is to say.
    pub notes: Vec<String>,
}

/// All experiments, in the order of the papers.
pub const ALL: &[Figure] = &[
    systems::SYSTEMS,
    cuckoo_table::LOADS,
    cf_properties::PROPERTIES,
    cf_load::LOAD,
    cf_space::SPACE,
    cf_table3::TABLE3,
    cf_lookup::LOOKUP,
    cf_occupancy::OCCUPANCY,
    acf::ADAPTIVE,
    dbf::ADDRESSES,
    dcf_model::RATES,
    dcf_duplicates::DUPLICATES,
    dcf_model::RELOCATIONS,
    dcf_model::MEMORY,
    dcf_times::TIMES,
    dcf_compact::COMPACT,
    ccf_features::FEATURES,
    ccf_ring::RATES,
    ccf_model::THRESHOLDS,
    ccf_ring::LOADS,
    ccf_model::SUCCESS,
    ccf_trace::TRACE,
    ccf_trace::PARAMETERS,
    peers::FIXED,
    peers::GROWING,
];

impl Figure {
    /// The experiment of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|figure| figure.name == name)
    }

    /// The part of a page for an outcome.
    #[must_use]
    pub fn section(&self, outcome: Outcome, command: String) -> Section {
        let Outcome { findings, plots, tables, notes } = outcome;
        Section {
            name: self.name.to_owned(),
            title: self.title.to_owned(),
            question: self.question.to_owned(),
            command,
            findings,
            plots,
            tables,
            notes,
        }
    }
}

impl Outcome {
    /// For programs: every finding, table and series.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let findings = self.findings.iter().map(|finding| {
            json!({
                "claim": finding.claim,
                "measured": finding.measured,
                "verdict": finding.holds.word(),
                "reason": finding.reason,
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
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_for_a_command_line_and_each_is_there_once() {
        for (at, figure) in ALL.iter().enumerate() {
            assert!(
                figure
                    .name
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c == '-' || c.is_ascii_digit())
            );
            assert!(
                figure.question.contains("Fig")
                    || figure.question.contains("Table")
                    || figure.question.contains("Theorem"),
                "{}",
                figure.name
            );
            assert!(ALL[..at].iter().all(|other| other.name != figure.name));
            assert_eq!(Figure::named(figure.name).map(|found| found.title), Some(figure.title));
        }
        assert!(Figure::named("nothing").is_none());
    }

    /// Those that only compute run in no time; that they say something is checked here.
    #[test]
    fn computed_figures_have_findings_and_plots() {
        let settings = Settings { size: Size::Quick, seed: 1, progress: &|_| () };
        for figure in [
            dcf_model::RATES,
            dcf_model::RELOCATIONS,
            dcf_model::MEMORY,
            ccf_model::THRESHOLDS,
            ccf_model::SUCCESS,
        ] {
            let outcome = (figure.run)(&settings).expect("computed");
            assert!(!outcome.findings.is_empty(), "{}", figure.name);
            assert!(outcome.plots.iter().all(|plot| !plot.is_empty()), "{}", figure.name);
            assert!(outcome.to_json()["findings"].as_array().is_some_and(|all| !all.is_empty()));
        }
    }
}
