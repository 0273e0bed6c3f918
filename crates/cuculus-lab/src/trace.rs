//! How well the elastic filter follows a set of flows that come and go: the experiment of the
//! Consistent Cuckoo Filter paper (Figs. 4 and 5).

use std::path::PathBuf;

use clap::Args;
use cuculus::{ElasticFilter, ElasticFilterBuilder, Filter, Insert, Remove};
use serde::Serialize;
use serde_json::json;

use crate::flows::{Event, Flow, Synthetic, Trace};
use crate::report;
use crate::table::{Table, number, percent};
use crate::verdict::{self, Verdict};

/// Which trace.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// A real trace, as lines of source,destination,start,end with times in seconds.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// The flows of the made-up trace; the most alive at once follow in proportion.
    #[arg(long, default_value_t = 58_941)]
    pub flows: usize,
    /// The false positive rate to ask for.
    #[arg(long, default_value_t = 0.01)]
    pub fpr: f64,
    /// The seed of the trace and of the filter.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Writes all numbers to this file too.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// The paper's mean utilisation of the better of its two filters.
const PAPER_UTILIZATION: f64 = 0.9481;
/// A table less full than this wastes memory, in the paper's words.
const WELL_USED: f64 = 0.90;
/// The densest that the builder takes.
const DENSEST: f64 = 0.96;
/// Every so many events all flows that are alive are looked for.
const EVENTS_BETWEEN_CHECKS: usize = 100;

const WAYS: [Way; 3] = [
    Way { name: "densest, target load .96", load: Some(DENSEST) },
    Way { name: "target load .93", load: Some(0.93) },
    Way { name: "as it comes", load: None },
];

struct Way {
    name: &'static str,
    load: Option<f64>,
}

impl Way {
    fn empty(&self, options: &Options) -> anyhow::Result<ElasticFilter> {
        let builder = ElasticFilter::builder().false_positive_rate(options.fpr).seed(options.seed);
        Ok(self.load.into_iter().fold(builder, ElasticFilterBuilder::target_load).build()?)
    }
}

/// What a filter was like over the whole trace, by samples after every event.
#[derive(Clone, Debug, Default, Serialize)]
struct Followed {
    samples: usize,
    /// Samples with at least one slot; of none no share is in use.
    with_slots: usize,
    utilization_sum: f64,
    /// Samples with slots that were not well used.
    badly_used: usize,
    seconds: f64,
    badly_used_seconds: f64,
    /// Bytes and keys of all samples together.
    bytes_sum: f64,
    keys_sum: f64,
    most_keys: usize,
    bytes_at_most_keys: usize,
    most_entries_written: u32,
    false_negatives: usize,
    refused: usize,
    bytes_at_the_end: usize,
}

impl Followed {
    fn mean_utilization(&self) -> f64 {
        self.utilization_sum / self.with_slots as f64
    }

    fn sample(&mut self, filter: &ElasticFilter, seconds: f64) {
        let (keys, bytes) = (filter.len(), filter.size_in_bytes());
        self.samples += 1;
        if filter.slots() > 0 {
            let badly_used = filter.utilization() < WELL_USED;
            self.with_slots += 1;
            self.utilization_sum += filter.utilization();
            self.badly_used += usize::from(badly_used);
            self.seconds += seconds;
            self.badly_used_seconds += if badly_used { seconds } else { 0.0 };
        }
        self.bytes_sum += bytes as f64;
        self.keys_sum += keys as f64;
        if keys > self.most_keys {
            (self.most_keys, self.bytes_at_most_keys) = (keys, bytes);
        }
    }
}

