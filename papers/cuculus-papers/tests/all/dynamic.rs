//! The dynamic cuckoo filter where it can go wrong: lists that grow, are compacted and saved in any
//! order, copies of a key, the two ways to extend a list, and the errors of the papers that it must
//! not repeat.

use crate::common::{Odds, SEARCHES, any_order, has_all, insert_all, refused, remove_all};
use cuculus::conformance::Random;
use cuculus::lab::PlacementKind;
use cuculus::{BuildError, Filter, FullCause, Insert, Persist, Remove};
use cuculus_papers::{DynamicCuckooFilter, DynamicCuckooFilterBuilder, Extension};

const EXTENSIONS: [Extension; 2] = [Extension::Active, Extension::Passive];

fn builder(bits: u32, buckets: u64) -> DynamicCuckooFilterBuilder {
    DynamicCuckooFilter::builder()
        .fingerprint_bits(bits)
        .buckets_per_filter(buckets)
        .hasher(cuculus::KeyHasher::xxh3(1))
}

fn build(builder: &DynamicCuckooFilterBuilder) -> DynamicCuckooFilter {
    builder.build().expect("valid")
}

/// Keys that the tests never insert.
fn absent_keys(count: u64) -> impl Iterator<Item = u64> {
    1 << 50..(1 << 50) + count
}

/// The tables in the bytes of a filter: what follows the header and its 80 bytes of parameters.
fn tables(filter: &DynamicCuckooFilter) -> Vec<u8> {
    let bytes = filter.to_bytes();
    bytes[48 + 80 + 8..bytes.len() - 8].to_vec()
}

/// Fingerprints are short, so that many keys look the same.
#[test]
fn any_order_of_operations_keeps_keys_and_bytes() {
    for case in 0..48u64 {
        let mut random = Random::new(case);
        let bits = 4 + random.below(6) as u32;
        let buckets = [1, 2, 3, 8, 32][random.below(5)];
        let builder = builder(bits, buckets)
            .slots_per_bucket(1 + random.below(8) as u32)
            .extension(EXTENSIONS[case as usize % 2])
            .reuse_holes(case / 2 % 2 == 0)
            .search(SEARCHES[case as usize / 4 % 3])
            .max_kicks([0, 1, 5, 500][random.below(4)]);
        let odds = Odds { steps: 4000, period: 500, all: 200, own: 4, insert: 140, keys: 700 };
        let shorten = |filters: &mut [DynamicCuckooFilter; 2], _: &mut Random, which| {
            let ways = [DynamicCuckooFilter::compact, DynamicCuckooFilter::shrink_to_fit];
            let freed = filters.each_mut().map(ways[which % 2]);
            assert_eq!(freed[0], freed[1], "{builder:?}");
            let stats = filters[0].stats();
            assert!(which % 2 == 0 || stats.filters == 1 || stats.len > 0, "an empty filter");
            assert_eq!(stats.counts.iter().sum::<usize>(), stats.len);
            assert_eq!(stats.appended - stats.freed + 1, stats.filters as u64);
        };
        any_order(
            &builder,
            || build(&builder),
            odds,
            &mut random,
            shorten,
            |filter, key, full| {
                assert_eq!(full.cause, FullCause::EqualEntries { held: filter.count(&key) });
            },
        );
    }
}

/// What cannot be emptied in full stays as it was, slot by slot.
#[test]
fn a_list_that_cannot_be_shorter_stays_as_it_was() {
    for extension in EXTENSIONS {
        let mut filter = build(&builder(12, 64).extension(extension));
        insert_all(&mut filter, 0..1400);
        // Every fifth key: five of six filters would do, but not bucket by bucket.
        remove_all(&mut filter, (0..1400).step_by(5));
        let before = tables(&filter);
        assert_eq!(filter.compact(), 0);
        assert!(tables(&filter) == before, "something was moved in vain");
        // With kicks it can be done once, and then nothing moves any more.
        filter.shrink_to_fit();
        let before = tables(&filter);
        assert_eq!(filter.shrink_to_fit(), 0);
        assert!(tables(&filter) == before, "something was moved in vain");
        assert!(filter.filters() <= filter.stats().filters_needed);
        has_all(&filter, (0..1400).filter(|key| key % 5 != 0));
    }
}

