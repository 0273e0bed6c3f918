//! What can go wrong: one error type per operation, each with the value that was given, the one
//! that was expected, and a remedy in its message.

use core::fmt;
use std::error::Error;
use std::io;

use crate::table::OutOfMemory;

/// A key was refused, and the filter is byte for byte what it was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Full {
    /// Why the key was refused.
    pub cause: FullCause,
    /// The keys that the filter holds.
    pub len: usize,
    /// The slots that it has.
    pub slots: usize,
    /// In a batch, how many of its keys went in before the refused one; they stay. Zero for a
    /// single key.
    pub inserted: usize,
}

impl Full {
    /// The refusal of a single key, by a filter of another crate.
    #[must_use]
    pub const fn new(cause: FullCause, len: usize, slots: usize) -> Self {
        Self { cause, len, slots, inserted: 0 }
    }
}

/// Why a key was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FullCause {
    /// All buckets of the key are full, and no chain of moves within the limit frees a slot.
    NoRoom {
        /// The limit of the search.
        max_kicks: u32,
    },
    /// Every slot that this key may use holds a fingerprint equal to its own: copies of the same
    /// key, or keys that the filter cannot tell apart. A larger filter of this kind would not take
    /// one more either.
    EqualEntries {
        /// How many equal entries are stored, the most that the filter can hold.
        held: usize,
    },
    /// A growing filter could not make room for the key by growing: far too many keys, or copies of
    /// keys, fall into the same buckets. With a secret seed this does not happen to different keys.
    Crowded,
    /// One more entry would exceed the false positive rate, however long it is made.
    RateReached,
    /// The filter already consists of the most filters allowed.
    TooManyFilters {
        /// The most that it may have.
        max: usize,
    },
    /// The allocator refused the memory to grow.
    OutOfMemory,
    /// A thread panicked while it changed the part of a [`SharedFilter`](crate::SharedFilter) that
    /// the key belongs to. That part is only read from then on.
    Poisoned,
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cause {
            FullCause::NoRoom { max_kicks } => write!(
                f,
                "filter is full: {} of {} slots are used and {max_kicks} kicks found no room; \
                 build it with a larger capacity or more buckets",
                self.len, self.slots
            ),
            FullCause::EqualEntries { held } => write!(
                f,
                "key is already stored {held} times, the most that fit its buckets; \
                 remove a copy first, or insert only keys that are not yet contained"
            ),
            FullCause::Crowded => f.write_str(
                "too many keys fall into the same buckets as this one, and growing did not \
                 separate them; insert fewer copies of a key, and keep the seed secret",
            ),
            FullCause::RateReached => f.write_str(
                "one more key would exceed the false positive rate; build a filter with a larger \
                 rate or without expected_items",
            ),
            FullCause::TooManyFilters { max } => write!(
                f,
                "there are {max} filters already, the most allowed; build with a larger max_filters"
            ),
            FullCause::OutOfMemory => f.write_str("no memory to grow; remove keys or free memory"),
            FullCause::Poisoned => f.write_str(
                "a thread panicked while it changed the part of the filter that this key belongs \
                 to, and that part is only read since; make a new filter from a snapshot",
            ),
        }
    }
}

impl Error for Full {}

/// The parameters of a filter cannot be satisfied. Nothing was allocated.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum BuildError {
    /// Neither a capacity nor a number of buckets was given.
    MissingCapacity,
    /// A rate that is not a number strictly between zero and one.
    RateOutOfRange {
        /// The rate given.
        got: f64,
    },
    /// The longest fingerprint is too short for this rate.
    RateTooSmall {
        /// The rate given.
        got: f64,
        /// The smallest that the filter can keep with these parameters.
        smallest: f64,
    },
    /// A load outside its range.
    LoadOutOfRange {
        /// The load given.
        got: f64,
        /// The smallest accepted.
        min: f64,
        /// The largest accepted.
        max: f64,
    },
    /// A number outside its range.
    OutOfRange {
        /// The builder method that sets it.
        parameter: &'static str,
        /// The value given.
        got: u64,
        /// The smallest value accepted.
        min: u64,
        /// The largest value accepted.
        max: u64,
    },
    /// A number of parts that is not a power of two, or too large.
    Parts {
        /// The number given.
        got: u64,
        /// The largest accepted.
        max: u64,
    },
    /// A number of slots in a bucket that no table has.
    SlotsPerBucket {
        /// The number given.
        got: u32,
        /// The numbers accepted, in words.
        expected: &'static str,
    },
    /// The table would have more buckets than can be addressed.
    TooLarge {
        /// The buckets needed.
        buckets: u64,
        /// The most that there can be.
        max: u64,
    },
    /// The allocator refused the table.
    OutOfMemory {
        /// The bytes needed.
        bytes: u64,
    },
    /// The system gave no random seed.
    NoRandomSeed,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::MissingCapacity => {
                f.write_str("no capacity was given; call capacity(keys) before build()")
            }
            Self::RateOutOfRange { got } => write!(
                f,
                "false positive rate {got} is not between 0 and 1 (both excluded); use for \
                 example 0.01"
            ),
            Self::RateTooSmall { got, smallest } => write!(
                f,
                "false positive rate {got:e} is below {smallest:e}, the smallest that this filter \
                 can keep; use a larger rate"
            ),
            Self::LoadOutOfRange { got, min, max } => {
                write!(f, "target_load is {got}; it must be from {min} to {max}")
            }
            Self::OutOfRange { parameter, got, min, max } => {
                write!(f, "{parameter} is {got}; it must be from {min} to {max}")
            }
            Self::Parts { got, max } => {
                write!(f, "parts is {got}; it must be a power of two from 1 to {max}")
            }
            Self::SlotsPerBucket { got, expected } => {
                write!(f, "slots_per_bucket is {got}; it must be {expected}")
            }
            Self::TooLarge { buckets, max } => write!(
                f,
                "the table would need {buckets} buckets, but {max} is the maximum; use a smaller \
                 capacity or several filters"
            ),
            Self::OutOfMemory { bytes } => {
                write!(f, "no memory for a table of {bytes} bytes; use a smaller capacity")
            }
            Self::NoRandomSeed => {
                f.write_str("the system gave no random seed; set one with seed(number)")
            }
        }
    }
}

