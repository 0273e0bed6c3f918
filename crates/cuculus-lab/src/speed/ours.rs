//! Our filters, as a user gets them from the builder.

use cuculus::lab::PlacementKind;
use cuculus::papers::DynamicCuckooFilter;
use cuculus::{
    BuildError, CuckooFilter, CuckooFilterBuilder, ElasticFilter, Filter, Insert, KeyHash, Remove,
};

use super::adapter::{Adapter, Batches, Built, Deletes, Grows};
use super::baselines;
use super::contestant::{Contestant, Entry};
use crate::keys::WorkKey;

/// The row that ratios speak of.
pub(super) const NAME: &str = Plain::NAME;
/// The row of the filter that grows.
pub(super) const ELASTIC_NAME: &str = Elastic::NAME;

/// Keys hashed and handed over at a time.
const GROUP: usize = 1024;

/// One of our filters under a name.
pub(crate) trait Variant {
    const NAME: &'static str;
    type Filter: Filter + Insert + Remove;

    /// What must be known about it beside the name.
    const NOTE: &'static str = "";

    /// A filter for so many keys at first and in the end, for those that must know.
    fn empty(first: usize, most: usize, rate: f64) -> Result<Self::Filter, BuildError>;
}

pub(crate) struct Plain;
struct SemiSorted;
struct Xor;
pub(crate) struct Elastic;
pub(crate) struct Dynamic;

fn fixed(capacity: usize, rate: f64) -> CuckooFilterBuilder {
    CuckooFilter::builder().capacity(capacity).false_positive_rate(rate)
}

impl Variant for Plain {
    const NAME: &'static str = "cuculus";
    type Filter = CuckooFilter;

    fn empty(_: usize, most: usize, rate: f64) -> Result<CuckooFilter, BuildError> {
        fixed(most, rate).build()
    }
}

impl Variant for SemiSorted {
    const NAME: &'static str = "cuculus semi-sorted";
    type Filter = CuckooFilter;

    fn empty(_: usize, most: usize, rate: f64) -> Result<CuckooFilter, BuildError> {
        fixed(most, rate).semi_sorted(true).build()
    }
}

impl Variant for Xor {
    const NAME: &'static str = "cuculus xor";
    type Filter = CuckooFilter;

    fn empty(_: usize, most: usize, rate: f64) -> Result<CuckooFilter, BuildError> {
        fixed(most, rate).placement(PlacementKind::Xor).build()
    }
}

/// Nothing is declared: it grows from nothing. The seed is fixed, so that two runs do the same and
/// the times of single operations can be compared.
impl Variant for Elastic {
    const NAME: &'static str = "cuculus elastic";
    type Filter = ElasticFilter;

    fn empty(_: usize, _: usize, rate: f64) -> Result<ElasticFilter, BuildError> {
        ElasticFilter::builder().false_positive_rate(rate).seed(1).build()
    }
}

/// A list of filters, which keeps its rate up to a number of keys that must be declared.
impl Variant for Dynamic {
    const NAME: &'static str = "cuculus DCF";
    const NOTE: &'static str = "largest size declared";
    type Filter = DynamicCuckooFilter;

    fn empty(_: usize, most: usize, rate: f64) -> Result<DynamicCuckooFilter, BuildError> {
        DynamicCuckooFilter::builder().capacity(most).false_positive_rate(rate).seed(1).build()
    }
}

/// Whether a row of this name is ours.
pub(super) fn is_ours(name: &str) -> bool {
    name.starts_with(NAME)
}

/// Our filters that a user would choose from.
pub(super) fn main_contestants<K: WorkKey>(rate: f64) -> Vec<Box<dyn Contestant<K>>> {
    vec![entry::<Plain, K>(rate), entry::<SemiSorted, K>(rate), entry::<Elastic, K>(rate)]
}