/// However much is removed, one filter stays, and is the one that takes keys.
#[test]
fn the_last_filter_stays() {
    for reuse in [false, true] {
        let mut filter = build(&builder(12, 16).reuse_holes(reuse));
        assert_eq!((filter.compact(), filter.shrink_to_fit(), filter.filters()), (0, 0, 1));
        insert_all(&mut filter, 0..1000);
        let filters = filter.filters();
        remove_all(&mut filter, 0..1000);
        assert_eq!((filter.filters(), filter.compact()), (filters, filters - 1));
        assert_eq!((filter.filters(), filter.stats().current, filter.len()), (1, 0, 0));
        filter.insert(&1u64).expect("empty");
        assert!(filter.contains(&1u64) && filter.filters() == 1);
    }
}

/// Cuckoo filter and dynamic cuckoo filter as their papers print them: four slots per bucket, powers of
/// two, entries that are swapped on the way.
struct Printed {
    buckets: Vec<[u32; 4]>,
    random: Random,
    /// Entries of other keys that were moved.
    moved: u64,
}

impl Printed {
    fn new(buckets: usize) -> Self {
        Self { buckets: vec![[0; 4]; buckets], random: Random::new(1), moved: 0 }
    }

    fn fingerprint(key: u64) -> (u32, u64) {
        let hash = cuculus::KeyHasher::xxh3(1).hash(&key).get();
        ((hash as u32 & 0xfff).max(1), hash >> 32)
    }

    fn alternate(&self, bucket: usize, fingerprint: u32) -> usize {
        let spread = fingerprint.wrapping_mul(0x9e37_79b9) >> 7 | 1;
        bucket ^ (spread as usize & (self.buckets.len() - 1))
    }

    fn candidates(&self, key: u64) -> (u32, [usize; 2]) {
        let (fingerprint, hash) = Self::fingerprint(key);
        let home = hash as usize & (self.buckets.len() - 1);
        (fingerprint, [home, self.alternate(home, fingerprint)])
    }

    fn contains(&self, key: u64) -> bool {
        let (fingerprint, candidates) = self.candidates(key);
        candidates.iter().any(|&bucket| self.buckets[bucket].contains(&fingerprint))
    }

    fn place(&mut self, bucket: usize, fingerprint: u32) -> bool {
        let free = self.buckets[bucket].iter_mut().find(|slot| **slot == 0);
        free.map(|slot| *slot = fingerprint).is_some()
    }

    /// Swaps on, from a random bucket, up to `kicks` times; what is left over when it gives up is
    /// lost.
    fn walk(&mut self, key: u64, kicks: u32) -> bool {
        let (mut hand, candidates) = self.candidates(key);
        let mut bucket = candidates[self.random.below(2)];
        for _ in 0..kicks {
            let slot = self.random.below(4);
            std::mem::swap(&mut hand, &mut self.buckets[bucket][slot]);
            if hand == 0 {
                return true; // the entry happened to be free: the paper does not say what then
            }
            self.moved += 1;
            bucket = self.alternate(bucket, hand);
            if self.place(bucket, hand) {
                return true;
            }
        }
        false
    }

    /// Algorithm 1 of the Cuckoo Filter paper: looks into both buckets, then walks.
    fn insert_looking_first(&mut self, key: u64, kicks: u32) -> bool {
        let (fingerprint, candidates) = self.candidates(key);
        candidates.iter().any(|&bucket| self.place(bucket, fingerprint)) || self.walk(key, kicks)
    }
}

/// The Cuckoo Filter paper's Algorithm 1 drops the last victim when it gives up, which is the entry
/// of a key that was acknowledged long ago. Here what finds no room is the new key, and it goes on to
/// the next filter: nothing is lost, whatever the limit of kicks.
#[test]
fn a_key_that_finds_no_room_costs_no_other_its_place() {
    let mut printed = Printed::new(1024);
    let acknowledged: Vec<u64> =
        (0..6000).filter(|&key| printed.insert_looking_first(key, 500)).collect();
    let lost = acknowledged.iter().filter(|&&key| !printed.contains(key)).count();
    // Of some 2,000 walks that failed nearly each took the entry of another key.
    assert!(lost > 1000, "{lost}");

    for extension in EXTENSIONS {
        for search in SEARCHES {
            for kicks in [0, 1, 2, 500] {
                for reuse in [false, true] {
                    let builder = builder(12, 1024).extension(extension).reuse_holes(reuse);
                    let mut filter = build(&builder.search(search).max_kicks(kicks));
                    insert_all(&mut filter, 0..12_000);
                    assert!(filter.filters() >= 3, "{}", filter.stats());
                    has_all(&filter, 0..12_000);
                    remove_all(&mut filter, 0..12_000);
                }
            }
        }
    }
}

