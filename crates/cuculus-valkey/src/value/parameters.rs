//! What a filter was asked for. Knows the ranges; how a filter follows from it stands in
//! `stored`.

/// The capacity of a filter about whose size nobody said anything.
pub const DEFAULT_CAPACITY: u32 = 1024;
/// The largest capacity that can be asked for.
pub const MAX_CAPACITY: u32 = 1 << 30;
/// The smallest false positive rate that an elastic filter keeps.
pub const SMALLEST_RATE: f64 = 1e-5;
/// The largest factor by which a filter may be asked to grow.
pub(crate) const MAX_EXPANSION: u16 = 1 << 15;

/// The largest hint, for a rate of one. A hint is worth some bits an item, and costs memory from the
/// first item on, the more the smaller the rate: up to 170 kB and a tenth of a millisecond with
/// this bound, a thousand times as much without.
const LARGEST_HINT: f64 = 1e12;

/// Everything that decides what a filter will be: with the same parameters and operations two
/// servers hold the same bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// The items expected, or [`DEFAULT_CAPACITY`] if nobody knows.
    pub capacity: u32,
    /// Asked for and reported back; the filters here have buckets of their own.
    pub bucket_size: u8,
    /// Likewise.
    pub max_iterations: u16,
    /// Zero for a filter that must not grow; any other number for one that follows its set.
    pub expansion: u16,
    /// The false positive rate that is kept.
    pub rate: f64,
    /// The seed of the hash function.
    pub seed: u64,
}

impl Parameters {
    pub(crate) const ENCODED: usize = 25;

    /// Whether every number is in its range.
    #[must_use]
    pub fn are_valid(&self) -> bool {
        let least = 2 * u32::from(self.bucket_size);
        self.bucket_size > 0
            && self.max_iterations > 0
            && self.expansion <= MAX_EXPANSION
            && (least..=MAX_CAPACITY).contains(&self.capacity)
            && Self::is_rate(self.rate)
    }

    /// Whether a rate can be kept.
    #[must_use]
    pub fn is_rate(rate: f64) -> bool {
        (SMALLEST_RATE..1.0).contains(&rate)
    }

    /// Whether the filter keeps its size.
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        self.expansion == 0
    }

    /// The hint for a filter that follows its set; zero if there is none.
    pub(crate) fn expected_items(&self) -> usize {
        if self.capacity == DEFAULT_CAPACITY {
            return 0;
        }
        (self.capacity as usize).min((self.rate * LARGEST_HINT) as usize)
    }

    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.capacity.to_le_bytes());
        bytes.push(self.bucket_size);
        bytes.extend_from_slice(&self.max_iterations.to_le_bytes());
        bytes.extend_from_slice(&self.expansion.to_le_bytes());
        bytes.extend_from_slice(&self.rate.to_bits().to_le_bytes());
        bytes.extend_from_slice(&self.seed.to_le_bytes());
    }

    /// The inverse of [`encode`](Self::encode); nothing for what is not valid.
    pub(crate) fn decode(bytes: &[u8; Self::ENCODED]) -> Option<Self> {
        let (&capacity, bytes) = bytes.split_first_chunk()?;
        let (&[bucket_size], bytes) = bytes.split_first_chunk()?;
        let (&max_iterations, bytes) = bytes.split_first_chunk()?;
        let (&expansion, bytes) = bytes.split_first_chunk()?;
        let (&rate, bytes) = bytes.split_first_chunk()?;
        let (&seed, _) = bytes.split_first_chunk()?;
        let parameters = Self {
            capacity: u32::from_le_bytes(capacity),
            bucket_size,
            max_iterations: u16::from_le_bytes(max_iterations),
            expansion: u16::from_le_bytes(expansion),
            rate: f64::from_bits(u64::from_le_bytes(rate)),
            seed: u64::from_le_bytes(seed),
        };
        parameters.are_valid().then_some(parameters)
    }
}
