//! Every filter obeys the library's laws, in several shapes.

use cuculus::conformance::{self, Copies, State, Subject};
use cuculus::{BuildError, Insert, Remove};

use crate::baselines::{
    AdaptiveCuckooFilter, BlockedBloomFilter, BloomFilter, CountingBloomFilter,
    DleftCountingBloomFilter, DynamicBloomFilter, QuotientFilter,
};

const KEYS: usize = 300;

trait Counts {
    const COPIES: Copies;
}

/// The state is all of a filter: filters are compared whole.
macro_rules! whole_state {
    ($($filter:ty: $copies:expr),* $(,)?) => {$(
        impl Counts for $filter {
            const COPIES: Copies = $copies;
        }

        impl State for $filter {
            type State = Self;

            fn state(&self) -> Self {
                self.clone()
            }

            fn revived(&self) -> Self {
                self.clone()
            }
        }
    )*};
}
whole_state!(
    BloomFilter: Copies::CountedUpTo(1),
    BlockedBloomFilter: Copies::CountedUpTo(1),
    CountingBloomFilter: Copies::CountedUpTo(15),
    DynamicBloomFilter: Copies::CountedUpTo(15),
    DleftCountingBloomFilter: Copies::Bounded { least: 2 },
    QuotientFilter: Copies::UntilFull,
    AdaptiveCuckooFilter: Copies::Bounded { least: 2 },
);

fn subject<F: Counts>(
    name: &str,
    make: &dyn Fn(u64) -> Result<F, BuildError>,
    check: impl Fn(&Subject<'_, F>),
) {
    let make = |seed| make(seed).unwrap_or_else(|error| panic!("{name}: {error}"));
    check(&Subject { name, keys: KEYS, all_fit: true, copies: F::COPIES, make: &make });
}

fn insert_only<F: Insert + State + Counts + Clone>(
    name: &str,
    make: &dyn Fn(u64) -> Result<F, BuildError>,
) {
    subject(name, make, conformance::check_unsaved_insert_only);
}

fn all<F: Insert + Remove + State + Counts + Clone>(
    name: &str,
    make: &dyn Fn(u64) -> Result<F, BuildError>,
) {
    subject(name, make, conformance::check_unsaved);
}

/// Capacities that are kept, passed, and far from reached.
const CAPACITIES: [usize; 3] = [KEYS / 2, KEYS, 10 * KEYS];
const RATES: [f64; 4] = [0.2, 0.02, 0.001, 1e-5];

#[test]
fn bloom_filters_obey_the_laws() {
    for capacity in CAPACITIES {
        for rate in RATES {
            let builder = BloomFilter::builder().capacity(capacity).false_positive_rate(rate);
            let name = format!("Bloom {capacity} {rate}");
            insert_only(&name, &|seed| builder.clone().seed(seed).build());
            let builder = BlockedBloomFilter::builder().capacity(capacity);
            let builder = builder.false_positive_rate(rate);
            let name = format!("blocked {capacity} {rate}");
            insert_only(&name, &|seed| builder.clone().seed(seed).build());
            let builder = CountingBloomFilter::builder().capacity(capacity);
            let builder = builder.false_positive_rate(rate);
            let name = format!("counting {capacity} {rate}");
            all(&name, &|seed| builder.clone().seed(seed).build());
        }
    }
    for (bits, hashes) in [(1001, 1), (2017, 4), (4096, 9), (9000, 14)] {
        let bloom = BloomFilter::builder().bits(bits).hashes(hashes);
        insert_only(&format!("Bloom {bits} {hashes}"), &|seed| bloom.clone().seed(seed).build());
        let blocked = BlockedBloomFilter::builder().capacity(KEYS).bits(bits).hashes(hashes);
        insert_only(&format!("blocked {bits} {hashes}"), &|seed| {
            blocked.clone().seed(seed).build()
        });
        let counting = CountingBloomFilter::builder().counters(bits).hashes(hashes);
        all(&format!("counting {bits} {hashes}"), &|seed| counting.clone().seed(seed).build());
    }
}

/// Removals that are given up break the laws of removal, so only the others hold; what becomes of
/// removals is tested with the filter.
#[test]
fn dynamic_bloom_filters_obey_the_laws_of_insertion() {
    for (capacity, each) in [(KEYS, 30), (KEYS, KEYS), (10 * KEYS, 7), (KEYS / 2, 50)] {
        for rate in RATES {
            let builder = DynamicBloomFilter::builder().capacity(capacity);
            let builder = builder.capacity_per_filter(each).false_positive_rate(rate);
            let name = format!("dynamic {capacity} {each} {rate}");
            insert_only(&name, &|seed| builder.clone().seed(seed).build());
        }
    }
}

#[test]
fn quotient_filters_obey_the_laws() {
    for bits in (1..=32).filter(|bits| bits % 3 == 1 || *bits == 32) {
        let builder = QuotientFilter::builder().capacity(KEYS).remainder_bits(bits);
        all(&format!("quotient {bits}"), &|seed| builder.clone().seed(seed).build());
    }
    for rate in RATES {
        let builder = QuotientFilter::builder().capacity(4 * KEYS).false_positive_rate(rate);
        all(&format!("quotient {rate}"), &|seed| builder.clone().seed(seed).build());
    }
}

#[test]
fn dleft_counting_bloom_filters_obey_the_laws() {
    for slots in 2..=8 {
        for (bits, counter) in [(8, 2), (11, 1), (13, 4), (28, 2), (17, 3)] {
            let builder =
                DleftCountingBloomFilter::builder().capacity(KEYS).slots_per_bucket(slots);
            let builder = builder.remainder_bits(bits).counter_bits(counter);
            let name = format!("d-left {slots} {bits} {counter}");
            all(&name, &|seed| builder.clone().seed(seed).build());
        }
    }
    for rate in RATES {
        let builder = DleftCountingBloomFilter::builder().capacity(KEYS).false_positive_rate(rate);
        all(&format!("d-left {rate}"), &|seed| builder.clone().seed(seed).build());
    }
}

#[test]
fn adaptive_cuckoo_filters_obey_the_laws() {
    for bits in [4, 5, 8, 12, 16, 25, 32] {
        let builder = AdaptiveCuckooFilter::builder().capacity(KEYS).fingerprint_bits(bits);
        all(&format!("adaptive {bits}"), &|seed| builder.clone().seed(seed).build());
    }
    for rate in RATES {
        let builder = AdaptiveCuckooFilter::builder().capacity(KEYS).false_positive_rate(rate);
        all(&format!("adaptive {rate}"), &|seed| builder.clone().seed(seed).build());
    }
}