/// Our filters in the competition.
pub(super) fn contestants<K: WorkKey>(rate: f64, all: bool) -> Vec<Box<dyn Contestant<K>>> {
    let mut contestants: Vec<Box<dyn Contestant<K>>> =
        vec![entry::<Plain, K>(rate), entry::<SemiSorted, K>(rate)];
    if all {
        contestants.push(entry::<Xor, K>(rate));
        contestants.extend(baselines::contestants(rate));
    }
    contestants
}

/// The elastic filter, and the one of fixed size to measure it by.
pub(super) fn elastic_contestants<K: WorkKey>(rate: f64) -> Vec<Box<dyn Contestant<K>>> {
    vec![entry::<Plain, K>(rate), entry::<Elastic, K>(rate)]
}

fn entry<V: Variant + 'static, K: WorkKey>(rate: f64) -> Box<dyn Contestant<K>> {
    Box::new(Entry::<Ours<V>, K>::new(rate).deleting().batching())
}

pub(crate) struct Ours<V: Variant> {
    filter: V::Filter,
}

impl<V: Variant, K: WorkKey> Adapter<K> for Ours<V> {
    const NAME: &'static str = V::NAME;

    fn note() -> String {
        V::NOTE.to_owned()
    }

    fn build(keys: &[K], rate: f64) -> anyhow::Result<Built<Self, K>> {
        let empty = <Self as Grows<K>>::start(keys.len(), keys.len(), rate)?;
        Ok(Built::one_by_one(empty, keys, Self::insert))
    }

    #[inline(always)]
    fn contains(&self, key: &K) -> bool {
        self.filter.contains(key)
    }
}

impl<V: Variant, K: WorkKey> Deletes<K> for Ours<V> {
    #[inline(always)]
    fn remove(&mut self, key: &K) -> bool {
        self.filter.remove(key)
    }
}

impl<V: Variant, K: WorkKey> Grows<K> for Ours<V> {
    fn start(first: usize, most: usize, rate: f64) -> anyhow::Result<Self> {
        Ok(Self { filter: V::empty(first, most, rate)? })
    }

    #[inline(always)]
    fn insert(&mut self, key: &K) -> bool {
        self.filter.insert(key).is_ok()
    }
}

impl<V: Variant, K: WorkKey> Batches<K> for Ours<V> {
    fn build_batched(keys: &[K], rate: f64) -> anyhow::Result<Built<Self, K>> {
        let mut ours = <Self as Grows<K>>::start(keys.len(), keys.len(), rate)?;
        let mut refused = Vec::new();
        let mut hashes = Vec::with_capacity(GROUP);
        for keys in keys.chunks(GROUP) {
            hash_all(&ours.filter, keys, &mut hashes);
            let mut at = 0;
            while let Err(full) = ours.filter.insert_batch(&hashes[at..]) {
                at += full.inserted;
                refused.push(keys[at]);
                at += 1;
            }
        }
        Ok(Built { filter: ours, refused })
    }

    fn count_batched(&self, keys: &[K]) -> usize {
        let mut hits = Vec::with_capacity(GROUP);
        keys.chunks(GROUP)
            .map(|keys| {
                self.filter.contains_keys(keys, &mut hits);
                count_true(&hits)
            })
            .sum()
    }

    fn hashes(&self, keys: &[K]) -> Vec<KeyHash> {
        let mut hashes = Vec::new();
        hash_all(&self.filter, keys, &mut hashes);
        hashes
    }

    fn count_hashed(&self, hashes: &[KeyHash]) -> usize {
        let mut hits = Vec::with_capacity(GROUP);
        hashes
            .chunks(GROUP)
            .map(|hashes| {
                self.filter.contains_batch(hashes, &mut hits);
                count_true(&hits)
            })
            .sum()
    }
}

fn hash_all<K: WorkKey>(filter: &impl Filter, keys: &[K], hashes: &mut Vec<KeyHash>) {
    let hasher = filter.hasher();
    hashes.clear();
    hashes.extend(keys.iter().map(|key| hasher.hash(key)));
}

fn count_true(hits: &[bool]) -> usize {
    hits.iter().map(|&hit| usize::from(hit)).sum()
}