/// Follows the trace with the filter and prints how full it was.
///
/// Returns whether the filter gave no wrong answer.
///
/// # Errors
/// If the trace cannot be read, a filter cannot be built, or the report cannot be written.
pub fn run(options: &Options) -> anyhow::Result<bool> {
    let (name, trace) = match &options.csv {
        Some(path) => (path.display().to_string(), Trace::from_csv(path)?),
        None => {
            let synthetic = Synthetic::yahoo(options.seed).scaled(options.flows);
            (format!("made-up trace, seed {}", options.seed), synthetic.trace())
        }
    };
    let events = trace.events();
    println!(
        "{name}: {} flows, at most {} alive; sampled after each of {} events\n",
        trace.flows.len(),
        trace.peak(),
        events.len()
    );
    let mut followed = Vec::new();
    for way in WAYS {
        eprintln!("following with {}", way.name);
        followed.push(follow(way.empty(options)?, &trace, &events));
    }
    println!("{}", table(&followed));
    let densest = format!("{}: mean utilisation", WAYS[0].name);
    let mut verdicts =
        vec![Verdict::at_least(densest, Some(followed[0].mean_utilization()), PAPER_UTILIZATION)];
    let wrong = followed.iter().map(|way| way.false_negatives + way.refused).sum::<usize>();
    verdicts.push(Verdict::at_most("wrong answers of all", Some(wrong as f64), 0.0));
    println!("{}", verdict::table(&verdicts));
    if let Some(path) = &options.json {
        let ways = WAYS.iter().zip(&followed);
        let ways = ways.map(|(way, followed)| json!({ "way": way.name, "numbers": followed }));
        let head = json!({ "trace": name, "rate": options.fpr, "seed": options.seed });
        report::write(path, &head, &ways.collect(), &verdicts)?;
    }
    Ok(wrong == 0)
}

fn follow(mut filter: ElasticFilter, trace: &Trace, events: &[Event]) -> Followed {
    let keys: Vec<String> = trace.flows.iter().map(Flow::key).collect();
    let mut alive = vec![false; keys.len()];
    let mut followed = Followed::default();
    for (at, event) in events.iter().enumerate() {
        let key = keys[event.flow].as_str();
        if event.begins {
            // A real trace may have the same flow many times over; what does not fit is not in.
            alive[event.flow] = filter.insert(key).is_ok();
            followed.refused += usize::from(!alive[event.flow]);
        } else if std::mem::take(&mut alive[event.flow]) {
            followed.false_negatives += usize::from(!filter.remove(key));
        }
        let next = events.get(at + 1).map_or(event.time, |next| next.time);
        followed.sample(&filter, next - event.time);
        if at % EVENTS_BETWEEN_CHECKS == 0 {
            let living = keys.iter().zip(&alive).filter(|(_, alive)| **alive);
            let lost = living.filter(|(key, _)| !filter.contains(key.as_str()));
            followed.false_negatives += lost.count();
        }
    }
    followed.most_entries_written = filter.stats().most_entries_written;
    followed.bytes_at_the_end = filter.size_in_bytes();
    followed
}

fn table(followed: &[Followed]) -> Table {
    let mut table = Table::new([
        "filter",
        "mean used",
        "< .90, % of events",
        "of seconds",
        "bits/key, mean",
        "at the peak",
        "most written",
        "refused",
        "false neg",
    ]);
    for (way, of) in WAYS.iter().zip(followed) {
        table.row([
            way.name.to_owned(),
            number(Some(of.mean_utilization()), 4),
            percent(of.badly_used as f64 / of.with_slots as f64, 2),
            percent(of.badly_used_seconds / of.seconds, 2),
            number(Some(8.0 * of.bytes_sum / of.keys_sum), 2),
            number(Some(8.0 * of.bytes_at_most_keys as f64 / of.most_keys as f64), 2),
            of.most_entries_written.to_string(),
            of.refused.to_string(),
            of.false_negatives.to_string(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_trace_is_followed_to_its_end() {
        let trace = Synthetic::yahoo(1).scaled(2000).trace();
        let filter = ElasticFilter::builder().seed(1).build().unwrap();
        let followed = follow(filter, &trace, &trace.events());
        assert_eq!((followed.samples, followed.most_keys), (4000, trace.peak()));
        assert_eq!((followed.false_negatives, followed.refused), (0, 0));
        assert!(0.5 < followed.mean_utilization() && followed.mean_utilization() < 1.0);
    }
}
