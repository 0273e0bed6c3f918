//! Each law, as a function of its own name.

use super::{Copies, Multiset, Random, State, Subject, loads_as_it_is};
use crate::{Filter, FullCause, Insert, KeyHash, Persist, Remove};

/// A filter with the keys `0..count`, as far as they fit, and the ones that did.
fn filled<F: Insert>(subject: &Subject<'_, F>, seed: u64, count: usize) -> (F, Multiset) {
    let mut filter = subject.make(seed);
    let mut oracle = Multiset::default();
    for key in subject.keys(count) {
        match filter.insert(&key) {
            Ok(()) => oracle.insert(key),
            Err(full) if subject.all_fit => {
                panic!("{}: key {key} of {count} was refused: {full}", subject.name)
            }
            Err(_) => {}
        }
    }
    (filter, oracle)
}

fn hashes(filter: &impl Filter, keys: impl Iterator<Item = u64>) -> Vec<KeyHash> {
    keys.map(|key| filter.hasher().hash(&key)).collect()
}

/// No key of the multiset is missing, none is counted too few times, and the length is exact.
pub(super) fn agrees<F: Filter>(subject: &Subject<'_, F>, filter: &F, oracle: &Multiset) {
    let name = subject.name;
    assert_eq!(filter.len(), oracle.len(), "{name}: length");
    assert_eq!(filter.is_empty(), oracle.is_empty(), "{name}: emptiness");
    for (key, count) in oracle.iter() {
        assert!(filter.contains(&key), "{name}: false negative for key {key}");
        let counted = filter.count(&key);
        let least = subject.copies.least_count(count);
        assert!(counted >= least, "{name}: key {key} is there {count} times, counted {counted}");
    }
}

/// Every key is found, at once and after all others.
pub fn no_false_negatives<F: Insert + State>(subject: &Subject<'_, F>) {
    let mut filter = subject.make(1);
    for key in subject.keys(subject.keys) {
        if filter.insert(&key).is_ok() {
            assert!(filter.contains(&key), "{}: {key} not found at once", subject.name);
        }
    }
    let (filter, oracle) = filled(subject, 1, subject.keys);
    agrees(subject, &filter, &oracle);
}

/// A key inserted n times is counted n times or more.
pub fn count_is_never_low<F: Insert + State>(subject: &Subject<'_, F>) {
    let mut filter = subject.make(2);
    let mut oracle = Multiset::default();
    for key in subject.keys(subject.keys / 4).flat_map(|key| [key, key]) {
        if filter.insert(&key).is_ok() {
            oracle.insert(key);
        }
    }
    let twice = oracle.iter().any(|(_, count)| count == 2);
    assert!(twice || !subject.copies.fit_twice(), "{}: nothing twice", subject.name);
    agrees(subject, &filter, &oracle);
}

/// The share of absent keys that are found differs from the expected rate by less than five
/// standard deviations, in either direction. The deviation is that of the sample and, since a
/// filter of few keys is itself a sample, that of the filter.
pub fn false_positive_rate_is_as_expected<F: Insert>(subject: &Subject<'_, F>) {
    const SAMPLE: usize = 40_000;
    let empty = subject.make(3);
    assert!(empty.expected_false_positive_rate().abs() < 1e-12, "{}: empty", subject.name);
    let (filter, _) = filled(subject, 3, subject.keys);
    let found = subject.absent_keys(SAMPLE).filter(|key| filter.contains(key)).count() as f64;
    let rate = filter.expected_false_positive_rate();
    assert!(rate > 0.0 && rate <= 1.0, "{}: rate {rate}", subject.name);
    let sample = SAMPLE as f64;
    let expected = sample * rate;
    let of_the_sample = (expected * (1.0 - rate)).sqrt();
    let of_the_filter = expected * (1.0 - rate) / (filter.len() as f64).sqrt();
    let sigma = of_the_sample.hypot(of_the_filter);
    // Below one expected hit the normal distribution says little: one hit is no evidence.
    assert!(
        (found - expected).abs() <= 5.0 * sigma + 1.0,
        "{}: {found} of {SAMPLE} absent keys found, {expected:.1} ± {sigma:.1} expected",
        subject.name
    );
}

