//! The consistent cuckoo filter where it can go wrong: filters and buckets that come and go in any
//! order, sets that grow without end, and the errors of its paper, which must not be repeated. The
//! rules as printed stand here too, on a filter made for it, to show that they lose keys.

use std::collections::BTreeMap;

use crate::common::{
    Odds, RESIZING, SEARCHES, any_order, both, has_all, insert_all, refused, remove_all,
    rings_refuse,
};
use cuculus::conformance::Random;
use cuculus::{BuildError, Filter, FullCause, Insert, Persist, Remove};
use cuculus_papers::{
    ConsistentCuckooFilter, ConsistentCuckooFilterBuilder, IndexIndependentCuckooFilter, Resizing,
};

fn builder(bits: u32, buckets: u64, resizing: Resizing) -> ConsistentCuckooFilterBuilder {
    let builder = ConsistentCuckooFilter::builder()
        .fingerprint_bits(bits)
        .hasher(cuculus::KeyHasher::xxh3(1));
    builder.buckets_per_filter(buckets).resizing(resizing)
}

/// The parameters of the paper's evaluation.
fn paper(resizing: Resizing) -> ConsistentCuckooFilterBuilder {
    builder(30, 64, resizing).slots_per_bucket(3).candidates(2).virtual_nodes(10)
}

fn build(builder: &ConsistentCuckooFilterBuilder) -> ConsistentCuckooFilter {
    builder.build().expect("valid")
}

/// Any shape, so small that much is refused.
fn any_builder(random: &mut Random, resizing: Resizing) -> ConsistentCuckooFilterBuilder {
    let bits = [4, 6, 8, 12, 30][random.below(5)];
    let slots = 1 + random.below(8) as u32;
    builder(bits, [1, 2, 8, 40][random.below(4)], resizing)
        .candidates(1 + random.below(16) as u32 * random.below(2) as u32)
        .slots_per_bucket(slots)
        .virtual_nodes([1, 10, 10, 3][random.below(4)])
        .sparse_below(random.below(slots as usize + 1) as u32)
        .max_filters([1, 2, 3, 16][random.below(4)])
        .search(SEARCHES[random.below(3)])
        .max_kicks([0, 1, 5, 500][random.below(4)])
}

#[test]
fn any_order_of_operations_keeps_keys_and_bytes() {
    type Rings = ConsistentCuckooFilter;
    let (mut refusals, mut crowded) = ([0; 4], 0);
    for case in 0..400 {
        let mut random = Random::new(case as u64);
        let builder = any_builder(&mut random, RESIZING[case % 5]);
        let odds = Odds { steps: 800, period: 200, all: 50, own: 10, insert: 40, keys: 300 };
        let resize = |filters: &mut [Rings; 2], random: &mut Random, which| match which {
            0 | 1 => {
                let (more, buckets) = (random.below(4), filters[0].buckets());
                let added = both(filters, Result::is_err, |filter| filter.scale_up(more));
                assert!(added.is_err() || added.is_ok_and(|added| added >= more));
                refusals[0] += u32::from(added.is_err());
                assert_eq!(filters[0].buckets(), buckets + added.unwrap_or(0));
            }
            2..5 => {
                let done = both(filters, |done| !done, Rings::scale_down);
                refusals[1] += u32::from(!done);
            }
            5 => {
                let full = filters[0].filters() >= filters[0].stats().max_filters;
                assert_eq!(both(filters, Result::is_err, Rings::scale_out).is_err(), full);
            }
            6 => {
                // Some shapes of these cannot be.
                let shape = IndexIndependentCuckooFilter::builder()
                    .buckets(1 + random.below(12) as u64)
                    .slots_per_bucket(1 + random.below(9) as u32)
                    .candidates(1 + random.below(17) as u32)
                    .virtual_nodes(1 + random.below(5) as u32)
                    .search(SEARCHES[random.below(3)]);
                let outcome = both(filters, Result::is_err, |f| f.scale_out_with(&shape));
                refusals[2] += u32::from(outcome.is_err());
            }
            7 | 8 => {
                let before = filters[0].filters();
                let freed = both(filters, |&freed| freed == 0, Rings::compact);
                assert_eq!(filters[0].filters(), before - freed);
                refusals[3] += u32::from(freed == 0 && before > 1);
            }
            _ => {
                assert!(filters[0].filters() <= filters[0].stats().max_filters);
                let absent_key = 1 << 40 | random.bits() >> 30;
                if !filters[0].contains(&absent_key) {
                    assert!(!both(filters, |done| !done, |f| f.remove(&absent_key)));
                }
            }
        };
        any_order(
            &builder,
            || build(&builder),
            odds,
            &mut random,
            resize,
            |_, _, full| {
                crowded += u32::from(full.cause == FullCause::Crowded);
            },
        );
    }
    // Everything was refused at times: more buckets, fewer, another filter, one less, a key.
    assert!(refusals.iter().all(|&count| count > 0) && crowded > 0, "{refusals:?} {crowded}");
}

