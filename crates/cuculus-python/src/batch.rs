//! Many keys at a time, whatever they come in: arrays, columns, lists, iterators. Knows nothing of filters.

use cuculus::{KeyHash, KeyHasher};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList, PyTuple};

use crate::arrow::Column;
use crate::integers::Integers;
use crate::key;

/// Keys that are hashed at a time: their hashes stay in the processor's first cache.
pub(crate) const PIECE: usize = 1 << 12;
/// Keys that are taken from an iterator at a time.
const TAKEN: usize = 1 << 16;

/// Keys that can be read without the interpreter. All of them can be hashed: what cannot was refused.
pub(crate) enum Batch {
    Integers(Integers),
    Column(Column),
    Hashed(Vec<KeyHash>),
}

impl Batch {
    /// All keys of an object.
    pub(crate) fn of(object: &Bound<'_, PyAny>, hasher: &KeyHasher) -> PyResult<Self> {
        if let Some(batch) = Self::in_place(object, hasher)? {
            return Ok(batch);
        }
        let mut hashes = Vec::new();
        if let Ok(list) = object.cast::<PyList>() {
            hashes.reserve(list.len());
            list.iter().try_for_each(|key| hash(hasher, &key, &mut hashes))?;
        } else if let Ok(tuple) = object.cast::<PyTuple>() {
            hashes.reserve(tuple.len());
            tuple.iter().try_for_each(|key| hash(hasher, &key, &mut hashes))?;
        } else {
            iterate(object)?.try_for_each(|key| hash(hasher, &key?, &mut hashes))?;
        }
        Ok(Self::Hashed(hashes))
    }

    /// Visits all keys of an object: at once, or those of an iterator in turn, which need not fit into
    /// memory together.
    pub(crate) fn each_of(
        object: &Bound<'_, PyAny>,
        hasher: &KeyHasher,
        mut visit: impl FnMut(Self) -> PyResult<()>,
    ) -> PyResult<()> {
        // A reader of Arrow batches is an iterator too, though not of keys.
        let is_iterator = object.hasattr("__next__")? && !object.hasattr("__arrow_c_stream__")?;
        if !is_iterator {
            return visit(Self::of(object, hasher)?);
        }
        let mut keys = iterate(object)?;
        loop {
            let mut hashes = Vec::new();
            for key in keys.by_ref().take(TAKEN) {
                hash(hasher, &key?, &mut hashes)?;
            }
            if hashes.is_empty() {
                return Ok(());
            }
            visit(Self::Hashed(hashes))?;
        }
    }

    /// The keys of an array or a column, or `None` if the object has to be iterated over.
    fn in_place(object: &Bound<'_, PyAny>, hasher: &KeyHasher) -> PyResult<Option<Self>> {
        if key::is_one(object) {
            let kind = object.get_type().name()?;
            return Err(PyTypeError::new_err(format!("expected a list of keys, got one {kind}")));
        }
        // The usual case; a list has none of the interfaces.
        if object.is_exact_instance_of::<PyList>() {
            return Ok(None);
        }
        if let Some(integers) = Integers::of(object)? {
            return Ok(Some(Self::Integers(integers)));
        }
        if let Some(column) = Column::of(object, hasher)? {
            return Ok(Some(Self::Column(column)));
        }
        // A column of pandas without Arrow: ask for its array.
        if object.hasattr("__array__")? && object.hasattr("iloc")? {
            let array = object.call_method0("__array__")?;
            return Ok(Integers::of(&array)?.map(Self::Integers));
        }
        Ok(None)
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Integers(integers) => integers.len(),
            Self::Column(column) => column.len(),
            Self::Hashed(hashes) => hashes.len(),
        }
    }

    /// Visits the hashes of all keys, some at a time.
    pub(crate) fn pieces_of<E>(
        &self,
        size: usize,
        hasher: &KeyHasher,
        mut visit: impl FnMut(&[KeyHash]) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Self::Hashed(hashes) = self {
            return hashes.chunks(size).try_for_each(visit);
        }
        let mut hashes = Vec::with_capacity(size.min(self.len()));
        let mut start = 0;
        while start < self.len() {
            let range = start..self.len().min(start + size);
            start = range.end;
            hashes.clear();
            match self {
                Self::Integers(integers) => integers.hash(range, hasher, &mut hashes),
                Self::Column(column) => column.hash(range, hasher, &mut hashes),
                Self::Hashed(_) => {}
            }
            visit(&hashes)?;
        }
        Ok(())
    }
}

/// The keys of an object, one by one; what has none is refused in our words.
pub(crate) fn iterate<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyIterator>> {
    if object.hasattr("__iter__")? {
        return object.try_iter();
    }
    let kind = object.get_type().name()?;
    if object.hasattr("collect")? {
        // A query of Polars; its `__getitem__` is not for elements.
        return Err(PyTypeError::new_err(format!(
            "a {kind} has no keys until it is run; give its result, {kind}.collect()"
        )));
    }
    if object.hasattr("__getitem__")? {
        return object.try_iter();
    }
    Err(PyTypeError::new_err(format!(
        "expected a list, an array, a column or another iterable of keys, got {kind}"
    )))
}

fn hash(hasher: &KeyHasher, key: &Bound<'_, PyAny>, hashes: &mut Vec<KeyHash>) -> PyResult<()> {
    hashes.push(key::hash(hasher, key)?);
    Ok(())
}
