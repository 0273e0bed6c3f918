//! A cuckoo filter's table exactly as the Cuckoo Filter paper prints it (Algorithm 1), for what the
//! library does not do: fingerprints of one to three bits, and moves that are not undone. Knows
//! buckets and fingerprints, nothing of keys.

/// A table of fingerprints, zero where a slot is empty.
pub(crate) struct Literal {
    slots: usize,
    bits: u32,
    max_kicks: u32,
    table: Vec<u32>,
    held: usize,
    /// Those of the failed insertion too.
    pub(crate) kicks: u64,
    random: fastrand::Rng,
}

impl Literal {
    /// An empty table of a power of two of buckets.
    pub(crate) fn new(log2_buckets: u32, slots: u32, bits: u32, max_kicks: u32, seed: u64) -> Self {
        let slots = slots as usize;
        let table = vec![0; slots << log2_buckets];
        let random = fastrand::Rng::with_seed(seed);
        Self { slots, bits, max_kicks, table, held: 0, kicks: 0, random }
    }

    /// The share of the slots in use when an insertion first fails; the key that it fails with, or
    /// another one, is lost.
    pub(crate) fn fill(&mut self) -> f64 {
        while self.insert() {}
        self.held as f64 / self.table.len() as f64
    }

    fn bucket(&mut self, at: usize) -> &mut [u32] {
        &mut self.table[at * self.slots..][..self.slots]
    }

    fn place(&mut self, at: usize, fingerprint: u32) -> bool {
        let free = self.bucket(at).iter_mut().find(|slot| **slot == 0);
        let placed = free.map(|slot| *slot = fingerprint).is_some();
        self.held += usize::from(placed);
        placed
    }

    /// i ⊕ hash(fingerprint).
    fn alternate(&self, at: usize, fingerprint: u32) -> usize {
        let hash = u64::from(fingerprint).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let hash = (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20;
        let buckets = self.table.len() / self.slots;
        at ^ (hash as usize & (buckets - 1))
    }

    /// A random key; false if no room was found.
    fn insert(&mut self) -> bool {
        let buckets = self.table.len() / self.slots;
        // Zero means empty, so there is one value less.
        let values = (1u64 << self.bits) - 1;
        let mut fingerprint = 1 + self.random.u64(..values) as u32;
        let first = self.random.usize(..buckets);
        let second = self.alternate(first, fingerprint);
        if self.place(first, fingerprint) || self.place(second, fingerprint) {
            return true;
        }
        let mut at = if self.random.bool() { first } else { second };
        for _ in 0..self.max_kicks {
            let slot = self.random.usize(..self.slots);
            fingerprint = std::mem::replace(&mut self.bucket(at)[slot], fingerprint);
            self.kicks += 1;
            at = self.alternate(at, fingerprint);
            if self.place(at, fingerprint) {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use cuculus::CuckooFilter;
    use cuculus::lab::{PlacementKind, Search};
    use cuculus::{Filter, Insert};

    use super::*;

    /// The library's form of the papers' walk, which undoes a failure and leaves out loops, fills
    /// tables as far as this one: means of 60 tables each, within five standard errors.
    #[test]
    fn the_librarys_walk_fills_as_far_as_the_printed_one() {
        for (slots, log2_buckets) in [(4, 8), (2, 6)] {
            let tables = 60;
            let printed: Vec<f64> = (0..tables)
                .map(|seed| Literal::new(log2_buckets, slots, 16, 500, seed).fill())
                .collect();
            let library = (0..tables).map(|seed| {
                let builder = CuckooFilter::builder().buckets(1 << log2_buckets);
                let builder = builder.slots_per_bucket(slots).fingerprint_bits(16).max_kicks(500);
                let builder = builder.placement(PlacementKind::Xor).search(Search::PaperWalk);
                let mut filter = builder.seed(seed).build().expect("valid");
                let _ = (0..u64::MAX).try_for_each(|key| filter.insert(&key));
                filter.utilization()
            });
            let library: Vec<f64> = library.collect();
            let mean = |loads: &[f64]| loads.iter().sum::<f64>() / loads.len() as f64;
            let (ours, theirs) = (mean(&library), mean(&printed));
            let squares: f64 = printed.iter().map(|load| (load - theirs).powi(2)).sum();
            let sigma = (squares / tables as f64 * 2.0 / tables as f64).sqrt();
            assert!((ours - theirs).abs() < 5.0 * sigma, "{slots}: {ours} {theirs} {sigma}");
        }
    }

    /// With one bit all fingerprints are equal: two buckets of four take eight of them.
    #[test]
    fn equal_fingerprints_fill_their_two_buckets() {
        let mut table = Literal::new(1, 4, 1, 500, 3);
        let load = table.fill();
        assert!(load >= 0.5 && table.held <= 8, "{load}");
        assert!(table.kicks > 0);
    }
}
