//! Every kind of filter obeys every law, in every shape that can be built.

use cuculus::conformance::{self, Copies, Growing, Subject};
use cuculus::lab::{PlacementKind, Search};
use cuculus::{CuckooFilter, CuckooFilterBuilder, ElasticFilter, ElasticFilterBuilder, Kind};

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
        for search in SEARCHES {
            let builder = shape.clone().capacity(KEYS).search(search);
            conformance::check(&Subject {
                name: &format!("{name} {search:?}"),
                keys: KEYS,
                all_fit: all_fit && search == Search::BreadthFirst,
                copies: TWICE,
                make: &|seed| builder.clone().seed(seed).build().expect("valid"),
            });
        }
    }
}

/// Rates, loads, hints and reserves of elastic filters.
fn elastic_shapes() -> Vec<(String, ElasticFilterBuilder)> {
    let mut shapes = Vec::new();
    for rate in [0.05, 0.01, 0.001, 1e-4, 1e-5] {
        for load in [0.5, 0.915, 0.98] {
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
    let copies = Copies::Unlimited;
    conformance::check(&Subject { name, keys, all_fit: true, copies, make: &make });
}

fn check_elastic() {
    for (name, builder) in elastic_shapes() {
        check_elastic_shape(&name, &builder, KEYS);
    }
}

const SEARCHES: [Search; 3] = [Search::BreadthFirst, Search::RandomWalk, Search::PaperWalk];

/// Any key fits twice.
const TWICE: Copies = Copies::Bounded { least: 2 };

const KEYS: usize = 300;

/// The suite of a kind. A new kind fails here until it has one.
fn check(kind: Kind) {
    match kind {
        Kind::Cuckoo => check_cuckoo(),
        Kind::Maplet => {} // a map: its laws are in maplet.rs
        Kind::Elastic => check_elastic(),
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
            subject: Subject { name, keys, all_fit: true, copies: Copies::Unlimited, make: &make },
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
