//! The papers' filters obey every law, in every shape that can be built.

use crate::common::{RESIZING, SEARCHES};
use cuculus::conformance::{self, Copies, Random, Subject};
use cuculus::lab::{PlacementKind, Search};
use cuculus::{Insert, Persist};
use cuculus_papers::{
    ConsistentCuckooFilter, ConsistentCuckooFilterBuilder, DynamicCuckooFilter,
    DynamicCuckooFilterBuilder, Extension, IndexIndependentCuckooFilter,
    IndexIndependentCuckooFilterBuilder, Resizing, analysis,
};

const KEYS: usize = 300;
/// Fewer, since a ring takes its time.
const RING_KEYS: usize = 120;
/// Any key fits twice.
const TWICE: Copies = Copies::Bounded { least: 2 };

/// One of some values.
fn one_of<T: Copy>(random: &mut Random, values: &[T]) -> T {
    values[random.below(values.len())]
}

/// k, b and v of tables on a ring, all numbers of candidates and slots, and the copies of a key that
/// fit: where buckets have one slot, a key whose candidates are one bucket has one.
fn ring_shapes() -> impl Iterator<Item = (u32, u32, u32, Copies)> {
    let candidates = [1, 2, 2, 3, 4, 8, 11, 16].into_iter();
    candidates.flat_map(|candidates| {
        (1..=8).map(move |slots| {
            let nodes = match (candidates + slots) % 5 {
                0 => 2,
                1 | 2 => 1,
                _ if slots == 5 => 64,
                _ => 10,
            };
            (candidates, slots, nodes, Copies::Bounded { least: slots.min(2) as usize })
        })
    })
}

/// Fewer keys where fingerprints are short: once keys are refused because others look like them,
/// those that are stored are no sample of all; and the rate says little where nearly all
/// fingerprints are in use.
fn keys_for(bits: u32, candidates: u32, slots: u32) -> usize {
    let expected =
        |keys: usize| analysis::overfull_fingerprints(bits, candidates, slots, keys as f64);
    let most = RING_KEYS.min((1 << bits.min(16)) - 1);
    (5..=most).rev().find(|&keys| expected(keys) < 0.5).unwrap_or(5)
}

#[test]
fn index_independent_filters_obey_every_law() {
    let mut random = Random::new(5);
    for (candidates, slots, nodes, copies) in ring_shapes() {
        let bits = one_of(&mut random, &[4, 5, 6, 8, 11, 14, 16, 20, 24, 30, 32]);
        let search = one_of(&mut random, &SEARCHES);
        let builder = IndexIndependentCuckooFilter::builder().search(search);
        let builder = builder.candidates(candidates).slots_per_bucket(slots).virtual_nodes(nodes);
        let few = one_of(&mut random, &[1, 2, 8, 64]);
        let few = builder.clone().buckets(few).fingerprint_bits(bits);
        let any = builder.clone().capacity(RING_KEYS).fingerprint_bits(bits);
        let keys = keys_for(bits, candidates, slots);
        let by_capacity =
            (builder.capacity(RING_KEYS), RING_KEYS, candidates > 1 && search == SEARCHES[0]);
        for (form, (builder, keys, all_fit)) in [
            ("of any length", (any, keys, false)),
            ("with few buckets", (few, keys, false)),
            ("by capacity", by_capacity),
        ] {
            conformance::check(&Subject {
                name: &format!("f={bits} k={candidates} b={slots} v={nodes} {search:?} {form}"),
                keys,
                all_fit,
                copies,
                make: &|seed| builder.clone().seed(seed).build().expect("valid"),
            });
        }
    }
}

