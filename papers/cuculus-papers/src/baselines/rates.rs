//! The formulas by which Bloom filters are planned.

/// The probability that `probes` random cells are all set, of `cells` of which `throws` random ones
/// (some of them the same) were set.
///
/// With X cells set it is the mean of (X/cells)^probes. The usual formula takes the power of the
/// mean instead, which is too small where X varies: in the 512 bits of a block by several percent.
/// The second moment makes up for nearly all of it.
pub(crate) fn all_are_set(cells: f64, throws: f64, probes: u32) -> f64 {
    if throws <= 0.0 {
        return 0.0;
    }
    if cells <= 2.0 {
        return 1.0; // too few for a filter; an upper bound
    }
    let log_empty = throws * f64::ln_1p(-1.0 / cells);
    let (empty, set) = (f64::exp(log_empty), -f64::exp_m1(log_empty));
    // 1 − (1 + c)·e^−c for c throws a cell: the variance of X is cells·e^−c times that.
    let each = throws / cells;
    let spread = if each < 1e-4 { each * each / 2.0 } else { set - each * empty };
    let variance = (empty * spread / cells).max(0.0);
    let pairs = f64::from(probes) * f64::from(probes - 1) / 2.0;
    if set > 0.0 {
        (set.powi(probes as i32) * (1.0 + pairs * variance / (set * set))).min(1.0)
    } else {
        0.0
    }
}

pub(crate) fn bloom(cells: u64, keys: usize, hashes: u32) -> f64 {
    all_are_set(cells as f64, keys as f64 * f64::from(hashes), hashes)
}

/// The fewest cells that keep the rate, with the number of hashes that needs the fewest.
pub(crate) fn cells_and_hashes(keys: usize, rate: f64, hashes: Option<u32>) -> (u64, u32) {
    let ideal = (-rate.log2()).clamp(1.0, 31.0) as u32;
    let tried = match hashes {
        Some(hashes) => hashes..=hashes,
        None => ideal..=ideal + 1,
    };
    let cells = |hashes| {
        // The textbook's solution, and as much more as the variance asks for.
        let share = rate.powf(1.0 / f64::from(hashes));
        let cells = -(keys as f64) * f64::from(hashes) / f64::ln_1p(-share);
        let mut cells = cells.max(64.0);
        let throws = keys as f64 * f64::from(hashes);
        while cells.is_finite() && all_are_set(cells, throws, hashes) > rate {
            cells += (cells / 4096.0).max(1.0);
        }
        (cells.ceil() as u64, hashes)
    };
    // The range is not empty.
    tried.map(cells).min().unwrap_or((64, 1))
}

pub(crate) fn best_hashes(cells: u64, keys: usize) -> u32 {
    let ideal = core::f64::consts::LN_2 * cells as f64 / keys.max(1) as f64;
    let around = (ideal as u32).clamp(1, 31);
    let rate = |hashes| bloom(cells, keys, hashes);
    if rate(around) <= rate(around + 1) { around } else { around + 1 }
}

/// The bits of a block: a cache line.
pub(crate) const BLOCK_BITS: u32 = 512;

/// The most keys per block on average for which a table is kept.
const MAX_KEYS_PER_BLOCK: f64 = 600.0;

/// The rate of blocks, each with its own number of keys: a Poisson mixture (Putze,
/// Sanders and Singler).
pub(crate) struct Blocks {
    with_keys: Vec<f64>,
}

impl Blocks {
    /// Blocks of [`BLOCK_BITS`], of which a key sets any.
    pub(crate) fn new(hashes: u32) -> Self {
        let throws = |keys: u32| f64::from(keys) * f64::from(hashes);
        let rate = |keys| all_are_set(f64::from(BLOCK_BITS), throws(keys), hashes);
        Self { with_keys: (0..1000).map(rate).collect() }
    }

    /// The rate with this many keys per block on average.
    pub(crate) fn rate(&self, keys_per_block: f64) -> f64 {
        let mean = keys_per_block.clamp(0.0, MAX_KEYS_PER_BLOCK);
        let mut probability = f64::exp(-mean);
        let (mut sum, mut rest) = (0.0, 1.0);
        for (keys, rate) in self.with_keys.iter().enumerate() {
            sum += probability * rate;
            rest -= probability;
            probability *= mean / (keys + 1) as f64;
        }
        // What is left has more keys than the table goes to.
        (sum + rest.max(0.0)).min(1.0)
    }

    /// The most keys per block on average that keep the rate.
    pub(crate) fn keys_per_block(&self, rate: f64) -> f64 {
        let (mut low, mut high) = (0.0, MAX_KEYS_PER_BLOCK);
        for _ in 0..40 {
            let middle = (low + high) / 2.0;
            if self.rate(middle) <= rate { low = middle } else { high = middle }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the sum over all numbers of set cells, one throw after the other.
    #[test]
    fn the_second_moment_is_nearly_all() {
        for (cells, throws, probes) in
            [(512usize, 350, 7), (512, 500, 9), (512, 40, 4), (100, 70, 3)]
        {
            let mut set = vec![0.0; cells + 1];
            set[0] = 1.0;
            for _ in 0..throws {
                for n in (0..=cells).rev() {
                    let from = if n > 0 { set[n - 1] * (cells - n + 1) as f64 } else { 0.0 };
                    set[n] = (set[n] * n as f64 + from) / cells as f64;
                }
            }
            let share = |n: usize| (n as f64 / cells as f64).powi(probes);
            let exact: f64 = set.iter().enumerate().map(|(n, p)| p * share(n)).sum();
            let found = all_are_set(cells as f64, f64::from(throws), probes as u32);
            assert!((found / exact - 1.0).abs() < 0.003, "{cells} {throws}: {found} {exact}");
        }
    }

    /// 1.44 log2(1/rate) bits per key (CF paper, §2.1).
    #[test]
    fn bits_of_the_optimum() {
        for (rate, bits, hashes) in [(0.01, 9.6, 7), (0.001, 14.4, 10), (1e-6, 28.8, 20)] {
            let (cells, found) = cells_and_hashes(1_000_000, rate, None);
            assert_eq!(found, hashes);
            assert!((cells as f64 / 1e6 - bits).abs() < 0.05, "{cells}");
            assert!(bloom(cells, 1_000_000, found) <= rate);
            assert_eq!(best_hashes(cells, 1_000_000), hashes);
        }
    }

    /// No rate is too small to be answered.
    #[test]
    fn tiny_rates_end() {
        for rate in [1e-17, 1e-40, 1e-300, f64::MIN_POSITIVE, 5e-324] {
            for hashes in [1, 2, 32] {
                let (cells, _) = cells_and_hashes(1000, rate, Some(hashes));
                assert!(cells >= 1000, "{rate} {hashes}: {cells}");
            }
        }
    }

    /// CF paper, Table 3: 13 bits per key and nine hashes give 0.19 %. In blocks the paper has 0.43 %;
    /// with bits that are chosen independently, not by two hashes of nine bits, it is less.
    #[test]
    fn rates_of_table_3() {
        assert!((bloom(13_000_000, 1_000_000, 9) - 0.0019).abs() < 0.000_05);
        let blocked = Blocks::new(9).rate(512.0 / 13.0);
        assert!((blocked - 0.0028).abs() < 0.000_05, "{blocked}");
    }
}
