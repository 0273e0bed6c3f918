//! The parameters of a filter. Knows their ranges and their bytes; `stored` builds the filter.

/// The capacity of a filter that was created without one.
pub const DEFAULT_CAPACITY: u32 = 1024;
/// The largest capacity a client may give.
pub const MAX_CAPACITY: u32 = 1 << 30;
/// The smallest false positive rate that an elastic filter keeps.
pub const SMALLEST_RATE: f64 = 1e-5;
/// The largest growth factor a client may give.
pub(crate) const MAX_EXPANSION: u16 = 1 << 15;

/// The largest size hint, for a rate of 1. A hint saves some bits per item and costs memory from the
/// first item on; the lower the rate, the more. With this limit it costs at most 170 kB and 0.1 ms,
/// without it a thousand times as much.
const LARGEST_HINT: f64 = 1e12;

/// Everything that determines a filter: two servers with the same parameters and the same
/// operations hold the same bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// The expected number of items; [`DEFAULT_CAPACITY`] if unknown.
    pub capacity: u32,
    /// Reported back by `CF.INFO`; otherwise without effect.
    pub bucket_size: u8,
    /// Reported back by `CF.INFO`; otherwise without effect.
    pub max_iterations: u16,
    /// Zero for a filter of fixed size; any other number for one that grows and shrinks.
    pub expansion: u16,
    /// The false positive rate that the filter keeps.
    pub rate: f64,
    /// The seed of the hash function.
    pub seed: u64,
}

impl Parameters {
    pub(crate) const ENCODED: usize = 25;

    /// Whether every field is in its range.
    #[must_use]
    pub fn are_valid(&self) -> bool {
        let least = 2 * u32::from(self.bucket_size);
        self.bucket_size > 0
            && self.max_iterations > 0
            && self.expansion <= MAX_EXPANSION
            && (least..=MAX_CAPACITY).contains(&self.capacity)
            && Self::is_rate(self.rate)
    }

    /// Whether a filter can keep this false positive rate.
    #[must_use]
    pub fn is_rate(rate: f64) -> bool {
        (SMALLEST_RATE..1.0).contains(&rate)
    }

    /// Whether the filter has a fixed size.
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        self.expansion == 0
    }

    /// The size hint for an elastic filter; zero for none.
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

    /// The inverse of [`encode`](Self::encode); `None` if a field is out of range.
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
