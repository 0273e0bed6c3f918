//! Every filter of the paper's Table I as one that follows a trace, as well as it can.

use cuculus::lab::PlacementKind;
use cuculus::{CuckooFilter, ElasticFilter, Filter, Insert, Remove};
use cuculus_papers::analysis;
use cuculus_papers::baselines::{AdaptiveCuckooFilter, BloomFilter, DynamicBloomFilter, Removal};
use cuculus_papers::{
    ConsistentCuckooFilter, DynamicCuckooFilter, IndexIndependentCuckooFilter, Resizing,
};

use super::RATE;
use crate::candidate::planned;
use crate::experiments::ccf_trace::{Follower, Following};

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
    // It keeps what it is given: a removal finds the key and changes nothing.
    let bloom = planned!(BloomFilter, keys, RATE).seed(seed).build()?;
    let bloom = Following::new(bloom, |bloom, hash| bloom.contains_hash(hash));
    // It keeps what it cannot tell from others.
    let blooms = Following {
        parts: |blooms: &DynamicBloomFilter| (blooms.filters(), 0),
        ..Following::new(blooms.seed(seed).build()?, |blooms: &mut DynamicBloomFilter, hash| {
            blooms.try_remove_hash(hash) != Removal::Absent
        })
    };
    Ok(vec![
        ("BF", Box::new(bloom)),
        ("DBF", Box::new(blooms)),
        ("CF", itself(cuckoo(PlacementKind::Xor).build()?)),
        ("DCF", Box::new(Following::list(list, true))),
        ("ACF", itself(adaptive.build()?)),
        ("SCF", itself(cuckoo(PlacementKind::Simplified).build()?)),
        ("I2CF", Box::new(resized(ring))),
        ("CCF", Box::new(Following::rings(consistent.resizing(Resizing::Adaptive).build()?))),
        ("elastic", itself(elastic.seed(seed).build()?)),
    ])
}

fn itself<F: Insert + Remove + 'static>(filter: F) -> Box<dyn Follower> {
    Box::new(Following::new(filter, Remove::remove_hash))
}

/// One ring, with buckets added when a key is refused and removed when it is sparse.
fn resized(ring: IndexIndependentCuckooFilter) -> Following<IndexIndependentCuckooFilter> {
    Following {
        filter: ring,
        insert: |ring, hash| loop {
            if ring.insert_hash(hash).is_ok() {
                return true;
            }
            if ring.add_bucket().is_err() {
                return false;
            }
        },
        remove: |ring, hash| {
            let removed = ring.remove_hash(hash);
            if ring.utilization() < SPARSE {
                ring.remove_bucket();
            }
            removed
        },
        parts: |ring| (1, ring.stats().ring_bytes),
    }
}