/// The DCF paper's Algorithm 1 swaps before it looks for a free slot, so entries are moved although
/// there is room. Looking first moves nothing until both buckets are full.
#[test]
fn nothing_moves_where_there_is_room() {
    let fill = |insert: &dyn Fn(&mut Printed, u64) -> bool| {
        let mut printed = Printed::new(1024);
        // Half full.
        (0..2048).for_each(|key| assert!(insert(&mut printed, key)));
        printed.moved
    };
    let as_printed = fill(&|printed, key| printed.walk(key, 500));
    let looking_first = fill(&|printed, key| printed.insert_looking_first(key, 500));
    assert!(as_printed > 400 && looking_first < 20, "{as_printed} {looking_first}");

    // Without kicks a key only ever turns zeros into ones; with them the same, until both of its
    // buckets are full.
    for (kicks, keys) in [(0, 3000), (500, 600)] {
        let mut filter = build(&builder(12, 256).max_kicks(kicks));
        let mut before = tables(&filter);
        for key in 0..keys {
            filter.insert(&key).expect("grows");
            let after = tables(&filter);
            let kept = before.iter().zip(&after).all(|(before, after)| before & !after == 0);
            assert!(kept, "{key} moved an entry");
            before = after;
        }
    }
}

/// The paper's experiment (Fig. 16): 46,080 keys in six filters, a sixth of them deleted.
fn six_filters(extension: Extension) -> DynamicCuckooFilter {
    let builder = builder(12, 2048).extension(extension).capacity_per_filter(7680);
    let builder = builder.placement(PlacementKind::Xor).reuse_holes(false);
    let mut filter = build(&builder);
    // Active extension goes on when a key finds no room, so it takes more to fill six.
    insert_all(&mut filter, 0..46_080);
    assert_eq!(filter.filters(), 6, "{}", filter.stats());
    filter
}

/// The oldest sixth is a filter of its own, and is freed.
#[test]
fn compaction_frees_what_came_together() {
    for extension in EXTENSIONS {
        let mut filter = six_filters(extension);
        let oldest = filter.stats().counts[0] as u64;
        assert!(extension == Extension::Active || filter.stats().counts == [7680; 6]);
        // One key less, and the first filter cannot be emptied if the others are full. (Active
        // extension has filled them further, and left the last one emptier.)
        let keep = (0..oldest).find(|&key| filter.count(&key) == 1).expect("most of them");
        remove_all(&mut filter, (0..oldest).filter(|&key| key != keep));
        let mut one_less = filter.clone();
        assert_eq!(one_less.compact(), usize::from(extension == Extension::Active));
        has_all(&one_less, core::iter::once(keep).chain(oldest..46_080));
        assert!(filter.remove(&keep));
        assert_eq!((filter.compact(), filter.filters()), (1, 5));
        has_all(&filter, oldest..46_080);
    }
}

/// Removing what was never inserted can take the entry of a key that was: with the probability of a
/// false positive. What was inserted can always be removed, and takes nothing from others; that is the
/// law that the suites test.
#[test]
fn removing_a_key_that_was_never_inserted_can_cost_another() {
    let mut filter = build(&builder(8, 64));
    insert_all(&mut filter, 0..1000);
    let taken = absent_keys(1000).filter(|key| filter.remove(key)).count();
    assert_eq!(filter.len(), 1000 - taken);
    let lost = (0..1000u64).filter(|key| !filter.contains(key)).count();
    assert!(taken > 10 && lost > 10 && lost <= taken, "{taken} taken, {lost} lost");
}

