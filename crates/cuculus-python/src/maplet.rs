//! `cuculus_filter.Maplet`: a small value with each key.

use cuculus::{CuckooMaplet, Full, Kind, Note, ValueError};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::gate::{self, Inside};
use crate::set::{Held, Locked, class};
use crate::{errors, key};

/// A map that answers approximately in the memory of a filter: a value of a few bits for each key.
///
/// `get` returns the value that was stored with a key and, rarely, another key's beside it. For a key
/// that was not stored it nearly always returns an empty list.
///
/// >>> from cuculus_filter import Maplet
/// >>> shards = Maplet(1000, value_bits=8)
/// >>> shards.add("user:17", 3)
/// >>> 3 in shards.get("user:17")
/// True
/// >>> shards.discard("user:17", 3)
/// True
#[pyclass(frozen, module = "cuculus_filter")]
pub(crate) struct Maplet {
    set: Locked<CuckooMaplet>,
    note: Option<Note>,
}

impl Maplet {
    #[expect(clippy::unnecessary_wraps, reason = "as for the other classes")]
    fn loaded(maplet: CuckooMaplet, note: Option<Note>) -> PyResult<Self> {
        Ok(Self { set: Locked::new(maplet), note })
    }

    fn duplicate(&self, inside: &Inside) -> PyResult<Self> {
        Self::loaded(self.set.reader_inside(inside).clone(), self.note.clone())
    }

    fn own_stats(&self, stats: &Bound<'_, PyDict>) -> PyResult<()> {
        stats.set_item("capacity", self.capacity())?;
        stats.set_item("value_bits", self.value_bits())
    }

    fn hash(&self, key: &Bound<'_, PyAny>) -> PyResult<cuculus::KeyHash> {
        key::hash(self.set.hasher(), key)
    }
}

class! { Maplet, "maplet", kind Kind::Maplet;
    #[new]
    #[pyo3(signature = (capacity, false_positive_rate = 0.01, *, value_bits = 32, seed = None))]
    fn new(
        capacity: usize,
        false_positive_rate: f64,
        value_bits: u32,
        seed: Option<u64>,
    ) -> PyResult<Self> {
        let mut builder = CuckooMaplet::builder()
            .capacity(capacity)
            .false_positive_rate(false_positive_rate)
            .value_bits(value_bits);
        if let Some(seed) = seed {
            builder = builder.seed(seed);
        }
        Self::loaded(builder.build().map_err(|error| errors::build(&error))?, None)
    }

    /// Stores a value with a key. A key may have several, up to eight.
    #[pyo3(signature = (key, value, /))]
    fn add(&self, key: &Bound<'_, PyAny>, value: u64) -> PyResult<()> {
        let hash = self.hash(key)?;
        let stored = self.set.writer().insert_hash(hash, value);
        stored.map_err(|error| match error {
            ValueError::Full(full) => {
                errors::full(key.py(), Full::new(full.cause, full.len, full.slots), 0)
            }
            error => PyValueError::new_err(error.to_string()),
        })
    }

    /// The values that may belong to a key: all that were stored with it and, rarely, others.
    #[pyo3(signature = (key, /))]
    fn get(&self, key: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
        let hash = self.hash(key)?;
        Ok(self.set.reader().values_hash(hash).collect())
    }

    /// Removes a value from a key and returns whether it was there. Only discard what was added.
    #[pyo3(signature = (key, value, /))]
    fn discard(&self, key: &Bound<'_, PyAny>, value: u64) -> PyResult<bool> {
        let hash = self.hash(key)?;
        Ok(self.set.writer().remove_hash(hash, value))
    }

    /// Removes a value from a key; KeyError if it is not there.
    #[pyo3(signature = (key, value, /))]
    fn remove(&self, key: &Bound<'_, PyAny>, value: u64) -> PyResult<()> {
        match self.discard(key, value)? {
            true => Ok(()),
            false => Err(PyKeyError::new_err((key.clone().unbind(), value))),
        }
    }

    /// Removes everything and keeps the parameters and the seed.
    fn clear(&self, py: Python<'_>) {
        gate::detached(py, |inside| self.set.writer_inside(inside).clear());
    }

    /// The number of keys that the maplet was made for.
    #[getter]
    fn capacity(&self) -> usize {
        self.set.reader().capacity()
    }

    /// The length of a value.
    #[getter]
    fn value_bits(&self) -> u32 {
        self.set.reader().value_bits()
    }

    fn __repr__(&self) -> String {
        let (words, bits) = (self.set.figures().in_words(), self.value_bits());
        format!(
            "<cuculus_filter.Maplet: {words}, for {} keys with values of {bits} bits>",
            self.capacity()
        )
    }
}
