//! Which kind to use and why, from what each costs. Knows costs, builds nothing.

use super::cost::Cost;
use super::kinds::Kind;
use super::{Line, Need};
use crate::text::bytes;

pub(super) struct Advice {
    /// None if no kind can keep the rate.
    pub(super) take: Option<Kind>,
    pub(super) text: String,
}

/// Up to this ratio of peak to usual size the size counts as known.
const STEADY: f64 = 1.2;

pub(super) fn of(need: &Need, lines: &[Line]) -> Advice {
    let cost = |kind: Kind| {
        let line = lines.iter().find(|line| line.kind == kind)?;
        line.cost.as_ref().ok()
    };
    let steady = need.peak as f64 <= STEADY * need.items as f64;
    let (fixed, elastic) = (cost(Kind::Fixed), cost(Kind::ElasticSized));
    let (take, mut text) = match (elastic, fixed) {
        (None, None) => {
            (None, "No filter of this project can keep this rate; choose a higher one.".to_owned())
        }
        (Some(elastic), None) => (Some(Kind::ElasticSized), declared(need, elastic)),
        (Some(elastic), Some(fixed)) if elastic.bytes <= fixed.bytes => {
            let fixed = bytes(fixed.bytes as usize);
            let instead = if steady {
                format!(
                    " If speed matters most and there will never be more keys, use the fixed \
                     CuckooFilter: {fixed}, with faster lookups and inserts."
                )
            } else {
                format!(" A fixed filter must be built for the peak and always takes {fixed}.")
            };
            (Some(Kind::ElasticSized), declared(need, elastic) + &instead)
        }
        (elastic, Some(fixed)) => {
            let text = format!(
                "Use the fixed CuckooFilter{}: it takes less memory than a filter that follows the \
                 set ({} against {}), and it is faster.",
                if steady { "" } else { ", built for the peak" },
                bytes(fixed.bytes as usize),
                elastic.map_or("none".to_owned(), |elastic| bytes(elastic.bytes as usize))
            );
            (Some(Kind::Fixed), text)
        }
    };
    if steady && let (Some(fixed), Some(semi)) = (fixed, cost(Kind::SemiSorted)) {
        text += &semi_sorted(fixed, semi);
    }
    text += &without_deletion(need, take.and_then(cost), cost(Kind::Bloom));
    Advice { take, text }
}

fn declared(need: &Need, elastic: &Cost) -> String {
    let usual = bytes(elastic.bytes as usize);
    if need.peak > need.items {
        let peak = bytes(elastic.peak_bytes as usize);
        return format!(
            "Use the ElasticFilter with expected_items({}), the peak: it takes {usual} usually and \
             {peak} at the peak, and gives the memory back afterwards.",
            need.peak
        );
    }
    format!(
        "Use the ElasticFilter with expected_items({}): it takes {usual}, keeps its rate if more \
         keys come, and gives memory back when they go.",
        need.items
    )
}

fn semi_sorted(fixed: &Cost, semi: &Cost) -> String {
    if semi.bytes >= fixed.bytes {
        return String::new();
    }
    let saved = 100.0 * (1.0 - semi.bytes as f64 / fixed.bytes as f64);
    format!(
        " With semi_sorted(true) that takes {saved:.0} % less memory, but inserts and deletes at \
         less than half the speed."
    )
}

fn without_deletion(need: &Need, taken: Option<&Cost>, bloom: Option<&Cost>) -> String {
    match (taken, bloom) {
        _ if need.delete => " Bloom filters are ruled out: they cannot delete.".to_owned(),
        (Some(taken), Some(bloom)) if bloom.bytes < taken.bytes => format!(
            " A Bloom filter would take {} and read {} place{} in memory instead of {}; it cannot \
             delete.",
            bytes(bloom.bytes as usize),
            bloom.reads,
            if bloom.reads == 1 { "" } else { "s" },
            taken.reads
        ),
        _ => String::new(),
    }
}