/// Duplicates filtered by a query: what looks like another key is not stored, about one key in two
/// hundred with 12 bits and six filters, and is lost when the other goes. Without removals nothing is.
#[test]
fn filtering_duplicates_is_for_sets_that_only_grow() {
    const KEYS: u64 = 46_080;
    let mut filter = build(&builder(12, 2048).filter_duplicates(true));
    insert_all(&mut filter, 0..KEYS);
    has_all(&filter, 0..KEYS);
    assert!(filter.filters() == 6, "{}", filter.stats());
    let missed = 1.0 - filter.len() as f64 / KEYS as f64;
    assert!((0.004..0.007).contains(&missed), "{missed}");
    // Again: nothing is stored, nothing grows.
    let bytes = filter.to_bytes();
    insert_all(&mut filter, 0..KEYS);
    assert!(filter.to_bytes() == bytes);

    // Half of them go, each once; some of those that stay go with them. Without the filtering none
    // does.
    let lost_after_removals = |filter: &mut DynamicCuckooFilter| {
        // What was not stored cannot always be removed.
        (0..KEYS).step_by(2).for_each(|key| _ = filter.remove(&key));
        (1..KEYS).step_by(2).filter(|key| !filter.contains(key)).count()
    };
    let lost = lost_after_removals(&mut filter) as f64 / (KEYS / 2) as f64;
    assert!((0.001..0.007).contains(&lost), "{lost}");
    let mut all = build(&builder(12, 2048));
    insert_all(&mut all, 0..KEYS);
    assert_eq!((all.len() as u64, lost_after_removals(&mut all)), (KEYS, 0));
}

/// Active extension leaves a filter at the first key without room, passive extension when its counter
/// says so: with few kicks the one makes more and emptier filters, the other keeps trying.
#[test]
fn active_and_passive_extension_differ_as_documented() {
    let grown = |extension, kicks| {
        let builder = builder(16, 256).extension(extension).max_kicks(kicks);
        let mut filter = build(&builder.reuse_holes(false).capacity_per_filter(950));
        for key in 0..20_000u64 {
            filter.insert(&key).expect("grows");
            let stats = filter.stats();
            let (before, after) = stats.counts.split_at(stats.current);
            match extension {
                // Only the last takes keys.
                Extension::Active => assert_eq!(after.len(), 1),
                // Those before are full, none is fuller, and later ones hold what did not fit.
                _ => {
                    assert!(before.iter().all(|&count| count == 950), "{:?}", stats.counts);
                    assert!(after.iter().all(|&count| (1..=950).contains(&count)));
                }
            }
        }
        has_all(&filter, 0..20_000);
        filter.stats()
    };
    for kicks in [0, 1] {
        let (active, passive) = (grown(Extension::Active, kicks), grown(Extension::Passive, kicks));
        assert!(active.filters > passive.filters, "{active}\n{passive}");
        assert!(active.utilization < 0.91 && passive.utilization > 0.88, "{active}\n{passive}");
    }
    // With many kicks a key finds room beyond the counter's limit.
    assert!(grown(Extension::Active, 500).filters < grown(Extension::Passive, 500).filters);
}

/// Copies of one key fill their buckets and are refused then, wherever the list stands: they are no
/// reason to append a filter, nor to leave the current one.
#[test]
fn copies_of_a_key_never_make_the_list_longer() {
    for extension in EXTENSIONS {
        for reuse in [false, true] {
            for slots in 1..=8 {
                let builder = builder(16, 64).slots_per_bucket(slots).extension(extension);
                let mut filter = build(&builder.reuse_holes(reuse));
                for stored in 0..2 * slots as usize {
                    filter.insert("same").expect("2b fit");
                    assert_eq!(filter.count("same"), stored + 1);
                }
                let full = filter.insert("same").expect_err("2b + 1 do not");
                assert_eq!(full.cause, FullCause::EqualEntries { held: 2 * slots as usize });
                assert_eq!((filter.filters(), filter.len()), (1, 2 * slots as usize));
                // In a longer list as many as there is room for, and no filter more.
                insert_all(&mut filter, 0..200 * u64::from(slots));
                let filters = filter.filters();
                let before = loop {
                    let before = filter.to_bytes();
                    match filter.insert("same") {
                        Ok(()) => assert!(filter.len() < filter.slots()),
                        Err(full) => {
                            let held = filter.count("same");
                            assert_eq!(full.cause, FullCause::EqualEntries { held });
                            break before;
                        }
                    }
                };
                assert!(filter.to_bytes() == before && filter.filters() == filters);
                has_all(&filter, 0..200 * u64::from(slots));
            }
        }
    }
}

