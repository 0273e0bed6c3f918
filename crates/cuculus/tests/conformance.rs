//! Every kind of filter obeys every law, in every shape that can be built.

use cuculus::conformance::{self, Subject};
use cuculus::{CuckooFilter, CuckooFilterBuilder, Kind, PlacementKind, Search};

/// All lengths of a fingerprint, slots in a bucket, layouts and placements; and whether the
/// capacity is promised, which takes fingerprints long enough to give keys many different pairs of
/// buckets.
fn cuckoo_shapes() -> Vec<(String, CuckooFilterBuilder, bool)> {
    let mut shapes = Vec::new();
    for bits in 4..=32 {
        for placement in [PlacementKind::AnySize, PlacementKind::Xor, PlacementKind::Simplified] {
            let builder = CuckooFilter::builder().fingerprint_bits(bits).placement(placement);
            for slots in [1, 2, 4, 8] {
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

const KEYS: usize = 300;

/// A new kind fails to compile here until it has a suite.
#[test]
fn every_kind_obeys_every_law() {
    for kind in Kind::ALL {
        match kind {
            Kind::Cuckoo => check_cuckoo(),
            Kind::Maplet => {} // a map: its laws are in maplet.rs
            _ => panic!("{kind:?} has no conformance suite"),
        }
    }
}
