//! The counting allocator needs a program of its own: it counts all of one.

use std::hint::black_box;

use cuculus_lab::heap::{CountingAllocator, live_bytes};

#[global_allocator]
static HEAP: CountingAllocator = CountingAllocator;

/// The harness has a thread beside the test's, and it may allocate a little.
const SLACK: usize = 100_000;

#[test]
fn live_bytes_follow_what_is_held() {
    let before = live_bytes().expect("the allocator is installed");
    let mut bytes = black_box(vec![1u8; 10_000_000]);
    assert!(live_bytes().unwrap().abs_diff(before + 10_000_000) < SLACK);
    bytes.truncate(1_000_000);
    bytes.shrink_to_fit();
    assert!(live_bytes().unwrap().abs_diff(before + 1_000_000) < SLACK);
    drop(bytes);
    assert!(live_bytes().unwrap().abs_diff(before) < SLACK);
}