// The rules as printed.

/// A filter on a ring that follows the paper word by word. Keys are their own fingerprints.
struct AsPrinted {
    /// Where nodes are, and whose.
    ring: BTreeMap<u32, usize>,
    buckets: Vec<Vec<u32>>,
    nodes: u32,
    random: Random,
}

const SLOTS: usize = 3;
const KICKS: usize = 500;

impl AsPrinted {
    fn new(buckets: usize, nodes: u32) -> Self {
        let (ring, random) = (BTreeMap::new(), Random::new(1));
        let mut filter = Self { ring, buckets: Vec::new(), nodes, random };
        (0..buckets).for_each(|_| filter.push_bucket());
        filter
    }

    fn push_bucket(&mut self) {
        for _ in 0..self.nodes {
            self.ring.insert(self.random.bits() as u32, self.buckets.len());
        }
        self.buckets.push(Vec::new());
    }

    fn owner(&self, point: u32) -> usize {
        let mut after = self.ring.range(point..).chain(&self.ring);
        *after.next().expect("a bucket").1
    }

    fn points(key: u32) -> [u32; 2] {
        [0, 1].map(|i| Random::new(u64::from(key) << 1 | i).bits() as u32)
    }

    fn candidates(&self, key: u32) -> [usize; 2] {
        Self::points(key).map(|point| self.owner(point))
    }

    fn contains(&self, key: u32) -> bool {
        self.candidates(key).iter().any(|&bucket| self.buckets[bucket].contains(&key))
    }

    /// Algorithm 1 until the resizing. Whoever is without a bucket at the end is dropped.
    fn insert(&mut self, key: u32) -> bool {
        let mut homeless = key;
        for _ in 0..KICKS {
            let candidates = self.candidates(homeless);
            for bucket in candidates {
                if self.buckets[bucket].len() < SLOTS {
                    self.buckets[bucket].push(homeless);
                    return true;
                }
            }
            let victims = &mut self.buckets[candidates[self.random.below(2)]];
            std::mem::swap(&mut homeless, &mut victims[self.random.below(SLOTS)]);
        }
        false
    }

    /// "Only the fingerprints stored in the bucket's successor may be affected": those that are
    /// mapped between the new bucket and the one before it move there.
    fn scale_up(&mut self) {
        let new = self.buckets.len();
        let mut first = None;
        let positions: Vec<u32> = (0..self.nodes).map(|_| self.random.bits() as u32).collect();
        for position in positions {
            first.get_or_insert(self.owner(position));
            self.ring.insert(position, new);
        }
        self.buckets.push(Vec::new());
        let successor = first.expect("a node");
        let (moved, kept): (Vec<u32>, Vec<u32>) = std::mem::take(&mut self.buckets[successor])
            .into_iter()
            .partition(|&key| self.candidates(key).contains(&new));
        self.buckets[successor] = kept;
        self.buckets[new] = moved;
    }

    /// "By pushing them into the successor preferentially and then reallocating the rest."
    fn scale_down(&mut self, bucket: usize) {
        let mut mine: Vec<u32> = Vec::new();
        self.ring.retain(|&position, owner| {
            mine.extend((*owner == bucket).then_some(position));
            *owner != bucket
        });
        let successor = self.owner(mine[0]);
        for key in std::mem::take(&mut self.buckets[bucket]) {
            if self.buckets[successor].len() < SLOTS {
                self.buckets[successor].push(key);
            } else {
                self.insert(key);
            }
        }
    }
}

