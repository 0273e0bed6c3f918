//! `cuculus_filter.Maplet`: a small value with each key.

use std::path::PathBuf;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use cuculus::{CuckooMaplet, Filter as _, Full, Kind, Note, Persist, ValueError};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};

use crate::set::Figures;
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
    maplet: RwLock<CuckooMaplet>,
    note: Option<Note>,
}

impl Maplet {
    fn loaded((maplet, note): (CuckooMaplet, Option<Note>)) -> Self {
        Self { maplet: RwLock::new(maplet), note }
    }

    fn read(&self) -> RwLockReadGuard<'_, CuckooMaplet> {
        self.maplet.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, CuckooMaplet> {
        self.maplet.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn hash(&self, key: &Bound<'_, PyAny>) -> PyResult<cuculus::KeyHash> {
        // Reading a key can run Python code, which may use this maplet.
        let hasher = self.read().hasher().clone();
        key::hash(&hasher, key)
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
        let stored = self.write().insert_hash(hash, value);
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
        Ok(self.read().values_hash(hash).collect())
    }

    /// Removes a value from a key and returns whether it was there. Only discard what was added.
    #[pyo3(signature = (key, value, /))]
    fn discard(&self, key: &Bound<'_, PyAny>, value: u64) -> PyResult<bool> {
        let hash = self.hash(key)?;
        Ok(self.write().remove_hash(hash, value))
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
    fn clear(&self) {
        self.write().clear();
    }

    /// The number of keys that the maplet was made for.
    #[getter]
    fn capacity(&self) -> usize {
        self.read().capacity()
    }

    /// The length of a value.
    #[getter]
    fn value_bits(&self) -> u32 {
        self.read().value_bits()
    }

    /// The seed of the hash function; None if the maplet was made with a secret key.
    #[getter]
    fn seed(&self) -> Option<u64> {
        self.read().hasher().seed()
    }

    /// The figures of the maplet as it is now.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = Figures::of(&*self.read()).to_dict(py)?;
        stats.set_item("capacity", self.capacity())?;
        stats.set_item("value_bits", self.value_bits())?;
        Ok(stats)
    }

    /// The maplet as bytes, the same as those of a file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let bytes = py.detach(|| self.read().to_bytes());
        PyBytes::new(py, &bytes)
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
        py.detach(|| files::save(&path, note, |file| self.read().write_to(file)))
    }

    /// Loads a maplet from a file.
    #[staticmethod]
    #[pyo3(signature = (path, /))]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(Self::loaded(py.detach(|| files::load(&path, Kind::Maplet))?))
    }

    /// A copy that changes on its own.
    fn copy(&self, py: Python<'_>) -> Self {
        py.detach(|| Self::loaded((self.read().clone(), self.note.clone())))
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
        Ok(self.read().contains_hash(hash))
    }

    fn __len__(&self) -> usize {
        self.read().len()
    }

    fn __bool__(&self) -> bool {
        !self.read().is_empty()
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, Self>) -> bool {
        let other = other.get();
        py.detach(|| {
            let ours = self.read().to_bytes();
            ours == other.read().to_bytes()
        })
    }

    fn __sizeof__(&self) -> usize {
        size_of::<pyo3::ffi::PyObject>() + self.read().size_in_bytes()
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((slf.get_type().getattr("from_bytes")?, (slf.get().to_bytes(slf.py()),)))
    }

    fn __repr__(&self) -> String {
        let (words, bits) = (Figures::of(&*self.read()).in_words(), self.value_bits());
        format!(
            "<cuculus_filter.Maplet: {words}, for {} keys with values of {bits} bits>",
            self.capacity()
        )
    }
}
