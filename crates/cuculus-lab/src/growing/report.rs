//! The numbers as text, and what we claim of them.

use super::{Case, FIRST, Grown, Options};
use crate::machine::processor;
use crate::verdict::Verdict;
use cuculus_page::table::{Table, number, percent};

pub(super) fn head(options: &Options) -> String {
    format!(
        "Grown from {FIRST} to {} keys, half of which are then removed. Millions of operations per\n\
         second, one thread, best of {}, on {}.\n\
         Bits a key are counted by the allocator. Lost keys were gone after others were removed.\n\
         Waits are those of single insertions, the shorter time of two runs; the\n\
         last column is the longest of the first run, other programs included.\n",
        options.keys,
        options.rounds.max(1),
        processor(),
    )
}

pub(crate) fn table(case: &Case) -> Table {
    let mut table = Table::new([
        "filter",
        "insert",
        "hit",
        "miss",
        "remove",
        "bits/key",
        "FPR %",
        "refused",
        "false neg",
        "not removed",
        "lost",
        "bytes left %",
        "p99.99 µs",
        "longest µs",
        "as timed",
    ]);
    for row in &case.rows {
        let waits =
            row.waits.as_ref().map(|waits| [waits.least.p9999, waits.least.max, waits.raw.max]);
        let wait = |at: usize| waits.map(|waits| f64::from(waits[at]) / 1000.0);
        let speeds = [row.insert_mops, row.hit_mops, row.miss_mops, row.remove_mops];
        let errors = [row.refused, row.false_negatives, row.not_removed, row.lost];
        let mut cells = vec![row.label.clone()];
        cells.extend(speeds.map(|mops| number(Some(mops), 2)));
        cells.push(number(Some(row.bits_per_key), 2));
        cells.push(percent(row.false_positive_rate, 4));
        cells.extend(errors.map(|count| count.to_string()));
        cells.push(percent(row.bytes_left, 1));
        cells.extend([0, 1, 2].map(|at| number(wait(at), 1)));
        table.row(cells);
    }
    table
}

/// Ahead of each peer in lookups, bits and kept keys.
pub(super) fn verdicts(case: &Case) -> Vec<Verdict> {
    let Some((ours, peers)) = case.rows.split_first() else { return Vec::new() };
    let of_peer = |peer: &Grown| {
        let claim = |text: &str| {
            format!("{} keys, {} %: {text} {}", case.keys, 100.0 * case.rate, peer.name)
        };
        let wrong = |row: &Grown| (row.false_negatives + row.not_removed + row.lost) as f64;
        [
            Verdict::at_least(claim("hit, over"), Some(ours.hit_mops / peer.hit_mops), 1.0),
            Verdict::at_least(claim("miss, over"), Some(ours.miss_mops / peer.miss_mops), 1.0),
            Verdict::at_most(claim("bits, over"), Some(ours.bits_per_key / peer.bits_per_key), 1.0),
            Verdict::at_most(claim("keys not kept, no more than"), Some(wrong(ours)), wrong(peer)),
        ]
    };
    peers.iter().flat_map(of_peer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_follow_the_numbers() {
        let row = |hit_mops, bits_per_key, lost| Grown {
            hit_mops,
            miss_mops: hit_mops,
            bits_per_key,
            lost,
            ..Grown::default()
        };
        let words = |ours| {
            let rows = vec![ours, row(10.0, 20.0, 3)];
            let case = Case { keys: 1, rate: 0.01, rows };
            verdicts(&case).iter().map(Verdict::word).collect::<Vec<_>>()
        };
        assert_eq!(words(row(11.0, 19.0, 0)), ["PASS"; 4]);
        assert_eq!(words(row(9.0, 21.0, 4)), ["MISS"; 4]);
    }
}
