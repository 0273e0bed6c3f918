//! The filters that a user of Rust would find, one adapter per crate. Each is made by the
//! constructor and works with the hash function that its documentation shows first; a note says
//! where another one was taken.

use std::borrow::Cow;
use std::hash::{BuildHasher, Hash};

use anyhow::anyhow;
use autoscale_cuckoo_filter::CuckooFilterBuilder;
use foldhash::fast::FixedState;
use foldhash::quality::{FixedState as QualityState, FoldHasher};
use scalable_cuckoo_filter::ScalableCuckooFilter;
use xorf::{BinaryFuse8, BinaryFuse16};

use crate::candidate::{Candidate, Plan};
use crate::keys::{Text24, WorkKey};
use crate::subject::{Probe, Subject};

/// All crates.
pub(crate) fn all<K: WorkKey + FuseKey>(rate: f64) -> Vec<Candidate<K>> {
    let mut all = vec![
        qfilter(),
        Candidate::new("sketches", "SipHash, no choice", |plan| {
            sketches::cuckoo_filter::CuckooFilter::new(plan.most, plan.rate).map(Sketches)
        }),
        Candidate::new("bloom-lib", "16-bit slots", |plan: &Plan<'_, K>| {
            bloom_lib::CuckooFilter::<K>::new(plan.most).map(BloomLib)
        }),
        autoscale(),
        scalable(),
        Candidate::new("fastbloom", "foldhash", |plan| {
            let builder = fastbloom::BloomFilter::with_false_pos(plan.rate);
            let builder = builder.hasher(FixedState::default());
            anyhow::Ok(FastBloom(builder.expected_items(plan.most)))
        }),
    ];
    all.push(xorf(rate));
    all
}

/// The crates whose filters grow.
pub(crate) fn growing() -> Vec<Candidate<u64>> {
    vec![qfilter(), autoscale(), scalable()]
}

/// Implements [`Subject`] by one expression per operation.
macro_rules! subject {
    (
        $filter:ty, $($bound:ident)+,
        |$of:ident, $key:ident| $insert:expr, $contains:expr $(, $remove:expr)?
    ) => {
        impl<K: $($bound +)+> Subject<K> for $filter {
            #[inline(always)]
            fn insert(&mut self, $key: &K) -> bool {
                let $of = &mut self.0;
                $insert
            }

            #[inline(always)]
            fn contains(&self, $key: &K) -> bool {
                let $of = &self.0;
                $contains
            }

            $(
                #[inline(always)]
                fn remove(&mut self, $key: &K) -> Option<bool> {
                    let $of = &mut self.0;
                    Some($remove)
                }
            )?
        }
    };
}

/// A rank-and-select quotient filter. Its `insert` stores keys that look the same once, and removing
/// one of them loses the others; `insert_duplicated` is the call for sets that shrink. It must know
/// the most keys that it will ever hold.
struct QFilter(::qfilter::Filter);

subject!(QFilter, Probe Hash, |filter, key| filter.insert_duplicated(key).is_ok(),
    filter.contains(key), filter.remove(key));

fn qfilter<K: Probe + Hash>() -> Candidate<K> {
    Candidate::new("qfilter", "", |plan| {
        let (first, most) = (plan.first as u64, plan.most as u64);
        ::qfilter::Filter::new_resizeable(first, most, plan.rate).map(QFilter)
    })
}

/// A packed cuckoo filter.
struct Sketches(sketches::cuckoo_filter::CuckooFilter);

subject!(Sketches, Probe Hash, |filter, key| filter.insert(key), filter.contains(key),
    filter.delete(key));

/// A cuckoo filter with slots of 16 bits, whatever the rate.
struct BloomLib<K>(bloom_lib::CuckooFilter<K>);

subject!(BloomLib<K>, Probe Hash, |filter, key| filter.insert(key).is_ok(), filter.contains(key),
    filter.remove(key));

