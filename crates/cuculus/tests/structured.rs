//! Keys as programs make them, not random ones: the default hash must spread them so that no filter
//! refuses a key within its capacity, and the rate is that of the formula.

use cuculus::{CuckooFilter, Filter, Insert};

const KEYS: u64 = 100_000;
const SEEDS: u64 = 12;

type Pattern = (&'static str, fn(u64) -> u64);

/// Every pattern yields another key for another number, up to some hundreds of thousands.
const PATTERNS: &[Pattern] = &[
    ("sequential", |i| i),
    ("sequential from 2^40", |i| (1 << 40) + i),
    ("downwards from the largest", |i| u64::MAX - i),
    ("stride 3", |i| i * 3),
    ("stride 1000", |i| i * 1000),
    ("stride 4096", |i| i * 4096),
    ("stride 2^20 + 1", |i| i * ((1 << 20) + 1)),
    ("stride of the golden ratio", |i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
    ("shifted by 8", |i| i << 8),
    ("shifted by 16", |i| i << 16),
    ("shifted by 32", |i| i << 32),
    ("shifted by 44", |i| i << 44),
    ("both halves alike", |i| i << 32 | i),
    ("bytes reversed", u64::swap_bytes),
    ("bits reversed", u64::reverse_bits),
    ("few bits set", few_bits),
    ("few bits clear", |i| !few_bits(i)),
    ("milliseconds", |i| 1_790_000_000_000 + i * 7),
    ("nanoseconds", |i| 1_790_000_000_000_000_000 + i * 1_000_003),
    ("seconds and a counter", |i| (1_790_000_000 + (i >> 6)) << 32 | i & 63),
    ("pointers to 16 bytes", |i| 0x7f3a_5c00_0000 + i * 16),
    ("pointers to 64 bytes", |i| 0x55d0_1234_0040 + i * 64),
    ("pointers to pages", |i| 0x7f00_0000_0000 + (i << 12)),
    ("IPv4, one network", |i| 0x0a00_0000 + i),
    ("IPv4, one host of each network", |i| 1 + (i << 8)),
    ("IPv4 and port", |i| (0xc0a8_0000 + (i & 0xff)) << 16 | (1024 + (i >> 8))),
    ("whole floating-point numbers", |i| (i as f64).to_bits()),
    ("tenths", |i| (i as f64 * 0.1).to_bits()),
];

/// Numbers with at most four bits set, each once: the positions in the combinatorial number system.
fn few_bits(number: u64) -> u64 {
    let choose =
        |n: u64, k: u64| (0..k).fold(1, |product, i| product * (n.saturating_sub(i)) / (i + 1));
    let mut rest = number;
    let mut bits = 0;
    for count in (1..=4).rev() {
        let mut position = count - 1;
        while choose(position + 1, count) <= rest {
            position += 1;
        }
        rest -= choose(position, count);
        bits |= 1 << position;
    }
    bits
}

#[test]
fn few_bits_are_different_numbers() {
    let mut all: Vec<u64> = (0..2 * KEYS).map(few_bits).collect();
    assert!(all.iter().all(|number| number.count_ones() == 4));
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len() as u64, 2 * KEYS);
}

/// About 3,000 false positives of 100,000: a tenth is five and a half standard deviations.
#[test]
fn structured_keys_keep_the_rate_and_the_capacity() {
    for &(name, pattern) in PATTERNS {
        for seed in 0..SEEDS {
            let builder = CuckooFilter::builder().capacity(KEYS as usize).fingerprint_bits(8);
            let mut filter = builder.seed(seed).build().expect("a small filter");
            // Every other one, so that keys that are absent have the same structure.
            for i in 0..KEYS {
                let taken = filter.insert(&pattern(2 * i));
                assert!(taken.is_ok(), "{name}, seed {seed}: key {i} was refused");
            }
            let found = (0..KEYS).filter(|i| filter.contains(&pattern(2 * i + 1))).count();
            let expected = filter.expected_false_positive_rate() * KEYS as f64;
            let over = found as f64 / expected;
            assert!((0.9..=1.1).contains(&over), "{name}, seed {seed}: {over:.3} of the formula");
        }
    }
}