#[test]
fn consistent_filters_obey_every_law() {
    let mut random = Random::new(6);
    for (at, (candidates, slots, nodes, copies)) in ring_shapes().enumerate() {
        let resizing = RESIZING[at % 5];
        let search = one_of(&mut random, &SEARCHES);
        let bits = one_of(&mut random, &[4, 5, 6, 8, 11, 14, 16, 20, 24, 30, 32]);
        let buckets = one_of(&mut random, &[1, 2, 8, 64]);
        let filters = one_of(&mut random, &[1, 2, 16]);
        let builder = ConsistentCuckooFilter::builder().fingerprint_bits(bits).search(search);
        let builder = builder.candidates(candidates).slots_per_bucket(slots).virtual_nodes(nodes);
        let builder = builder.resizing(resizing).buckets_per_filter(buckets).max_filters(filters);
        let name = format!(
            "f={bits} k={candidates} b={slots} v={nodes} {search:?} {resizing:?} m={buckets} s={filters}"
        );
        let keys = keys_for(bits, candidates, slots);
        conformance::check(&Subject {
            name: &name,
            keys,
            all_fit: bits >= 20 && candidates > 1 && slots > 1 && resizing != Resizing::Manual,
            copies,
            make: &|seed| builder.clone().seed(seed).build().expect("valid"),
        });
        if filters > 1 && at % 2 == 0 {
            check_different_parts(&format!("{name}, not alike"), &builder, keys, copies);
        }
    }
}

/// A consistent filter of two filters that are not alike. When it is cleared one is left, so that
/// law has another form.
fn check_different_parts(
    name: &str,
    builder: &ConsistentCuckooFilterBuilder,
    keys: usize,
    copies: Copies,
) {
    let other: IndexIndependentCuckooFilterBuilder = IndexIndependentCuckooFilter::builder()
        .buckets(7)
        .slots_per_bucket(3)
        .candidates(5)
        .virtual_nodes(4)
        .search(Search::RandomWalk)
        .max_kicks(20);
    let make = |seed| {
        let mut filter = builder.clone().seed(seed).build().expect("valid");
        filter.scale_out_with(&other).expect("two filters");
        filter
    };
    let subject = Subject { name, keys, all_fit: false, copies, make: &make };
    conformance::no_false_negatives(&subject);
    conformance::count_is_never_low(&subject);
    conformance::false_positive_rate_is_as_expected(&subject);
    conformance::batch_equals_scalar(&subject);
    conformance::failed_insert_changes_nothing(&subject);
    conformance::one_key_many_times_is_bounded(&subject);
    conformance::same_seed_same_bytes(&subject);
    conformance::decode_inverts_encode(&subject);
    conformance::damaged_bytes_are_refused(&subject);
    conformance::any_operations_agree_with_a_multiset(&subject);
    conformance::removing_a_key_keeps_the_others(&subject);
    conformance::copies_are_removed_one_by_one(&subject);
    conformance::removing_every_key_leaves_an_empty_filter(&subject);
    let mut filter = make(7);
    filter.extend(0..RING_KEYS as u64);
    filter.clear();
    let new = builder.clone().seed(7).build().expect("valid");
    assert!(filter.to_bytes() == new.to_bytes(), "{name}");
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
        let search = one_of(&mut random, &SEARCHES);
        let kicks = [500, 500, 10, 1, 0][random.below(5)];
        let placement = [PlacementKind::AnySize, PlacementKind::AnySize, PlacementKind::Xor];
        let placement = placement[random.below(3)];
        // Where most absent keys are found, few different entries decide about the rate, and keys are
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
    // Planned from a capacity: one that is kept, and one that is passed.
    for capacity in [0, 50, KEYS, 10 * KEYS] {
        for rate in [0.05, 0.001] {
            let builder = DynamicCuckooFilter::builder().capacity(capacity);
            let name = format!("capacity {capacity} rate {rate}");
            shapes.push((name, builder.false_positive_rate(rate), true));
        }
    }
    shapes
}

#[test]
fn dynamic_filters_obey_every_law() {
    for (name, builder, all_fit) in dynamic_shapes() {
        conformance::check(&Subject {
            name: &name,
            keys: KEYS,
            all_fit,
            copies: TWICE,
            make: &|seed| builder.clone().seed(seed).build().expect("valid"),
        });
    }
}
