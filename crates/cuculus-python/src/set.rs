//! What the classes have in common: a filter that threads share, and the methods of Python's `set`. Knows
//! nothing of one kind of filter.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

#[cfg(feature = "shared")]
use cuculus::SharedFilter;
use cuculus::{
    CuckooFilter, ElasticFilter, Filter, Full, Insert, KeyHash, KeyHasher, Persist, Remove,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::batch::{Batch, PIECE};
use crate::gate::{self, Inside};
use crate::{answers, errors, key};

/// A filter that every thread may use: for one key with the interpreter, for many without it, inside the gate.
pub(crate) trait Held: Sync {
    type Filter: Filter + Persist;

    fn hasher(&self) -> &KeyHasher;
    fn read<T>(&self, ask: impl FnOnce(&Self::Filter) -> T) -> T;
    fn read_inside<T>(&self, inside: &Inside, ask: impl FnOnce(&Self::Filter) -> T) -> T;

    fn figures(&self) -> Figures {
        self.read(Figures::of)
    }
}

/// One that keys are added to.
pub(crate) trait Set: Held {
    type Changed<'a>: Bulk
    where
        Self: 'a;

    fn write<T>(&self, change: impl FnOnce(&mut Self::Changed<'_>) -> T) -> T;
    fn write_inside<T>(
        &self,
        inside: &Inside,
        change: impl FnOnce(&mut Self::Changed<'_>) -> T,
    ) -> T;
}

pub(crate) struct Figures {
    pub(crate) len: usize,
    pub(crate) slots: usize,
    pub(crate) size_in_bytes: usize,
    pub(crate) expected_false_positive_rate: f64,
}

impl Figures {
    pub(crate) fn of(filter: &impl Filter) -> Self {
        Self {
            len: filter.len(),
            slots: filter.slots(),
            size_in_bytes: filter.size_in_bytes(),
            expected_false_positive_rate: filter.expected_false_positive_rate(),
        }
    }

    pub(crate) fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("keys", self.len)?;
        dict.set_item("size_in_bytes", self.size_in_bytes)?;
        let bits = match self.len {
            0 => None,
            len => Some(8.0 * self.size_in_bytes as f64 / len as f64),
        };
        dict.set_item("bits_per_key", bits)?;
        dict.set_item("slots", self.slots)?;
        dict.set_item("expected_false_positive_rate", self.expected_false_positive_rate)?;
        Ok(dict)
    }

    /// For a repr: keys and memory.
    pub(crate) fn in_words(&self) -> String {
        let plural = if self.len == 1 { "" } else { "s" };
        format!("{} key{plural}, {} bytes", self.len, self.size_in_bytes)
    }
}

/// A filter that takes many keys at once.
pub(crate) trait Bulk: Insert + Remove {
    /// How many are worth to be taken together.
    const AT_ONCE: usize = PIECE;

    fn bulk(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        self.insert_batch(hashes)
    }

    fn bulk_absent(&mut self, hashes: &[KeyHash], absent: &mut Vec<bool>) -> Result<(), Full> {
        self.insert_absent_batch(hashes, absent)
    }

    fn insert_absent(&mut self, hash: KeyHash) -> Result<bool, Full> {
        let is_absent = !self.contains_hash(hash);
        if is_absent {
            self.insert_hash(hash)?;
        }
        Ok(is_absent)
    }
}

impl Bulk for CuckooFilter {}

impl Bulk for ElasticFilter {
    /// Each segment is written once for all of them, so the more the better; 32 MB of hashes.
    const AT_ONCE: usize = 1 << 22;

    fn bulk(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        self.insert_bulk(hashes)
    }

    fn bulk_absent(&mut self, hashes: &[KeyHash], absent: &mut Vec<bool>) -> Result<(), Full> {
        if hashes.len() < PIECE {
            return self.insert_absent_batch(hashes, absent);
        }
        match self.is_empty() {
            true => {
                absent.clear();
                absent.resize(hashes.len(), true);
            }
            false => {
                self.contains_batch(hashes, absent);
                absent.iter_mut().for_each(|answer| *answer = !*answer);
            }
        }
        keep_first(hashes, absent);
        let new = hashes.iter().zip(absent.iter()).filter(|&(_, &is_absent)| is_absent);
        let new: Vec<KeyHash> = new.map(|(&hash, _)| hash).collect();
        self.insert_bulk(&new)
    }
}

/// Of equal hashes among those that are marked, leaves the mark on the first.
///
/// Two small maps of bits come first: only hashes whose bit comes twice can be equal, about one in eight of
/// different ones, and only these go through a table.
fn keep_first(hashes: &[KeyHash], marked: &mut [bool]) {
    let bits = (16 * hashes.len()).next_power_of_two().trailing_zeros().max(6);
    let place = |hash: KeyHash| {
        let bit = hash.get() >> (64 - bits);
        ((bit >> 6) as usize, 1u64 << (bit & 63))
    };
    let (mut once, mut twice) = (vec![0u64; 1 << (bits - 6)], vec![0u64; 1 << (bits - 6)]);
    for (&hash, _) in hashes.iter().zip(&*marked).filter(|(_, mark)| **mark) {
        let (word, bit) = place(hash);
        twice[word] |= once[word] & bit;
        once[word] |= bit;
    }
    let mut seen = HashSet::with_hasher(Already::default());
    for (&hash, mark) in hashes.iter().zip(marked).filter(|(_, mark)| **mark) {
        let (word, bit) = place(hash);
        if twice[word] & bit != 0 {
            *mark = seen.insert(hash.get());
        }
    }
}

/// A hash of a hash is itself.
#[derive(Clone, Copy, Default)]
struct Already(u64);

impl BuildHasher for Already {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        Self(0)
    }
}

impl Hasher for Already {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// A filter behind a lock. No thread waits for the interpreter while it has the lock, and none keeps the
/// interpreter from others while it waits for the lock.
pub(crate) struct Locked<F> {
    /// The same as the filter's, outside of the lock.
    hasher: KeyHasher,
    filter: RwLock<F>,
}

impl<F: Filter + Send + Sync> Locked<F> {
    pub(crate) fn new(filter: F) -> Self {
        Self { hasher: filter.hasher().clone(), filter: RwLock::new(filter) }
    }

    /// For threads that have the interpreter.
    #[inline]
    pub(crate) fn reader(&self) -> RwLockReadGuard<'_, F> {
        loop {
            match self.filter.try_read() {
                Ok(filter) => return filter,
                // A panic in another thread is not this one's: the library keeps its filters whole.
                Err(TryLockError::Poisoned(filter)) => return filter.into_inner(),
                Err(TryLockError::WouldBlock) => wait(|inside| drop(self.reader_inside(inside))),
            }
        }
    }

    /// For threads that have the interpreter.
    #[inline]
    pub(crate) fn writer(&self) -> RwLockWriteGuard<'_, F> {
        loop {
            match self.filter.try_write() {
                Ok(filter) => return filter,
                Err(TryLockError::Poisoned(filter)) => return filter.into_inner(),
                Err(TryLockError::WouldBlock) => wait(|inside| drop(self.writer_inside(inside))),
            }
        }
    }

    pub(crate) fn reader_inside<'a>(&'a self, _: &'a Inside) -> RwLockReadGuard<'a, F> {
        self.filter.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn writer_inside<'a>(&'a self, _: &'a Inside) -> RwLockWriteGuard<'a, F> {
        self.filter.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cold]
fn wait(work: impl FnOnce(&Inside) + Send) {
    Python::attach(|py| gate::detached(py, work));
}

impl<F: Filter + Persist + Send + Sync> Held for Locked<F> {
    type Filter = F;

    #[inline]
    fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    #[inline]
    fn read<T>(&self, ask: impl FnOnce(&F) -> T) -> T {
        ask(&self.reader())
    }

    fn read_inside<T>(&self, inside: &Inside, ask: impl FnOnce(&F) -> T) -> T {
        ask(&self.reader_inside(inside))
    }
}

impl<F: Bulk + Persist + Send + Sync> Set for Locked<F> {
    type Changed<'a>
        = F
    where
        F: 'a;

    #[inline]
    fn write<T>(&self, change: impl FnOnce(&mut F) -> T) -> T {
        change(&mut self.writer())
    }

    fn write_inside<T>(&self, inside: &Inside, change: impl FnOnce(&mut F) -> T) -> T {
        change(&mut self.writer_inside(inside))
    }
}

#[cfg(feature = "shared")]
impl Held for SharedFilter {
    type Filter = Self;

    #[inline]
    fn hasher(&self) -> &KeyHasher {
        self.hasher()
    }

    #[inline]
    fn read<T>(&self, ask: impl FnOnce(&Self) -> T) -> T {
        ask(self)
    }

    fn read_inside<T>(&self, _: &Inside, ask: impl FnOnce(&Self) -> T) -> T {
        ask(self)
    }
}

#[cfg(feature = "shared")]
impl Set for SharedFilter {
    type Changed<'a> = &'a Self;

    #[inline]
    fn write<T>(&self, change: impl FnOnce(&mut &Self) -> T) -> T {
        change(&mut &*self)
    }

    fn write_inside<T>(&self, _: &Inside, change: impl FnOnce(&mut &Self) -> T) -> T {
        change(&mut &*self)
    }
}

#[cfg(feature = "shared")]
impl Bulk for &SharedFilter {
    fn bulk(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        SharedFilter::insert_batch(self, hashes)
    }

    fn bulk_absent(&mut self, hashes: &[KeyHash], absent: &mut Vec<bool>) -> Result<(), Full> {
        SharedFilter::insert_absent_batch(self, hashes, absent)
    }

    fn insert_absent(&mut self, hash: KeyHash) -> Result<bool, Full> {
        self.insert_absent_hash(hash)
    }
}

/// The bytes of a filter, as in a file.
pub(crate) fn bytes(held: &impl Held, inside: &Inside) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    held.read_inside(inside, |filter| filter.write_to(&mut bytes)).map(|()| bytes)
}

pub(crate) fn add(set: &impl Set, key: &Bound<'_, PyAny>) -> PyResult<()> {
    let hash = key::hash(set.hasher(), key)?;
    set.write(|set| set.insert_hash(hash)).map_err(|full| errors::full(key.py(), full, 0))
}

pub(crate) fn discard(set: &impl Set, key: &Bound<'_, PyAny>) -> PyResult<bool> {
    let hash = key::hash(set.hasher(), key)?;
    Ok(set.write(|set| set.remove_hash(hash)))
}

pub(crate) fn count(set: &impl Set, key: &Bound<'_, PyAny>) -> PyResult<usize> {
    let hash = key::hash(set.hasher(), key)?;
    Ok(set.read(|set| set.count_hash(hash)))
}

pub(crate) fn contains(held: &impl Held, key: &Bound<'_, PyAny>) -> PyResult<bool> {
    let hash = key::hash(held.hasher(), key)?;
    Ok(held.read(|filter| filter.contains_hash(hash)))
}

/// Adds all keys of a list, an array, a column or an iterator.
pub(crate) fn update<S: Set>(set: &S, keys: &Bound<'_, PyAny>) -> PyResult<()> {
    let mut added = 0;
    Batch::each_of(keys, set.hasher(), |batch| {
        let outcome = keys.py().detach(|| {
            batch.pieces_of(S::Changed::AT_ONCE, set.hasher(), |hashes| {
                set.write_inside(&gate::enter(), |set| set.bulk(hashes))?;
                added += hashes.len();
                Ok(())
            })
        });
        outcome.map_err(|full| errors::full(keys.py(), full, added))
    })
}

/// Which of many keys may be in the set.
pub(crate) fn contains_many<'py>(
    set: &impl Set,
    keys: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    answer(set, keys, PIECE, |inside, hashes, found| {
        set.read_inside(inside, |set| set.contains_batch(hashes, found));
        Ok(())
    })
}

/// Adds those of many keys that are not in the set, and says which they were; the same for one key.
pub(crate) fn add_new<'py, S: Set>(
    set: &S,
    keys: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = keys.py();
    if key::is_one(keys) {
        let hash = key::hash(set.hasher(), keys)?;
        let absent = set.write(|set| set.insert_absent(hash));
        let absent = absent.map_err(|full| errors::full(py, full, 0))?;
        return Ok(pyo3::types::PyBool::new(py, absent).to_owned().into_any());
    }
    answer(set, keys, S::Changed::AT_ONCE, |inside, hashes, absent| {
        set.write_inside(inside, |set| set.bulk_absent(hashes, absent))
    })
}