/// Copies that fill their two buckets of the current filter go on to the next, which does not become
/// current: the first is not full for other keys.
#[test]
fn copies_of_a_key_do_not_use_up_the_current_filter() {
    for extension in EXTENSIONS {
        let builder = builder(16, 64).extension(extension);
        let mut filter = build(&builder.capacity_per_filter(240));
        insert_all(&mut filter, 0..400);
        remove_all(&mut filter, (0..400).filter(|key| key % 4 == 0));
        assert_eq!((filter.compact(), filter.filters(), filter.stats().current), (0, 2, 0));
        for _ in 0..10 {
            filter.insert("same").expect("room in either");
        }
        assert_eq!((filter.count("same"), filter.stats().current), (10, 0), "{extension:?}");
        insert_all(&mut filter, 1000..1020);
        assert_eq!(filter.filters(), 2);
    }
}

/// Found by fuzzing: copies cannot be moved out of their two buckets, so those of a few keys can fill both
/// buckets of another in a list that is nearly empty. That key is refused, as one of many keys that
/// were chosen to fall together is; nothing changes, and where there are no copies it is taken.
#[test]
fn copies_of_other_keys_may_crowd_a_key_out() {
    let mut filter = build(&builder(12, 125).reuse_holes(true));
    let mut refused = None;
    let mut copied = 0;
    for key in 0..60u64 {
        let before = filter.to_bytes();
        match filter.insert(&key) {
            Ok(()) => {}
            Err(full) => {
                assert_eq!((full.cause, full.len), (FullCause::Crowded, filter.len()));
                assert!(filter.to_bytes() == before && filter.filters() == 1);
                refused = Some(key);
                break;
            }
        }
        while filter.insert(&key).is_ok() {}
        copied += 1;
    }
    let refused = refused.expect("one of them has neighbours on both sides");
    has_all(&filter, 0..copied);
    let mut without_copies = build(&builder(12, 125).reuse_holes(true));
    insert_all(&mut without_copies, 0..refused + 1);
}

/// A set that changes without growing: with holes used again the list stays as long as it is;
/// without, it grows, and what is behind the current filter is used by compaction only.
#[test]
fn holes_are_used_again_or_wait_for_compaction() {
    for extension in EXTENSIONS {
        let churned = |reuse| {
            let mut filter = build(&builder(16, 64).extension(extension).reuse_holes(reuse));
            insert_all(&mut filter, 0..1400);
            let filters = filter.filters();
            for key in 0..20_000u64 {
                assert!(filter.remove(&key));
                filter.insert(&(key + 1400)).expect("room");
            }
            has_all(&filter, 20_000..21_400);
            (filter, filters)
        };
        let (filter, filters) = churned(true);
        assert!(filter.filters() <= filters + 1, "{}", filter.stats());
        let (mut filter, filters) = churned(false);
        assert!(filter.filters() > 10 * filters, "{}", filter.stats());
        remove_all(&mut filter, (20_000..21_400).step_by(4));
        filter.compact();
        assert!(filter.filters() <= filters + 1, "{}", filter.stats());
        // The list goes on where it was, though there are holes behind.
        let stats = filter.stats();
        assert_eq!(stats.current, stats.filters - 1, "{stats:?}");
        let slots = filter.slots();
        insert_all(&mut filter, 100_000..100_000 + (slots * 9 / 10 - stats.len) as u64);
        assert!(filter.filters() > stats.filters, "{}", filter.stats());
    }
}

