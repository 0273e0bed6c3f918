//! Against the standard library's map.

use std::collections::HashMap;

use cuculus::conformance::Random;

use super::CuckooTable;

/// Every form of the table, from empty to thousands of keys and back, with few kicks too, so that
/// everything is rehashed again and again: no key is lost, none is invented.
#[test]
fn every_operation_agrees_with_a_map() {
    for tables in [1, 2] {
        for slots in 1..=8 {
            for max_kicks in [500, 3, 0] {
                let mut random = Random::new(slots.into());
                let builder = CuckooTable::builder().tables(tables).slots_per_bucket(slots);
                let mut table = builder.max_kicks(max_kicks).seed(1).build().expect("valid");
                let mut map = HashMap::new();
                for step in 0..9000 {
                    let key = random.bits() % 3000;
                    // Up, then down.
                    if random.below(100) < if step < 6000 { 75 } else { 25 } {
                        assert_eq!(table.insert(key, step), Ok(map.insert(key, step)));
                    } else {
                        assert_eq!(table.remove(&key), map.remove(&key));
                    }
                    assert_eq!(table.len(), map.len());
                    let other = random.bits() % 3000;
                    assert_eq!(table.get(&other), map.get(&other));
                    if step % 1500 == 0 {
                        let all: HashMap<u64, u64> = table.iter().map(|(&k, &v)| (k, v)).collect();
                        assert_eq!(all, map, "{tables} {slots} {max_kicks}");
                    }
                }
                let all: HashMap<u64, u64> = table.iter().map(|(&k, &v)| (k, v)).collect();
                assert_eq!(all, map, "{tables} {slots} {max_kicks}");
                assert!(table.stats().grown > 0);
            }
        }
    }
}

/// Keys of any length, and equal bytes are equal keys.
#[test]
fn keys_are_their_bytes() {
    let mut table = CuckooTable::builder().seed(1).build().expect("valid");
    for n in 0..1000 {
        table.insert(format!("key number {n}"), n).expect("memory");
    }
    assert_eq!(table.get("key number 77"), Some(&77));
    assert_eq!(table.get(b"key number 78"), Some(&78));
    *table.get_mut("key number 77").expect("there") += 1;
    assert_eq!(table.remove("key number 77"), Some(78));
    assert!(!table.contains_key("key number 77") && table.len() == 999);
    table.clear();
    assert!(
        table.is_empty() && table.iter().next().is_none() && !table.contains_key("key number 1")
    );
}
