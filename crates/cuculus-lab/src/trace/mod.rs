//! How well filters follow a set of flows that come and go: the experiment of the Consistent Cuckoo
//! Filter paper (Figs. 4 and 5), with the filters that it compares and ours.

pub(crate) mod contenders;
mod followed;
mod follower;
pub(crate) mod report;
pub(crate) mod sweep;

use std::path::PathBuf;

use anyhow::ensure;
use clap::Args;
use serde_json::json;

use crate::flows::{Synthetic, Trace};
use crate::verdict;
pub(crate) use contenders::Contender;
pub(crate) use followed::{Course, Followed};
pub(crate) use follower::{Follower, Tidied, Tidy};

/// Which trace, and which filters.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// A real trace, as lines of source,destination,start,end with times in seconds.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// The flows of the made-up trace; the most alive at once follow in proportion.
    #[arg(long, default_value_t = 58_941)]
    pub flows: usize,
    /// The false positive rate of the elastic filter; the others have the paper's 30 bits.
    #[arg(long, default_value_t = 0.01)]
    pub fpr: f64,
    /// The paper's Fig. 5 instead: CCF_B with other parameters. Takes some minutes.
    #[arg(long)]
    pub sweep: bool,
    /// Every filter with both searches.
    #[arg(long)]
    pub all: bool,
    /// Only filters with one of these in their name, separated by commas.
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<String>,
    /// The seed of the trace and of the filters.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Writes all numbers to this file too.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

impl Options {
    fn wants(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        self.only.is_empty() || self.only.iter().any(|part| name.contains(&part.to_lowercase()))
    }
}

/// A contender and what it was like.
pub(crate) struct Row {
    pub(crate) contender: Contender,
    pub(crate) followed: Followed,
}

/// Follows the trace with every filter and prints how full each was.
///
/// Returns whether no filter gave a wrong answer.
///
/// # Errors
/// If the trace cannot be read, no filter has such a name, a filter cannot be built, or the report
/// cannot be written.
pub fn run(options: &Options) -> anyhow::Result<bool> {
    let (name, trace) = match &options.csv {
        Some(path) => (path.display().to_string(), Trace::from_csv(path)?),
        None => {
            let synthetic = Synthetic::yahoo(options.seed).scaled(options.flows);
            (format!("made-up trace, seed {}", options.seed), synthetic.trace())
        }
    };
    let mut contenders = match options.sweep {
        true => sweep::all(),
        false => contenders::all(options.fpr, options.all),
    };
    let names: Vec<String> = contenders.iter().map(|contender| contender.name.clone()).collect();
    contenders.retain(|contender| options.wants(&contender.name));
    ensure!(!contenders.is_empty(), "--only names no filter; there are: {}", names.join("; "));
    let course = Course::new(&trace, options.seed);
    println!("{}", report::head(options.sweep, &name, &trace, &course));
    let mut rows = Vec::new();
    for contender in contenders {
        eprintln!("following with {}", contender.name);
        let followed = match options.sweep {
            true => course.follow(&contender.way)?,
            false => course.follow_timed(&contender.way)?,
        };
        rows.push(Row { contender, followed });
    }
    println!("{}", report::utilization(&rows));
    println!("{}", report::memory(&rows));
    let verdicts = report::verdicts(&rows);
    println!("{}", verdict::table(&verdicts));
    let findings = if options.sweep { sweep::findings(&rows) } else { Vec::new() };
    let findings: Vec<String> = findings.iter().map(ToString::to_string).collect();
    findings.iter().for_each(|finding| println!("{finding}"));
    if let Some(path) = &options.json {
        let ways = rows.iter().map(
            |Row { contender, followed }| json!({ "filter": contender.name, "numbers": followed }),
        );
        let asked = json!({ "trace": name, "rate": options.fpr, "seed": options.seed });
        let results = json!({ "filters": ways.collect::<Vec<_>>(), "findings": findings });
        crate::report::write(path, &asked, &results, &verdicts)?;
    }
    Ok(rows.iter().all(|row| row.followed.wrong_answers() == 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course() -> (Trace, Course) {
        let trace = Synthetic::yahoo(1).scaled(2000).trace();
        let course = Course::new(&trace, 1);
        (trace, course)
    }

    #[test]
    fn every_filter_follows_a_small_trace_to_its_end() {
        let (trace, course) = course();
        for contender in contenders::all(0.01, true) {
            let followed = course.follow(&contender.way).unwrap();
            let name = contender.name;
            assert_eq!((followed.samples, followed.most_keys), (4000, trace.peak()), "{name}");
            assert_eq!(followed.wrong_answers(), 0, "{name}");
            let mean = followed.mean_utilization;
            assert!(0.4 < mean && mean < 1.0, "{name}: {mean}");
            assert!(followed.share_below(0.0) < followed.share_below(1.1), "{name}");
            let rings = followed.mean_ring_bits_per_key;
            assert_eq!(rings > 0.0, name.starts_with("CCF"), "{name}: {rings}");
            assert!(rings < followed.mean_bits_per_key);
        }
    }

    #[test]
    fn a_sweep_has_a_finding_for_every_figure_of_the_paper() {
        let (_, course) = course();
        let contenders = sweep::all();
        let figures = contenders.iter().filter(|contender| contender.paper.mean.is_some()).count();
        let rows: Vec<Row> = contenders
            .into_iter()
            .map(|contender| Row { followed: course.follow(&contender.way).unwrap(), contender })
            .collect();
        assert_eq!(sweep::findings(&rows).len(), figures);
        assert!(rows.iter().all(|row| row.followed.false_negatives == 0));
    }

    #[test]
    fn names_choose_filters() {
        let options = |only: &[&str]| {
            let only = only.iter().map(|&part| part.to_owned()).collect();
            let (csv, json) = (None, None);
            Options { csv, flows: 1, fpr: 0.01, sweep: false, all: true, only, seed: 1, json }
        };
        assert!(options(&[]).wants("CCF_B walk"));
        assert!(options(&["dcf", "ccf_b"]).wants("CCF_B walk"));
        assert!(!options(&["ccf_f"]).wants("CCF_B walk"));
        assert!(run(&options(&["no such filter"])).is_err());
    }
}