/// The rate is kept up to the capacity, whatever the sizes follow from; beyond it the list grows and
/// the rate with it.
#[test]
fn the_rate_is_kept_up_to_the_capacity() {
    for capacity in [0u64, 1, 7, 100, 1330, 20_000] {
        for rate in [0.3, 0.03, 0.01, 1e-4] {
            for slots in [1, 2, 4, 7] {
                let planned = DynamicCuckooFilter::builder().capacity(capacity as usize).seed(2);
                let planned = planned.false_positive_rate(rate).slots_per_bucket(slots);
                for builder in [
                    planned.clone(),
                    planned.clone().placement(PlacementKind::Xor),
                    planned.clone().buckets_per_filter(100),
                    planned.clone().capacity_per_filter(50),
                    planned.clone().extension(Extension::Passive),
                ] {
                    let mut filter = build(&builder);
                    insert_all(&mut filter, 0..capacity);
                    let expected = filter.expected_false_positive_rate();
                    assert!(expected <= rate, "{expected} > {rate}: {builder:?}");
                    assert_eq!(filter.capacity() as u64, capacity);
                }
            }
        }
    }
    let mut filter =
        build(&DynamicCuckooFilter::builder().capacity(1330).false_positive_rate(9.8e-3).seed(1));
    insert_all(&mut filter, 0..20_000);
    assert!(filter.expected_false_positive_rate() > 0.05);
    has_all(&filter, 0..20_000);
}

#[test]
fn absurd_parameters_are_refused_in_words() {
    use BuildError::{
        MissingCapacity, OutOfRange, RateOutOfRange, RateTooSmall, SlotsPerBucket, TooLarge,
    };
    let any = DynamicCuckooFilter::builder;
    let some = || any().capacity(1000);
    for rate in [0.0, 1.0, -0.1, 1.5, f64::NAN, f64::INFINITY] {
        refused!(some().false_positive_rate(rate) => RateOutOfRange { .. });
    }
    for bits in [0, 3, 33, u32::MAX] {
        refused!(some().fingerprint_bits(bits) => OutOfRange { min: 4, max: 32, .. });
    }
    for slots in [0, 9, u32::MAX] {
        refused!(some().slots_per_bucket(slots) => SlotsPerBucket { .. });
    }
    for keys in [0, 257, usize::MAX] {
        let each = builder(12, 64).capacity_per_filter(keys);
        refused!(each => OutOfRange { parameter: "capacity_per_filter", min: 1, max: 256, .. });
    }
    refused!(
        any() => MissingCapacity,
        any().capacity_per_filter(10) => MissingCapacity,
        // The smallest rate is that of the whole list.
        some().false_positive_rate(1e-12) => RateTooSmall { got: 1e-12, smallest: ..1e-8 },
        some().buckets_per_filter(1).false_positive_rate(1e-8)
            => RateTooSmall { got: 1e-8, smallest: 1e-7.. },
        some().fingerprint_bits(8).false_positive_rate(0.001) => RateTooSmall { .. },
        some().max_kicks(2001) => OutOfRange { parameter: "max_kicks", .. },
        any().capacity(usize::MAX) => TooLarge { .. },
        any().capacity(usize::MAX).placement(PlacementKind::Xor) => TooLarge { .. },
        any().buckets_per_filter(u64::MAX) => TooLarge { .. },
        some().buckets_per_filter(1 << 32) => TooLarge { .. },
        some().capacity_per_filter(usize::MAX) => TooLarge { .. },
    );
    // A length that keeps the rate in fewer filters does.
    assert!(some().fingerprint_bits(10).false_positive_rate(0.01).build().is_ok());
    let built = |builder: DynamicCuckooFilterBuilder| build(&builder).stats();
    assert_eq!(built(builder(12, 0)).buckets_per_filter, 1);
    assert_eq!(built(builder(12, 5).placement(PlacementKind::Xor)).buckets_per_filter, 8);
}

#[test]
fn figures_are_those_of_the_filter() {
    let mut filter = build(&builder(12, 64).capacity(1000));
    insert_all(&mut filter, 0..1000);
    filter.extend([7u64; 20]);
    let stats = filter.stats();
    assert_eq!(stats.filters_needed, stats.len.div_ceil(stats.capacity_per_filter));
    assert_eq!(stats.slots, stats.filters * 64 * 4);
    assert_eq!((stats.appended, stats.freed), (stats.filters as u64 - 1, 0));
    assert!(stats.refused > 0 && stats.refused + stats.len as u64 == 1020);
    let text = stats.to_string();
    for word in ["keys", "appended", "bits per key", "refused", "1000"] {
        assert!(text.contains(word), "{text}");
    }
    assert!(format!("{filter:?}").contains("Active"));
    filter.clear();
    assert_eq!((filter.refused(), filter.stats().appended, filter.filters()), (0, 0, 1));
    assert!(filter.stats().to_string().lines().count() == 7);
}
