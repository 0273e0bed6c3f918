//! The table: keys and values in slots.

use core::fmt;

use cuculus::lab::{memory, table::OutOfMemory};
use cuculus::{Full, FullCause, Key, analysis};

use super::builder::CuckooTableBuilder;
use super::draft::{Draft, Form};
use crate::baselines::kicks::{Place, Space, make_room};
use crate::baselines::probes::remix;

/// How often a table is rehashed for one key. With keys that differ, once is nearly always enough.
const MAX_ATTEMPTS: u32 = 40;

/// A cuckoo hash table (Pagh and Rodler 2001; CF paper, §2.2): a map with exact keys, each in one of two
/// buckets.
///
/// A key that finds both of its buckets full moves entries to their other buckets; if that does not help,
/// everything is rehashed with another seed, in a larger table if this one is full.
///
/// ```
/// use cuculus_papers::baselines::CuckooTable;
///
/// let mut table = CuckooTable::builder().slots_per_bucket(4).build()?;
/// table.insert("one".to_string(), 1)?;
/// assert_eq!(table.insert("one".to_string(), 2)?, Some(1));
/// assert_eq!(table.get("one"), Some(&2));
/// assert_eq!(table.remove("one"), Some(2));
/// assert!(table.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Keys are equal if their bytes are. Where it loses: it holds the keys, and that is what a filter saves;
/// and an insert that rehashes everything takes as long as all inserts before it.
#[derive(Clone)]
pub struct CuckooTable<K, V> {
    pub(super) form: Form,
    pub(super) max_kicks: u32,
    pub(super) slots: Slots<K, V>,
    pub(super) len: usize,
    pub(super) rehashed: u64,
    pub(super) grown: u64,
}

/// What became of a [`CuckooTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CuckooTableStats {
    /// How often everything was rehashed.
    pub rehashed: u64,
    /// How often the table was made larger for it.
    pub grown: u64,
}

pub(super) type Slots<K, V> = Box<[Option<(K, V)>]>;

pub(super) fn empty_slots<K, V>(count: usize) -> Option<Slots<K, V>> {
    let mut slots = Vec::new();
    slots.try_reserve_exact(count).ok()?;
    slots.resize_with(count, || None);
    Some(slots.into_boxed_slice())
}

impl CuckooTable<(), ()> {
    /// Starts with the defaults: one table, buckets of four.
    pub fn builder() -> CuckooTableBuilder {
        CuckooTableBuilder::default()
    }
}

impl<K, V> CuckooTable<K, V> {
    /// The keys held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The slots that exist.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The memory held, without what keys and values hold themselves.
    #[must_use]
    pub fn size_in_bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.slots)
    }

    /// All keys with their values, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.slots.iter().flatten().map(|(key, value)| (key, value))
    }

    /// Removes all keys. The table stays as large as it is.
    pub fn clear(&mut self) {
        self.slots.fill_with(|| None);
        self.len = 0;
    }

    /// How often it was rehashed and made larger.
    #[must_use]
    pub fn stats(&self) -> CuckooTableStats {
        CuckooTableStats { rehashed: self.rehashed, grown: self.grown }
    }
}

impl<K: Key, V> CuckooTable<K, V> {
    #[inline]
    fn find<Q: Key + ?Sized>(&self, key: &Q) -> Option<usize> {
        let bytes = key.bytes();
        let mut places = self.form.places_of(self.form.hash(key)).map(|at| self.form.index(at));
        places.find(|&at| match &self.slots[at] {
            Some((found, _)) => found.bytes().as_ref() == bytes.as_ref(),
            None => false,
        })
    }

    /// The value of a key.
    #[inline]
    pub fn get<Q: Key + ?Sized>(&self, key: &Q) -> Option<&V> {
        self.slots[self.find(key)?].as_ref().map(|(_, value)| value)
    }

    /// The value of a key, to be changed.
    pub fn get_mut<Q: Key + ?Sized>(&mut self, key: &Q) -> Option<&mut V> {
        let at = self.find(key)?;
        self.slots[at].as_mut().map(|(_, value)| value)
    }