/// Removes one occurrence of each of many keys, and says which there were.
pub(crate) fn discard_many<'py>(
    set: &impl Set,
    keys: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    answer(set, keys, PIECE, |inside, hashes, removed| {
        set.write_inside(inside, |set| set.remove_batch(hashes, removed));
        Ok(())
    })
}

fn answer<'py, S: Set>(
    set: &S,
    keys: &Bound<'py, PyAny>,
    at_once: usize,
    mut ask: impl FnMut(&Inside, &[KeyHash], &mut Vec<bool>) -> Result<(), Full> + Send,
) -> PyResult<Bound<'py, PyAny>> {
    let py = keys.py();
    let batch = Batch::of(keys, set.hasher())?;
    let mut all = Vec::with_capacity(batch.len());
    let outcome = py.detach(|| {
        let mut some = Vec::new();
        batch.pieces_of(at_once, set.hasher(), |hashes| {
            ask(&gate::enter(), hashes, &mut some)?;
            all.extend_from_slice(&some);
            Ok(())
        })
    });
    let added = || all.iter().filter(|&&answer| answer).count();
    outcome.map_err(|full| errors::full(py, full, added()))?;
    answers::array(py, &all)
}

/// The methods that every class has, and those of its own.
macro_rules! class {
    ($class:ident, $noun:literal, kind $kind:expr; $($own:tt)*) => {
        #[pymethods]
        impl $class {
            #[doc = concat!("The figures of the ", $noun, " as it is now.")]
            fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyDict>> {
                let stats = self.set.figures().to_dict(py)?;
                self.own_stats(&stats)?;
                Ok(stats)
            }

            #[doc = concat!(
                "The seed of the hash function; None if the ", $noun, " was made with a secret key."
            )]
            #[getter]
            fn seed(&self) -> Option<u64> {
                self.set.hasher().seed()
            }

            #[doc = concat!("The ", $noun, " as bytes, the same as those of a file.")]
            fn to_bytes<'py>(
                &self,
                py: Python<'py>,
            ) -> PyResult<Bound<'py, pyo3::types::PyBytes>> {
                let bytes = crate::gate::detached(py, |inside| crate::set::bytes(&self.set, inside));
                Ok(pyo3::types::PyBytes::new(py, &bytes?))
            }

            #[doc = concat!(
                "The ", $noun, " that some bytes hold; DecodeError if they are damaged or something else."
            )]
            #[staticmethod]
            #[pyo3(signature = (data, /))]
            fn from_bytes(
                py: Python<'_>,
                data: pyo3::pybacked::PyBackedBytes,
            ) -> PyResult<Self> {
                let (filter, note) = py.detach(|| crate::files::from_bytes(&data, $kind))?;
                Self::loaded(filter, note)
            }

            #[doc = concat!(
                "Saves the ", $noun, " to a file, which is replaced as a whole or not at all."
            )]
            #[pyo3(signature = (path, /))]
            fn save(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<()> {
                let note = self.note.as_ref();
                py.detach(|| {
                    crate::files::save(&path, note, |file| {
                        let write = |filter: &_| cuculus::Persist::write_to(filter, file);
                        self.set.read_inside(&crate::gate::enter(), write)
                    })
                })
            }

            #[doc = concat!(
                "Loads a ", $noun, " from a file of this class, the command-line tool or Rust."
            )]
            #[staticmethod]
            #[pyo3(signature = (path, /))]
            fn load(py: Python<'_>, path: std::path::PathBuf) -> PyResult<Self> {
                let (filter, note) = py.detach(|| crate::files::load(&path, $kind))?;
                Self::loaded(filter, note)
            }

            /// A copy that changes on its own.
            fn copy(&self, py: Python<'_>) -> PyResult<Self> {
                crate::gate::detached(py, |inside| self.duplicate(inside))
            }

            fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
                self.copy(py)
            }

            #[pyo3(signature = (memo, /))]
            fn __deepcopy__(&self, py: Python<'_>, memo: &Bound<'_, PyAny>) -> PyResult<Self> {
                let _ = memo;
                self.copy(py)
            }

            fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
                crate::set::contains(&self.set, key)
            }

            fn __len__(&self) -> usize {
                self.set.read(cuculus::Filter::len)
            }

            fn __bool__(&self) -> bool {
                self.__len__() > 0
            }

            fn __eq__(&self, py: Python<'_>, other: &Bound<'_, Self>) -> PyResult<bool> {
                let other = other.get();
                Ok(self.__len__() == other.__len__()
                    && crate::gate::detached(py, |inside| {
                        let ours = crate::set::bytes(&self.set, inside)?;
                        crate::set::bytes(&other.set, inside).map(|theirs| ours == theirs)
                    })?)
            }

            fn __sizeof__(&self) -> usize {
                // Beside the filter: the object's type and number of references.
                size_of::<pyo3::ffi::PyObject>() + self.set.figures().size_in_bytes
            }

            fn __reduce__<'py>(
                slf: &Bound<'py, Self>,
            ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, pyo3::types::PyBytes>,))> {
                let py = slf.py();
                Ok((slf.get_type().getattr("from_bytes")?, (slf.get().to_bytes(py)?,)))
            }

            $($own)*
        }
    };
}
pub(crate) use class;

