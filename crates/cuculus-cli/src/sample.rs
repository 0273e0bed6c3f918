//! Sample keys for the demo and the plan: the same keys in every run. Knows nothing of filters.

const SEED: u64 = 1;
/// Keys from this number on are never inserted.
const FIRST_ABSENT: u64 = 1 << 40;

/// The `number`-th key to insert. Different numbers give different keys.
pub(crate) fn key(number: u64) -> u64 {
    mix(mix(SEED).wrapping_add(number))
}

/// The `number`-th key that is never inserted.
pub(crate) fn absent_key(number: u64) -> u64 {
    key(FIRST_ABSENT + number)
}

/// SplitMix64 (Steele, Lea and Flood 2014): evenly spread and one-to-one, so no key repeats and
/// absent keys are absent without a lookup in an exact set.
fn mix(number: u64) -> u64 {
    let x = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn keys_are_different_and_absent_keys_are_absent() {
        let keys: HashSet<u64> = (0..10_000).map(key).collect();
        assert_eq!(keys.len(), 10_000);
        assert!((0..10_000).map(absent_key).all(|absent| !keys.contains(&absent)));
    }
}
