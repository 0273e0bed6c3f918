//! The laws of a map that answers approximately, against an exact multimap.

use std::collections::BTreeMap;

use cuculus::conformance::Random;
use cuculus::{BuildError, CuckooMaplet, Filter, FullCause, Persist, ValueError};

type Exact = BTreeMap<u64, Vec<u64>>;

fn maplet(capacity: usize, bits: u32, slots: u32, value_bits: u32) -> CuckooMaplet {
    let builder = CuckooMaplet::builder().capacity(capacity).fingerprint_bits(bits);
    builder.slots_per_bucket(slots).value_bits(value_bits).seed(9).build().expect("valid")
}

/// Every value of every key is among the candidates, as often as it was inserted.
fn agrees(maplet: &CuckooMaplet, exact: &Exact) {
    assert_eq!(maplet.len(), exact.values().map(Vec::len).sum::<usize>());
    for (key, values) in exact {
        let mut candidates: Vec<u64> = maplet.values(key).collect();
        assert_eq!(maplet.count(key), candidates.len());
        for value in values {
            let at = candidates.iter().position(|c| c == value);
            candidates.swap_remove(at.unwrap_or_else(|| panic!("{key}: {value} is missing")));
        }
        assert!(values.is_empty() || maplet.contains(key));
    }
}

#[test]
fn any_operations_agree_with_a_multimap() {
    for (bits, slots, value_bits) in
        [(4, 1, 1), (7, 2, 5), (12, 4, 64), (13, 4, 33), (17, 8, 63), (20, 8, 8), (32, 8, 32)]
    {
        let mut maplet = maplet(200, bits, slots, value_bits);
        let mut exact = Exact::new();
        let mut random = Random::new(u64::from(bits));
        for step in 0..6000 {
            let key = random.bits() % 300;
            let value = random.bits() >> (64 - value_bits);
            match random.below(20) {
                0 => maplet = CuckooMaplet::from_bytes(&maplet.to_bytes()).expect("own bytes"),
                1..11 => {
                    let before = (step % 50 == 0).then(|| maplet.to_bytes());
                    match maplet.insert(&key, value) {
                        Ok(()) => exact.entry(key).or_default().push(value),
                        Err(_) => assert!(before.is_none_or(|b| b == maplet.to_bytes())),
                    }
                }
                _ => {
                    if let Some(value) = exact.get_mut(&key).and_then(Vec::pop) {
                        assert!(maplet.remove(&key, value), "{key} {value}");
                    }
                }
            }
            if step % 100 == 0 {
                agrees(&maplet, &exact);
            }
        }
        agrees(&maplet, &exact);
    }
}

/// §6 of the paper: 1 + ε candidates for a key that is there, ε for one that is not.
#[test]
fn candidates_are_one_and_a_rate() {
    let keys = 40_000u64;
    let mut maplet = maplet(keys as usize, 8, 4, 16);
    for key in 0..keys {
        maplet.insert(&key, key % 60_000).expect("fits");
    }
    // Entries to compare with, each equal with probability 1/255.
    let rate = 8.0 * maplet.utilization() / 255.0;
    let average = |from: u64| {
        (from..from + keys).map(|key| maplet.values(&key).count()).sum::<usize>() as f64
            / keys as f64
    };
    let sigma = (rate / keys as f64).sqrt();
    let (present, absent) = (average(0), average(1 << 40));
    assert!((absent - rate).abs() < 5.0 * sigma, "{absent} {rate}");
    assert!((present - 1.0 - rate).abs() < 8.0 * sigma, "{present} {rate}");
}

#[test]
fn full_and_too_large_are_refused_without_a_trace() {
    let mut maplet = maplet(8, 16, 4, 8);
    assert_eq!(maplet.insert("a", 256), Err(ValueError::TooLarge { got: 256, max: 255 }));
    for value in 0..8 {
        maplet.insert("a", value).expect("eight slots");
    }
    let before = maplet.to_bytes();
    let Err(ValueError::Full(full)) = maplet.insert("a", 9) else { panic!("must be full") };
    assert_eq!(full.cause, FullCause::EqualEntries { held: 8 });
    assert_eq!(maplet.to_bytes(), before);
    assert!(!maplet.remove("a", 9) && maplet.to_bytes() == before);
    let mut values: Vec<u64> = maplet.values("a").collect();
    values.sort_unstable();
    assert_eq!(values, (0..8).collect::<Vec<_>>());
    maplet.clear();
    assert!(maplet.is_empty() && maplet.values("a").next().is_none());
}

#[test]
fn value_bits_out_of_range_are_refused() {
    for bits in [0, 65, u32::MAX] {
        let got = CuckooMaplet::builder().capacity(1).value_bits(bits).build().expect_err("range");
        assert!(matches!(got, BuildError::OutOfRange { parameter: "value_bits", .. }), "{got}");
    }
}

#[test]
fn damaged_bytes_are_refused() {
    let mut maplet = maplet(100, 12, 4, 20);
    for key in 0..100u64 {
        maplet.insert(&key, key).expect("fits");
    }
    let bytes = maplet.to_bytes();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        assert!(CuckooMaplet::from_bytes(&damaged).is_err(), "byte {at}");
        assert!(CuckooMaplet::from_bytes(&bytes[..at]).is_err(), "cut at {at}");
    }
}
