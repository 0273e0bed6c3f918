//! The filters of the Cuckoo Filter paper's comparison, all of the same memory: how each is built
//! and filled.

use std::time::Duration;

use cuculus::lab::{PlacementKind, Search};
use cuculus::{BuildError, CuckooFilter, ElasticFilter, Filter};
use cuculus_papers::baselines::{
    BlockedBloomFilter, BloomFilter, DleftCountingBloomFilter, QuotientFilter,
};

use crate::prelude::*;
use crate::subject::Subject;

/// The paper's tables have two to this power buckets, 192 MB.
pub(crate) const PAPER_LOG2_BUCKETS: u32 = 25;
const SLOTS: u64 = 4;
const ENTRY_BITS: u64 = 12;
const BLOOM_HASHES: u32 = 9;
/// What the cuckoo filters are filled to where all must have the same keys in every run.
const PLANNED_LOAD: f64 = 0.95;
/// Below the .78 at which the paper's d-left filter refused a key.
const DLEFT_LOAD: f64 = 0.75;
/// The rate of the paper's cuckoo filter, for a filter that is built for a rate and not for a size.
pub(super) const ELASTIC_RATE: f64 = 0.0019;
/// Keys made at a time, so that the largest tables need no list of all keys.
const GROUP: u64 = 1 << 14;

pub(super) const IN_CACHES: &str = "filters of this size fit the caches and do not wait for memory; \
                                    the paper's have 192 MB: run it with --full";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Cuckoo,
    SemiSorted,
    /// Either of them as the paper prints it: exclusive or, and its random walk.
    Printed {
        semi_sorted: bool,
    },
    Bloom,
    Blocked,
    Quotient,
    /// A cell of twelve bits has a counter of this many bits and a remainder of the others.
    Dleft {
        counter_bits: u32,
    },
    /// Not in the paper: grows from nothing, with the same keys and rate as the cuckoo filter. The
    /// number of keys is declared, as for the others.
    Elastic,
}

pub(super) const KINDS: [Kind; 7] = [
    Kind::Cuckoo,
    Kind::SemiSorted,
    Kind::Bloom,
    Kind::Blocked,
    Kind::Quotient,
    Kind::Dleft { counter_bits: 2 },
    Kind::Elastic,
];

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cuckoo => "CF",
            Self::SemiSorted => "ss-CF",
            Self::Printed { semi_sorted: false } => "CF as printed",
            Self::Printed { semi_sorted: true } => "ss-CF as printed",
            Self::Bloom => "BF",
            Self::Blocked => "blk-BF",
            Self::Quotient => "QF",
            Self::Dleft { counter_bits: 1 } => "dl-CBF 11+1",
            Self::Dleft { .. } => "dl-CBF 10+2",
            Self::Elastic => "elastic",
        }
    }

    /// An empty filter of the memory of `buckets` buckets of four twelve-bit entries.
    pub(super) fn empty(self, buckets: u64, seed: u64) -> Result<Box<dyn Subject>, BuildError> {
        let slots = buckets * SLOTS;
        let bits = slots * ENTRY_BITS;
        let capacity = self.capacity(buckets) as usize;
        let cuckoo = CuckooFilter::builder().buckets(buckets).seed(seed);
        Ok(match self {
            Self::Cuckoo => Box::new(cuckoo.fingerprint_bits(12).build()?),
            // Semi-sorting saves a bit per slot: the same table for a longer fingerprint.
            Self::SemiSorted => Box::new(cuckoo.fingerprint_bits(13).semi_sorted(true).build()?),
            Self::Printed { semi_sorted } => {
                let cuckoo = cuckoo.placement(PlacementKind::Xor).search(Search::PaperWalk);
                let bits = 12 + u32::from(semi_sorted);
                Box::new(cuckoo.fingerprint_bits(bits).semi_sorted(semi_sorted).build()?)
            }
            Self::Bloom => {
                let builder = BloomFilter::builder().capacity(capacity).bits(bits);
                Box::new(builder.hashes(BLOOM_HASHES).seed(seed).build()?)
            }
            Self::Blocked => {
                let builder = BlockedBloomFilter::builder().capacity(capacity).bits(bits);
                Box::new(builder.hashes(BLOOM_HASHES).seed(seed).build()?)
            }
            Self::Quotient => {
                let builder = QuotientFilter::builder().slots(slots).remainder_bits(9);
                Box::new(builder.seed(seed).build()?)
            }
            Self::Dleft { counter_bits } => {
                let builder = DleftCountingBloomFilter::builder().buckets(buckets);
                let builder = builder.slots_per_bucket(SLOTS as u32).counter_bits(counter_bits);
                let remainder_bits = ENTRY_BITS as u32 - counter_bits;
                Box::new(builder.remainder_bits(remainder_bits).seed(seed).build()?)
            }
            Self::Elastic => {
                let builder = ElasticFilter::builder().false_positive_rate(ELASTIC_RATE);
                Box::new(builder.expected_items(capacity).seed(seed).build()?)
            }
        })
    }

    pub(super) fn capacity(self, buckets: u64) -> u64 {
        let slots = (buckets * SLOTS) as f64;
        let capacity = match self {
            Self::Cuckoo | Self::SemiSorted | Self::Printed { .. } | Self::Elastic => {
                slots * PLANNED_LOAD
            }
            // Thirteen bits per key, where nine hashes are best.
            Self::Bloom | Self::Blocked => slots * ENTRY_BITS as f64 / 13.0,
            Self::Quotient => slots * 0.9,
            Self::Dleft { .. } => slots * DLEFT_LOAD,
        };
        capacity as u64
    }
}

