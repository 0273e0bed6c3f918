//! Every kind of filter obeys every law, in every shape that can be built.

use cuculus::conformance::{self, Growing, Random, Subject};
use cuculus::{
    CuckooFilter, CuckooFilterBuilder, DynamicCuckooFilter, DynamicCuckooFilterBuilder,
    ElasticFilter, ElasticFilterBuilder, Extension, Kind, PlacementKind, Search,
};

/// All lengths of a fingerprint, slots in a bucket, layouts and placements; and whether the
/// capacity is promised, which takes fingerprints long enough to give keys many different pairs of
/// buckets.
fn cuckoo_shapes() -> Vec<(String, CuckooFilterBuilder, bool)> {
    let mut shapes = Vec::new();
    for bits in 4..=32 {
        for placement in [PlacementKind::AnySize, PlacementKind::Xor, PlacementKind::Simplified] {
            let builder = CuckooFilter::builder().fingerprint_bits(bits).placement(placement);
            // The odd ones at some lengths only: for the time it takes.
            for slots in (1..=8u32).filter(|b| b.is_power_of_two() || bits % 5 == 0) {
                let name = format!("f={bits} b={slots} {placement:?}");
                let all_fit = bits >= 10 && placement != PlacementKind::Simplified;
                shapes.push((name, builder.clone().slots_per_bucket(slots), all_fit));
            }
            if bits > 4 {
                let name = format!("f={bits} semi-sorted {placement:?}");
                shapes.push((name, builder.semi_sorted(true), bits >= 10));
            }
        }
    }
    shapes
}

fn check_cuckoo() {
    for (name, shape, all_fit) in cuckoo_shapes() {
        for search in [Search::BreadthFirst, Search::RandomWalk] {
            let builder = shape.clone().capacity(KEYS).search(search);
            conformance::check(&Subject {
                name: &format!("{name} {search:?}"),
                keys: KEYS,
                all_fit: all_fit && search == Search::BreadthFirst,
                make: &|seed| builder.clone().seed(seed).build().expect("valid"),
            });
        }
    }
}

/// Rates, loads, hints and reserves of elastic filters.
fn elastic_shapes() -> Vec<(String, ElasticFilterBuilder)> {
    let mut shapes = Vec::new();
    for rate in [0.05, 0.01, 0.001, 1e-4, 1e-5] {
        for load in [0.5, 0.915, 0.96] {
            for expected in [0, 50, 300, 100_000] {
                let builder = ElasticFilter::builder().false_positive_rate(rate);
                let builder = builder.target_load(load).expected_items(expected);
                let name = format!("rate {rate} load {load} expected {expected}");
                shapes.push((format!("{name} spare 0"), builder.clone().spare_bytes(0)));
                shapes.push((name, builder));
            }
        }
    }
    shapes
}

fn check_elastic_shape(name: &str, builder: &ElasticFilterBuilder, keys: usize) {
    let make = |seed| builder.clone().seed(seed).build().expect("valid");
    conformance::check(&Subject { name, keys, all_fit: true, make: &make });
}

fn check_elastic() {
    for (name, builder) in elastic_shapes() {
        check_elastic_shape(&name, &builder, KEYS);
    }
}

