//! A filter in the competition: the timed loops, compiled for each filter and called through one
//! object-safe trait, so that no call within a loop is indirect.

use std::hint::black_box;
use std::time::Duration;

use anyhow::Context;
use cuculus::KeyHash;

use super::adapter::{Adapter, Batches, Built, Deletes};
use crate::clock;
use crate::heap::Mark;

/// How long all the work took, and how many times the answer was yes.
pub type Counted = (Duration, usize);

/// A filter in the competition, whatever its type.
pub trait Contestant<K> {
    /// The filter's short name.
    fn name(&self) -> &'static str;

    /// The name with what must be known about it.
    fn label(&self) -> String;

    /// Builds the filter anew, key by key.
    ///
    /// # Errors
    /// If it cannot be made at all.
    fn build(&mut self, keys: &[K]) -> anyhow::Result<Duration>;

    /// Builds another one in batches, if the filter can, counts how many of the keys it holds,
    /// and throws it away.
    ///
    /// # Errors
    /// If it cannot be made at all.
    fn build_batched(&self, keys: &[K]) -> anyhow::Result<Option<Counted>>;

    /// Asks for each key.
    fn count(&self, keys: &[K]) -> Counted;

    /// Asks for each key, or its neighbour: which of them, the last answer decides.
    fn count_dependent(&self, keys: &[K]) -> Counted;

    /// Asks for all keys in batches, if the filter can.
    fn count_batched(&self, keys: &[K]) -> Option<Counted>;

    /// The same for keys that are hashed before time is taken, if the filter can.
    fn count_hashed(&self, keys: &[K]) -> Option<Counted>;

    /// Removes each key, if the filter can.
    fn remove_all(&mut self, keys: &[K]) -> Option<Counted>;

    /// The bytes that the filter holds, its own value included.
    fn bytes(&self) -> usize;

    /// The keys that it did not take.
    fn refused(&self) -> &[K];

    /// Frees the filter.
    fn clear(&mut self);
}

/// The way of an [`Adapter`] into the competition.
pub struct Entry<F, K> {
    rate: f64,
    built: Option<Built<F, K>>,
    bytes: usize,
    remove_all: Option<fn(&mut F, &[K]) -> usize>,
    batches: Option<BatchCalls<F, K>>,
}

type BuildCall<F, K> = fn(&[K], f64) -> anyhow::Result<Built<F, K>>;

struct BatchCalls<F, K> {
    build: BuildCall<F, K>,
    count: fn(&F, &[K]) -> usize,
    hashes: fn(&F, &[K]) -> Vec<KeyHash>,
    count_hashed: fn(&F, &[KeyHash]) -> usize,
}

impl<F: Adapter<K>, K> Entry<F, K> {
    /// A filter that answers questions.
    #[must_use]
    pub fn new(rate: f64) -> Self {
        Self { rate, built: None, bytes: 0, remove_all: None, batches: None }
    }

    /// It also removes.
    #[must_use]
    pub fn deleting(mut self) -> Self
    where
        F: Deletes<K>,
    {
        self.remove_all =
            Some(|filter, keys| keys.iter().map(|key| usize::from(filter.remove(key))).sum());
        self
    }

    /// It also works in batches.
    #[must_use]
    pub fn batching(mut self) -> Self
    where
        F: Batches<K>,
    {
        self.batches = Some(BatchCalls {
            build: F::build_batched,
            count: F::count_batched,
            hashes: F::hashes,
            count_hashed: F::count_hashed,
        });
        self
    }

    fn filter(&self) -> Option<&F> {
        self.built.as_ref().map(|built| &built.filter)
    }
}

/// Independent questions whose answers decide nothing: several of them can be on their way.
fn count<F: Adapter<K>, K>(filter: &F, keys: &[K]) -> usize {
    let mut hits = 0;
    for key in keys {
        hits += usize::from(filter.contains(key));
    }
    black_box(hits)
}

/// Questions one after the other: the place of the next key is computed from the last answer.
fn count_dependent<F: Adapter<K>, K>(filter: &F, keys: &[K]) -> usize {
    let (mut hits, mut last) = (0, 0);
    for pair in keys.chunks_exact(2) {
        for at in 0..2 {
            last = black_box(usize::from(filter.contains(&pair[at ^ last])));
            hits += last;
        }
    }
    hits
}

impl<F: Adapter<K>, K> Contestant<K> for Entry<F, K> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn label(&self) -> String {
        let note = F::note();
        if note.is_empty() { F::NAME.to_owned() } else { format!("{} ({note})", F::NAME) }
    }

    fn build(&mut self, keys: &[K]) -> anyhow::Result<Duration> {
        self.built = None;
        let mark = Mark::now();
        let (time, built) = clock::timed(|| F::build(keys, self.rate));
        let built = built.with_context(|| format!("cannot build {}", F::NAME))?;
        let list = built.refused.capacity() * size_of::<K>();
        self.bytes = mark.map_or(0, Mark::held).saturating_sub(list) + size_of::<F>();
        self.built = Some(built);
        Ok(time)
    }

    fn build_batched(&self, keys: &[K]) -> anyhow::Result<Option<Counted>> {
        let Some(batches) = &self.batches else { return Ok(None) };
        let (time, built) = clock::timed(|| (batches.build)(keys, self.rate));
        let built = built.with_context(|| format!("cannot build {}", F::NAME))?;
        Ok(Some((time, count(&built.filter, keys))))
    }

    fn count(&self, keys: &[K]) -> Counted {
        self.filter().map_or_else(Counted::default, |filter| clock::timed(|| count(filter, keys)))
    }

    fn count_dependent(&self, keys: &[K]) -> Counted {
        let count = |filter| clock::timed(|| count_dependent(filter, keys));
        self.filter().map_or_else(Counted::default, count)
    }

    fn count_batched(&self, keys: &[K]) -> Option<Counted> {
        let (batches, filter) = (self.batches.as_ref()?, self.filter()?);
        Some(clock::timed(|| black_box((batches.count)(filter, keys))))
    }

    fn count_hashed(&self, keys: &[K]) -> Option<Counted> {
        let (batches, filter) = (self.batches.as_ref()?, self.filter()?);
        let hashes = (batches.hashes)(filter, keys);
        Some(clock::timed(|| black_box((batches.count_hashed)(filter, &hashes))))
    }

    fn remove_all(&mut self, keys: &[K]) -> Option<Counted> {
        let (remove_all, built) = (self.remove_all?, self.built.as_mut()?);
        Some(clock::timed(|| remove_all(&mut built.filter, keys)))
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn refused(&self) -> &[K] {
        self.built.as_ref().map_or(&[], |built| &built.refused)
    }

    fn clear(&mut self) {
        self.built = None;
    }
}
