//! What a list of filters gives back: Figs. 16 and 17 of the Dynamic Cuckoo Filter paper.

use super::{Figure, Outcome, Settings, Size};
use crate::dcf::compact::{Freed, Options, Order, linear, measure, table};
use crate::dcf::times::{FILTERS, KEYS, LINEAR};
use cuculus_page::{Axis, Finding, Holds, Plot, Shape};

pub(super) const COMPACT: Figure = Figure {
    name: "dcf-compact",
    title: "Memory that a list gives back",
    question: "How many filters are given back, and how long does that take, by the share of the \
               keys that is removed? (DCF Figs. 16 and 17; six filters, 46,080 keys)",
    run: compact,
};

/// The paper's share of the time of a question for every key.
const OF_A_QUERY: f64 = 0.0112;

fn compact(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let rounds = if settings.size == Size::Quick { 2 } else { 9 };
    let (items, filters, seed) = (KEYS, FILTERS, settings.seed);
    let options = Options { items, filters, rounds, seed, json: None };
    let (rows, query) = measure(&options, settings.progress)?;
    let of = |order: Order| rows.iter().filter(move |row| row.order == order);
    let line = |order: Order, of_row: fn(&Freed) -> f64| -> Vec<(f64, f64)> {
        of(order).map(|row| (row.share, of_row(row))).collect()
    };
    let freed = |freed: usize| freed as f64 / FILTERS as f64;
    let short = |order: Order, freed: fn(&Freed) -> usize| {
        of(order).map(|row| row.ideal.saturating_sub(freed(row))).max().unwrap_or(0)
    };
    let sixth: Vec<usize> = of(Order::OldestFirst)
        .filter(|row| [0.1666, 0.1667].contains(&row.share))
        .map(|row| row.compact)
        .collect();
    let longest = rows.iter().map(|row| row.compact_seconds).fold(0.0, f64::max);
    let longest = longest / query.as_secs_f64();
    let explained =
        [Order::OldestFirst, Order::AtRandom].map(|order| linear(&rows, order).unwrap_or(0.0));
    let lost: usize = rows.iter().map(|row| row.false_negatives).sum();
    let close = |claim: &str, order: Order, reason: &str| {
        let short = short(order, |row| row.compact);
        Finding {
            claim: format!("{claim} (never a filter short of the ideal)"),
            measured: format!("at most {short} of {FILTERS} filters short"),
            holds: Holds::when(short == 0),
            reason: if short == 0 { String::new() } else { reason.to_owned() },
        }
    };
    let x = || Axis::from_zero("share of the keys removed");
    let rates =
        Plot::new("share of the filters given back (Fig. 16)", x(), Axis::from_zero("share"))
            .series(
                "ideal",
                Shape::Dashed,
                of(Order::AtRandom).map(|row| (row.share, freed(row.ideal))),
            )
            .series(
                "compact, oldest first",
                Shape::Line,
                of(Order::OldestFirst).map(|row| (row.share, freed(row.compact))),
            )
            .series(
                "compact, at random",
                Shape::Line,
                of(Order::AtRandom).map(|row| (row.share, freed(row.compact))),
            )
            .series(
                "shrink_to_fit, at random",
                Shape::Line,
                of(Order::AtRandom).map(|row| (row.share, freed(row.shrink_to_fit))),
            );
    let times = Plot::new("time (Fig. 17)", x(), Axis::logarithmic("microseconds"))
        .series("compact, oldest first", Shape::Line, line(Order::OldestFirst, compact_time))
        .series("compact, at random", Shape::Line, line(Order::AtRandom, compact_time))
        .series(
            "shrink_to_fit, at random",
            Shape::Line,
            line(Order::AtRandom, |row| 1e6 * row.shrink_seconds),
        )
        .mark("a question for every key", 1e6 * query.as_secs_f64());
    Ok(Outcome {
        findings: vec![
            Finding {
                claim: "no filter is freed with .1666 of the keys removed, one with .1667"
                    .to_owned(),
                measured: format!("oldest first: {sixth:?}"),
                holds: Holds::when(sixth == [0, 1]),
                reason: String::new(),
            },
            close(
                "compacting reaches nearly the ideal, oldest keys removed first",
                Order::OldestFirst,
                "",
            ),
            close(
                "compacting reaches nearly the ideal, keys removed at random",
                Order::AtRandom,
                "an entry can only go to the same bucket of another filter, and one of many buckets \
                 is full there; with kicks, as in shrink_to_fit, it can",
            ),
            Finding {
                claim: "shrink_to_fit (ours) reaches the ideal, keys removed at random".to_owned(),
                measured: format!(
                    "at most {} of {FILTERS} filters short",
                    short(Order::AtRandom, |row| row.shrink_to_fit)
                ),
                holds: Holds::when(short(Order::AtRandom, |row| row.shrink_to_fit) == 0),
                reason: String::new(),
            },
            Finding {
                claim: format!(
                    "the time is linear in the share that is empty (R² at least {LINEAR})"
                ),
                measured: format!(
                    "R² {:.2} oldest first, {:.2} at random",
                    explained[0], explained[1]
                ),
                holds: Holds::when(explained.iter().all(|&explained| explained >= LINEAR)),
                reason: "ours knows before it moves anything whether a filter can be emptied, so \
                         its time is that of what it frees"
                    .to_owned(),
            },
            Finding {
                claim: "compacting takes at most 1.12 % of a question for every key".to_owned(),
                measured: format!("at most {:.2} %", 100.0 * longest),
                holds: Holds::when(longest <= OF_A_QUERY),
                reason: match longest > OF_A_QUERY {
                    true => "a question is much faster here than in the paper, and moving is not \
                             faster by as much"
                        .to_owned(),
                    false => String::new(),
                },
            },
            Finding {
                claim: "no key is lost".to_owned(),
                measured: format!("{lost} false negatives"),
                holds: Holds::when(lost == 0),
                reason: String::new(),
            },
        ],
        plots: vec![rates, times],
        tables: vec![("46,080 keys, six filters".to_owned(), table(&rows, FILTERS))],
        notes: Vec::new(),
    })
}

fn compact_time(row: &Freed) -> f64 {
    1e6 * row.compact_seconds
}