/// A batch gives the answers, and leaves the bytes, of its keys one by one.
pub fn batch_equals_scalar<F: Insert + State>(subject: &Subject<'_, F>) {
    let (scalar, accepted) = filled(subject, 4, subject.keys);
    let mut batch = subject.make(4);
    let keys = hashes(&batch, accepted.iter().map(|(key, _)| key));
    // Pieces of all lengths, the empty one too.
    let (mut rest, mut len) = (&keys[..], 0);
    while !rest.is_empty() {
        let (piece, tail) = rest.split_at(len.min(rest.len()));
        // Keys that were refused in between left no trace, so the same ones fit again.
        batch.insert_batch(piece).unwrap_or_else(|full| panic!("{}: {full}", subject.name));
        rest = tail;
        len += 7;
    }
    assert!(batch.state() == scalar.state(), "{}: bytes after a batch", subject.name);
    let absent_keys = hashes(&batch, subject.absent_keys(2000));
    let mut hits = vec![true; 5];
    for queries in [&[][..], &keys[..1], &keys[..keys.len() / 2], &keys, &absent_keys] {
        batch.contains_batch(queries, &mut hits);
        let one_by_one: Vec<bool> = queries.iter().map(|&h| batch.contains_hash(h)).collect();
        assert!(hits == one_by_one, "{}: answers of a batch", subject.name);
    }
    // Each key twice, in one piece and in two.
    let (mut turns, mut batch) = (subject.make(4), subject.make(4));
    let twice: Vec<KeyHash> = keys.iter().flat_map(|&key| [key; 2]).chain(keys.clone()).collect();
    for piece in twice.chunks(100) {
        let in_turn: Vec<bool> = piece
            .iter()
            .map_while(|&hash| match turns.contains_hash(hash) {
                true => Some(false),
                false => turns.insert_hash(hash).is_ok().then_some(true),
            })
            .collect();
        let inserted = batch.insert_absent_batch(piece, &mut hits);
        assert!(hits == in_turn, "{}: which of a batch were absent", subject.name);
        assert_eq!(inserted.is_ok(), hits.len() == piece.len(), "{}", subject.name);
        if let Err(full) = inserted {
            assert_eq!(full.inserted, hits.iter().filter(|&&absent| absent).count());
        }
    }
    assert!(batch.state() == turns.state(), "{}: bytes after absent keys", subject.name);
    let keys: Vec<u64> = subject.keys(100).chain(subject.absent_keys(1500)).collect();
    for keys in [&keys[..], &keys[..1], &[]] {
        batch.contains_keys(keys, &mut hits);
        let one_by_one: Vec<bool> = keys.iter().map(|key| batch.contains(key)).collect();
        assert!(hits == one_by_one, "{}: answers of a batch of keys", subject.name);
    }
}

/// A refused key leaves the filter byte for byte as it was, and everything acknowledged in it; a
/// batch stops at the first refused key and says how many went in.
pub fn failed_insert_changes_nothing<F: Insert + State + Clone>(subject: &Subject<'_, F>) {
    let mut filter = subject.make(5);
    let mut oracle = Multiset::default();
    let mut refusals = 0;
    // Of a filter too large to be saved before each key, at every few.
    let every = subject.keys as u64 / 1000 + 1;
    for key in subject.keys(subject.keys * 4 + 100) {
        let watched = key.is_multiple_of(every) && filter.len() * 4 >= filter.slots();
        let before = watched.then(|| filter.state());
        match filter.insert(&key) {
            Ok(()) => oracle.insert(key),
            Err(full) => {
                refusals += 1;
                assert!(before.is_none_or(|b| b == filter.state()), "{}", subject.name);
                assert_eq!((full.len, full.slots), (filter.len(), filter.slots()));
                assert_eq!(full.inserted, 0, "{}", subject.name);
            }
        }
        if refusals == 20 {
            break;
        }
    }
    agrees(subject, &filter, &oracle);
    // Growing filters never get here.
    if refusals > 0 {
        let absent_keys = hashes(&filter, subject.absent_keys(subject.keys * 4 + 100));
        let mut one_by_one = filter.clone();
        let accepted =
            absent_keys.iter().take_while(|&&hash| one_by_one.insert_hash(hash).is_ok()).count();
        let full = filter.insert_batch(&absent_keys).expect_err(subject.name);
        assert_eq!(full.inserted, accepted, "{}", subject.name);
        assert!(filter.state() == one_by_one.state(), "{}", subject.name);
    }
}

