//! `cuculus plan`: compares what each kind of filter costs for a set, and recommends one. Knows the
//! options and the output; costs and advice are modules.

mod advice; // which one to use, and why
mod cost; // the cost of a kind, measured by building a filter
mod kinds; // which kinds there are

use std::io::Write;

use anyhow::{Context, Result, ensure};
use clap::Args;
use cuculus_page::Table;
use serde_json::json;

use crate::count::{self, Count};
use crate::rate::Rate;
use crate::text::{bytes, percent, thousands, wrapped, write_table};
use cost::Cost;
use kinds::Kind;

/// More than the largest filter can hold.
const MOST_ITEMS: u64 = 10_000_000_000;

/// Options of the plan.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cuculus plan --items 1M --fpr 0.01                    a set of known size
  cuculus plan --items 1M --peak 20M --fpr 1% --delete  usually 1M keys, sometimes 20M
  cuculus plan --items 1e9 --fpr 0.001 --json           JSON for programs")]
pub(crate) struct Options {
    /// The usual number of keys: 1000000, 1_000_000, 1M or 1e6
    #[arg(long, value_name = "N", value_parser = count::between(1, MOST_ITEMS))]
    items: Count,

    /// The false positive rate: 0.01 or 1%
    #[arg(long, value_name = "RATE")]
    fpr: Rate,

    /// The largest number of keys, if it is not the usual number
    ///
    /// A filter of fixed size must be built for the peak; the others grow and shrink with the set.
    #[arg(long, value_name = "N", value_parser = count::between(1, MOST_ITEMS))]
    peak: Option<Count>,

    /// Keys are deleted too: rules out filters that cannot delete
    #[arg(long)]
    delete: bool,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// The set that the plan is for.
#[derive(Clone, Copy, Debug)]
struct Need {
    items: u64,
    /// The most items at any time.
    peak: u64,
    rate: f64,
    delete: bool,
}

/// A kind and its cost, or why it cannot be used.
struct Line {
    kind: Kind,
    cost: Result<Cost, String>,
}

/// Prints the plan.
///
/// # Errors
/// A peak below the usual size, or an output that cannot be written.
pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<()> {
    let items = options.items.get();
    let peak = options.peak.map_or(items, Count::get);
    ensure!(
        peak >= items,
        "--peak {peak} is below --items {items}; the peak is the most keys at any time"
    );
    let need = Need { items, peak, rate: options.fpr.get(), delete: options.delete };
    let lines: Vec<Line> = kinds::costs(&need);
    let advice = advice::of(&need, &lines);
    let written = match options.json {
        true => writeln!(out, "{:#}", to_json(&need, &lines, &advice)),
        false => write_text(&need, &lines, &advice, out),
    };
    written.context("cannot write to standard output")
}

fn write_text(
    need: &Need,
    lines: &[Line],
    advice: &advice::Advice,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let peak = match need.peak > need.items {
        true => format!(", {} at the peak", thousands(need.peak)),
        false => String::new(),
    };
    writeln!(
        out,
        "{} key{}{peak}, a false positive rate of {} %\n",
        thousands(need.items),
        if need.items == 1 { "" } else { "s" },
        100.0 * need.rate
    )?;
    write_table(&table(need, lines), out)?;
    let refusals: Vec<_> =
        lines.iter().filter_map(|line| Some((line, line.cost.as_ref().err()?))).collect();
    if !refusals.is_empty() {
        writeln!(out)?;
    }
    for (line, reason) in refusals {
        writeln!(out, "{}", wrapped(&format!("{}: {reason}", line.kind.name())))?;
    }
    writeln!(out, "\n{}", wrapped(&advice.text))
}

fn table(need: &Need, lines: &[Line]) -> Table {
    let peaks = need.peak > need.items;
    let mut head = vec!["filter", "memory", "bits/key"];
    head.extend(peaks.then_some("at peak"));
    head.extend(["rate", "reads", "deletes", "grows"]);
    let mut table = Table::new(head);
    let yes = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    for line in lines {
        let Ok(cost) = &line.cost else { continue };
        let mut row = vec![
            line.kind.name().to_owned(),
            bytes(cost.bytes as usize),
            format!("{:.1}", cost.bits_per_item(need.items)),
        ];
        row.extend(peaks.then(|| bytes(cost.peak_bytes as usize)));
        row.extend([
            percent(cost.expected_rate, decimals(need.rate)),
            cost.reads.to_string(),
            yes(line.kind.deletes()),
            yes(line.kind.grows()),
        ]);
        table.row(row);
    }
    table
}

/// Enough decimals for two digits of the rate.
fn decimals(rate: f64) -> usize {
    (-(100.0 * rate).log10()).ceil().clamp(0.0, 12.0) as usize + 2
}

fn to_json(need: &Need, lines: &[Line], advice: &advice::Advice) -> serde_json::Value {
    let kinds = lines.iter().map(|line| {
        let (name, deletes, grows) = (line.kind.name(), line.kind.deletes(), line.kind.grows());
        match &line.cost {
            Ok(cost) => json!({
                "kind": name,
                "bytes": cost.bytes,
                "bits_per_item": cost.bits_per_item(need.items),
                "peak_bytes": cost.peak_bytes,
                "expected_rate": cost.expected_rate,
                "memory_reads": cost.reads,
                "deletes": deletes,
                "grows": grows,
            }),
            Err(reason) => json!({
                "kind": name, "ruled_out": reason, "deletes": deletes, "grows": grows,
            }),
        }
    });
    json!({
        "items": need.items,
        "peak": need.peak,
        "false_positive_rate": need.rate,
        "delete": need.delete,
        "kinds": kinds.collect::<Vec<_>>(),
        "take": advice.take.map(Kind::name),
        "because": advice.text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_at_least_two_digits() {
        assert_eq!([0.2, 0.01, 0.001, 1e-5].map(decimals), [2, 2, 3, 5]);
    }
}
