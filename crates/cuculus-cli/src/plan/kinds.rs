//! The kinds of filters that a plan compares, and how the cost of each is found.

use std::thread;

use cuculus::{CuckooFilter, ElasticFilter};
use cuculus_papers::baselines::{
    BlockedBloomFilter, BloomFilter, CountingBloomFilter, QuotientFilter,
};

use super::cost::{Cost, Part};
use super::{Line, Need};

/// Filters of fixed size take the same bits per key in a part as in the whole.
const FIXED_PART: u64 = 1 << 18;

/// The description of a segment, then two buckets.
const ELASTIC_READS: u64 = 3;
const TWO_BUCKETS: u64 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Elastic,
    ElasticSized,
    Fixed,
    SemiSorted,
    Bloom,
    BlockedBloom,
    CountingBloom,
    Quotient,
}

impl Kind {
    pub(super) const ALL: [Self; 8] = [
        Self::Elastic,
        Self::ElasticSized,
        Self::Fixed,
        Self::SemiSorted,
        Self::Bloom,
        Self::BlockedBloom,
        Self::CountingBloom,
        Self::Quotient,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Elastic => "elastic",
            Self::ElasticSized => "elastic, sized",
            Self::Fixed => "fixed cuckoo",
            Self::SemiSorted => "semi-sorted",
            Self::Bloom => "Bloom",
            Self::BlockedBloom => "blocked Bloom",
            Self::CountingBloom => "counting Bloom",
            Self::Quotient => "quotient",
        }
    }

    pub(super) fn deletes(self) -> bool {
        !matches!(self, Self::Bloom | Self::BlockedBloom)
    }

    /// Whether its memory follows the set.
    pub(super) fn grows(self) -> bool {
        matches!(self, Self::Elastic | Self::ElasticSized)
    }

    fn cost(self, need: &Need) -> Result<Cost, String> {
        if need.delete && !self.deletes() {
            return Err("cannot delete".to_owned());
        }
        let part = Part::of(need.items, need.peak, FIXED_PART);
        let (capacity, rate) = (part.capacity, need.rate);
        // The builders have the same methods but no common trait.
        macro_rules! build {
            ($kind:ty) => {
                <$kind>::builder().capacity(capacity).false_positive_rate(rate).seed(1)
            };
        }
        match self {
            Self::Elastic => elastic(need, None),
            Self::ElasticSized => elastic(need, Some(need.peak)),
            Self::Fixed => part.fixed(build!(CuckooFilter).build(), |_| TWO_BUCKETS),
            Self::SemiSorted => {
                part.fixed(build!(CuckooFilter).semi_sorted(true).build(), |_| TWO_BUCKETS)
            }
            Self::Bloom => part.fixed(build!(BloomFilter).build(), |bloom| bloom.hashes().into()),
            Self::BlockedBloom => part.fixed(build!(BlockedBloomFilter).build(), |_| 1),
            Self::CountingBloom => {
                part.fixed(build!(CountingBloomFilter).build(), |bloom| bloom.hashes().into())
            }
            // The block of the slot, and often the next one.
            Self::Quotient => part.fixed(build!(QuotientFilter).build(), |_| 2),
        }
    }
}

/// By the rules of its growth: it is not built.
fn elastic(need: &Need, hint: Option<u64>) -> Result<Cost, String> {
    let mut builder = ElasticFilter::builder().false_positive_rate(need.rate);
    if let Some(hint) = hint {
        builder = builder.expected_items(usize::try_from(hint).map_err(|error| error.to_string())?);
    }
    let with = |items: u64| builder.forecast(items).map_err(|error| error.to_string());
    let (now, peak) = (with(need.items)?, with(need.peak)?);
    Ok(Cost {
        bytes: now.bytes,
        peak_bytes: peak.bytes.max(now.bytes),
        expected_rate: now.false_positive_rate,
        reads: ELASTIC_READS,
    })
}

