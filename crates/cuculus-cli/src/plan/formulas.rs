//! Size and false positive rate of filters that this project does not build, by formula: Bloom,
//! blocked Bloom, counting Bloom and quotient filters. Knows formulas, builds nothing.

use super::Need;
use super::cost::Cost;

/// Bits of a counter of a counting Bloom filter. Four are enough: a counter above 15 is rare
/// (Fan et al. 2000).
const COUNTER_BITS: f64 = 4.0;
/// Bits of a block of a blocked Bloom filter: a cache line.
const BLOCK_BITS: f64 = 512.0;
/// Two 64-bit hashes give 14 positions of nine bits.
const MAX_BLOCK_HASHES: u32 = 14;
/// Above this load the runs of a quotient filter get long.
const QUOTIENT_LOAD: f64 = 0.9;
/// Bits per slot of a quotient filter beside the remainder.
const QUOTIENT_FLAGS: u32 = 3;
const MAX_REMAINDER_BITS: u32 = 32;
/// The block of the slot, and often the next one.
const QUOTIENT_READS: u64 = 2;

/// A Bloom filter (Bloom 1970).
pub(super) fn bloom(need: &Need) -> Cost {
    bloom_of(need, 1.0)
}

/// A counting Bloom filter: a counter in place of each bit.
pub(super) fn counting_bloom(need: &Need) -> Cost {
    bloom_of(need, COUNTER_BITS)
}

fn bloom_of(need: &Need, bits_per_cell: f64) -> Cost {
    // The real-valued optimum is log2(1/rate) hashes; one of its two neighbours is the best.
    let ideal = (-need.rate.log2()).max(1.0).floor();
    let cells = |hashes: f64| {
        let share_set = need.rate.powf(1.0 / hashes);
        need.peak as f64 * hashes / -f64::ln_1p(-share_set)
    };
    let hashes = if cells(ideal) <= cells(ideal + 1.0) { ideal } else { ideal + 1.0 };
    let cells = cells(hashes).ceil();
    let share_set = -f64::exp_m1(-hashes * need.items as f64 / cells);
    fixed(cells * bits_per_cell, share_set.powf(hashes), hashes as u64)
}

/// A blocked Bloom filter (Putze, Sanders and Singler 2007): all bits of a key in one block.
pub(super) fn blocked_bloom(need: &Need) -> Result<Cost, String> {
    let best = (1..=MAX_BLOCK_HASHES).map(|hashes| (keys_per_block(need.rate, hashes), hashes));
    let (keys_per_block, hashes) = best.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, 1));
    if keys_per_block < 1.0 {
        return Err("cannot keep this rate: a block would hold less than one key".to_owned());
    }
    let blocks = (need.peak as f64 / keys_per_block).ceil();
    let rate = block_rate(need.items as f64 / blocks, hashes);
    Ok(fixed(blocks * BLOCK_BITS, rate, 1))
}

/// The largest mean number of keys per block that keeps the rate, by bisection.
fn keys_per_block(rate: f64, hashes: u32) -> f64 {
    let (mut low, mut high) = (0.0, BLOCK_BITS);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if block_rate(middle, hashes) <= rate { low = middle } else { high = middle }
    }
    low
}

/// The rate of blocks with this many keys on average: the mean over a Poisson distribution, since
/// the fullest blocks decide.
fn block_rate(mean_keys: f64, hashes: u32) -> f64 {
    let mut probability = f64::exp(-mean_keys);
    let (mut rate, mut rest) = (0.0, 1.0);
    for keys in 0..2 * BLOCK_BITS as u32 {
        rate += probability * rate_of_block(f64::from(keys), f64::from(hashes));
        rest -= probability;
        probability *= mean_keys / f64::from(keys + 1);
    }
    (rate + rest.max(0.0)).min(1.0)
}

/// The rate of one block. The bits set vary in so small a block, and the mean of a power is above
/// the power of the mean: the second factor corrects for the variance.
fn rate_of_block(keys: f64, hashes: f64) -> f64 {
    if keys == 0.0 {
        return 0.0;
    }
    let throws = keys * hashes;
    let log_empty = throws * f64::ln_1p(-1.0 / BLOCK_BITS);
    let (empty, set) = (log_empty.exp(), -log_empty.exp_m1());
    let variance = empty * (set - throws / BLOCK_BITS * empty) / BLOCK_BITS;
    set.powf(hashes) * (1.0 + hashes * (hashes - 1.0) / 2.0 * variance.max(0.0) / (set * set))
}