    /// Whether a key is there.
    #[inline]
    pub fn contains_key<Q: Key + ?Sized>(&self, key: &Q) -> bool {
        self.find(key).is_some()
    }

    /// Takes a key out, and gives back its value.
    pub fn remove<Q: Key + ?Sized>(&mut self, key: &Q) -> Option<V> {
        let (_, value) = self.find(key).and_then(|at| self.slots[at].take())?;
        self.len -= 1;
        Some(value)
    }

    /// Sets the value of a key, and gives back the one that it had.
    ///
    /// # Errors
    /// [`Full`] if the table would have to grow and there is no memory, or if no seed parts the keys;
    /// nothing has changed then.
    pub fn insert(&mut self, key: K, value: V) -> Result<Option<V>, Full> {
        if let Some(held) = self.get_mut(&key) {
            return Ok(Some(core::mem::replace(held, value)));
        }
        let buckets = self.form.buckets_of(self.form.hash(&key));
        match make_room(self, buckets, self.max_kicks) {
            Some(place) => {
                self.slots[self.form.index(place)] = Some((key, value));
                self.len += 1;
            }
            None => self
                .insert_anew(key, value)
                .map_err(|cause| Full::new(cause, self.len, self.slots.len()))?,
        }
        Ok(None)
    }

    /// Rehashes everything, with one key more.
    #[cold]
    fn insert_anew(&mut self, key: K, value: V) -> Result<(), FullCause> {
        let mut form = self.form;
        // A key that found no room long before the table was full was unlucky: another seed will do.
        let limit = 0.9 * analysis::planned_load(form.slots_per_bucket as u32);
        for attempt in 0..MAX_ATTEMPTS {
            let load = (self.len + 1) as f64 / form.slots() as f64;
            if load > limit || attempt % 2 == 1 {
                form.buckets = form.buckets.checked_mul(2).ok_or(FullCause::OutOfMemory)?;
            }
            form.seed = remix(form.seed.wrapping_add(1));
            match self.lay_out(form, &key) {
                Ok(Some(targets)) => {
                    let slots = empty_slots(form.slots()).ok_or(FullCause::OutOfMemory)?;
                    self.carry_over(form, &targets, slots, (key, value));
                    return Ok(());
                }
                Ok(None) => {}
                Err(_) => return Err(FullCause::OutOfMemory),
            }
        }
        Err(FullCause::Crowded)
    }

    /// The slots of the entries, which are numbered in the order of those that they have now, and of
    /// the new key; `None` if they do not fit.
    fn lay_out(&self, form: Form, key: &K) -> Result<Option<Vec<usize>>, OutOfMemory> {
        let keys = self.iter().map(|(key, _)| key).chain([key]);
        let hashes = memory::collected(keys.map(|key| form.hash(key)), self.len + 1)?;
        let draft = Draft::lay_out(form, hashes, self.max_kicks)?;
        draft.map(|draft| draft.targets()).transpose()
    }

    /// Moves all entries to where they were laid out.
    fn carry_over(&mut self, form: Form, targets: &[usize], mut slots: Slots<K, V>, new: (K, V)) {
        let old = core::mem::take(&mut self.slots);
        for (entry, &at) in old.into_iter().flatten().chain([new]).zip(targets) {
            slots[at] = Some(entry);
        }
        self.slots = slots;
        self.len += 1;
        self.rehashed += 1;
        self.grown += u64::from(form.buckets > self.form.buckets);
        self.form = form;
    }
}

impl<K: Key, V> Space for CuckooTable<K, V> {
    fn slots_per_bucket(&self) -> usize {
        self.form.slots_per_bucket
    }

    fn is_free(&self, place: Place) -> bool {
        self.slots[self.form.index(place)].is_none()
    }

    fn other_bucket(&self, place: Place) -> usize {
        match &self.slots[self.form.index(place)] {
            Some((key, _)) => {
                let [first, second] = self.form.buckets_of(self.form.hash(key));
                if place.bucket == first { second } else { first }
            }
            None => place.bucket,
        }
    }

    fn relocate(&mut self, from: Place, to: Place) {
        self.slots[self.form.index(to)] = self.slots[self.form.index(from)].take();
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for CuckooTable<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
