//! The numbers as text, and what they are to keep to.

use super::Row;
use super::followed::{Course, WELL_USED};
use crate::flows::Trace;
use crate::verdict::Verdict;
use cuculus_page::table::{Table, number, percent};

pub(crate) fn head(sweep: bool, name: &str, trace: &Trace, course: &Course) -> String {
    let question = match sweep {
        true => "How full is a CCF_B with other parameters, while flows come and go?",
        false => "How full, and how large, are filters while flows come and go?",
    };
    format!(
        "{question}\n{name}: {} flows, at most {} alive; sampled after each of {} events.\n\
         Least: while at least a tenth of the most flows are alive. Seconds: inserts and removals.\n",
        trace.flows.len(),
        trace.peak(),
        course.events()
    )
}

pub(crate) fn utilization(rows: &[Row]) -> Table {
    let mut table = Table::new([
        "share of the slots in use",
        "mean",
        "paper",
        "< .90, % of events",
        "paper",
        "least",
        "most",
        "paper",
        "< 500 empty, %",
        "paper",
        "most empty",
        "filters",
        "refused",
        "false neg",
    ]);
    for Row { contender, followed } in rows {
        let paper = &contender.paper;
        table.row([
            contender.name.clone(),
            number(Some(followed.mean_utilization), 4),
            number(paper.mean, 4),
            percent(followed.share_below(WELL_USED), 2),
            paper.badly_used.unwrap_or("-").to_owned(),
            number(Some(followed.least_utilization), 3),
            number(Some(followed.most_utilization), 3),
            number(paper.most, 3),
            percent(followed.few_empty, 1),
            number(paper.few_empty.map(|share| 100.0 * share), 0),
            followed.most_empty.to_string(),
            followed.most_filters.to_string(),
            followed.refused.to_string(),
            followed.false_negatives.to_string(),
        ]);
    }
    table
}

pub(crate) fn memory(rows: &[Row]) -> Table {
    let mut table = Table::new([
        "everything counted",
        "bits/key, mean",
        "of which rings",
        "at the peak",
        "FPR there",
        "measured",
        "bytes at the end",
        "seconds",
    ]);
    for Row { contender, followed } in rows {
        table.row([
            contender.name.clone(),
            number(Some(followed.mean_bits_per_key), 2),
            number(Some(followed.mean_ring_bits_per_key), 2),
            number(Some(followed.bits_per_key_at_the_peak), 2),
            format!("{:.2e}", followed.rate_at_the_peak),
            format!("{:.2e}", followed.measured_rate),
            followed.bytes_at_the_end.to_string(),
            number(followed.seconds, 3),
        ]);
    }
    table
}

pub(crate) fn verdicts(rows: &[Row]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for Row { contender, followed } in rows {
        if let Some(target) = contender.target {
            let claim = format!("{}: mean utilisation", contender.name);
            verdicts.push(Verdict::at_least(claim, Some(followed.mean_utilization), target));
        }
    }
    let sum = |count: fn(&Row) -> usize| rows.iter().map(count).sum::<usize>() as f64;
    let lost = sum(|row| row.followed.false_negatives);
    verdicts.push(Verdict::at_most("false negatives of all", Some(lost), 0.0));
    let refused = sum(|row| row.followed.refused);
    verdicts.push(Verdict::at_most("refused by all", Some(refused), 0.0));
    verdicts
}
