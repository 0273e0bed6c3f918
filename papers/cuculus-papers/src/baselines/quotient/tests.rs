//! Every slot against a table that is rebuilt from the sorted fingerprints.

use cuculus::conformance::Random;
use cuculus::{Filter, Insert, KeyHash, Remove};

use super::QuotientFilter;
use super::slots::Bit;

/// Occupied, continuation, shifted, remainder.
type Slot = (bool, bool, bool, u64);

/// Linear probing of sorted (quotient, remainder) pairs in a circle, by the definition.
fn model(mut keys: Vec<(usize, u64)>, slots: usize) -> Vec<Slot> {
    keys.sort_unstable();
    let mut table = vec![(false, false, false, 0); slots];
    for &(quotient, _) in &keys {
        table[quotient].0 = true;
    }
    // The first turn finds out what is pushed over the end, the second starts behind that.
    let mut free = 0;
    for turn in 0..2 {
        let mut before = None;
        for &(quotient, remainder) in &keys {
            let position = free.max(turn * slots + quotient);
            free = position + 1;
            if turn == 1 {
                let slot = &mut table[position % slots];
                slot.1 = before == Some(quotient);
                slot.2 = position != slots + quotient;
                slot.3 = remainder;
            }
            before = Some(quotient);
        }
    }
    table
}

fn slots_of(filter: &QuotientFilter) -> Vec<Slot> {
    let slots = &filter.slots;
    let slot = |at| {
        let is = |bit| slots.is(bit, at);
        (is(Bit::Occupied), is(Bit::Continuation), is(Bit::Shifted), slots.remainder(at))
    };
    (0..slots.count()).map(slot).collect()
}

/// A hash with this quotient and remainder.
fn hash_of(quotient: usize, remainder: u64, slots: usize) -> KeyHash {
    let first = ((quotient as u128) << 64).div_ceil(slots as u128) as u64;
    KeyHash::new(first.next_multiple_of(1 << 32) + remainder)
}

fn agrees(filter: &QuotientFilter, keys: &[(usize, u64)]) {
    let expected = model(keys.to_vec(), filter.slots());
    for (at, (got, expected)) in slots_of(filter).into_iter().zip(expected).enumerate() {
        assert_eq!(got, expected, "slot {at} of {}", filter.slots());
    }
}

/// Random inserts and removals, up to a load of 90 % and around it, with quotients that are even and
/// with some that come often; remainders of few values, so that there are many equal ones.
#[test]
fn every_slot_is_as_if_built_anew() {
    let mut random = Random::new(1);
    for (slots, bits) in
        [(64, 1), (64, 7), (64, 32), (128, 5), (192, 13), (320, 2), (1024, 9), (640, 31)]
    {
        let mut filter = QuotientFilter::builder()
            .slots(slots)
            .remainder_bits(bits)
            .seed(1)
            .build()
            .expect("valid");
        let slots = filter.slots();
        let most = slots * 9 / 10;
        let mut keys: Vec<(usize, u64)> = Vec::new();
        for step in 0..12_000 {
            // Mostly around full.
            let wanted = if step % 3000 < 500 { most / 3 } else { most };
            if keys.len() < wanted && random.below(10) < 6 || keys.is_empty() {
                let skewed = random.below(4) == 0;
                let quotient = random.below(if skewed { 8 } else { slots });
                // The end of the circle too.
                let quotient = if skewed { (slots - 4 + quotient) % slots } else { quotient };
                let remainder = random.bits() & ((1 << bits) - 1) & [u64::MAX, 3][random.below(2)];
                filter.insert_hash(hash_of(quotient, remainder, slots)).expect("below 90 %");
                keys.push((quotient, remainder));
            } else {
                let (quotient, remainder) = keys.swap_remove(random.below(keys.len()));
                let hash = hash_of(quotient, remainder, slots);
                let equal = keys.iter().filter(|&&key| key == (quotient, remainder)).count();
                assert_eq!(filter.count_hash(hash), equal + 1);
                assert!(filter.remove_hash(hash));
                assert_eq!(filter.count_hash(hash), equal);
            }
            assert_eq!(filter.len(), keys.len());
            if step % 7 == 0 {
                agrees(&filter, &keys);
            }
        }
        agrees(&filter, &keys);
        // What is not there is not found, and cannot be removed.
        for quotient in 0..slots {
            for remainder in 0..4.min(1 << bits) {
                let hash = hash_of(quotient, remainder, slots);
                let count = keys.iter().filter(|&&key| key == (quotient, remainder)).count();
                assert_eq!(filter.count_hash(hash), count);
                assert_eq!(filter.contains_hash(hash), count > 0);
                assert!(count > 0 || !filter.remove_hash(hash));
            }
        }
        agrees(&filter, &keys);
    }
}

/// At most nine of ten slots, and a refusal changes nothing.
#[test]
fn beyond_nine_tenths_keys_are_refused() {
    let mut filter =
        QuotientFilter::builder().slots(1000).remainder_bits(8).seed(1).build().expect("valid");
    assert_eq!(filter.slots(), 1024);
    let stored = (0..2000u64).take_while(|key| filter.insert(key).is_ok()).count();
    assert_eq!(stored, 921);
    let before = filter.clone();
    assert!(filter.insert(&7u64).is_err() && filter == before);
    let clusters = filter.stats().clusters;
    assert!(0 < clusters && clusters < filter.len(), "{clusters}");
}
