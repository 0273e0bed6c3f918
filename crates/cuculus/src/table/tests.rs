//! Every table against a plain list of numbers: the naive oracle of the layer.

use super::lanes::{Lanes, Word};
use super::*;
use crate::conformance::Random;

fn shapes() -> Vec<BucketShape> {
    let mut shapes = Vec::new();
    for fingerprint_bits in 4..=32 {
        for slots_per_bucket in 1..=8 {
            shapes.push(BucketShape { fingerprint_bits, slots_per_bucket, layout: Layout::Packed });
        }
        if fingerprint_bits >= semi_sorted::MIN_WIDTH {
            let slots_per_bucket = semi_sorted::SLOTS;
            shapes.push(BucketShape {
                fingerprint_bits,
                slots_per_bucket,
                layout: Layout::SemiSorted,
            });
        }
    }
    shapes
}

/// The oracle: what each bucket holds, by a loop over slots.
struct Lists(Vec<Vec<u32>>);

fn check_bucket(table: &impl Buckets, lists: &Lists, bucket: u32, shape: BucketShape) {
    let index = BucketIndex(bucket);
    let mut held: Vec<u32> = table.entries(index).iter().map(|f| f.0).filter(|&f| f > 0).collect();
    let mut list = lists.0[bucket as usize].clone();
    held.sort_unstable();
    list.sort_unstable();
    assert_eq!(held, list, "{shape:?} bucket {bucket}");
    let free = table.slots_per_bucket() - list.len() as u32;
    assert_eq!(table.count(index, Fingerprint::EMPTY), free, "{shape:?}");
    assert!(table.is_valid(index));
    for &value in &list {
        let same = list.iter().filter(|&&v| v == value).count() as u32;
        assert_eq!(table.count(index, Fingerprint(value)), same, "{shape:?}");
        let slot = table.find(index, Fingerprint(value)).expect("held but not found");
        assert_eq!(table.entries(index)[slot as usize].0, value);
    }
}

/// Random placing and clearing, values from all lengths of the shape and its extremes.
#[test]
fn every_table_agrees_with_a_list() {
    for shape in shapes() {
        let buckets = 13;
        let mut table = Table::new(shape, buckets).expect("small");
        let mut lists = Lists(vec![Vec::new(); buckets as usize]);
        let mut random = Random::new(u64::from(shape.bucket_bits()));
        let max = u32::MAX >> (32 - shape.fingerprint_bits);
        with_table!(&mut table, table => {
            assert_eq!(table.slots_per_bucket(), shape.slots_per_bucket);
            assert_eq!(table.runs().payload().len() as u64, shape.payload_bytes(13));
            for _ in 0..3000 {
                let bucket = (random.bits() % u64::from(buckets)) as u32;
                let (index, list) = (BucketIndex(bucket), &mut lists.0[bucket as usize]);
                let value = match random.bits() % 8 {
                    0 => max,
                    1 => 1,
                    2 => 1 << (shape.fingerprint_bits - 1),
                    _ => (random.bits() as u32 & max).max(1),
                };
                let other = BucketIndex((bucket + 1) % buckets);
                if random.bits() % 5 < 3 {
                    let room = list.len() < shape.slots_per_bucket as usize;
                    assert_eq!(table.place(index, Fingerprint(value)).is_some(), room);
                    if room {
                        list.push(value);
                    }
                } else if !list.is_empty() {
                    let at = random.bits() as usize % list.len();
                    let value = list.swap_remove(at);
                    let slot = table.find(index, Fingerprint(value)).expect("held");
                    table.clear_slot(index, slot);
                }
                // Both buckets at once: the emptier takes it, and the first that has it gives it up.
                if random.below(4) == 0 {
                    let [a, b] = [bucket, other.0].map(|b| lists.0[b as usize].len());
                    let room = a.min(b) < shape.slots_per_bucket as usize;
                    let (new, guessed) = (Fingerprint(value), random.below(2) == 0);
                    let placed = match guessed {
                        true => table.place_in_emptier::<true>(index, other, new),
                        false => table.place_in_emptier::<false>(index, other, new),
                    };
                    assert_eq!(placed, room);
                    if room {
                        lists.0[if a <= b { bucket } else { other.0 } as usize].push(value);
                    }
                } else if random.below(3) == 0
                    // Which of two buckets of several parts gives it up depends on the parts.
                    && (table.runs_per_bucket() == 1 || !lists.0[other.0 as usize].contains(&value))
                {
                    let held = [bucket, other.0].into_iter().find_map(|b| {
                        let at = lists.0[b as usize].iter().position(|&held| held == value)?;
                        Some(lists.0[b as usize].swap_remove(at))
                    });
                    let (old, guessed) = (Fingerprint(value), random.below(2) == 0);
                    let removed = match guessed {
                        true => table.remove_from_either::<true>(index, other, old),
                        false => table.remove_from_either::<false>(index, other, old),
                    };
                    assert_eq!(removed, held.is_some(), "{shape:?}");
                }
                let either = [bucket, other.0].iter().any(|&b| lists.0[b as usize].contains(&value));
                assert_eq!(table.contains_either(index, other, Fingerprint(value)), either);
                for near in [bucket, other.0, (bucket + buckets - 1) % buckets] {
                    check_bucket(table, &lists, near, shape);
                }
            }
            assert!(table.runs().ends_in_zeros());
        });
    }
}