/// A quotient filter (Bender et al. 2012): a remainder and three flags per slot.
pub(super) fn quotient(need: &Need) -> Result<Cost, String> {
    let slots = (need.peak as f64 / QUOTIENT_LOAD).ceil();
    let rate =
        |keys: u64, bits: u32| -f64::exp_m1(-(keys as f64) / (slots * f64::from(bits).exp2()));
    let bits = (1..=MAX_REMAINDER_BITS).find(|&bits| rate(need.peak, bits) <= need.rate);
    let bits = bits.ok_or("cannot keep this rate: remainders have at most 32 bits")?;
    Ok(fixed(slots * f64::from(bits + QUOTIENT_FLAGS), rate(need.items, bits), QUOTIENT_READS))
}

/// The cost of a filter of fixed size: its memory does not depend on the number of items.
fn fixed(bits: f64, expected_rate: f64, reads: u64) -> Cost {
    let bytes = (bits / 8.0).ceil() as u64;
    Cost { bytes, peak_bytes: bytes, expected_rate, reads }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need(items: u64, peak: u64, rate: f64) -> Need {
        Need { items, peak, rate, delete: false }
    }

    /// Against filters of each kind that were built and filled: bits per item, rate with all items,
    /// and memory reads.
    #[test]
    fn formulas_agree_with_filters_that_were_built() {
        let bloom: fn(&Need) -> Result<Cost, String> = |need| Ok(bloom(need));
        let counting: fn(&Need) -> Result<Cost, String> = |need| Ok(counting_bloom(need));
        for (rate, name, cost, bits, measured, reads) in [
            (1e-2, "Bloom", bloom, 9.598, 1.0017e-2, 7),
            (1e-2, "blocked", blocked_bloom, 9.922, 0.9988e-2, 1),
            (1e-2, "counting", counting, 38.384, 1.0017e-2, 7),
            (1e-2, "quotient", quotient, 11.116, 0.7005e-2, 2),
            (1e-3, "Bloom", bloom, 14.384, 1.0067e-3, 10),
            (1e-3, "blocked", blocked_bloom, 15.549, 1.0084e-3, 1),
            (1e-3, "quotient", quotient, 14.450, 0.8783e-3, 2),
            (1e-6, "Bloom", bloom, 28.765, 1.0066e-6, 20),
            (1e-6, "blocked", blocked_bloom, 39.229, 1.0256e-6, 1),
            (1e-6, "counting", counting, 115.052, 1.0066e-6, 20),
            (1e-6, "quotient", quotient, 25.563, 0.8581e-6, 2),
        ] {
            let cost = cost(&need(1_000_000, 1_000_000, rate)).expect(name);
            let off = cost.bits_per_item(1_000_000) / bits - 1.0;
            assert!(off.abs() < 0.003, "{name} {rate}: {cost:?}");
            let off = cost.expected_rate / measured - 1.0;
            assert!(off.abs() < 0.03, "{name} {rate}: {cost:?}");
            assert_eq!(cost.reads, reads, "{name} {rate}");
        }
    }

    /// Filters of 2,000,000 items that were built and then filled with 50,000.
    #[test]
    fn a_filter_built_for_the_peak_has_a_lower_rate_before() {
        let need = need(50_000, 2_000_000, 0.01);
        for (cost, measured, tolerance) in [
            (bloom(&need), 6.30e-13, 0.1),
            // Few blocks hold several keys; the measured value is from a small part of the set.
            (blocked_bloom(&need).expect("built"), 8.73e-10, 0.5),
            (quotient(&need).expect("built"), 1.757e-4, 0.01),
        ] {
            let off = cost.expected_rate / measured - 1.0;
            assert!(off.abs() < tolerance, "{cost:?}");
        }
    }

    #[test]
    fn a_rate_too_low_is_an_answer() {
        let need = need(1000, 1000, 1e-30);
        assert!(bloom(&need).reads >= 99);
        assert!(blocked_bloom(&need).is_err() && quotient(&need).is_err());
    }
}