/// Correction 1: an insertion that gives up drops an entry of somebody else's. Ours keeps all that it
/// has acknowledged, and can grow or not.
#[test]
fn giving_up_loses_no_key() {
    let mut printed = AsPrinted::new(500, 10);
    let taken: Vec<u32> = (0..3500).filter(|&key| printed.insert(key)).collect();
    let lost = taken.iter().filter(|&&key| !printed.contains(key)).count();
    assert!(lost > 1000, "{lost} of {} lost by the rule as printed", taken.len());

    for resizing in RESIZING {
        let mut filter = build(&paper(resizing).buckets_per_filter(500).max_filters(2));
        let taken: Vec<u64> = (0..3500).filter(|key| filter.insert(key).is_ok()).collect();
        assert_eq!(taken.len() == 3500, resizing != Resizing::Manual);
        has_all(&filter, taken.into_iter());
    }
}

/// Correction 4: a bucket with several nodes takes points from several buckets, not from one.
#[test]
fn scaling_up_loses_no_key() {
    let lost_by = |nodes| {
        let mut printed = AsPrinted::new(2000, nodes);
        let taken: Vec<u32> =
            (0..if nodes == 1 { 2000 } else { 5000 }).filter(|&key| printed.insert(key)).collect();
        assert!(taken.iter().all(|&key| printed.contains(key)));
        (0..150).for_each(|_| printed.scale_up());
        taken.iter().filter(|&&key| !printed.contains(key)).count()
    };
    assert_eq!(lost_by(1), 0, "with one node the rule is right");
    let lost = lost_by(10);
    assert!((150..400).contains(&lost), "{lost} of 5000 lost by the rule as printed");

    let mut filter = build(&paper(Resizing::Manual).buckets_per_filter(2000));
    insert_all(&mut filter, 0..5000);
    for _ in 0..150 {
        filter.scale_up(1).expect("room");
    }
    assert!(filter.buckets() >= 2150);
    has_all(&filter, 0..5000);
    remove_all(&mut filter, 0..5000);
}

/// Correction 5: what a removed bucket held belongs to several others, not to its successor.
#[test]
fn scaling_down_loses_no_key() {
    let mut printed = AsPrinted::new(1200, 10);
    let taken: Vec<u32> = (0..2500).filter(|&key| printed.insert(key)).collect();
    assert_eq!(taken.len(), 2500);
    (0..150).for_each(|bucket| printed.scale_down(bucket));
    let lost = taken.iter().filter(|&&key| !printed.contains(key)).count();
    assert!((50..300).contains(&lost), "{lost} of 2500 lost by the rule as printed");

    let mut filter = build(&paper(Resizing::Manual).buckets_per_filter(1200));
    insert_all(&mut filter, 0..2500);
    let mut removed = 0;
    while filter.scale_down() {
        removed += 1;
        if removed % 10 == 0 {
            has_all(&filter, 0..2500);
        }
    }
    assert!(removed >= 150 && filter.utilization() > 0.9, "{removed}");
    // The last attempt did not fit, and nobody can tell.
    let before = filter.to_bytes();
    assert!(!filter.scale_down());
    assert!(filter.to_bytes() == before);
    has_all(&filter, 0..2500);
}

/// Correction 3: copies of one key that no bucket can take are refused as such, whatever the filter
/// does to follow its set, and it does not grow for them.
#[test]
fn copies_of_a_key_do_not_make_it_grow() {
    for resizing in RESIZING {
        for (candidates, slots) in [(2, 3), (1, 1), (1, 4), (2, 1), (4, 2)] {
            let shape = builder(16, 64, resizing).candidates(candidates).slots_per_bucket(slots);
            let mut filter = build(&shape);
            insert_all(&mut filter, 0..3);
            let (buckets, filters) = (filter.buckets(), filter.filters());
            let most = (candidates * slots) as usize;
            let full = (0..).find_map(|_| filter.insert("same").err()).expect("bounded");
            let held = filter.count("same");
            assert_eq!(full.cause, FullCause::EqualEntries { held }, "{shape:?}");
            assert!((1..=most).contains(&held), "{held} of {most}");
            let before = filter.to_bytes();
            for _ in 0..100 {
                assert_eq!(filter.insert("same"), Err(full));
            }
            assert!(filter.to_bytes() == before, "{shape:?}");
            assert_eq!((filter.buckets(), filter.filters()), (buckets, filters), "{shape:?}");
        }
    }
}

