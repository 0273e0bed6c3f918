//! From a hash to the places that a Bloom filter looks at. Knows numbers of places, nothing of
//! what is there.

use cuculus::KeyHash;

/// The most places of a key.
pub(crate) const MAX_HASHES: u32 = 32;

/// The part of `cells` that `bits` is of all 64-bit numbers: the high half of their product, so
/// that any number of cells works without a division, and all are equally likely.
#[inline(always)]
pub(crate) fn scale(bits: u64, cells: u64) -> u64 {
    ((u128::from(bits) * u128::from(cells)) >> 64) as u64
}

/// Another 64 bits from a hash, as good as independent of it (the finalizer of SplitMix64).
#[inline(always)]
pub(crate) fn remix(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// A multiplier with good spectra in two to eight dimensions (Steele and Vigna 2022).
const MULTIPLIER: u64 = 0xf135_7aea_2e62_a9c5;

/// The `count` places of a key among `cells`: the high bits of a multiplicative generator that starts
/// with the key's hash.
///
/// The papers compute h1 + i·h2 (CF paper, Eq. 8). That gives a key one of cells² sets of places only,
/// so that n keys bring a rate of n/cells² that no number of hashes gets below: for the small filters
/// of a dynamic Bloom filter more than all the rest. Here every place depends on all 64 bits, for the
/// same time. And scaling 64 bits uses all of a filter that has more than 2^32 places, where halves of
/// a hash do not.
#[inline(always)]
pub(crate) fn probes(hash: KeyHash, cells: u64, count: u32) -> impl Iterator<Item = u64> {
    let mut bits = hash.get();
    (0..count).map(move |_| {
        let cell = scale(bits, cells);
        bits = bits.wrapping_mul(MULTIPLIER);
        cell
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every place comes equally often, in a small filter and past 2^32 cells, for each of the
    /// hashes.
    #[test]
    fn places_are_even_for_every_number_of_cells() {
        const KEYS: u64 = 100_000;
        const PARTS: u64 = 50;
        for cells in [50, 64, 1000, (1 << 36) + 12_345] {
            let mut counts = [[0u32; PARTS as usize]; 7];
            for key in 0..KEYS {
                for (i, place) in probes(KeyHash::new(remix(key + 1)), cells, 7).enumerate() {
                    assert!(place < cells);
                    counts[i]
                        [(u128::from(place) * u128::from(PARTS) / u128::from(cells)) as usize] += 1;
                }
            }
            for counts in counts {
                for part in 0..PARTS {
                    let first = (part * cells).div_ceil(PARTS);
                    let end = ((part + 1) * cells).div_ceil(PARTS);
                    let expected = KEYS as f64 * (end - first) as f64 / cells as f64;
                    let off = f64::from(counts[part as usize]) - expected;
                    assert!(off.abs() < 5.0 * expected.sqrt(), "{cells}: {off} of {expected}");
                }
            }
        }
    }

    /// Two places of a key agree as often as two random ones, whatever the distance between them.
    #[test]
    fn places_of_a_key_rarely_agree() {
        const KEYS: u64 = 200_000;
        const CELLS: u64 = 1000;
        let mut all_agree = 0;
        let mut agree = [0u32; 6];
        for key in 0..KEYS {
            let places: Vec<u64> = probes(KeyHash::new(remix(key + 1)), CELLS, 7).collect();
            (1..7).for_each(|i| agree[i - 1] += u32::from(places[i] == places[0]));
            all_agree += u32::from(places.iter().all(|&place| place == places[0]));
        }
        let expected = (KEYS / CELLS) as f64;
        for count in agree {
            assert!((f64::from(count) - expected).abs() < 5.0 * expected.sqrt(), "{agree:?}");
        }
        assert_eq!(all_agree, 0);
    }
}
