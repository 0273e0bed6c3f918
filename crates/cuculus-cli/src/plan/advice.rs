//! Which kind to take, in words, from what each costs. Knows costs, builds nothing.

use super::cost::Cost;
use super::kinds::Kind;
use super::{Line, Need};
use crate::text::bytes;

pub(super) struct Advice {
    /// None if no kind can do what is asked for.
    pub(super) take: Option<Kind>,
    pub(super) words: String,
}

/// A set that is rarely more than this times its usual size has a size that is known.
const STEADY: f64 = 1.2;

pub(super) fn of(need: &Need, lines: &[Line]) -> Advice {
    let cost = |kind: Kind| {
        let line = lines.iter().find(|line| line.kind == kind)?;
        line.cost.as_ref().ok()
    };
    let steady = need.peak as f64 <= STEADY * need.items as f64;
    let elastic = cost(Kind::ElasticWithHint);
    let (take, mut words) = match (cost(Kind::Fixed), elastic) {
        (None, None) => (None, "No kind can keep this rate; ask for a higher one.".to_owned()),
        (None, Some(elastic)) => (Some(Kind::ElasticWithHint), with_a_hint(elastic)),
        (Some(fixed), Some(elastic)) if !steady && elastic.bytes < fixed.bytes => {
            let words = format!(
                "{} A fixed filter must be built for the peak and takes {} always.",
                with_a_hint(elastic),
                bytes(fixed.bytes as usize)
            );
            (Some(Kind::ElasticWithHint), words)
        }
        (Some(fixed), elastic) => {
            let words = if steady {
                "Take the fixed CuckooFilter: the number of items is known, and its lookups are \
                 about twice as fast as those of the ElasticFilter, its inserts many times."
                    .to_owned()
            } else {
                format!(
                    "Take the fixed CuckooFilter, built for the peak: even so it takes less than \
                     one that follows the set ({} against {}), and it is faster.",
                    bytes(fixed.bytes as usize),
                    elastic.map_or("none".to_owned(), |elastic| bytes(elastic.bytes as usize))
                )
            };
            (Some(Kind::Fixed), words)
        }
    };
    if take == Some(Kind::Fixed) {
        words += &beside_the_fixed(cost(Kind::Fixed), cost(Kind::SemiSorted), cost(Kind::Elastic));
    }
    words += &without_deletion(need, take.and_then(cost), cost(Kind::Bloom));
    Advice { take, words }
}

fn with_a_hint(elastic: &Cost) -> String {
    format!(
        "Take the ElasticFilter with expected_items(peak): it takes {} now and {} at the peak, and \
         gives the memory back afterwards.",
        bytes(elastic.bytes as usize),
        bytes(elastic.peak_bytes as usize)
    )
}

fn beside_the_fixed(
    fixed: Option<&Cost>,
    semi_sorted: Option<&Cost>,
    elastic: Option<&Cost>,
) -> String {
    let mut words = String::new();
    if let (Some(fixed), Some(semi)) = (fixed, semi_sorted)
        && semi.bytes < fixed.bytes
    {
        let saved = 100.0 * (1.0 - semi.bytes as f64 / fixed.bytes as f64);
        words += &format!(
            " With semi_sorted(true) it takes {saved:.0} % less, and inserts and deletes at less \
             than half the speed."
        );
    }
    if let Some(elastic) = elastic {
        words += &format!(
            " If the number of items is a guess, the ElasticFilter follows the set: {} with as many \
             as said here.",
            bytes(elastic.bytes as usize)
        );
    }
    words
}

fn without_deletion(need: &Need, taken: Option<&Cost>, bloom: Option<&Cost>) -> String {
    match (taken, bloom) {
        _ if need.delete => " Bloom filters are ruled out: they cannot delete.".to_owned(),
        (Some(taken), Some(bloom)) if bloom.bytes < taken.bytes => format!(
            " A Bloom filter would take {} and reads {} places instead of {}; it can never delete.",
            bytes(bloom.bytes as usize),
            bloom.reads,
            taken.reads
        ),
        _ => String::new(),
    }
}