/// One key, again and again: it is stored and counted until it is refused, and then nothing has
/// changed or grown. [`Subject::copies`] says when it is refused, with which error, and how many
/// copies are counted.
pub fn one_key_many_times_is_bounded<F: Insert + State>(subject: &Subject<'_, F>) {
    let mut filter = subject.make(6);
    let mut size = 0;
    for stored in 0..10_000 {
        let before = filter.state();
        match filter.insert(&7u64) {
            Ok(()) => {
                let least = subject.copies.least_count(stored + 1);
                let counted = filter.count(&7u64);
                assert!((least..=stored + 1).contains(&counted), "{}: {counted}", subject.name);
                assert_eq!(filter.len(), stored + 1, "{}", subject.name);
            }
            Err(full) => {
                match subject.copies {
                    Copies::UntilFull => {
                        assert!(matches!(full.cause, FullCause::NoRoom { .. }), "{}", subject.name);
                        let other = filter.insert(&8u64);
                        assert!(other.is_err(), "{}: room for another", subject.name);
                    }
                    Copies::Bounded { least } => {
                        let cause = FullCause::EqualEntries { held: stored };
                        assert_eq!(full.cause, cause, "{}", subject.name);
                        assert!(stored >= least, "{}: refused after {stored}", subject.name);
                    }
                    Copies::Unlimited | Copies::CountedUpTo(_) => {
                        panic!("{}: copy {stored} was refused: {full}", subject.name)
                    }
                }
                assert!(filter.state() == before, "{}", subject.name);
                assert!(filter.contains(&7u64) && filter.len() == stored, "{}", subject.name);
                return;
            }
        }
        if stored < 100 {
            size = filter.size_in_bytes();
        } else if subject.copies == Copies::Unlimited {
            assert_eq!(filter.size_in_bytes(), size, "{}: copy {stored}", subject.name);
        }
    }
    let unbounded = matches!(subject.copies, Copies::Unlimited | Copies::CountedUpTo(_));
    assert!(unbounded, "{}: one key was stored 10,000 times", subject.name);
}

/// As many copies as were stored can be removed, one by one, beside other keys, and then exactly the
/// others are left.
pub fn copies_are_removed_one_by_one<F: Insert + Remove>(subject: &Subject<'_, F>) {
    if !subject.copies.are_exact() {
        return;
    }
    let (mut filter, oracle) = filled(subject, 20, subject.keys / 2);
    let copied = subject.absent_keys(5);
    let mut stored = [0; 5];
    for _ in 0..100 {
        for (key, stored) in copied.clone().zip(&mut stored) {
            *stored += usize::from(filter.insert(&key).is_ok());
        }
    }
    let unlimited = subject.copies == Copies::Unlimited;
    assert!(!unlimited || stored.iter().all(|&copies| copies == 100), "{}", subject.name);
    while stored.iter().any(|&copies| copies > 0) {
        for (key, stored) in copied.clone().zip(&mut stored).filter(|(_, stored)| **stored > 0) {
            assert!(filter.count(&key) >= *stored, "{}: {key}", subject.name);
            assert!(filter.remove(&key), "{}: a copy of {key} was refused", subject.name);
            *stored -= 1;
        }
    }
    agrees(subject, &filter, &oracle);
}

/// A cleared filter has the bytes of a new one.
pub fn clear_leaves_an_empty_filter<F: Insert + State>(subject: &Subject<'_, F>) {
    let (mut filter, _) = filled(subject, 7, subject.keys);
    filter.clear();
    assert!(filter.state() == subject.make(7).state(), "{}", subject.name);
    assert!(subject.keys(subject.keys).all(|key| !filter.contains(&key)), "{}", subject.name);
}

/// The state is a function of parameters, seed and operations.
pub fn same_seed_same_bytes<F: Insert + State>(subject: &Subject<'_, F>) {
    let bytes = |seed| filled(subject, seed, subject.keys).0.state();
    assert!(bytes(8) == bytes(8), "{}: two runs differ", subject.name);
    assert!(bytes(8) != bytes(9), "{}: the seed has no effect", subject.name);
}

/// Loading gives back the filter: same bytes, same answers, and the same future.
pub fn decode_inverts_encode<F: Insert + Persist>(subject: &Subject<'_, F>) {
    for count in [0, 1, subject.keys / 2, subject.keys] {
        let (mut filter, _) = filled(subject, 10, count);
        let bytes = filter.to_bytes();
        let mut file = Vec::new();
        filter.write_to(&mut file).expect("a vector takes everything");
        assert!(file == bytes, "{}: write_to differs from to_bytes", subject.name);
        file.extend_from_slice(b"what follows");
        let mut reader = &file[..];
        let mut again =
            F::read_from(&mut reader).unwrap_or_else(|e| panic!("{}: {e}", subject.name));
        assert_eq!(reader, b"what follows", "{}: read too far", subject.name);
        assert!(again.to_bytes() == bytes, "{}: bytes differ after loading", subject.name);
        loads_as_it_is(subject.name, &filter);
        for next in subject.absent_keys(20) {
            assert_eq!(filter.insert(&next), again.insert(&next), "{}", subject.name);
        }
        assert!(again.to_bytes() == filter.to_bytes(), "{}: another future", subject.name);
    }
}

