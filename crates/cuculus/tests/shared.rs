//! What can go wrong with a filter that threads share.

use std::io::{Read, Write};

use cuculus::conformance::{self, Copies, Growing, Random, Subject};
use cuculus::{
    DecodeError, ElasticFilter, Filter, Full, Insert, KeyHash, KeyHasher, Persist, Remove,
    SharedFilter,
};

/// A shared filter as the laws see one: a clone is a filter of its own.
struct Alone<const PARTS: usize>(SharedFilter);

impl<const PARTS: usize> Alone<PARTS> {
    fn of(filter: ElasticFilter) -> Self {
        Self(SharedFilter::from_filter(filter, PARTS).expect("memory"))
    }
}

impl<const PARTS: usize> Clone for Alone<PARTS> {
    fn clone(&self) -> Self {
        Self::of(self.0.snapshot())
    }
}

impl<const PARTS: usize> Filter for Alone<PARTS> {
    fn hasher(&self) -> &KeyHasher {
        self.0.hasher()
    }
    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.0.contains_hash(hash)
    }
    fn count_hash(&self, hash: KeyHash) -> usize {
        self.0.count_hash(hash)
    }
    fn contains_batch(&self, hashes: &[KeyHash], hits: &mut Vec<bool>) {
        self.0.contains_batch(hashes, hits);
    }
    fn len(&self) -> usize {
        self.0.len()
    }
    fn slots(&self) -> usize {
        self.0.slots()
    }
    fn size_in_bytes(&self) -> usize {
        self.0.size_in_bytes()
    }
    fn expected_false_positive_rate(&self) -> f64 {
        self.0.expected_false_positive_rate()
    }
}

impl<const PARTS: usize> Insert for Alone<PARTS> {
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), Full> {
        self.0.insert_hash(hash)
    }
    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        self.0.insert_batch(hashes)
    }
    fn insert_absent_batch(&mut self, hashes: &[KeyHash], a: &mut Vec<bool>) -> Result<(), Full> {
        self.0.insert_absent_batch(hashes, a)
    }
    fn clear(&mut self) {
        self.0.clear();
    }
}

impl<const PARTS: usize> Remove for Alone<PARTS> {
    fn remove_hash(&mut self, hash: KeyHash) -> bool {
        self.0.remove_hash(hash)
    }
    fn remove_batch(&mut self, hashes: &[KeyHash], removed: &mut Vec<bool>) {
        self.0.remove_batch(hashes, removed);
    }
}

impl<const PARTS: usize> Persist for Alone<PARTS> {
    fn write_to<W: Write>(&self, writer: W) -> std::io::Result<()> {
        self.0.write_to(writer)
    }
    fn read_from<R: Read>(reader: R) -> Result<Self, DecodeError> {
        ElasticFilter::read_from(reader).map(Self::of)
    }
}

/// All laws, as long as each part has one segment: saving evens the number of segments out, so the
/// bytes of a larger filter may depend on when it was saved.
fn obeys_all_laws<const PARTS: usize>(keys: usize) {
    for rate in [0.01, 1e-5] {
        for expected in [0, 100_000] {
            let builder = SharedFilter::builder().false_positive_rate(rate).parts(PARTS);
            let builder = builder.expected_items(expected);
            let make = |seed| Alone::<PARTS>(builder.clone().seed(seed).build().expect("valid"));
            let name = &*format!("{PARTS} parts, rate {rate}, {expected} expected");
            let copies = Copies::Unlimited;
            let subject = Subject { name, keys, all_fit: true, copies, make: &make };
            conformance::check(&subject);
            let merge = |into: &mut Alone<PARTS>, from: &Alone<PARTS>| {
                into.0.merge(&from.0.snapshot()).is_ok()
            };
            let growing = Growing { subject, rate, shrink_to_fit: &|_| (), merge: &merge };
            conformance::any_order_of_operations_keeps_keys_rate_and_bytes(&growing);
            conformance::the_way_back_is_as_safe_as_the_way_up(&growing);
            conformance::merging_adds_every_key(&growing);
        }
    }
}

#[test]
fn one_part_obeys_all_laws() {
    obeys_all_laws::<1>(300);
}

#[test]
fn four_parts_obey_all_laws() {
    obeys_all_laws::<4>(300);
}

#[test]
fn many_parts_obey_all_laws() {
    obeys_all_laws::<64>(100);
}

