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
    let elastic = cost(Kind::ElasticWithHint);
    let (take, mut text) = match (cost(Kind::Fixed), elastic) {
        (None, None) => {
            (None, "No filter of this project can keep this rate; choose a higher one.".to_owned())
        }
        (None, Some(elastic)) => (Some(Kind::ElasticWithHint), with_a_hint(elastic)),
        (Some(fixed), Some(elastic)) if !steady && elastic.bytes < fixed.bytes => {
            let text = format!(
                "{} A fixed filter must be built for the peak and always takes {}.",
                with_a_hint(elastic),
                bytes(fixed.bytes as usize)
            );
            (Some(Kind::ElasticWithHint), text)
        }
        (Some(fixed), elastic) => {
            let text = if steady {
                "Use the fixed CuckooFilter: the number of keys is known, and its lookups and \
                 inserts are faster than those of the ElasticFilter."
                    .to_owned()
            } else {
                format!(
                    "Use the fixed CuckooFilter, built for the peak: it takes less memory than a \
                     filter that follows the set ({} against {}), and it is faster.",
                    bytes(fixed.bytes as usize),
                    elastic.map_or("none".to_owned(), |elastic| bytes(elastic.bytes as usize))
                )
            };
            (Some(Kind::Fixed), text)
        }
    };
    if take == Some(Kind::Fixed) {
        text += &beside_the_fixed(cost(Kind::Fixed), cost(Kind::SemiSorted), cost(Kind::Elastic));
    }
    text += &without_deletion(need, take.and_then(cost), cost(Kind::Bloom));
    Advice { take, text }
}

fn with_a_hint(elastic: &Cost) -> String {
    format!(
        "Use the ElasticFilter with expected_items(peak): it takes {} usually and {} at the peak, \
         and gives the memory back afterwards.",
        bytes(elastic.bytes as usize),
        bytes(elastic.peak_bytes as usize)
    )
}

fn beside_the_fixed(
    fixed: Option<&Cost>,
    semi_sorted: Option<&Cost>,
    elastic: Option<&Cost>,
) -> String {
    let mut text = String::new();
    if let (Some(fixed), Some(semi)) = (fixed, semi_sorted)
        && semi.bytes < fixed.bytes
    {
        let saved = 100.0 * (1.0 - semi.bytes as f64 / fixed.bytes as f64);
        text += &format!(
            " With semi_sorted(true) it takes {saved:.0} % less memory, but inserts and deletes at \
             less than half the speed."
        );
    }
    if let Some(elastic) = elastic {
        text += &format!(
            " If the number of keys is a guess, use the ElasticFilter, which follows the set: it \
             takes {} for this number.",
            bytes(elastic.bytes as usize)
        );
    }
    text
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
