//! The filters that a user of Rust would find, one adapter per crate. Each is made by the
//! constructor and works with the hash function that its documentation shows first; a note says
//! where another one was taken.

use std::hash::BuildHasher;

use anyhow::anyhow;
use autoscale_cuckoo_filter::CuckooFilterBuilder;
use foldhash::fast::FixedState;
use foldhash::quality::{FixedState as QualityState, FoldHasher};
use scalable_cuckoo_filter::ScalableCuckooFilter;
use xorf::{BinaryFuse8, BinaryFuse16};

use crate::candidate::Candidate;
use crate::subject::Subject;

pub(crate) fn all(rate: f64) -> Vec<Candidate> {
    vec![
        qfilter(),
        Candidate::new("sketches", "SipHash, no choice", |plan| {
            sketches::cuckoo_filter::CuckooFilter::new(plan.most, plan.rate).map(Sketches)
        }),
        Candidate::new("bloom-lib", "16-bit slots", |plan| {
            bloom_lib::CuckooFilter::<u64>::new(plan.most).map(BloomLib)
        }),
        autoscale(),
        scalable(),
        Candidate::new("fastbloom", "foldhash", |plan| {
            let builder = fastbloom::BloomFilter::with_false_pos(plan.rate);
            let builder = builder.hasher(FixedState::default());
            anyhow::Ok(FastBloom(builder.expected_items(plan.most)))
        }),
        xorf(rate),
    ]
}

pub(crate) fn growing() -> Vec<Candidate> {
    vec![qfilter(), autoscale(), scalable()]
}

/// Implements [`Subject`]: how a key is inserted, and the method that removes one.
macro_rules! subject {
    ($filter:ty: |$of:ident, $key:ident| $insert:expr $(; $remove:ident)?) => {
        impl Subject for $filter {
            #[inline(always)]
            fn insert(&mut self, $key: &u64) -> bool {
                let $of = &mut self.0;
                $insert
            }

            #[inline(always)]
            fn contains(&self, key: &u64) -> bool {
                self.0.contains(key)
            }

            $(
                #[inline(always)]
                fn remove(&mut self, key: &u64) -> Option<bool> {
                    Some(self.0.$remove(key))
                }
            )?
        }
    };
}

/// A rank-and-select quotient filter. Its `insert` stores keys that look the same once, and removing
/// one of them loses the others; `insert_duplicated` is the call for sets that shrink. It must know
/// the most keys that it will ever hold.
struct QFilter(::qfilter::Filter);

subject!(QFilter: |filter, key| filter.insert_duplicated(key).is_ok(); remove);

fn qfilter() -> Candidate {
    Candidate::new("qfilter", "", |plan| {
        let (first, most) = (plan.first as u64, plan.most as u64);
        ::qfilter::Filter::new_resizeable(first, most, plan.rate).map(QFilter)
    })
}

struct Sketches(sketches::cuckoo_filter::CuckooFilter);

subject!(Sketches: |filter, key| filter.insert(key); delete);

/// A cuckoo filter with slots of 16 bits, whatever the rate.
struct BloomLib(bloom_lib::CuckooFilter<u64>);

subject!(BloomLib: |filter, key| filter.insert(key).is_ok(); remove);

/// A list of cuckoo filters that grows. The crate's default hash function needs AES instructions
/// when it is compiled, and without it there is the standard library's SipHash, several times
/// slower. A hash function of the default's speed stands in for it. Keys are put in by `add`:
/// `add_if_not_exist` would store keys that look the same once.
struct Autoscale(autoscale_cuckoo_filter::CuckooFilter<u64, FoldHasher<'static>>);

subject!(Autoscale: |filter, key| { filter.add(key); true }; remove);

fn autoscale() -> Candidate {
    Candidate::new("autoscale", "foldhash for gxhash", |plan| {
        let builder = CuckooFilterBuilder::new()
            .initial_capacity(plan.first)
            .false_positive_probability(plan.rate)
            .hasher(QualityState::with_seed(0).build_hasher());
        anyhow::Ok(Autoscale(builder.finish::<u64>()))
    })
}

struct Scalable(ScalableCuckooFilter<u64>);

subject!(Scalable: |filter, key| { filter.insert(key); true }; remove);

fn scalable() -> Candidate {
    Candidate::new("scalable", "SipHash, its default", |plan| {
        anyhow::Ok(Scalable(ScalableCuckooFilter::<u64>::new(plan.first, plan.rate)))
    })
}

/// A Bloom filter, so without removal. With the hash function that the crate's front page shows and
/// measures, instead of the SipHash that it takes by default.
struct FastBloom(fastbloom::BloomFilter<FixedState>);

subject!(FastBloom: |filter, key| { filter.insert(key); true });

struct Fuse<F>(F);

impl<F: xorf::Filter<u64>> Subject for Fuse<F> {
    fn insert(&mut self, _: &u64) -> bool {
        false
    }

    #[inline(always)]
    fn contains(&self, key: &u64) -> bool {
        self.0.contains(key)
    }
}

/// The smallest binary fuse filter that keeps the rate.
fn xorf(rate: f64) -> Candidate {
    macro_rules! fuse {
        ($filter:ident) => {{
            Candidate::new("xorf", concat!(stringify!($filter), ", static"), |plan| {
                $filter::try_from(plan.keys).map(Fuse).map_err(|error| anyhow!(error))
            })
        }};
    }
    let candidate = if rate >= 1.0 / 256.0 { fuse!(BinaryFuse8) } else { fuse!(BinaryFuse16) };
    candidate.holding_all_keys()
}