/// Any number of parts, any size: an ordinary filter becomes a shared one and back, with all keys, as
/// often as they were there, and the same rate; and what was saved once is saved the same again.
#[test]
fn parts_and_wholes_become_each_other() {
    let mut random = Random::new(1);
    for (keys, rate) in [(1, 0.01), (50, 0.2), (1000, 0.05), (20_000, 0.01), (150_000, 0.001)] {
        for (from, to) in [(1, 64), (64, 1), (16, 2), (8, 512)] {
            let shared = SharedFilter::builder().false_positive_rate(rate).parts(from).seed(3);
            let shared = shared.build().expect("valid");
            let keys: Vec<u64> = (0..keys).map(|_| random.bits()).collect();
            keys.iter().for_each(|key| shared.insert(key).expect("room"));
            (0..40).for_each(|_| shared.insert(&keys[0]).expect("room"));
            let plain = shared.snapshot();
            let bytes = plain.to_bytes();
            let loaded = ElasticFilter::from_bytes(&bytes).expect("own bytes");
            let len = shared.len();
            let mut rates = vec![shared.expected_false_positive_rate()];
            let again = SharedFilter::from_filter(loaded.clone(), from).expect("memory");
            assert_eq!(again.parts(), from);
            assert!(again.to_bytes() == bytes, "{} keys, {from} parts", keys.len());
            let other = SharedFilter::from_filter(loaded.clone(), to).expect("memory");
            assert!(other.parts() == to || keys.len() <= 20_000, "{}", other.parts());
            let back = other.snapshot();
            for filter in [&plain as &dyn Filter, &loaded, &again, &other, &back] {
                assert_eq!(filter.len(), len);
                rates.push(filter.expected_false_positive_rate());
                let hash = |key| filter.hasher().hash(key);
                assert!(keys.iter().all(|key| filter.contains_hash(hash(key))));
                assert!(filter.count_hash(hash(&keys[0])) >= 41);
            }
            // A segment that is split gets codes of the length that the size asks for.
            let is_near = |&other: &f64| other <= rate && other <= 1.2 * rates[0] + 1e-9;
            assert!(rates.iter().all(is_near), "{rates:?}");
            assert!(keys.iter().all(|key| other.remove(key)));
            (0..40).for_each(|_| assert!(other.remove(&keys[0])));
            assert!(other.is_empty() && other.size_in_bytes() < 128 + to * 600);
        }
    }
}

/// A set that has grown so much that its first keys are kept apart.
#[test]
fn keys_that_are_kept_apart_come_along() {
    let plain = ElasticFilter::builder().false_positive_rate(0.2).spare_bytes(0).seed(5).build();
    let shared = SharedFilter::from_filter(plain.expect("valid"), 4).expect("memory");
    for key in 0..300_000u64 {
        shared.insert(&key).expect("room");
    }
    assert!(shared.stats().overflow > 0, "{}", shared.stats());
    let plain = shared.snapshot();
    assert!(plain.stats().overflow > 0 && plain.len() == 300_000);
    let bytes = plain.to_bytes();
    let loaded = ElasticFilter::from_bytes(&bytes).expect("own bytes");
    let again = SharedFilter::from_filter(loaded, 4).expect("memory");
    assert!(again.parts() == 4 && again.to_bytes() == bytes);
    for key in 0..300_000u64 {
        assert!(shared.contains(&key) && plain.contains(&key) && again.contains(&key));
    }
    for key in 0..300_000u64 {
        assert!(again.remove(&key), "{key}");
    }
    assert!(again.is_empty());
}

#[test]
fn a_number_of_parts_is_a_power_of_two() {
    for parts in [0, 3, 100, 8192] {
        let refused = SharedFilter::builder().parts(parts).build().expect_err("no such number");
        assert!(refused.to_string().contains(&format!("parts is {parts}")), "{refused}");
    }
}

