//! Baselines of ours that other crates have too, to see that they are fair ones.

use cuculus::{BuildError, Filter, Insert, Remove};
use cuculus_baselines::{BloomFilter, QuotientFilter};

use super::adapter::{Adapter, Built, Deletes};
use super::contestant::{Contestant, Entry};
use crate::keys::WorkKey;

/// A baseline under a name.
trait Baseline {
    const NAME: &'static str;
    type Filter: Filter + Insert;

    /// A filter for so many keys.
    fn empty(capacity: usize, rate: f64) -> Result<Self::Filter, BuildError>;
}

/// Beside `fastbloom`.
struct Bloom;
/// Beside `qfilter`.
struct Quotient;

impl Baseline for Bloom {
    const NAME: &'static str = "baseline Bloom";
    type Filter = BloomFilter;

    fn empty(capacity: usize, rate: f64) -> Result<BloomFilter, BuildError> {
        BloomFilter::builder().capacity(capacity).false_positive_rate(rate).build()
    }
}

impl Baseline for Quotient {
    const NAME: &'static str = "baseline quotient";
    type Filter = QuotientFilter;

    fn empty(capacity: usize, rate: f64) -> Result<QuotientFilter, BuildError> {
        QuotientFilter::builder().capacity(capacity).false_positive_rate(rate).build()
    }
}

pub(super) fn contestants<K: WorkKey>(rate: f64) -> Vec<Box<dyn Contestant<K>>> {
    vec![
        Box::new(Entry::<Measured<Bloom>, K>::new(rate)),
        Box::new(Entry::<Measured<Quotient>, K>::new(rate).deleting()),
    ]
}

struct Measured<B: Baseline> {
    filter: B::Filter,
}

impl<B: Baseline, K: WorkKey> Adapter<K> for Measured<B> {
    const NAME: &'static str = B::NAME;

    fn build(keys: &[K], rate: f64) -> anyhow::Result<Built<Self, K>> {
        let empty = Self { filter: B::empty(keys.len(), rate)? };
        Ok(Built::one_by_one(empty, keys, |of, key| of.filter.insert(key).is_ok()))
    }

    #[inline(always)]
    fn contains(&self, key: &K) -> bool {
        self.filter.contains(key)
    }
}

impl<B: Baseline, K: WorkKey> Deletes<K> for Measured<B>
where
    B::Filter: Remove,
{
    #[inline(always)]
    fn remove(&mut self, key: &K) -> bool {
        self.filter.remove(key)
    }
}
