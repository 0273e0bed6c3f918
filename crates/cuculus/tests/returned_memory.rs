//! What the process holds, not what the filter says: memory that an allocator keeps is not given back.
//! A program of its own with one test, since everything in a process counts.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::fs;

use cuculus::{ElasticFilter, Filter, Insert, Remove};

const KEYS: u64 = 6_000_000;

/// The bytes of this process that are in memory.
fn resident() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").expect("a process");
    let pages: usize = statm.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("pages");
    pages * 4096
}

/// A filter that shrinks leaves the process with little more than it holds itself, at any time.
#[test]
fn memory_comes_back_to_the_system() {
    let before = resident();
    let mut filter = ElasticFilter::builder().seed(1).build().expect("usual");
    (0..KEYS).for_each(|key| filter.insert(&key).expect("room"));
    let large = resident() - before;
    assert!(large > filter.size_in_bytes() * 9 / 10, "{large}");
    for tenth in 0..10 {
        let keys = KEYS / 10 * tenth..KEYS / 10 * (tenth + 1);
        keys.for_each(|key| assert!(filter.remove(&key)));
        let (small, held) = (resident() - before, filter.size_in_bytes());
        // The allocator keeps some 128 KiB for itself, and the program has read pages of its own.
        assert!(small < held + (1 << 20), "{small} bytes in the process, {held} in the filter");
    }
    assert_eq!(filter.len(), 0);
}
