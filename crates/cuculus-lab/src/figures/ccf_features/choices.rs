//! What can be chosen of a filter, found out by building it with two values of each parameter.

use cuculus::{
    ConsistentCuckooFilter, CuckooFilter, DynamicCuckooFilter, ElasticFilter, Filter,
    IndexIndependentCuckooFilter, PlacementKind,
};
use cuculus_baselines::{AdaptiveCuckooFilter, BloomFilter, DynamicBloomFilter};

const SIZE: &str = "any number of cells";
const HASHES: &str = "hash functions";
const BITS: &str = "length of a fingerprint";
const SLOTS: &str = "slots of a bucket";
const KICKS: &str = "limit on kicks";
const NODES: &str = "nodes on the ring";
const EACH: &str = "size of a filter of the list";

/// The names of the parameters of which both values are taken; a filter's size must be what was
/// asked for.
pub(super) fn of(filter: &str) -> Vec<&'static str> {
    let mut chosen = Vec::new();
    let mut choose = |name, values: [u64; 2], taken: &dyn Fn(u64) -> bool| {
        if values.into_iter().all(taken) {
            chosen.push(name);
        }
    };
    match filter {
        "BF" => {
            let any = BloomFilter::builder().capacity(100);
            choose(SIZE, [1000, 1001], &|bits| {
                any.clone().bits(bits).build().is_ok_and(|built| built.slots() as u64 == bits)
            });
            choose(HASHES, [3, 4], &|hashes| any.clone().hashes(hashes as u32).build().is_ok());
        }
        "DBF" => {
            let any = DynamicBloomFilter::builder().capacity(1000).capacity_per_filter(100);
            choose(SIZE, [1000, 1001], &|cells| {
                let built = any.clone().counters_per_filter(cells).build();
                built.is_ok_and(|built| built.slots() as u64 == cells)
            });
            choose(HASHES, [3, 4], &|hashes| any.clone().hashes(hashes as u32).build().is_ok());
            choose(EACH, [100, 101], &|keys| {
                any.clone().capacity_per_filter(keys as usize).build().is_ok()
            });
        }
        "CF" | "SCF" => {
            let placement =
                if filter == "CF" { PlacementKind::Xor } else { PlacementKind::Simplified };
            let any =
                CuckooFilter::builder().buckets(256).fingerprint_bits(12).placement(placement);
            choose(SIZE, [256, 257], &|buckets| {
                let built = any.clone().buckets(buckets).build();
                built.is_ok_and(|built| built.slots() as u64 == 4 * buckets)
            });
            choose(BITS, [12, 13], &|bits| {
                any.clone().fingerprint_bits(bits as u32).build().is_ok()
            });
            choose(SLOTS, [2, 3], &|slots| {
                any.clone().slots_per_bucket(slots as u32).build().is_ok()
            });
            choose(KICKS, [50, 51], &|kicks| any.clone().max_kicks(kicks as u32).build().is_ok());
        }
        "ACF" => {
            let any = AdaptiveCuckooFilter::builder().buckets(256).fingerprint_bits(12);
            choose(SIZE, [256, 257], &|buckets| {
                let built = any.clone().buckets(buckets).build();
                built.is_ok_and(|built| built.slots() as u64 == 4 * buckets)
            });
            choose(BITS, [12, 13], &|bits| {
                any.clone().fingerprint_bits(bits as u32).build().is_ok()
            });
            choose(KICKS, [50, 51], &|kicks| any.clone().max_kicks(kicks as u32).build().is_ok());
        }
        "DCF" => {
            let any = DynamicCuckooFilter::builder().buckets_per_filter(64).fingerprint_bits(12);
            let any = any.placement(PlacementKind::Xor);
            choose(SIZE, [64, 65], &|buckets| {
                let built = any.clone().buckets_per_filter(buckets).build();
                built.is_ok_and(|built| built.slots() as u64 == 4 * buckets)
            });
            choose(BITS, [12, 13], &|bits| {
                any.clone().fingerprint_bits(bits as u32).build().is_ok()
            });
            choose(SLOTS, [2, 3], &|slots| {
                any.clone().slots_per_bucket(slots as u32).build().is_ok()
            });
            choose(KICKS, [50, 51], &|kicks| any.clone().max_kicks(kicks as u32).build().is_ok());
            choose(EACH, [64, 128], &|buckets| {
                any.clone().buckets_per_filter(buckets).build().is_ok()
            });
        }
        "I2CF" => {
            let any = IndexIndependentCuckooFilter::builder().buckets(256).fingerprint_bits(16);
            choose(SIZE, [256, 257], &|buckets| {
                let built = any.clone().buckets(buckets).build();
                built.is_ok_and(|built| built.buckets() as u64 == buckets)
            });
            choose(HASHES, [2, 3], &|hashes| any.clone().candidates(hashes as u32).build().is_ok());
            choose(BITS, [16, 17], &|bits| {
                any.clone().fingerprint_bits(bits as u32).build().is_ok()
            });
            choose(SLOTS, [2, 3], &|slots| {
                any.clone().slots_per_bucket(slots as u32).build().is_ok()
            });
            choose(KICKS, [50, 51], &|kicks| any.clone().max_kicks(kicks as u32).build().is_ok());
            choose(NODES, [1, 10], &|nodes| {
                any.clone().virtual_nodes(nodes as u32).build().is_ok()
            });
        }
        "CCF" => {
            let any = ConsistentCuckooFilter::builder().buckets_per_filter(64).fingerprint_bits(16);
            choose(SIZE, [64, 65], &|buckets| {
                any.clone().buckets_per_filter(buckets).build().is_ok()
            });
            choose(HASHES, [2, 3], &|hashes| any.clone().candidates(hashes as u32).build().is_ok());
            choose(BITS, [16, 17], &|bits| {
                any.clone().fingerprint_bits(bits as u32).build().is_ok()
            });
            choose(SLOTS, [2, 3], &|slots| {
                any.clone().slots_per_bucket(slots as u32).build().is_ok()
            });
            choose(KICKS, [50, 51], &|kicks| any.clone().max_kicks(kicks as u32).build().is_ok());
            choose(NODES, [1, 10], &|nodes| {
                any.clone().virtual_nodes(nodes as u32).build().is_ok()
            });
            choose(EACH, [64, 128], &|buckets| {
                any.clone().buckets_per_filter(buckets).build().is_ok()
            });
        }
        _ => {
            let any = ElasticFilter::builder().false_positive_rate(0.01);
            choose("load", [90, 95], &|load| {
                any.clone().target_load(load as f64 / 100.0).build().is_ok()
            });
        }
    }
    chosen
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