/// Lists of filters, drawn from all lengths, slots, placements and searches, both ways to extend the
/// list, holes used again or not, and filters of so few buckets that there are many.
fn dynamic_shapes() -> Vec<(String, DynamicCuckooFilterBuilder, bool)> {
    let mut random = Random::new(1);
    let mut shapes = Vec::new();
    while shapes.len() < 90 {
        let bits = 4 + random.below(29) as u32;
        let slots = 1 + random.below(8) as u32;
        let buckets = [1, 2, 3, 4, 16, 64][random.below(6)];
        let extension = [Extension::Active, Extension::Passive][random.below(2)];
        let reuse = random.below(2) == 0;
        let search = [Search::BreadthFirst, Search::RandomWalk][random.below(2)];
        let kicks = [500, 500, 10, 1, 0][random.below(5)];
        let placement = [PlacementKind::AnySize, PlacementKind::AnySize, PlacementKind::Xor];
        let placement = placement[random.below(3)];
        // Where most strangers are found, few different entries decide about the rate, and keys are
        // refused because too many look the same: nothing to learn.
        if 3 * KEYS as u64 > buckets << bits {
            continue;
        }
        let builder = DynamicCuckooFilter::builder().fingerprint_bits(bits).max_kicks(kicks);
        let builder = builder.slots_per_bucket(slots).buckets_per_filter(buckets);
        let builder = builder.extension(extension).reuse_holes(reuse).search(search);
        let name = format!(
            "f={bits} b={slots} l={buckets} {extension:?} reuse={reuse} {search:?} kicks={kicks} \
             {placement:?}"
        );
        // With short fingerprints too many keys look the same.
        shapes.push((name, builder.placement(placement), bits >= 16));
    }
    shapes
}

fn check_dynamic() {
    for (name, builder, all_fit) in dynamic_shapes() {
        conformance::check(&Subject {
            name: &name,
            keys: KEYS,
            all_fit,
            make: &|seed| builder.clone().seed(seed).build().expect("valid"),
        });
    }
    // Planned from a capacity: one that is kept, and one that is passed.
    for capacity in [0, 50, KEYS, 10 * KEYS] {
        for rate in [0.05, 0.001] {
            let builder = DynamicCuckooFilter::builder().capacity(capacity);
            let builder = builder.false_positive_rate(rate);
            conformance::check(&Subject {
                name: &format!("capacity {capacity} rate {rate}"),
                keys: KEYS,
                all_fit: true,
                make: &|seed| builder.clone().seed(seed).build().expect("valid"),
            });
        }
    }
}

const KEYS: usize = 300;

/// The suite of a kind. A new kind fails here until it has one.
fn check(kind: Kind) {
    match kind {
        Kind::Cuckoo => check_cuckoo(),
        Kind::Maplet => {} // a map: its laws are in maplet.rs
        Kind::Elastic => check_elastic(),
        Kind::Dynamic => check_dynamic(),
        _ => panic!("{kind:?} has no conformance suite"),
    }
}

/// Every kind on a thread of its own.
#[test]
fn every_kind_obeys_every_law() {
    std::thread::scope(|scope| {
        for &kind in Kind::ALL {
            scope.spawn(move || check(kind));
        }
    });
}

/// Enough keys for several segments.
#[test]
fn filters_of_many_segments_obey_every_law() {
    for (name, builder) in elastic_shapes().iter().step_by(39) {
        check_elastic_shape(name, builder, 5000);
    }
}

/// Every shape with few keys, and some with enough for several segments.
fn for_each_growing(check: impl Fn(&Growing<'_, ElasticFilter>)) {
    for (at, (name, builder)) in elastic_shapes().iter().enumerate() {
        let make = |seed| builder.clone().seed(seed).build().expect("valid");
        let keys = if at % 11 == 0 { 6000 } else { 400 };
        check(&Growing {
            subject: Subject { name, keys, all_fit: true, make: &make },
            rate: make(0).false_positive_rate(),
            shrink_to_fit: &ElasticFilter::shrink_to_fit,
            merge: &|into, from| into.merge(from).is_ok(),
        });
    }
}

#[test]
fn any_order_of_operations_keeps_keys_rate_and_bytes() {
    for_each_growing(conformance::any_order_of_operations_keeps_keys_rate_and_bytes);
}

#[test]
fn the_way_back_is_as_safe_as_the_way_up() {
    for_each_growing(conformance::the_way_back_is_as_safe_as_the_way_up);
}

#[test]
fn merging_adds_every_key() {
    for_each_growing(conformance::merging_adds_every_key);
}
