//! What the builders of several filters share: the parameters, their defaults and checks, and the
//! macros that write the setters. Knows rates, lengths and numbers, nothing of tables.

use core::ops::RangeInclusive;

use crate::cuckoo::room::Kicks;
use crate::placement::PlacementKind;
use crate::relocate::Search;
use crate::wide::Instructions;
use crate::{BuildError, KeyHasher};

const DEFAULT_RATE: f64 = 0.01;
const DEFAULT_SLOTS: u32 = 4;
/// The share of filters that may refuse a key within their capacity because too many keys look
/// alike.
pub const ACCEPTED_OVERFULL: f64 = 0.001;

/// The parameters as they were given; `None` where the filter is to choose.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    pub capacity: Option<usize>,
    pub buckets: Option<u64>,
    pub rate: Option<f64>,
    pub fingerprint_bits: Option<u32>,
    pub slots_per_bucket: Option<u32>,
    /// `None`: any size, or what a filter finds better.
    pub placement: Option<PlacementKind>,
    pub search: Search,
    pub max_kicks: Option<u32>,
    pub hasher: Option<KeyHasher>,
    pub instructions: Instructions,
}

impl Parameters {
    pub fn slots_per_bucket(&self) -> u32 {
        self.slots_per_bucket.unwrap_or(DEFAULT_SLOTS)
    }

    /// The rate to keep. A fingerprint length without a rate sets none.
    pub fn rate(&self) -> Result<Option<f64>, BuildError> {
        let default = self.fingerprint_bits.is_none().then_some(DEFAULT_RATE);
        self.rate.or(default).map(check_rate).transpose()
    }

    /// The rate given, or the default one.
    pub fn rate_or_default(&self) -> f64 {
        self.rate.unwrap_or(DEFAULT_RATE)
    }

    pub fn kicks(&self) -> Result<Kicks, BuildError> {
        Kicks::new(self.search, self.max_kicks)
    }

    pub fn hasher(&self) -> Result<KeyHasher, BuildError> {
        KeyHasher::given_or_random(self.hasher.as_ref())
    }

    /// The keys to plan for, and the buckets: those given, or as many as `buckets_for` says that
    /// the keys need. A table of given size is planned to be filled to `load`.
    pub fn keys_and_buckets(
        &self,
        load: f64,
        buckets_for: impl FnOnce(usize) -> u64,
    ) -> Result<(usize, u64), BuildError> {
        match (self.capacity, self.buckets) {
            (Some(keys), None) => Ok((keys, buckets_for(keys))),
            (keys, Some(buckets)) => {
                let planned = buckets as f64 * f64::from(self.slots_per_bucket()) * load;
                Ok((keys.unwrap_or(planned as usize), buckets))
            }
            (None, None) => Err(BuildError::MissingCapacity),
        }
    }

    /// The length of a fingerprint: the one given, or the shortest with which `rate_with` keeps
    /// the rate and the keys are likely to `fit`.
    pub fn bits(
        &self,
        mut allowed: RangeInclusive<u32>,
        rate_with: impl Fn(u32) -> f64,
        fit: impl Fn(u32) -> bool,
    ) -> Result<u32, BuildError> {
        let (rate, longest) = (self.rate()?, *allowed.end());
        let bits = match self.fingerprint_bits {
            Some(bits) => {
                let (min, max) = allowed.into_inner();
                check_range("fingerprint_bits", bits, min..=max)?;
                bits
            }
            None => allowed
                .find(|&bits| fit(bits) && rate.is_none_or(|rate| rate_with(bits) <= rate))
                .unwrap_or(longest),
        };
        match rate {
            Some(got) if rate_with(bits) > got => {
                Err(BuildError::RateTooSmall { got, smallest: rate_with(bits) })
            }
            _ => Ok(bits),
        }
    }
}

/// Refuses a rate that is not strictly between zero and one.
pub(crate) fn check_rate(got: f64) -> Result<f64, BuildError> {
    if got > 0.0 && got < 1.0 { Ok(got) } else { Err(BuildError::RateOutOfRange { got }) }
}

/// Refuses a number outside of its range.
pub fn check_range<N: Into<u64> + Copy>(
    parameter: &'static str,
    got: N,
    range: RangeInclusive<N>,
) -> Result<(), BuildError> {
    let [got, min, max] = [got, *range.start(), *range.end()].map(Into::into);
    if (min..=max).contains(&got) {
        Ok(())
    } else {
        Err(BuildError::OutOfRange { parameter, got, min, max })
    }
}

/// Writes the setters of a builder, each from its documentation, its name, its argument and the
/// field that keeps the argument. `seed` and `hasher`, which every builder has, come with them;
/// `hasher in` names their field.
#[cfg_attr(feature = "lab", macro_export)]
#[doc(hidden)]
macro_rules! setters {
    ($builder:ident, hasher in $($hasher:ident).+; $(
        $(#[$attribute:meta])*
        $setter:ident($value:ident: $type:ty) => $($field:ident).+;
    )*) => {
        impl $builder {
            $(
                $(#[$attribute])*
                pub fn $setter(mut self, $value: $type) -> Self {
                    self.$($field).+ = $value.into();
                    self
                }
            )*

            /// A fixed seed for the default hash function: the same operations then give the same
            /// bytes. Without it the seed is random. WebAssembly without a system
            /// (`wasm32-unknown-unknown`) has no random numbers: give a seed there.
            pub fn seed(self, seed: u64) -> Self {
                self.hasher($crate::KeyHasher::fold_xxh3(seed))
            }

            /// Another hash function, for instance a keyed one for keys that an adversary may
            /// choose.
            pub fn hasher(mut self, hasher: $crate::KeyHasher) -> Self {
                self.$($hasher).+ = Some(hasher);
                self
            }
        }
    };
}
pub(crate) use setters;

/// Writes the setters for what only measurements choose, of a builder with a field `parameters`.
#[cfg(any(test, feature = "lab"))]
#[cfg_attr(feature = "lab", macro_export)]
#[doc(hidden)]
macro_rules! lab_setters {
    ($builder:ident) => {
        impl $builder {
            /// How the second bucket of a key is found; the papers' way is `Xor`.
            pub fn placement(mut self, placement: $crate::lab::PlacementKind) -> Self {
                self.parameters.placement = Some(placement);
                self
            }

            /// How room is made in a full bucket; the papers' way is `PaperWalk`.
            pub fn search(mut self, search: $crate::lab::Search) -> Self {
                self.parameters.search = search;
                self
            }

            /// Which instructions batches may use.
            pub fn instructions(mut self, instructions: $crate::lab::Instructions) -> Self {
                self.parameters.instructions = instructions;
                self
            }
        }
    };
}
#[cfg(any(test, feature = "lab"))]
pub(crate) use lab_setters;
