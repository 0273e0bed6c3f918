//! What the laws need to see of a filter that need not know files.

use super::loads_as_it_is;
use crate::{Filter, Persist};

/// A filter whose state can be compared with what it was.
///
/// Filters that can be saved have this already: their state is their bytes. Any other says what
/// decides about its future, its clone for instance if it can be compared.
pub trait State: Sized {
    /// Everything on which answers and further changes depend.
    type State: PartialEq;

    /// The state as it is now.
    fn state(&self) -> Self::State;

    /// A filter that goes on from here in place of this one: saved and loaded, where filters can
    /// be, else a clone.
    #[must_use]
    fn revived(&self) -> Self;
}

impl<F: Persist + Filter> State for F {
    type State = Vec<u8>;

    fn state(&self) -> Vec<u8> {
        self.to_bytes()
    }

    fn revived(&self) -> Self {
        loads_as_it_is("a filter between operations", self)
    }
}

/// What becomes of a key that is inserted again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// Every copy is counted, and there are places for some: the next one is refused as
    /// [`EqualEntries`](crate::FullCause::EqualEntries).
    Bounded {
        /// The number of copies that any key has places for.
        least: usize,
    },
    /// Every copy is counted and takes a place like any other key, until there is no place left.
    UntilFull,
    /// Every copy is taken and counted, and copies beyond the first few take no memory.
    Unlimited,
    /// Copies are taken without end, and counted up to this number: a Bloom filter counts to one.
    CountedUpTo(usize),
}

impl Copies {
    /// The least that must be counted of this number of copies.
    pub(super) fn least_count(self, copies: usize) -> usize {
        match self {
            Self::Bounded { .. } | Self::UntilFull | Self::Unlimited => copies,
            Self::CountedUpTo(most) => copies.min(most),
        }
    }

    /// Whether two copies of any key are taken.
    pub(super) fn fit_twice(self) -> bool {
        !matches!(self, Self::Bounded { least: 0 | 1 })
    }

    /// Whether as many copies can be removed as were inserted.
    pub(super) fn are_exact(self) -> bool {
        !matches!(self, Self::CountedUpTo(_))
    }
}
