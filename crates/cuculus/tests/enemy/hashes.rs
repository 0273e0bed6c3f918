//! What a secret key costs: the same filter with each hash function. Numbers are the same whatever the
//! times are; `cargo xtask promises` prints the times.

use cuculus::{CuckooFilter, ElasticFilter, Insert, Key, KeyHasher};

use testkit::clock::Clock;
use testkit::number;

const ROUNDS: usize = 9;

fn hashers() -> [KeyHasher; 3] {
    [KeyHasher::fold_xxh3(5), KeyHasher::xxh3(5), KeyHasher::siphash(5 << 64 | 9)]
}

/// Nanoseconds of an insert, of a lookup that hits and of one that misses, the best of all rounds.
fn times<F: Insert, K: Key>(make: impl Fn(KeyHasher) -> F, keys: &[K]) -> [[f64; 3]; 3] {
    let mut best = [[f64::INFINITY; 3]; 3];
    let (there, absent) = keys.split_at(keys.len() / 2);
    // In turn, so that whatever else happens happens to all.
    for _ in 0..ROUNDS {
        for (best, hasher) in best.iter_mut().zip(hashers()) {
            let mut filter = make(hasher);
            let clock = Clock::start();
            there.iter().for_each(|key| filter.insert(key).expect("room"));
            let inserted = clock.nanoseconds();
            let clock = Clock::start();
            let hits = there.iter().filter(|key| filter.contains(*key)).count();
            let hit = clock.nanoseconds();
            let clock = Clock::start();
            let wrong = absent.iter().filter(|key| filter.contains(*key)).count();
            let missed = clock.nanoseconds();
            assert!(hits == there.len() && wrong < absent.len() / 50, "{hits} {wrong}");
            for (best, time) in best.iter_mut().zip([inserted, hit, missed]) {
                *best = best.min(time / there.len() as f64);
            }
        }
    }
    best
}

fn print(name: &str, times: [[f64; 3]; 3]) {
    for (hasher, [insert, hit, miss]) in hashers().iter().zip(times) {
        let hash = hasher.name();
        println!("| {name} | {hash} | {insert:.0} ns | {hit:.0} ns | {miss:.0} ns |");
    }
}

#[test]
fn every_hash_function_keeps_keys_and_rate() {
    let count = number("CUCULUS_CHOSEN_KEYS").map_or(10_000, |keys| keys.min(1 << 20));
    let integers: Vec<u64> = (0..2 * count).collect();
    let texts: Vec<String> = integers.iter().map(|key| format!("user-{key:019}")).collect();
    let cuckoo = |hasher| {
        let builder = CuckooFilter::builder().capacity(count as usize).hasher(hasher);
        builder.build().expect("valid")
    };
    let elastic = |hasher| ElasticFilter::builder().hasher(hasher).build().expect("valid");
    print("cuckoo, integers", times(cuckoo, &integers));
    print("cuckoo, texts of 24 bytes", times(cuckoo, &texts));
    print("elastic, integers", times(elastic, &integers));
    print("elastic, texts of 24 bytes", times(elastic, &texts));
}
