//! What can be chosen of a filter, found out by building it with two values of each parameter.

use cuculus::lab::PlacementKind;
use cuculus::{CuckooFilter, ElasticFilter, Filter, Insert};
use cuculus_papers::baselines::{AdaptiveCuckooFilter, BloomFilter, DynamicBloomFilter};
use cuculus_papers::{
    ConsistentCuckooFilter, DynamicCuckooFilter, IndexIndependentCuckooFilter, Resizing,
};

const SIZE: &str = "any number of cells";
const HASHES: &str = "hash functions";
const BITS: &str = "length of a fingerprint";
const SLOTS: &str = "slots of a bucket";
const KICKS: &str = "limit on kicks";
const NODES: &str = "nodes on the ring";
const EACH: &str = "size of a filter of the list";

/// The names of the parameters of which both values build; a number of cells must be what was
/// given too.
pub(super) fn of(filter: &str) -> Vec<&'static str> {
    // Builders share their words, not a trait.
    macro_rules! choices {
        ($any:expr, $($name:expr => $word:ident $values:expr),* $(,)?) => {{
            let any = $any;
            let both = [$(($name, $values.into_iter().all(|value| any.clone().$word(value).build().is_ok()))),*];
            both.into_iter().filter(|(_, taken)| *taken).map(|(name, _)| name).collect()
        }};
    }
    let mut chosen: Vec<&'static str> = match filter {
        "BF" => choices!(BloomFilter::builder().capacity(100), HASHES => hashes [3, 4]),
        "DBF" => choices!(
            DynamicBloomFilter::builder().capacity(1000).capacity_per_filter(100),
            HASHES => hashes [3, 4],
            EACH => capacity_per_filter [100, 200],
        ),
        "CF" | "SCF" => choices!(
            CuckooFilter::builder().buckets(256).fingerprint_bits(12).placement(placement(filter)),
            BITS => fingerprint_bits [12, 13],
            SLOTS => slots_per_bucket [2, 3],
            KICKS => max_kicks [50, 100],
        ),
        "ACF" => choices!(
            AdaptiveCuckooFilter::builder().buckets(256).fingerprint_bits(12),
            BITS => fingerprint_bits [12, 13],
            KICKS => max_kicks [50, 100],
        ),
        "DCF" => choices!(
            DynamicCuckooFilter::builder().buckets_per_filter(64).fingerprint_bits(12),
            BITS => fingerprint_bits [12, 13],
            SLOTS => slots_per_bucket [2, 3],
            KICKS => max_kicks [50, 100],
            EACH => buckets_per_filter [64, 128],
        ),
        "I2CF" => choices!(
            IndexIndependentCuckooFilter::builder().buckets(256).fingerprint_bits(16),
            HASHES => candidates [2, 3],
            BITS => fingerprint_bits [16, 17],
            SLOTS => slots_per_bucket [2, 3],
            KICKS => max_kicks [50, 100],
            NODES => virtual_nodes [1, 10],
        ),
        "CCF" => choices!(
            ConsistentCuckooFilter::builder().buckets_per_filter(64).fingerprint_bits(16),
            HASHES => candidates [2, 3],
            BITS => fingerprint_bits [16, 17],
            SLOTS => slots_per_bucket [2, 3],
            KICKS => max_kicks [50, 100],
            NODES => virtual_nodes [1, 10],
            EACH => buckets_per_filter [64, 128],
        ),
        _ => choices!(ElasticFilter::builder(), "load" => target_load [0.90, 0.95]),
    };
    chosen.extend(takes_any_size(filter).unwrap_or(false).then_some(SIZE));
    chosen
}

/// Whether a size that is no power of two is what one gets; `None` if it cannot be built.
fn takes_any_size(filter: &str) -> Option<bool> {
    const ODD: u64 = 257;
    let cuckoo = |slots: usize| slots as u64 == 4 * ODD;
    Some(match filter {
        "BF" => {
            let built = BloomFilter::builder().capacity(20).bits(ODD).build().ok()?;
            built.slots() as u64 == ODD
        }
        "DBF" => {
            let any = DynamicBloomFilter::builder().capacity_per_filter(20);
            any.counters_per_filter(ODD).build().ok()?.slots() as u64 == ODD
        }
        "CF" | "SCF" => {
            let any = CuckooFilter::builder().buckets(ODD).fingerprint_bits(12);
            cuckoo(any.placement(placement(filter)).build().ok()?.slots())
        }
        "ACF" => {
            let any = AdaptiveCuckooFilter::builder().buckets(ODD).fingerprint_bits(12);
            cuckoo(any.build().ok()?.slots())
        }
        "DCF" => {
            let any = DynamicCuckooFilter::builder().buckets_per_filter(ODD).fingerprint_bits(12);
            cuckoo(any.placement(PlacementKind::Xor).build().ok()?.slots())
        }
        "I2CF" => {
            let any = IndexIndependentCuckooFilter::builder().buckets(ODD).fingerprint_bits(16);
            any.build().ok()?.buckets() as u64 == ODD
        }
        "CCF" => {
            let any = ConsistentCuckooFilter::builder().buckets_per_filter(ODD);
            let any = any.fingerprint_bits(16).resizing(Resizing::Filters);
            // Without a key there may be no filter yet.
            let mut built = any.build().ok()?;
            built.insert(&1u64).is_ok() && built.buckets() as u64 == ODD
        }
        // Its sizes are its own.
        _ => false,
    })
}

/// As in the papers of the two filters.
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