/// Correction 3: with short fingerprints keys become equal sooner or later. A filter that adds
/// buckets until they fit never ends; ours refuses them, and goes on with the others.
#[test]
fn short_fingerprints_end_in_errors_not_in_growth() {
    // The paper's shape with 16 bits, and enough buckets that it need not grow before.
    let mut filter =
        build(&paper(Resizing::Buckets).fingerprint_bits(16).buckets_per_filter(22_000));
    let first = (0..80_000u64).find(|key| filter.insert(key).is_err()).expect("some are equal");
    assert!((20_000..70_000).contains(&first), "{first}");
    assert!(filter.utilization() > 0.5, "{first}: {}", filter.stats());

    for resizing in RESIZING {
        // As many keys as make every fingerprint overfull, several times over.
        for (bits, candidates, slots) in [(4, 2, 3), (8, 2, 1), (6, 1, 1), (5, 4, 4)] {
            let shape = builder(bits, 8, resizing).candidates(candidates).slots_per_bucket(slots);
            let mut filter = build(&shape.max_filters(3));
            let fingerprints = (1 << bits) - 1;
            for key in 0..3 * u64::from(fingerprints * candidates * slots) {
                let before = (key % 64 == 0).then(|| filter.to_bytes());
                if let Err(full) = filter.insert(&key) {
                    assert!(before.is_none_or(|before| before == filter.to_bytes()));
                    let expected = match full.cause {
                        FullCause::EqualEntries { held } => held > 0,
                        FullCause::NoRoom { .. } => resizing == Resizing::Manual,
                        FullCause::Crowded => resizing != Resizing::Manual,
                        _ => false,
                    };
                    assert!(expected, "{resizing:?}: {full}");
                }
            }
            // No growth for what growth cannot part.
            let most = 16 * 3 * (fingerprints * candidates * slots) as usize;
            assert!(filter.slots() <= most, "{} slots, {resizing:?} {bits}", filter.slots());
            assert!(filter.len() <= 3 * (fingerprints * candidates * slots) as usize);
        }
    }
}

/// Below a sixteenth of its slots a filter does not grow: with one candidate and one slot the first
/// two keys that meet would make it endless. It gives up and is as it was.
#[test]
fn a_filter_that_cannot_part_its_keys_gives_up_unchanged() {
    for resizing in RESIZING {
        let shape = builder(32, 4096, resizing).candidates(1).slots_per_bucket(1);
        let mut filter = build(&shape);
        let mut refused = 0;
        for key in 0..250u64 {
            let before = filter.to_bytes();
            if let Err(full) = filter.insert(&key) {
                let crowded = full.cause == FullCause::Crowded;
                assert_eq!(crowded, resizing != Resizing::Manual, "{full}");
                assert!(filter.to_bytes() == before, "{key}");
                refused += 1;
            }
        }
        assert!(refused > 0 && filter.slots() == 4096, "{refused}");
    }
}

/// Sudden growth is met by filters, sudden shrinking by merges; and no more filters than allowed.
#[test]
fn an_adaptive_filter_adds_filters_and_merges_them() {
    for max_filters in [1, 2, 4] {
        let mut filter = build(&paper(Resizing::Adaptive).max_filters(max_filters));
        insert_all(&mut filter, 0..3000);
        has_all(&filter, 0..3000);
        assert_eq!(filter.filters(), max_filters as usize, "sudden growth");
        remove_all(&mut filter, 0..2900);
        has_all(&filter, 2900..3000);
        assert_eq!(filter.filters(), 1, "sudden shrinking");
        assert!(filter.utilization() > 0.5, "{}", filter.stats());
    }
    // A filter added by hand while there were no keys is merged when they have come and gone.
    let mut filter = build(&paper(Resizing::Adaptive));
    filter.scale_out().expect("a second");
    insert_all(&mut filter, 0..200);
    assert_eq!(filter.filters(), 2);
    remove_all(&mut filter, 0..100);
    assert_eq!(filter.filters(), 1);
    // Gradual changes need no filter.
    let mut filter = build(&paper(Resizing::Adaptive));
    for key in 0..3000u64 {
        filter.insert(&key).expect("grows");
        if key % 3 == 2 {
            assert!(filter.remove(&(key / 3)));
        }
        assert_eq!(filter.filters(), 1);
    }
}