/// Buckets added at the end are empty, buckets kept are as they were, and memory follows.
#[test]
fn tables_grow_and_shrink_at_their_end() {
    for shape in shapes() {
        let mut table = Table::new(shape, 1).expect("small");
        let mut held: Vec<[Fingerprint; MAX_SLOTS]> = vec![[Fingerprint::EMPTY; MAX_SLOTS]];
        let mut random = Random::new(u64::from(shape.bucket_bits()));
        for step in 0..600 {
            let buckets = match (random.below(2), step / 300) {
                (0, 0) | (1, 1) => held.len() + random.below(3),
                _ => held.len().saturating_sub(random.below(4)).max(1),
            };
            table.resize(buckets as u32).expect("small");
            held.resize(buckets, [Fingerprint::EMPTY; MAX_SLOTS]);
            let at = random.below(buckets);
            with_table!(&mut table, table => {
                let bucket = BucketIndex(at as u32);
                table.place(bucket, Fingerprint(1 + (random.bits() % 15) as u32));
                if random.below(3) == 0 {
                    table.clear_slot(bucket, random.below(shape.slots_per_bucket as usize) as u32);
                }
                held[at] = table.entries(bucket);
                // What a bucket once held can be put back, from anywhere.
                let other = random.below(buckets);
                table.restore(BucketIndex(other as u32), held[at]);
                held[other] = held[at];
                for (bucket, entries) in (0..).map(BucketIndex).zip(&held) {
                    assert_eq!(table.entries(bucket), *entries, "{shape:?}");
                }
                assert!(table.runs().ends_in_zeros(), "{shape:?}");
                let payload = table.runs().payload().len();
                assert_eq!(payload as u64, shape.payload_bytes(buckets as u64), "{shape:?}");
                let most = (payload + WINDOW) * 5 / 4;
                assert!(table.runs().heap_bytes() <= most, "{shape:?}");
            });
        }
    }
}