/// No byte can be changed, cut off or added unnoticed. Of a large file the first bytes are tried,
/// the last ones, and some of those between.
pub fn damaged_bytes_are_refused<F: Insert + Persist>(subject: &Subject<'_, F>) {
    let bytes = filled(subject, 11, subject.keys).0.to_bytes();
    let mut random = Random::new(11);
    let between = bytes.len() / 4000 + 1;
    for at in 0..bytes.len() {
        if at > 1000 && at + 1000 < bytes.len() && !at.is_multiple_of(between) {
            continue;
        }
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << random.below(8);
        assert!(F::from_bytes(&damaged).is_err(), "{}: byte {at} changed", subject.name);
        assert!(F::from_bytes(&bytes[..at]).is_err(), "{}: cut at {at}", subject.name);
        assert!(F::read_from(&bytes[..at]).is_err(), "{}: cut at {at}", subject.name);
    }
    let longer = [&bytes[..], &[0]].concat();
    assert!(F::from_bytes(&longer).is_err(), "{}: a byte more", subject.name);
}

/// Inserts, removals, batches, saving and loading in any order.
pub fn any_operations_agree_with_a_multiset<F>(subject: &Subject<'_, F>)
where
    F: Insert + Remove + State,
{
    let mut random = Random::new(12);
    let mut filter = subject.make(12);
    let mut oracle = Multiset::default();
    for step in 0..subject.keys * 20 + 500 {
        // Tides, so that the filter is sometimes full and sometimes nearly empty.
        let rising = (step / (subject.keys + 1)).is_multiple_of(2);
        // What takes longer the more keys there are is done less often then.
        let whole = step.is_multiple_of(subject.keys / 1000 + 1);
        match random.below(100) {
            0 if whole => filter = filter.revived(),
            1 => {
                let keys: Vec<u64> = (0..random.below(50)).map(|_| random.bits() % 1000).collect();
                let hashes = hashes(&filter, keys.iter().copied());
                let inserted = match filter.insert_batch(&hashes) {
                    Ok(()) => keys.len(),
                    Err(full) => full.inserted,
                };
                keys[..inserted].iter().for_each(|&key| oracle.insert(key));
            }
            2 if whole => agrees(subject, &filter, &oracle),
            n if (n < 70) == rising => {
                let key = random.bits() % (4 * subject.keys as u64 + 10);
                if filter.insert(&key).is_ok() {
                    oracle.insert(key);
                }
            }
            _ => {
                if let Some(key) = oracle.remove_any(random.below(usize::MAX)) {
                    assert!(filter.remove(&key), "{}: {key} was refused", subject.name);
                }
            }
        }
        assert_eq!(filter.len(), oracle.len(), "{}: step {step}", subject.name);
    }
    agrees(subject, &filter, &oracle);
}

/// Whatever is removed, what is left is found.
pub fn removing_a_key_keeps_the_others<F: Insert + Remove + State>(subject: &Subject<'_, F>) {
    let (mut filter, mut oracle) = filled(subject, 13, subject.keys);
    let mut random = Random::new(13);
    let mut removed = 0;
    while let Some(key) = oracle.remove_any(random.below(usize::MAX)) {
        removed += 1;
        assert!(filter.remove(&key), "{}: {key} was refused", subject.name);
        if removed % (subject.keys / 20 + 1) == 0 {
            agrees(subject, &filter, &oracle);
        }
    }
}

/// Nothing stays behind: no absent key is found, and there is nothing more to remove.
pub fn removing_every_key_leaves_an_empty_filter<F: Insert + Remove>(subject: &Subject<'_, F>) {
    let (mut filter, oracle) = filled(subject, 14, subject.keys);
    for (key, _) in oracle.iter() {
        assert!(filter.remove(&key), "{}: {key} was refused", subject.name);
    }
    assert_eq!(filter.len(), 0, "{}", subject.name);
    assert!(filter.expected_false_positive_rate().abs() < 1e-12, "{}", subject.name);
    for key in subject.keys(subject.keys).chain(subject.absent_keys(1000)) {
        assert!(!filter.contains(&key) && filter.count(&key) == 0, "{}: {key}", subject.name);
        assert!(!filter.remove(&key), "{}: {key} removed from nothing", subject.name);
    }
}