/// What each way to follow a set does, and what it does not.
#[test]
fn policies_are_as_documented() {
    let grown = |resizing| {
        let mut filter = build(&paper(resizing).max_filters(5));
        let refused = (0..2000u64).filter(|key| filter.insert(key).is_err()).count();
        let sizes: Vec<usize> = filter.stats().filters.iter().map(|part| part.buckets).collect();
        (filter, refused, sizes)
    };
    let (mut filter, refused, sizes) = grown(Resizing::Buckets);
    assert!(refused == 0 && sizes.len() == 1 && sizes[0] > 600);
    remove_all(&mut filter, 0..1900);
    assert!(filter.buckets() < 60, "{}", filter.buckets());

    // Five filters, and then buckets: the smallest gets the next.
    let (mut filter, refused, sizes) = grown(Resizing::Filters);
    assert!(refused == 0 && sizes.len() == 5, "{sizes:?}");
    assert!(sizes.iter().all(|size| size.abs_diff(sizes[0]) <= 20), "{sizes:?}");
    remove_all(&mut filter, 0..1900);
    assert_eq!(filter.filters(), 1);

    let mut filter = build(&paper(Resizing::Filters).max_filters(64));
    insert_all(&mut filter, 0..4000);
    assert!(filter.stats().filters.iter().all(|part| part.buckets == 64));
    assert!(filter.utilization() > 0.9, "{}", filter.utilization());
    let mut active = build(&paper(Resizing::FiltersActiveOnly).max_filters(64));
    insert_all(&mut active, 0..4000);
    assert!(active.utilization() < filter.utilization(), "{}", active.utilization());
    has_all(&active, 0..4000);

    let (mut filter, refused, sizes) = grown(Resizing::Manual);
    assert!(refused > 1500 && sizes == [64]);
    let len = filter.len();
    filter.scale_out().expect("four more");
    insert_all(&mut filter, 10_000..10_100);
    assert_eq!(filter.filters(), 2);
    let removed = (0..2000u64).filter(|key| filter.contains(key) && filter.remove(key)).count();
    assert_eq!((removed, filter.filters(), filter.buckets()), (len, 2, 128), "left alone");
    assert_eq!((filter.compact(), filter.filters()), (1, 1));
    while filter.scale_down() {}
    assert!(filter.utilization() > 0.85, "{}", filter.stats());
    has_all(&filter, 10_000..10_100);
}

/// Filters that are not alike, by hand and by the limits.
#[test]
fn filters_need_not_be_alike() {
    let mut filter = build(&paper(Resizing::Manual).max_filters(3));
    let large = IndexIndependentCuckooFilter::builder()
        .buckets(200)
        .slots_per_bucket(7)
        .candidates(16)
        .virtual_nodes(3);
    filter.scale_out_with(&large).expect("two");
    let small =
        IndexIndependentCuckooFilter::builder().buckets(5).slots_per_bucket(1).candidates(1);
    filter.scale_out_with(&small).expect("three");
    let before = filter.to_bytes();
    let refused = filter.scale_out_with(&small).expect_err("a fourth");
    assert!(matches!(refused, BuildError::OutOfRange { got: 4, max: 3, .. }), "{refused}");
    let refused = filter.scale_out().expect_err("a fourth").cause;
    assert_eq!(refused, FullCause::TooManyFilters { max: 3 });
    let absurd = filter.scale_up(usize::MAX).expect_err("no memory for that").cause;
    assert_eq!(absurd, FullCause::OutOfMemory);
    assert!(filter.to_bytes() == before);
    insert_all(&mut filter, 0..1400);
    let parts = filter.stats().filters;
    assert_eq!(parts.iter().map(|part| part.len).sum::<usize>(), 1400);
    assert_eq!(
        (parts[1].candidates, parts[1].slots_per_bucket, parts[1].virtual_nodes),
        (16, 7, 3)
    );
    let again = ConsistentCuckooFilter::from_bytes(&filter.to_bytes()).expect("own bytes");
    assert_eq!(again.stats().filters, filter.stats().filters);
    remove_all(&mut filter, 0..1250);
    assert_eq!(filter.compact(), 2);
    has_all(&filter, 1250..1400);
}

/// A merge that does not fit leaves all filters as they were, slot by slot.
#[test]
fn a_merge_that_does_not_fit_changes_nothing() {
    let mut filter = build(&paper(Resizing::Manual).max_filters(4));
    let mut failed = 0;
    for _ in 0..3 {
        filter.scale_out().expect("four");
    }
    insert_all(&mut filter, 0..700);
    for key in 0..700 {
        let before = filter.to_bytes();
        if filter.compact() > 0 {
            break;
        }
        failed += 1;
        assert!(filter.to_bytes() == before, "{key}");
        remove_all(&mut filter, key..=key);
    }
    // Of these most had slots enough, so that entries were moved and put back.
    assert!(failed > 140 && filter.filters() == 3, "{failed}");
    has_all(&filter, failed..700);
}