/// Fills a filter with the keys of these numbers until one is refused, and measures how long that
/// takes; making the keys does not count.
pub(super) fn fill(
    contender: &mut dyn Subject,
    seed: u64,
    numbers: std::ops::Range<u64>,
) -> Duration {
    let mut total = Duration::ZERO;
    let mut start = numbers.start;
    while start < numbers.end {
        let end = numbers.end.min(start.saturating_add(GROUP));
        let keys = keys(seed, start..end);
        let (time, inserted) = timed(|| contender.insert_until_refused(&keys));
        total += time;
        if inserted < keys.len() {
            break;
        }
        start = end;
    }
    total
}

/// The share of the slots in use when a filter first refuses a key.
pub(super) fn load_at_first_refusal(filter: &mut dyn Subject, seed: u64) -> f64 {
    fill(filter, seed, 0..u64::MAX);
    filter.as_filter().map_or(0.0, Filter::utilization)
}

/// A filter with as many keys as it is planned to hold.
pub(super) fn filled(kind: Kind, buckets: u64, seed: u64) -> anyhow::Result<Box<dyn Subject>> {
    let mut contender = kind.empty(buckets, seed)?;
    let capacity = kind.capacity(buckets);
    fill(&mut *contender, seed, 0..capacity);
    anyhow::ensure!(contender.held() as u64 == capacity, "{} refused a key", kind.name());
    Ok(contender)
}

pub(super) fn false_positive_rate(contender: &dyn Subject, seed: u64, lookups: u64) -> f64 {
    let groups = (0..lookups).step_by(GROUP as usize);
    let found: usize = groups
        .map(|start| contender.count(&absent_keys(seed, start..lookups.min(start + GROUP))))
        .sum();
    found as f64 / lookups as f64
}

/// Speeds of filters, in millions per second, over the numbers and names of `columns`: a plot, and a
/// table with the bits and the rate of each.
pub(super) fn drawn<'a>(
    plot: Plot,
    columns: &[(f64, String)],
    rows: impl Iterator<Item = (Kind, f64, f64, &'a [f64])>,
) -> (Plot, Table) {
    let head = ["filter", "bits/item", "FPR %"].map(str::to_owned).into_iter();
    let mut table = Table::new(head.chain(columns.iter().map(|(_, name)| name.clone())));
    let plot = rows.fold(plot, |plot, (kind, bits_per_item, rate, line)| {
        let first = [kind.name().to_owned(), number(bits_per_item, 2), percent(rate, 3)];
        table.row(first.into_iter().chain(line.iter().map(|&mops| number(mops, 1))));
        plot.line(kind.name(), columns.iter().map(|column| column.0).zip(line.iter().copied()))
    });
    (plot, table)
}

#[derive(Clone, Copy)]
pub(super) struct SpeedScale {
    pub(super) buckets: u64,
    pub(super) lookups: u64,
    /// The best round counts: what else the machine does only makes things slower.
    pub(super) rounds: u32,
    pub(super) rate_lookups: u64,
}

impl SpeedScale {
    pub(super) fn of(settings: &Settings<'_>) -> Self {
        let (log2_buckets, lookups, rate_lookups) =
            settings.pick((16, 1 << 18, 1 << 20), (PAPER_LOG2_BUCKETS, 1 << 22, 1 << 24));
        Self { buckets: 1 << log2_buckets, lookups, rounds: 5, rate_lookups }
    }

    /// A claim about speed: filters in the caches cannot decide about the paper's.
    pub(super) fn judge(&self, finding: Finding) -> Finding {
        finding.if_decided(self.buckets >= 1 << PAPER_LOG2_BUCKETS, IN_CACHES).timed()
    }

    #[cfg(test)]
    pub(super) fn tiny() -> Self {
        Self { buckets: 1 << 8, lookups: 1 << 8, rounds: 1, rate_lookups: 1 << 10 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twelve bits per slot, and what a filter has beside its table.
    #[test]
    fn all_of_given_size_have_the_same_memory_and_hold_what_is_planned() {
        for kind in KINDS {
            let mut contender = filled(kind, 1 << 13, 1).unwrap();
            let bits = contender.bits_per_key() * contender.held() as f64;
            let same = (bits / f64::from(48 << 13) - 1.0).abs() < 0.06;
            assert!(same || kind == Kind::Elastic, "{} has {bits} bits", kind.name());
            let inserted = keys(1, 0..contender.held() as u64);
            assert_eq!(contender.count(&inserted), inserted.len(), "{}", kind.name());
            let removed = contender.remove_all(&inserted);
            assert_eq!(removed.is_none(), matches!(kind, Kind::Bloom | Kind::Blocked));
            assert!(
                removed.is_none_or(|removed| removed == inserted.len() && contender.held() == 0)
            );
        }
    }

    #[test]
    fn filling_stops_at_the_first_refusal() {
        let mut contender = Kind::Cuckoo.empty(64, 1).unwrap();
        fill(&mut *contender, 1, 0..1000);
        assert!((231..257).contains(&contender.held()));
    }
}
