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

/// Checks filters of a builder: those that cannot remove are held to the laws of insertion.
macro_rules! obeys {
    ($check:ident, $builder:expr, $($name:tt)*) => {{
        let (builder, name) = ($builder, format!($($name)*));
        $check(&name, &|seed| builder.clone().seed(seed).build());
    }};
}

type Make<'a, F> = &'a dyn Fn(u64) -> Result<F, BuildError>;

fn subject<F: Counts>(name: &str, make: Make<'_, F>, check: impl Fn(&Subject<'_, F>)) {
    let make = |seed| make(seed).unwrap_or_else(|error| panic!("{name}: {error}"));
    check(&Subject { name, keys: KEYS, all_fit: true, copies: F::COPIES, make: &make });
}

fn insert_only<F: Insert + State + Counts + Clone>(name: &str, make: Make<'_, F>) {
    subject(name, make, conformance::check_unsaved_insert_only);
}

fn all<F: Insert + Remove + State + Counts + Clone>(name: &str, make: Make<'_, F>) {
    subject(name, make, conformance::check_unsaved);
}

macro_rules! planned {
    ($filter:ident, $capacity:expr, $rate:expr) => {
        $filter::builder().capacity($capacity).false_positive_rate($rate)
    };
}

/// Capacities that are kept, passed, and far from reached.
const CAPACITIES: [usize; 3] = [KEYS / 2, KEYS, 10 * KEYS];
const RATES: [f64; 4] = [0.2, 0.02, 0.001, 1e-5];

#[test]
fn bloom_filters_obey_the_laws() {
    for keys in CAPACITIES {
        for rate in RATES {
            obeys!(insert_only, planned!(BloomFilter, keys, rate), "Bloom {keys} {rate}");
            obeys!(insert_only, planned!(BlockedBloomFilter, keys, rate), "blocked {keys} {rate}");
            obeys!(all, planned!(CountingBloomFilter, keys, rate), "counting {keys} {rate}");
        }
    }
    for (bits, hashes) in [(1001, 1), (2017, 4), (4096, 9), (9000, 14)] {
        let bloom = BloomFilter::builder().bits(bits).hashes(hashes);
        obeys!(insert_only, bloom, "Bloom {bits} {hashes}");
        let blocked = BlockedBloomFilter::builder().capacity(KEYS).bits(bits).hashes(hashes);
        obeys!(insert_only, blocked, "blocked {bits} {hashes}");
        let counting = CountingBloomFilter::builder().counters(bits).hashes(hashes);
        obeys!(all, counting, "counting {bits} {hashes}");
    }
}

/// Removals that are given up break the laws of removal, so only the others hold; what becomes of
/// removals is tested with the filter.
#[test]
fn dynamic_bloom_filters_obey_the_laws_of_insertion() {
    for (keys, each) in [(KEYS, 30), (KEYS, KEYS), (10 * KEYS, 7), (KEYS / 2, 50)] {
        for rate in RATES {
            let list = planned!(DynamicBloomFilter, keys, rate).capacity_per_filter(each);
            obeys!(insert_only, list, "dynamic {keys} {each} {rate}");
        }
    }
}

#[test]
fn quotient_filters_obey_the_laws() {
    for bits in (1..=32).filter(|bits| bits % 3 == 1 || *bits == 32) {
        let builder = QuotientFilter::builder().capacity(KEYS).remainder_bits(bits);
        obeys!(all, builder, "quotient {bits}");
    }
    for rate in RATES {
        obeys!(all, planned!(QuotientFilter, 4 * KEYS, rate), "quotient {rate}");
    }
}

#[test]
fn dleft_counting_bloom_filters_obey_the_laws() {
    for slots in 2..=8 {
        for (bits, counter) in [(8, 2), (11, 1), (13, 4), (28, 2), (17, 3)] {
            let builder = DleftCountingBloomFilter::builder().capacity(KEYS);
            let builder = builder.slots_per_bucket(slots).remainder_bits(bits);
            obeys!(all, builder.counter_bits(counter), "d-left {slots} {bits} {counter}");
        }
    }
    for rate in RATES {
        obeys!(all, planned!(DleftCountingBloomFilter, KEYS, rate), "d-left {rate}");
    }
}

#[test]
fn adaptive_cuckoo_filters_obey_the_laws() {
    for bits in [4, 5, 8, 12, 16, 25, 32] {
        let builder = AdaptiveCuckooFilter::builder().capacity(KEYS).fingerprint_bits(bits);
        obeys!(all, builder, "adaptive {bits}");
    }
    for rate in RATES {
        obeys!(all, planned!(AdaptiveCuckooFilter, KEYS, rate), "adaptive {rate}");
    }
}
