//! The counting allocator needs a program of its own: it counts for all of one.

use std::hint::black_box;
use std::thread;

use cuculus_lab::heap::{CountingAllocator, Mark};

#[global_allocator]
static HEAP: CountingAllocator = CountingAllocator;

#[test]
fn it_counts_what_is_held() {
    let mark = Mark::now().expect("the allocator is installed");
    let mut bytes = black_box(vec![1u8; 10_000_000]);
    assert_eq!(mark.held(), 10_000_000);
    bytes.truncate(1_000_000);
    bytes.shrink_to_fit();
    assert_eq!(mark.held(), 1_000_000);
    drop(bytes);
    assert_eq!(mark.held(), 0);
}

#[test]
fn each_thread_counts_its_own() {
    let given = black_box(vec![1u8; 5_000_000]);
    let thread = thread::spawn(move || {
        let mark = Mark::now().expect("the allocator is installed");
        drop(given);
        assert_eq!(mark.held(), 0);
        let mark = Mark::now().expect("the allocator is installed");
        let own = black_box(vec![1u8; 3_000_000]);
        assert_eq!(mark.held(), 3_000_000);
        own
    });
    let own = thread.join().unwrap();
    let mark = Mark::now().expect("the allocator is installed");
    drop(own);
    assert_eq!(mark.held(), 0);
}