/// The methods that every class of sets has, and those of its own.
macro_rules! set_class {
    ($class:ident, kind $kind:expr; $($own:tt)*) => { crate::set::class! { $class, "set", kind $kind;
        /// Adds a key. A key added twice is there until it is discarded twice.
        #[pyo3(signature = (key, /))]
        fn add(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
            crate::set::add(&self.set, key)
        }

        /// Removes one occurrence of a key and returns whether there was one.
        ///
        /// Only discard keys that were added: another one can look the same as a key that is
        /// still wanted.
        #[pyo3(signature = (key, /))]
        fn discard(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
            crate::set::discard(&self.set, key)
        }

        /// Removes one occurrence of a key; KeyError if there is none.
        #[pyo3(signature = (key, /))]
        fn remove(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
            match self.discard(key)? {
                true => Ok(()),
                false => Err(pyo3::exceptions::PyKeyError::new_err(key.clone().unbind())),
            }
        }

        /// How often a key was added: never too low, rarely too high.
        #[pyo3(signature = (key, /))]
        fn count(&self, key: &Bound<'_, PyAny>) -> PyResult<usize> {
            crate::set::count(&self.set, key)
        }

        /// Adds all keys of a list, an integer array, an Arrow column or any iterable.
        ///
        /// A key that is no key is refused before anything is added, except from an iterator,
        /// whose keys are added as they come.
        #[pyo3(signature = (keys, /))]
        fn update(&self, keys: &Bound<'_, PyAny>) -> PyResult<()> {
            crate::set::update(&self.set, keys)
        }

        /// Looks up many keys: a numpy array of bool, True for those that may be in the set.
        #[pyo3(signature = (keys, /))]
        fn contains_many<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
            crate::set::contains_many(&self.set, keys)
        }

        /// Adds the keys that are not in the set yet: a numpy array of bool, True for those.
        ///
        /// Of equal keys in one call the first is new. Given one str, bytes or int it returns
        /// one bool; of several threads with the same key exactly one gets True. For sets that
        /// only grow: of two keys that look the same the second is not stored, so discarding
        /// the first would lose both.
        #[pyo3(signature = (keys, /))]
        fn add_new<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
            crate::set::add_new(&self.set, keys)
        }

        /// Removes one occurrence of each key: a numpy array of bool, True where there was one.
        #[pyo3(signature = (keys, /))]
        fn discard_many<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
            crate::set::discard_many(&self.set, keys)
        }

        /// Removes all keys and keeps the parameters and the seed.
        fn clear(&self, py: Python<'_>) {
            crate::gate::detached(py, |inside| {
                self.set.write_inside(inside, |set| cuculus::Insert::clear(set));
            });
        }

        /// The false positive rate to expect now.
        #[getter]
        fn expected_false_positive_rate(&self) -> f64 {
            self.set.figures().expected_false_positive_rate
        }

        /// The memory held.
        #[getter]
        fn size_in_bytes(&self) -> usize {
            self.set.figures().size_in_bytes
        }

        $($own)*
    } };
}
pub(crate) use set_class;