impl Error for BuildError {}

/// Bytes are not a saved filter of the kind expected, or they are damaged.
#[derive(Debug)]
#[non_exhaustive]
pub enum DecodeError {
    /// The magic bytes are not those of a filter.
    NotAFilter,
    /// A set in parts, which `cuculus cluster` reads and writes.
    SetInParts,
    /// A version of the format that this release does not read.
    Version {
        /// The version found.
        got: u16,
        /// The newest version read.
        newest: u16,
    },
    /// A filter of another kind, or of one that this release does not know.
    Kind {
        /// The kind's number in the file.
        got: u16,
        /// The kind expected.
        expected: u16,
    },
    /// The bytes end too early.
    Truncated {
        /// The bytes needed, as far as that is known.
        needed: u64,
        /// The bytes found.
        got: u64,
    },
    /// Bytes follow the end of the filter.
    TrailingBytes {
        /// How many.
        extra: u64,
    },
    /// A checksum does not match: the bytes were changed after they were written.
    Checksum {
        /// The part that is damaged.
        part: &'static str,
    },
    /// A field has a value that no release writes.
    Invalid {
        /// The field.
        field: &'static str,
        /// What it says, or what was counted.
        got: u64,
        /// What would be right, in words.
        expected: &'static str,
    },
    /// The allocator refused the memory for the filter.
    OutOfMemory {
        /// The bytes needed.
        bytes: u64,
    },
    /// The reader failed.
    Io(io::Error),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAFilter => f.write_str(
                "not a saved filter: unrecognised magic bytes; check that it is the right file",
            ),
            Self::SetInParts => f.write_str(
                "a set in parts, not one filter; `cuculus cluster import` makes a set of it",
            ),
            Self::Version { got, newest } => write!(
                f,
                "format version {got} is unknown; this release reads up to {newest}, a newer one \
                 may read it"
            ),
            Self::Kind { got, expected } => {
                write!(
                    f,
                    "filter of kind {got}, expected kind {expected}; load it as the matching type"
                )
            }
            Self::Truncated { needed, got } => {
                write!(
                    f,
                    "cut short: {needed} bytes are needed, {got} were found; use a whole copy"
                )
            }
            Self::TrailingBytes { extra } => {
                write!(
                    f,
                    "{extra} bytes follow the end of the filter; pass only the bytes of one filter"
                )
            }
            Self::Checksum { part } => write!(
                f,
                "damaged: the checksum of the {part} does not match; restore the bytes from a copy"
            ),
            Self::Invalid { field, got, expected } => {
                write!(f, "{field} is {got}; expected {expected}")
            }
            Self::OutOfMemory { bytes } => {
                write!(f, "no memory for a filter of {bytes} bytes; free memory and try again")
            }
            Self::Io(error) => write!(f, "cannot read the filter: {error}"),
        }
    }
}

impl DecodeError {
    pub(crate) const fn invalid(field: &'static str, got: u64, expected: &'static str) -> Self {
        Self::Invalid { field, got, expected }
    }
}

impl Error for DecodeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for DecodeError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<OutOfMemory> for BuildError {
    fn from(OutOfMemory { bytes }: OutOfMemory) -> Self {
        Self::OutOfMemory { bytes }
    }
}

impl From<OutOfMemory> for DecodeError {
    fn from(OutOfMemory { bytes }: OutOfMemory) -> Self {
        Self::OutOfMemory { bytes }
    }
}
