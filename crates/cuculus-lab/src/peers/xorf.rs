//! `xorf`: binary fuse filters, made from all keys at once and never changed.

use std::borrow::Cow;
use std::hash::BuildHasher;

use crate::keys::{Text24, WorkKey};
use crate::speed::{Adapter, Built, Contestant, Entry};
use ::xorf::{BinaryFuse8, BinaryFuse16, Filter};
use anyhow::anyhow;
use foldhash::fast::FixedState;

/// Keys as the filter takes them. It hashes numbers by itself; texts are the user's to hash.
pub trait FuseKey: Sized + Clone {
    /// What a reader must know about that.
    const NOTE: &'static str;

    /// A key.
    fn number(&self) -> u64;

    /// Many of them.
    fn numbers(keys: &[Self]) -> Cow<'_, [u64]>;
}

impl FuseKey for u64 {
    const NOTE: &'static str = "";

    #[inline(always)]
    fn number(&self) -> u64 {
        *self
    }

    fn numbers(keys: &[Self]) -> Cow<'_, [u64]> {
        Cow::Borrowed(keys)
    }
}

impl FuseKey for Text24 {
    const NOTE: &'static str = ", foldhash";

    #[inline(always)]
    fn number(&self) -> u64 {
        FixedState::with_seed(0).hash_one(self)
    }

    fn numbers(keys: &[Self]) -> Cow<'_, [u64]> {
        Cow::Owned(keys.iter().map(Self::number).collect())
    }
}

/// The smallest binary fuse filter that keeps the rate.
pub(super) fn contestant<K: WorkKey + FuseKey>(rate: f64) -> Box<dyn Contestant<K>> {
    if rate >= 1.0 / 256.0 {
        Box::new(Entry::<Fuse<BinaryFuse8>, K>::new(rate))
    } else {
        Box::new(Entry::<Fuse<BinaryFuse16>, K>::new(rate))
    }
}

pub(super) trait Width: Filter<u64> + Sized {
    const NOTE: &'static str;

    fn from_numbers(numbers: &[u64]) -> Result<Self, &'static str>;
}

impl Width for BinaryFuse8 {
    const NOTE: &'static str = "BinaryFuse8, static";

    fn from_numbers(numbers: &[u64]) -> Result<Self, &'static str> {
        Self::try_from(numbers)
    }
}

impl Width for BinaryFuse16 {
    const NOTE: &'static str = "BinaryFuse16, static";

    fn from_numbers(numbers: &[u64]) -> Result<Self, &'static str> {
        Self::try_from(numbers)
    }
}

pub(super) struct Fuse<F>(F);

impl<K: WorkKey + FuseKey, F: Width> Adapter<K> for Fuse<F> {
    const NAME: &'static str = "xorf";

    fn note() -> String {
        format!("{}{}", F::NOTE, K::NOTE)
    }

    fn build(keys: &[K], _: f64) -> anyhow::Result<Built<Self, K>> {
        let filter = F::from_numbers(&K::numbers(keys)).map_err(|error| anyhow!(error))?;
        Ok(Built { filter: Self(filter), refused: Vec::new() })
    }

    #[inline(always)]
    fn contains(&self, key: &K) -> bool {
        self.0.contains(&key.number())
    }
}
