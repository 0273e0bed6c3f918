//! The numbers as text and as JSON. Computes nothing.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::case::{Case, Row};
use super::contest::Contest;
use super::options::Options;
use super::ours::is_ours;
use super::phase::Phase;
use super::ratios;
use crate::keys::WorkKey;
use crate::machine::processor;
use crate::memory::Limits;
use crate::report;
use crate::verdict::{self, Verdict};
use cuculus_page::table::{Table, number, percent};

/// What the numbers below it are.
pub(super) fn head<K: WorkKey>(contest: Contest, options: &Options) -> String {
    format!(
        "{}, one thread, best of {}, on {}.\n\
         Keys are {}; the time includes hashing them. Bits a key are counted by the allocator.\n\
         Lost keys could not be removed, or were gone after others were removed.\n",
        contest.unit(),
        options.rounds,
        processor(),
        K::NAME,
    )
}

/// The table of a case, and the limits of the machine.
pub(super) fn case(case: &Case) -> String {
    let mut text = format!("{} keys, rate {} %\n", case.items, 100.0 * case.rate);
    let phases = case.contest.phases();
    let head = ["filter"].into_iter().chain(phases.iter().map(|phase| phase.name()));
    let errors = ["bits/key", "FPR %", "refused %", "false neg", "lost"];
    let mut table = Table::new(head.chain(errors));
    for row in &case.rows {
        let speed = |&phase| row.speeds.get(phase).map(|mops| case.contest.in_unit(mops));
        let speeds = phases.iter().map(|phase| number(speed(phase), 1));
        let deletes = [Phase::Delete, Phase::DeleteAll];
        let deletes = deletes.iter().any(|&phase| row.speeds.get(phase).is_some());
        let errors = [
            number(Some(row.bits_per_key), 2),
            percent(row.false_positive_rate, 4),
            percent(row.refused as f64 / case.items.max(1) as f64, 4),
            row.false_negatives.to_string(),
            if deletes { row.lost.to_string() } else { number(None, 0) },
        ];
        table.row([row.label.clone()].into_iter().chain(speeds).chain(errors));
    }
    if case.contest == Contest::Elastic {
        let times = phases.iter().map(|&phase| number(ratios::elastic_times(case, phase), 2));
        table.row(["times as long".to_owned()].into_iter().chain(times));
    }
    let _ = writeln!(text, "{table}");
    let _ = writeln!(text, "{}", limits(case));
    text
}

fn limits(case: &Case) -> Table {
    let mut table =
        Table::new(["the machine's limit", "1 line", "prefetched", "2 lines", "prefetched"]);
    for limits in case.limits.iter().chain([&case.large_limits]) {
        let Limits { bytes, one, one_prefetched, two, two_prefetched } = *limits;
        let speeds = [one, one_prefetched, two, two_prefetched].map(|mops| number(Some(mops), 1));
        let mebibytes = bytes as f64 / f64::from(1 << 20);
        table.row([format!("table of {mebibytes:.1} MiB")].into_iter().chain(speeds));
    }
    table
}

/// The block of ratios.
pub(super) fn ratios(verdicts: &[Verdict]) -> String {
    if verdicts.is_empty() {
        return "ratios: none is claimed for these sizes\n".to_owned();
    }
    format!("ratios\n{}", verdict::table(verdicts))
}

/// What our filters got wrong, a line each.
pub(super) fn wrong_answers(cases: &[Case]) -> Vec<String> {
    let rows = cases.iter().flat_map(|case| case.rows.iter().map(move |row| (case, row)));
    let wrong = rows.filter(|(_, row)| is_ours(row.name) && row.false_negatives + row.lost > 0);
    let line = |(case, row): (&Case, &Row)| {
        format!(
            "{} with {} keys at {}: {} false negatives, {} lost",
            row.label, case.items, case.rate, row.false_negatives, row.lost
        )
    };
    wrong.map(line).collect()
}

/// Everything, for programs.
pub(super) fn json<K: WorkKey>(options: &Options, cases: &[Case], verdicts: &[Verdict]) -> String {
    let limits = |limits: &Limits| {
        json!({
            "bytes": limits.bytes,
            "one": limits.one,
            "one_prefetched": limits.one_prefetched,
            "two": limits.two,
            "two_prefetched": limits.two_prefetched,
        })
    };
    let row = |contest: Contest, row: &Row| {
        let speed = |&phase: &Phase| (phase.name().replace(' ', "_"), json!(row.speeds.get(phase)));
        let speeds = contest.phases().iter().map(speed);
        json!({
            "filter": row.name,
            "label": row.label,
            "mops": Value::Object(speeds.collect()),
            "bits_per_key": row.bits_per_key,
            "false_positive_rate": row.false_positive_rate,
            "refused": row.refused,
            "false_negatives": row.false_negatives,
            "lost": row.lost,
        })
    };
    let case = |case: &Case| {
        json!({
            "items": case.items,
            "rate": case.rate,
            "filters": case.rows.iter().map(|of| row(case.contest, of)).collect::<Vec<_>>(),
            "limits": case.limits.as_ref().map(limits),
            "large_limits": limits(&case.large_limits),
        })
    };
    let all = json!({
        "processor": processor(),
        "keys": K::NAME,
        "rounds": options.rounds,
        "seed": options.seed,
        "cases": cases.iter().map(case).collect::<Vec<_>>(),
        "ratios": verdicts.iter().map(report::verdict).collect::<Vec<_>>(),
    });
    format!("{all:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speed::ours;

    #[test]
    fn only_our_wrong_answers_are_ours() {
        let rows = [("sketches", 1, 0), (ours::NAME, 0, 0), (ours::NAME, 1, 0), (ours::NAME, 0, 1)];
        let row =
            |(name, false_negatives, lost)| Row { name, false_negatives, lost, ..Row::default() };
        let case = Case {
            contest: Contest::Fixed,
            items: 1,
            rate: 0.01,
            rows: rows.map(row).to_vec(),
            limits: None,
            large_limits: Limits::default(),
        };
        assert_eq!(wrong_answers(&[case]).len(), 2);
    }
}
