//! `cuculus_filter.Maplet`: a small value with each key.

use std::path::PathBuf;

use cuculus::{CuckooMaplet, Filter as _, Full, Kind, Note, Persist, ValueError};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};

use crate::gate::{self, Inside};
use crate::set::{Figures, Locked};
use crate::{errors, files, key};

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
    maplet: Locked<CuckooMaplet>,
    note: Option<Note>,
}

impl Maplet {
    fn loaded((maplet, note): (CuckooMaplet, Option<Note>)) -> Self {
        Self { maplet: Locked::new(maplet), note }
    }

    fn bytes(&self, inside: &Inside) -> Vec<u8> {
        self.maplet.read_inside(inside).to_bytes()
    }

    fn hash(&self, key: &Bound<'_, PyAny>) -> PyResult<cuculus::KeyHash> {
        key::hash(self.maplet.hasher(), key)
    }
}

#[pymethods]
impl Maplet {
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
        Ok(Self::loaded((builder.build().map_err(|error| errors::build(&error))?, None)))
    }

    /// Stores a value with a key. A key may have several, up to eight.
    #[pyo3(signature = (key, value, /))]
    fn add(&self, key: &Bound<'_, PyAny>, value: u64) -> PyResult<()> {
        let hash = self.hash(key)?;
        let stored = self.maplet.write().insert_hash(hash, value);
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
        Ok(self.maplet.read().values_hash(hash).collect())
    }

    /// Removes a value from a key and returns whether it was there. Only discard what was added.
    #[pyo3(signature = (key, value, /))]
    fn discard(&self, key: &Bound<'_, PyAny>, value: u64) -> PyResult<bool> {
        let hash = self.hash(key)?;
        Ok(self.maplet.write().remove_hash(hash, value))
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
        gate::detached(py, |inside| self.maplet.write_inside(inside).clear());
    }

    /// The number of keys that the maplet was made for.
    #[getter]
    fn capacity(&self) -> usize {
        self.maplet.read().capacity()
    }

    /// The length of a value.
    #[getter]
    fn value_bits(&self) -> u32 {
        self.maplet.read().value_bits()
    }

    /// The seed of the hash function; None if the maplet was made with a secret key.
    #[getter]
    fn seed(&self) -> Option<u64> {
        self.maplet.hasher().seed()
    }

    /// The figures of the maplet as it is now.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let figures = Figures::of(&*self.maplet.read());
        let stats = figures.to_dict(py)?;
        stats.set_item("capacity", self.capacity())?;
        stats.set_item("value_bits", self.value_bits())?;
        Ok(stats)
    }

    /// The maplet as bytes, the same as those of a file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &gate::detached(py, |inside| self.bytes(inside)))
    }

    /// The maplet that some bytes hold; DecodeError if they are damaged or something else.
    #[staticmethod]
    #[pyo3(signature = (data, /))]
    fn from_bytes(py: Python<'_>, data: PyBackedBytes) -> PyResult<Self> {
        Ok(Self::loaded(py.detach(|| files::from_bytes(&data, Kind::Maplet))?))
    }

    /// Saves the maplet to a file, which is replaced as a whole or not at all.
    #[pyo3(signature = (path, /))]
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let note = self.note.as_ref();
        py.detach(|| {
            files::save(&path, note, |file| self.maplet.read_inside(&gate::enter()).write_to(file))
        })
    }

    /// Loads a maplet from a file.
    #[staticmethod]
    #[pyo3(signature = (path, /))]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(Self::loaded(py.detach(|| files::load(&path, Kind::Maplet))?))
    }

    /// A copy that changes on its own.
    fn copy(&self, py: Python<'_>) -> Self {
        gate::detached(py, |inside| {
            Self::loaded((self.maplet.read_inside(inside).clone(), self.note.clone()))
        })
    }

    fn __copy__(&self, py: Python<'_>) -> Self {
        self.copy(py)
    }

    #[pyo3(signature = (memo, /))]
    fn __deepcopy__(&self, py: Python<'_>, memo: &Bound<'_, PyAny>) -> Self {
        let _ = memo;
        self.copy(py)
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let hash = self.hash(key)?;
        Ok(self.maplet.read().contains_hash(hash))
    }

    fn __len__(&self) -> usize {
        self.maplet.read().len()
    }

    fn __bool__(&self) -> bool {
        !self.maplet.read().is_empty()
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, Self>) -> bool {
        let other = other.get();
        gate::detached(py, |inside| self.bytes(inside) == other.bytes(inside))
    }

    fn __sizeof__(&self) -> usize {
        size_of::<pyo3::ffi::PyObject>() + self.maplet.read().size_in_bytes()
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((slf.get_type().getattr("from_bytes")?, (slf.get().to_bytes(slf.py()),)))
    }

    fn __repr__(&self) -> String {
        let (words, bits) = (Figures::of(&*self.maplet.read()).in_words(), self.value_bits());
        format!(
            "<cuculus_filter.Maplet: {words}, for {} keys with values of {bits} bits>",
            self.capacity()
        )
    }
}