/// Memory follows the set down: after a flood no more than half as much again as a filter has that
/// never saw it.
#[test]
fn memory_falls_with_the_set() {
    for (resizing, nodes, keys) in [
        (Resizing::Adaptive, 10, 20_000),
        (Resizing::Adaptive, 1, 4000),
        (Resizing::Buckets, 10, 3000),
        (Resizing::Buckets, 1, 3000),
    ] {
        let shape = builder(32, 64, resizing).virtual_nodes(nodes);
        let mut filter = build(&shape);
        insert_all(&mut filter, 0..keys);
        let most = filter.size_in_bytes();
        remove_all(&mut filter, 100..keys);
        let mut fresh = build(&shape);
        insert_all(&mut fresh, 0..100);
        has_all(&filter, 0..100);
        let (left, new) = (filter.size_in_bytes(), fresh.size_in_bytes());
        assert!(2 * left <= 3 * new, "{resizing:?} v={nodes}: {most}, then {left}, new {new}");
    }
}

/// Neither do filters that are gone keep any.
#[test]
fn merged_filters_leave_no_memory_behind() {
    let shape = paper(Resizing::Manual).max_filters(50);
    let (mut filter, fresh) = (build(&shape), build(&shape));
    (1..50).for_each(|_| filter.scale_out().expect("fifty"));
    assert!(filter.size_in_bytes() > 40 * fresh.size_in_bytes());
    assert_eq!(filter.compact(), 49);
    // The one that is left has another ring.
    assert!(filter.size_in_bytes() < fresh.size_in_bytes() + 500, "{}", filter.stats());
}

/// Few candidates and slots: each bucket that is added at random makes as many entries homeless as it
/// takes, and a filter that only did that would stick at a thousand keys.
#[test]
fn filters_of_few_candidates_grow_too() {
    for (candidates, slots) in [(2, 1), (1, 8)] {
        for resizing in [Resizing::Buckets, Resizing::Adaptive] {
            let shape = builder(32, 8, resizing).candidates(candidates).slots_per_bucket(slots);
            let mut filter = build(&shape);
            insert_all(&mut filter, 0..2000);
            has_all(&filter, 0..2000);
            assert!(filter.utilization() > 0.5, "{}", filter.utilization());
        }
    }
}

#[test]
fn absurd_parameters_are_refused() {
    use BuildError::{MissingCapacity, OutOfRange, RateOutOfRange, RateTooSmall, TooLarge};
    let some = ConsistentCuckooFilter::builder;
    for rate in [0.0, 1.0, f64::NAN] {
        refused!(some().capacity(100).false_positive_rate(rate) => RateOutOfRange { .. });
    }
    rings_refuse!(some);
    for filters in [0, 1025, u32::MAX] {
        refused!(some().max_filters(filters) => OutOfRange { parameter: "max_filters", .. });
    }
    for buckets in [(1 << 20) + 1, 1 << 32, u64::MAX] {
        refused!(some().buckets_per_filter(buckets) => TooLarge { .. });
    }
    let sparse = some().slots_per_bucket(4);
    refused!(
        some().false_positive_rate(0.01) => MissingCapacity,
        some().capacity(1_000_000).false_positive_rate(1e-5) => RateTooSmall { .. },
        some().capacity(1000).fingerprint_bits(12).false_positive_rate(0.01) => RateTooSmall { .. },
        sparse.sparse_below(5) => OutOfRange { parameter: "sparse_below", .. },
    );
    // No buckets are one.
    assert_eq!(some().buckets_per_filter(0).build().expect("valid").buckets(), 1);
    // A capacity chooses the length of fingerprints, and no more.
    let filter = some().capacity(1000).false_positive_rate(0.01).build().expect("valid");
    assert_eq!((filter.stats().fingerprint_bits, filter.buckets()), (17, 64));
}

/// A filter that searches with few kicks grows all the same: entries that lose their place to a new
/// bucket get more of them.
#[test]
fn few_kicks_do_not_stop_growth() {
    for seed in 1..=3 {
        let builder = ConsistentCuckooFilter::builder().capacity(187_500).false_positive_rate(0.01);
        let builder = builder.resizing(Resizing::Buckets).max_kicks(10).seed(seed);
        let mut filter = builder.build().expect("valid parameters");
        for key in 0..187_500u64 {
            let inserted = filter.insert(&key);
            inserted.unwrap_or_else(|full| panic!("seed {seed}, key {key}: {full}"));
        }
        assert!((0..187_500u64).all(|key| filter.contains(&key)));
    }
}
