//! What a filter must do to be measured, one capability a trait. An adapter is all that differs
//! between filters: the loops around it are the same for all.

use cuculus::KeyHash;

/// A filter as its crate offers it, with its own hash function.
pub trait Adapter<K>: Sized {
    /// The crate's name, or ours; short, since ratios are looked up by it.
    const NAME: &'static str;

    /// What a reader must know about the row beside the name, such as another hash function than
    /// the crate's default.
    #[must_use]
    fn note() -> String {
        String::new()
    }

    /// Makes a filter for these keys and this false positive rate, and puts them in one by one.
    ///
    /// # Errors
    /// If the filter cannot be made at all.
    fn build(keys: &[K], rate: f64) -> anyhow::Result<Built<Self, K>>;

    /// Whether the filter says that it holds the key.
    fn contains(&self, key: &K) -> bool;
}

/// A filter that forgets keys.
pub trait Deletes<K>: Adapter<K> {
    /// Removes a key, and tells whether it was found.
    fn remove(&mut self, key: &K) -> bool;
}

/// A filter that starts small, takes keys one by one, and forgets them.
pub trait Grows<K>: Deletes<K> {
    /// Makes an empty filter that has room for the first keys; it will hold no more than `most`,
    /// for those that must know.
    ///
    /// # Errors
    /// If the filter cannot be made.
    fn start(first: usize, most: usize, rate: f64) -> anyhow::Result<Self>;

    /// Inserts a key, and tells whether the filter took it.
    fn insert(&mut self, key: &K) -> bool;
}

/// A filter with calls for many keys at once.
pub trait Batches<K>: Adapter<K> {
    /// As [`build`](Adapter::build), many keys at a time.
    ///
    /// # Errors
    /// If the filter cannot be made at all.
    fn build_batched(keys: &[K], rate: f64) -> anyhow::Result<Built<Self, K>>;

    /// How many of the keys the filter says that it holds, asked for many at a time.
    fn count_batched(&self, keys: &[K]) -> usize;

    /// The hashes of the keys, made before time is taken.
    fn hashes(&self, keys: &[K]) -> Vec<KeyHash>;

    /// As [`count_batched`](Self::count_batched) for keys that are hashed already: what compares
    /// with the machine's limit, which hashes nothing either.
    fn count_hashed(&self, hashes: &[KeyHash]) -> usize;
}

/// A filter that was built.
pub struct Built<F, K> {
    /// The filter.
    pub filter: F,
    /// The keys that it did not take.
    pub refused: Vec<K>,
}

impl<F, K: Copy> Built<F, K> {
    /// Puts keys into an empty filter one by one; `insert` tells whether the filter took the key.
    #[inline(always)]
    pub fn one_by_one(mut filter: F, keys: &[K], insert: impl Fn(&mut F, &K) -> bool) -> Self {
        let mut refused = Vec::new();
        for key in keys {
            if !insert(&mut filter, key) {
                refused.push(*key);
            }
        }
        Self { filter, refused }
    }
}