/// A part does what an ordinary filter does, byte for byte and at the price that an operation has there: one
/// part of a large set is not rewritten as a whole.
#[test]
fn one_part_has_the_bytes_of_an_ordinary_filter() {
    for (rate, most) in [(0.3, 30_000u64), (0.01, 30_000), (0.0001, 30_000), (1e-8, 10_000)] {
        let shared = SharedFilter::builder().parts(1).false_positive_rate(rate).seed(5);
        let shared = shared.build().expect("valid");
        let plain = ElasticFilter::builder().false_positive_rate(rate).seed(5);
        let mut plain = plain.build().expect("valid");
        let same = |plain: &ElasticFilter| {
            let (mut theirs, mut ours) = (Vec::new(), Vec::new());
            plain.write_to(&mut theirs).expect("memory");
            shared.snapshot().write_to(&mut ours).expect("memory");
            assert_eq!(shared.len(), plain.len());
            assert!(theirs == ours, "{rate}: other bytes with {} keys", plain.len());
        };
        for key in 0..most {
            shared.insert(&key).expect("room");
            plain.insert(&key).expect("room");
            if key % 3 == 0 {
                assert_eq!(shared.remove(&(key / 2)), plain.remove(&(key / 2)), "{key}");
            }
            assert_eq!(shared.count(&(key / 3)), plain.count(&(key / 3)), "{key}");
            if key % 1000 == 0 {
                same(&plain);
            }
        }
        for key in (0..most).rev() {
            assert_eq!(shared.contains(&key), plain.contains(&key), "{key}");
            assert_eq!(shared.remove(&key), plain.remove(&key), "{key}");
            if key % 1000 == 0 {
                same(&plain);
            }
        }
        let written = shared.stats().most_entries_written;
        assert_eq!(written, plain.stats().most_entries_written, "{rate}");
        assert!((1..4096).contains(&written), "{rate}: {written}");
    }
}

/// Few enough keys for an interpreter that finds every data race and every use of freed memory:
/// `cargo +nightly miri test -p cuculus --test shared small`.
#[test]
fn small_sets_are_changed_and_read_by_several_threads() {
    const KEPT: u64 = 40;
    let filter = SharedFilter::builder().parts(2).seed(1).build().expect("valid");
    (0..KEPT).for_each(|key| filter.insert(&key).expect("room"));
    std::thread::scope(|scope| {
        for writer in 1..=2u64 {
            let filter = &filter;
            scope.spawn(move || {
                for key in 0..60 {
                    filter.insert(&(writer << 32 | key)).expect("room");
                    assert!(filter.contains(&(writer << 32 | key)));
                    // Copies of a key, and homes with many.
                    if key % 20 == 0 {
                        (0..6).for_each(|_| filter.insert(&(writer << 40)).expect("room"));
                        assert!(filter.count(&(writer << 40)) >= 6);
                        (0..6).for_each(|_| assert!(filter.remove(&(writer << 40))));
                    }
                }
                (0..60).for_each(|key| assert!(filter.remove(&(writer << 32 | key)), "{key}"));
            });
        }
        for _ in 0..3 {
            (0..KEPT).for_each(|key| assert!(filter.contains(&key), "{key}"));
            assert!(filter.snapshot().len() >= KEPT as usize);
        }
    });
    assert!(filter.len() == KEPT as usize && (0..KEPT).all(|key| filter.remove(&key)));
    assert!(filter.is_empty());
}

/// Parts and their union count the lengths of their entries; a loaded filter finds them in the entries.
#[test]
fn parts_know_the_lengths_of_their_entries() {
    let mut fewer = 0;
    for (rate, keys) in
        [(0.01, 40), (0.01, 700), (0.01, 5000), (0.3, 100), (0.3, 3000), (0.001, 20_000)]
    {
        for parts in [1, 2, 16, 64] {
            let builder = ElasticFilter::builder().false_positive_rate(rate).spare_bytes(0);
            let mut filter = builder.seed(keys).build().expect("valid");
            (0..keys).for_each(|key| filter.insert(&key).expect("room"));
            let shared = SharedFilter::from_filter(filter, parts).expect("memory");
            fewer += usize::from(shared.parts() < parts);
            (1 << 32..(1 << 32) + 200u64).for_each(|key| shared.insert(&key).expect("room"));
            let whole = shared.snapshot();
            let again = ElasticFilter::from_bytes(&whole.to_bytes()).expect("own bytes");
            let (counted, found) =
                (whole.expected_false_positive_rate(), again.expected_false_positive_rate());
            assert!(
                (counted / found - 1.0).abs() < 1e-9,
                "{rate} {keys} {parts}: {counted} {found}"
            );
            assert!(found <= rate, "{rate} {keys} {parts}: {found}");
        }
    }
    assert!(fewer > 0, "no part was too full for its rate");
}