/// A list of cuckoo filters that grows. The crate's default hash function needs AES instructions
/// when it is compiled, and without it there is the standard library's SipHash, several times
/// slower. A hash function of the default's speed stands in for it. Keys are put in by `add`:
/// `add_if_not_exist` would store keys that look the same once.
struct Autoscale<K>(autoscale_cuckoo_filter::CuckooFilter<K, FoldHasher<'static>>);

subject!(Autoscale<K>, Probe Hash, |filter, key| { filter.add(key); true }, filter.contains(key),
    filter.remove(key));

fn autoscale<K: Probe + Hash>() -> Candidate<K> {
    Candidate::new("autoscale", "foldhash for gxhash", |plan: &Plan<'_, K>| {
        let builder = CuckooFilterBuilder::new()
            .initial_capacity(plan.first)
            .false_positive_probability(plan.rate)
            .hasher(QualityState::with_seed(0).build_hasher());
        anyhow::Ok(Autoscale(builder.finish::<K>()))
    })
}

/// A list of cuckoo filters that grows.
struct Scalable<K>(ScalableCuckooFilter<K>);

subject!(Scalable<K>, Probe Hash, |filter, key| { filter.insert(key); true }, filter.contains(key),
    filter.remove(key));

fn scalable<K: Probe + Hash>() -> Candidate<K> {
    Candidate::new("scalable", "SipHash, its default", |plan: &Plan<'_, K>| {
        anyhow::Ok(Scalable(ScalableCuckooFilter::<K>::new(plan.first, plan.rate)))
    })
}

/// A Bloom filter, so without removal. With the hash function that the crate's front page shows and
/// measures, instead of the SipHash that it takes by default.
struct FastBloom(fastbloom::BloomFilter<FixedState>);

subject!(FastBloom, Probe Hash, |filter, key| { filter.insert(key); true }, filter.contains(key));

/// A binary fuse filter, made from all keys at once and never changed.
struct Fuse<F>(F);

impl<K: FuseKey, F: xorf::Filter<u64>> Subject<K> for Fuse<F> {
    fn insert(&mut self, _: &K) -> bool {
        false
    }

    #[inline(always)]
    fn contains(&self, key: &K) -> bool {
        self.0.contains(&key.number())
    }
}

/// The smallest binary fuse filter that keeps the rate.
fn xorf<K: FuseKey>(rate: f64) -> Candidate<K> {
    macro_rules! fuse {
        ($filter:ident) => {{
            let note = format!("{}, static{}", stringify!($filter), K::NOTE);
            Candidate::new("xorf", &note, |plan: &Plan<'_, K>| {
                $filter::try_from(&*K::numbers(plan.keys)).map(Fuse).map_err(|error| anyhow!(error))
            })
        }};
    }
    let candidate = if rate >= 1.0 / 256.0 { fuse!(BinaryFuse8) } else { fuse!(BinaryFuse16) };
    candidate.holding_all_keys()
}

/// Keys as a binary fuse filter takes them. It hashes numbers by itself; texts are the user's to
/// hash.
pub(crate) trait FuseKey: Probe {
    /// What a reader must know about that.
    const NOTE: &'static str;

    /// A key.
    fn number(&self) -> u64;

    /// Many of them.
    fn numbers(keys: &[Self]) -> Cow<'_, [u64]>;
}

impl FuseKey for u64 {
    const NOTE: &'static str = "";

    #[inline(always)]
    fn number(&self) -> u64 {
        *self
    }

    fn numbers(keys: &[Self]) -> Cow<'_, [u64]> {
        Cow::Borrowed(keys)
    }
}

impl FuseKey for Text24 {
    const NOTE: &'static str = ", foldhash";

    #[inline(always)]
    fn number(&self) -> u64 {
        FixedState::with_seed(0).hash_one(self)
    }

    fn numbers(keys: &[Self]) -> Cow<'_, [u64]> {
        Cow::Owned(keys.iter().map(Self::number).collect())
    }
}