/// The cost of each kind, in the order of [`Kind::ALL`].
pub(super) fn costs(need: &Need) -> Vec<Line> {
    thread::scope(|scope| {
        let cost = |kind: Kind| (kind, scope.spawn(move || kind.cost(need)));
        let working: Vec<_> = Kind::ALL.into_iter().map(cost).collect();
        let done = working.into_iter().map(|(kind, cost)| {
            let cost = cost.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Line { kind, cost }
        });
        done.collect()
    })
}

#[cfg(test)]
mod tests {
    use cuculus::Filter;

    use super::*;

    fn cost(kind: Kind, need: &Need) -> Cost {
        kind.cost(need).unwrap_or_else(|reason| panic!("{kind:?}: {reason}"))
    }

    /// With more items than the parts that a plan builds.
    #[test]
    fn a_plan_agrees_with_filters_of_the_full_size() {
        let items = 3_700_000;
        let need = Need { items, peak: items, rate: 0.01, delete: false };
        let whole = Part { items: items as usize, capacity: items as usize, times: 1.0 };
        macro_rules! built {
            ($($kind:expr => $type:ty $(, $word:ident($value:expr))?;)*) => {[$({
                let builder = <$type>::builder().capacity(items as usize);
                let builder = builder.false_positive_rate(need.rate)$(.$word($value))?.seed(2);
                let filter = whole.filled(builder.build()).expect("built");
                ($kind, filter.size_in_bytes(), filter.expected_false_positive_rate())
            }),*]};
        }
        let mut built = built! {
            Kind::Fixed => CuckooFilter;
            Kind::SemiSorted => CuckooFilter, semi_sorted(true);
            Kind::Bloom => BloomFilter;
            Kind::BlockedBloom => BlockedBloomFilter;
            Kind::CountingBloom => CountingBloomFilter;
            Kind::Quotient => QuotientFilter;
        }
        .to_vec();
        for (kind, hint) in [(Kind::Elastic, 0), (Kind::ElasticSized, items as usize)] {
            let builder = ElasticFilter::builder().false_positive_rate(0.01).seed(2);
            let filter = whole.filled(builder.expected_items(hint).build()).expect("built");
            built.push((kind, filter.size_in_bytes(), filter.expected_false_positive_rate()));
        }
        for (kind, bytes, rate) in built {
            let planned = cost(kind, &need);
            let off = planned.bytes as f64 / bytes as f64 - 1.0;
            assert!(off.abs() < 0.04, "{kind:?}: {planned:?}, {bytes} bytes");
            let off = planned.expected_rate / rate - 1.0;
            assert!(off.abs() < 0.15, "{kind:?}: {planned:?}, {rate}");
        }
    }

    /// A fixed filter always takes the memory of the peak; a filter that grows takes less before.
    #[test]
    fn only_fixed_filters_always_take_the_memory_of_the_peak() {
        let usual = Need { items: 100_000, peak: 100_000, rate: 0.01, delete: false };
        let need = Need { peak: 1_000_000, ..usual };
        for kind in Kind::ALL {
            let (planned, alone) = (cost(kind, &need), cost(kind, &usual));
            assert!(planned.peak_bytes >= planned.bytes, "{kind:?}: {planned:?}");
            match kind.grows() {
                true => assert!(planned.bytes < planned.peak_bytes / 2, "{kind:?}: {planned:?}"),
                false => assert!(planned.bytes > 9 * alone.bytes, "{kind:?}: {planned:?}"),
            }
        }
    }

    #[test]
    fn a_rate_too_low_is_an_answer() {
        let need = Need { items: 1000, peak: 1000, rate: 1e-30, delete: false };
        let kept = |kind: &Kind| kind.cost(&need).is_ok();
        let kept: Vec<Kind> = Kind::ALL.into_iter().filter(kept).collect();
        assert_eq!(kept, [Kind::Bloom, Kind::CountingBloom]);
    }

    #[test]
    fn deletion_rules_out_the_kinds_without_it() {
        let need = Need { items: 1000, peak: 1000, rate: 0.01, delete: true };
        for kind in Kind::ALL {
            assert_eq!(kind.cost(&need).is_ok(), kind.deletes(), "{kind:?}");
        }
    }
}
