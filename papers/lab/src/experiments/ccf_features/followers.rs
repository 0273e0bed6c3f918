//! Every filter of the paper's Table I as one that follows a trace, as well as it can.

use cuculus::lab::PlacementKind;
use cuculus::{CuckooFilter, ElasticFilter, Filter, Insert, KeyHash, Remove};
use cuculus_papers::analysis;
use cuculus_papers::baselines::{AdaptiveCuckooFilter, BloomFilter, DynamicBloomFilter, Removal};
use cuculus_papers::{
    ConsistentCuckooFilter, DynamicCuckooFilter, IndexIndependentCuckooFilter, Resizing,
};

use super::RATE;
use crate::candidate::planned;
use crate::experiments::ccf_trace::{Follower, Tidied, Tidy};

/// The keys of each filter of a list.
const EACH: usize = 192;
const BUCKETS: u64 = 64;
/// A ring this empty is made smaller.
const SPARSE: f64 = 0.85;

/// A filter under the name that the paper has for it.
type Named = (&'static str, Box<dyn Follower>);

/// All, planned for this many keys at once where they must be planned.
pub(super) fn all(keys: usize, seed: u64) -> anyhow::Result<Vec<Named>> {
    let bits = analysis::fingerprint_bits_for_keys(keys as f64, RATE);
    let cuckoo = |placement| planned!(CuckooFilter, keys, RATE).placement(placement).seed(seed);
    let list = planned!(DynamicCuckooFilter, keys, RATE).capacity_per_filter(EACH);
    let list = list.seed(seed).build()?;
    let consistent = ConsistentCuckooFilter::builder().buckets_per_filter(BUCKETS);
    let consistent = consistent.max_filters(1024).fingerprint_bits(bits).seed(seed);
    let ring = IndexIndependentCuckooFilter::builder();
    let ring = ring.buckets(BUCKETS).fingerprint_bits(bits).seed(seed).build()?;
    let blooms = planned!(DynamicBloomFilter, keys, RATE).capacity_per_filter(EACH);
    let adaptive = planned!(AdaptiveCuckooFilter, keys, RATE).seed(seed);
    let elastic = ElasticFilter::builder().false_positive_rate(RATE);
    Ok(vec![
        ("BF", Box::new(Keeps(planned!(BloomFilter, keys, RATE).seed(seed).build()?))),
        ("DBF", Box::new(Unsure(blooms.seed(seed).build()?))),
        ("CF", Box::new(cuckoo(PlacementKind::Xor).build()?)),
        ("DCF", Box::new(Tidied::new(list, Tidy::AsPrinted))),
        ("ACF", Box::new(adaptive.build()?)),
        ("SCF", Box::new(cuckoo(PlacementKind::Simplified).build()?)),
        ("I2CF", Box::new(Ring(ring))),
        ("CCF", Box::new(consistent.resizing(Resizing::Adaptive).build()?)),
        ("elastic", Box::new(elastic.seed(seed).build()?)),
    ])
}

/// A Bloom filter keeps what it is given: a removal finds the key and changes nothing.
struct Keeps(BloomFilter);

/// A list of Bloom filters keeps what it cannot tell from others.
struct Unsure(DynamicBloomFilter);

/// One ring, with buckets added when a key is refused and removed when it is sparse.
struct Ring(IndexIndependentCuckooFilter);

impl Follower for Keeps {
    fn filter(&self) -> &dyn Filter {
        &self.0
    }

    fn insert(&mut self, hash: KeyHash) -> bool {
        self.0.insert_hash(hash).is_ok()
    }

    fn remove(&mut self, hash: KeyHash) -> bool {
        self.0.contains_hash(hash)
    }
}

impl Follower for Unsure {
    fn filter(&self) -> &dyn Filter {
        &self.0
    }

    fn insert(&mut self, hash: KeyHash) -> bool {
        self.0.insert_hash(hash).is_ok()
    }

    fn remove(&mut self, hash: KeyHash) -> bool {
        self.0.try_remove_hash(hash) != Removal::Absent
    }

    fn parts(&self) -> (usize, usize) {
        (self.0.filters(), 0)
    }
}

impl Follower for Ring {
    fn filter(&self) -> &dyn Filter {
        &self.0
    }

    fn insert(&mut self, hash: KeyHash) -> bool {
        while self.0.insert_hash(hash).is_err() {
            if self.0.add_bucket().is_err() {
                return false;
            }
        }
        true
    }

    fn remove(&mut self, hash: KeyHash) -> bool {
        let removed = self.0.remove_hash(hash);
        if self.0.utilization() < SPARSE {
            self.0.remove_bucket();
        }
        removed
    }

    fn parts(&self) -> (usize, usize) {
        (1, self.0.stats().ring_bytes)
    }
}
