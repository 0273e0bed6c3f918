//! What can be chosen of a filter, found out by building it with two values of each parameter.

use cuculus::lab::PlacementKind;
use cuculus::{CuckooFilter, ElasticFilter, Filter};
use cuculus_papers::baselines::{AdaptiveCuckooFilter, BloomFilter, DynamicBloomFilter};
use cuculus_papers::{ConsistentCuckooFilter, DynamicCuckooFilter, IndexIndependentCuckooFilter};

const SIZE: &str = "any number of cells";
const HASHES: &str = "hash functions";
const BITS: &str = "length of a fingerprint";
const SLOTS: &str = "slots of a bucket";
const KICKS: &str = "limit on kicks";
const NODES: &str = "nodes on the ring";
const EACH: &str = "size of a filter of the list";

/// A size that is no power of two.
const ODD: u64 = 257;

/// The names of the parameters of which both values build; and whether the number of cells is what was
/// given, `ODD` or four times that.
pub(super) fn of(filter: &str) -> Vec<&'static str> {
    // Builders share their words, not a trait.
    macro_rules! choices {
        ($odd:expr, $any:expr, $($name:expr => $word:ident $values:expr),* $(,)?) => {{
            let any = $any;
            let builds = [$(
                ($name, $values.into_iter().all(|value| any.clone().$word(value).build().is_ok()))
            ),*];
            let slots = $odd.build().map_or(0, |built| built.slots() as u64);
            let size = (SIZE, slots == ODD || slots == 4 * ODD);
            builds.into_iter().chain([size]).filter(|of| of.1).map(|of| of.0).collect()
        }};
    }
    match filter {
        "BF" => choices!(
            BloomFilter::builder().capacity(20).bits(ODD),
            BloomFilter::builder().capacity(100),
            HASHES => hashes [3, 4]
        ),
        "DBF" => choices!(
            DynamicBloomFilter::builder().capacity_per_filter(20).counters_per_filter(ODD),
            DynamicBloomFilter::builder().capacity(1000).capacity_per_filter(100),
            HASHES => hashes [3, 4],
            EACH => capacity_per_filter [100, 200],
        ),
        "CF" | "SCF" => choices!(
            CuckooFilter::builder().buckets(ODD).fingerprint_bits(12).placement(placement(filter)),
            CuckooFilter::builder().buckets(256).fingerprint_bits(12).placement(placement(filter)),
            BITS => fingerprint_bits [12, 13],
            SLOTS => slots_per_bucket [2, 3],
            KICKS => max_kicks [50, 100],
        ),
        "ACF" => choices!(
            AdaptiveCuckooFilter::builder().buckets(ODD).fingerprint_bits(12),
            AdaptiveCuckooFilter::builder().buckets(256).fingerprint_bits(12),
            BITS => fingerprint_bits [12, 13],
            KICKS => max_kicks [50, 100],
        ),
        "DCF" => {
            let xor = DynamicCuckooFilter::builder().placement(PlacementKind::Xor);
            choices!(
                xor.buckets_per_filter(ODD).fingerprint_bits(12),
                DynamicCuckooFilter::builder().buckets_per_filter(64).fingerprint_bits(12),
                BITS => fingerprint_bits [12, 13],
                SLOTS => slots_per_bucket [2, 3],
                KICKS => max_kicks [50, 100],
                EACH => buckets_per_filter [64, 128],
            )
        }
        "I2CF" => choices!(
            IndexIndependentCuckooFilter::builder().buckets(ODD).fingerprint_bits(16),
            IndexIndependentCuckooFilter::builder().buckets(256).fingerprint_bits(16),
            HASHES => candidates [2, 3],
            BITS => fingerprint_bits [16, 17],
            SLOTS => slots_per_bucket [2, 3],
            KICKS => max_kicks [50, 100],
            NODES => virtual_nodes [1, 10],
        ),
        "CCF" => choices!(
            ConsistentCuckooFilter::builder().buckets_per_filter(ODD).fingerprint_bits(16),
            ConsistentCuckooFilter::builder().buckets_per_filter(64).fingerprint_bits(16),
            HASHES => candidates [2, 3],
            BITS => fingerprint_bits [16, 17],
            SLOTS => slots_per_bucket [2, 3],
            KICKS => max_kicks [50, 100],
            NODES => virtual_nodes [1, 10],
            EACH => buckets_per_filter [64, 128],
        ),
        // Its sizes are its own.
        _ => choices!(
            ElasticFilter::builder(),
            ElasticFilter::builder(),
            "load" => target_load [0.90, 0.95]
        ),
    }
}

fn placement(filter: &str) -> PlacementKind {
    if filter == "CF" { PlacementKind::Xor } else { PlacementKind::Simplified }
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn only_rings_leave_all_to_choose() {
        assert_eq!(of("BF").len(), 2);
        // Powers of two are not any number.
        assert!(!of("CF").contains(&super::SIZE) && of("I2CF").contains(&super::SIZE));
        assert!(of("CCF").len() > of("I2CF").len() && of("I2CF").len() > of("CF").len());
    }
}
