//! The words that all builders share, and the checks of what they were given.

use cuculus::{BuildError, KeyHasher};

pub(crate) const DEFAULT_RATE: f64 = 0.01;

/// What every builder is told in the same words.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shared {
    pub(crate) capacity: Option<usize>,
    pub(crate) rate: Option<f64>,
    pub(crate) hasher: Option<KeyHasher>,
}

impl Shared {
    pub(crate) fn hasher(&self) -> Result<KeyHasher, BuildError> {
        self.hasher.clone().map_or_else(KeyHasher::random, Ok)
    }

    /// The rate to build for, checked.
    pub(crate) fn rate(&self) -> Result<Option<f64>, BuildError> {
        match self.rate {
            Some(got) if !(got > 0.0 && got < 1.0) => Err(BuildError::RateOutOfRange { got }),
            rate => Ok(rate),
        }
    }

    pub(crate) fn capacity(&self) -> Result<usize, BuildError> {
        self.capacity.ok_or(BuildError::MissingCapacity)
    }
}

pub(crate) fn in_range(
    parameter: &'static str,
    got: u64,
    range: std::ops::RangeInclusive<u64>,
) -> Result<u64, BuildError> {
    if range.contains(&got) {
        Ok(got)
    } else {
        Err(BuildError::OutOfRange { parameter, got, min: *range.start(), max: *range.end() })
    }
}

/// The parameters that were given must keep the rate that was given.
pub(crate) fn keeps(asked: Option<f64>, rate: f64) -> Result<(), BuildError> {
    match asked {
        Some(got) if rate > got => Err(BuildError::RateTooSmall { got, smallest: rate }),
        _ => Ok(()),
    }
}

/// The methods of a builder for [`Shared`], which is its field `shared`.
macro_rules! shared_words {
    () => {
        /// The keys that the filter is planned for, repetitions counted.
        pub fn capacity(mut self, keys: usize) -> Self {
            self.shared.capacity = Some(keys);
            self
        }

        /// The largest share of absent keys that may be reported as present with as many keys as
        /// the capacity; 1 % by default.
        pub fn false_positive_rate(mut self, rate: f64) -> Self {
            self.shared.rate = Some(rate);
            self
        }

        /// A fixed seed for the default hash function. Without it the seed is random.
        pub fn seed(self, seed: u64) -> Self {
            self.hasher(cuculus::KeyHasher::xxh3(seed))
        }

        /// Another hash function.
        pub fn hasher(mut self, hasher: cuculus::KeyHasher) -> Self {
            self.shared.hasher = Some(hasher);
            self
        }
    };
}
pub(crate) use shared_words;

/// Figures instead of megabytes of bits.
macro_rules! debug_with {
    ($filter:ident: $($field:ident),*) => {
        impl core::fmt::Debug for $filter {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct(stringify!($filter))
                    .field("len", &cuculus::Filter::len(self))
                    .field("slots", &cuculus::Filter::slots(self))
                    $(.field(stringify!($field), &self.$field))*
                    .field("hasher", cuculus::Filter::hasher(self))
                    .finish_non_exhaustive()
            }
        }
    };
}
pub(crate) use debug_with;