/// Lane arithmetic against a loop, on random words with garbage above the lanes.
#[test]
fn lanes_agree_with_a_loop() {
    fn check<W: Word + std::fmt::Debug>(random: &mut Random, make: impl Fn(u64, u64) -> W) {
        for width in 1..=32 {
            for count in (1..=8).filter(|count| width * count <= W::BITS) {
                let lanes = Lanes::<W>::new(width, count);
                for _ in 0..200 {
                    let sparse = if random.below(2) == 0 { u64::MAX } else { random.bits() };
                    let word = make(random.bits() & sparse, random.bits() & sparse);
                    let at = (random.bits() % u64::from(count)) as u32;
                    let value = if random.below(2) == 0 { lanes.get(word, at) } else { 0 };
                    let equal: Vec<u32> =
                        (0..count).filter(|&lane| lanes.get(word, lane) == value).collect();
                    let mask = lanes.equal(word, lanes.splat(value));
                    let bits = equal.iter().fold(0, |bits, lane| bits | 1 << lane);
                    assert_eq!(mask, lanes.mask_of(bits), "{width} {count} {word:?} {value}");
                    assert_eq!(lanes.count(mask), equal.len() as u32);
                    let any = lanes.any_equal(word, lanes.splat(value));
                    assert_eq!(lanes.first_in(any), equal.first().copied());
                    let one_there =
                        equal.first().map_or(W::ZERO, |&lane| W::from(1) << lanes.bits(lane));
                    assert_eq!(lanes.in_first(any, 1), one_there);
                    let all_there = equal.first().map_or(W::ZERO, |&lane| lanes.mask(lane));
                    assert_eq!(lanes.in_first(any, u32::MAX >> (32 - width)), all_there);
                }
            }
        }
    }
    let mut random = Random::new(5);
    check::<u64>(&mut random, |low, _| low);
    check::<u128>(&mut random, |low, high| u128::from(low) | u128::from(high) << 64);
}

/// Two windows in vectors against the same by words, with and without garbage above the lanes.
#[test]
fn vectors_of_windows_agree_with_words() {
    let mut random = Random::new(7);
    for width in 1..=32 {
        for count in (1..=8).filter(|count| width * count <= 64) {
            let lanes = Lanes::<u64>::new(width, count);
            for _ in 0..200 {
                let mut word = || random.bits() & random.bits() & random.bits();
                let words = [word(), word()];
                let value = match random.below(3) {
                    0 => 0,
                    _ => lanes.get(words[random.below(2)], random.below(count as usize) as u32),
                };
                let [a, b] = words.map(|word| {
                    let mut window = [0xa5; WINDOW];
                    window[..8].copy_from_slice(&word.to_le_bytes());
                    window
                });
                let (windows, pattern) = ([&a, &b], lanes.splat(value));
                let any = words.map(|word| lanes.any_equal(word, pattern));
                assert_eq!(u64::equal_in_each(windows, pattern, &lanes), any);
                let either = u64::either_equal(windows, pattern, &lanes);
                assert_eq!(either, any != [0, 0], "{width} {count} {words:x?} {value}");
                let free = words.map(|word| lanes.equal(word, 0));
                assert_eq!(u64::free_in_each(windows, &lanes), free);
            }
        }
    }
}

/// The vector form of a question against the word form, lanes at every bit of a byte.
#[test]
fn vectors_agree_with_words() {
    let mut random = Random::new(6);
    for width in 4..=16 {
        let lanes = Lanes::<u64>::new(width, 4);
        for _ in 0..20_000 {
            // Few bits set, so that lanes are zero in half of the cases.
            let mut word = || random.bits() & random.bits() & random.bits() & random.bits();
            let words = [word(), word()];
            let bits = [0, 1].map(|_| random.below(8.min(65 - 4 * width as usize)) as u32);
            let (ones, highs) =
                (bits.map(|b| lanes.shifted(b).0), bits.map(|b| lanes.shifted(b).1));
            let has_zero = |i: usize| {
                (0..4).any(|lane| {
                    words[i] >> (bits[i] + lane * width) & (u64::MAX >> (64 - width)) == 0
                })
            };
            let expected = has_zero(0) || has_zero(1);
            assert_eq!(<u64 as Word>::either_has_zero(words, ones, highs), expected);
            let wide = |two: [u64; 2]| two.map(u128::from);
            let plain = <u128 as Word>::either_has_zero(wide(words), wide(ones), wide(highs));
            assert_eq!(plain, expected);
        }
    }
}

#[test]
fn impossible_sizes_are_an_error() {
    let shape = BucketShape { fingerprint_bits: 32, slots_per_bucket: 8, layout: Layout::Packed };
    assert_eq!(shape.payload_bytes(u64::MAX), u64::MAX.div_ceil(8));
    assert!(Runs::new(u64::MAX, 8).is_err());
    assert!(Runs::new(u64::MAX / 2, 1).is_err());
}
