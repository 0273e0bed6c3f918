//! What all baselines share: the builders' words and checks, what every filter says of itself, and
//! its figures.

use std::ops::RangeInclusive;

use cuculus::lab::builder::check_range;
use cuculus::{BuildError, KeyHasher};

pub(crate) const DEFAULT_RATE: f64 = 0.01;

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

    /// The length of what a key leaves in the table: the one given, or the shortest that keeps the
    /// rate.
    pub(crate) fn bits(
        &self,
        (parameter, given): (&'static str, Option<u32>),
        mut allowed: RangeInclusive<u32>,
        rate_with: impl Fn(u32) -> f64,
    ) -> Result<u32, BuildError> {
        let (rate, longest) = (self.rate()?, *allowed.end());
        let asked = rate.unwrap_or(DEFAULT_RATE);
        let bits = match given {
            Some(bits) => in_range(parameter, bits, allowed)?,
            None => allowed.find(|&bits| rate_with(bits) <= asked).unwrap_or(longest),
        };
        keeps(rate, rate_with(bits))?;
        Ok(bits)
    }
}

/// The number, if it is in its range.
pub(crate) fn in_range<N: Into<u64> + Copy>(
    parameter: &'static str,
    got: N,
    range: RangeInclusive<N>,
) -> Result<N, BuildError> {
    check_range(parameter, got, range).map(|()| got)
}

/// The number, if there can be a table of that many.
pub(crate) fn at_most(buckets: u64, max: u64) -> Result<u64, BuildError> {
    if buckets <= max { Ok(buckets) } else { Err(BuildError::TooLarge { buckets, max }) }
}

/// The parameters that were given must keep the rate that was given.
pub(crate) fn keeps(asked: Option<f64>, rate: f64) -> Result<(), BuildError> {
    match asked {
        Some(got) if rate > got => Err(BuildError::RateTooSmall { got, smallest: rate }),
        _ => Ok(()),
    }
}

/// A builder: its own optional parameters, each with its setter, and those of [`Shared`] if it has
/// them.
macro_rules! builder {
    (
        $(#[$doc:meta])* $builder:ident $(, shared: $shared:ident)?;
        $($(#[$own:meta])* $setter:ident: $type:ty;)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default)]
        #[must_use = "a builder does nothing until build() is called"]
        pub struct $builder {
            $(shared: $shared,)?
            $($setter: Option<$type>,)*
        }

        impl $builder {$(
            $(#[$own])*
            pub fn $setter(mut self, $setter: $type) -> Self {
                self.$setter = Some($setter);
                self
            }
        )*}

        $($crate::baselines::parameters::builder!(@ $builder $shared);)?
    };
    (@ $builder:ident $shared:ident) => {
        impl $builder {
            /// The keys that the filter is planned for, repetitions counted.
            pub fn capacity(mut self, keys: usize) -> Self {
                self.shared.capacity = Some(keys);
                self
            }

            /// The largest share of absent keys that may be reported as present with as many keys
            /// as the capacity; 1 % by default.
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
        }
    };
}
pub(crate) use builder;

/// What every filter says of itself: its builder, its capacity, and some of its fields.
macro_rules! described {
    ($filter:ident, $builder:ident: $($field:ident),*) => {
        impl $filter {
            /// Starts with the defaults, and a false positive rate of 1 %.
            pub fn builder() -> $builder {
                $builder::default()
            }

            /// The number of keys that the filter was planned for. It may take more.
            #[must_use]
            pub fn capacity(&self) -> usize {
                self.capacity
            }
        }

        $crate::described::debug!($filter, |filter| $($field: filter.$field),*);
    };
}
pub(crate) use described;

/// The figures of a filter that others have not.
macro_rules! figures {
    (
        $filter:ident, $(#[$doc:meta])* $stats:ident of $this:ident;
        $($(#[$own_doc:meta])* $own:ident: $type:ty = $value:expr;)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub struct $stats {
            $($(#[$own_doc])* pub $own: $type,)*
        }

        impl $filter {
            /// The figures of the filter as it stands.
            #[must_use]
            pub fn stats(&self) -> $stats {
                let $this = self;
                $stats { $($own: $value,)* }
            }
        }
    };
}
pub(crate) use figures;
