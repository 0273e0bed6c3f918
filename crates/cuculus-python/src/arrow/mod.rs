//! Columns by the Arrow PyCapsule interface: Polars, PyArrow, pandas, DuckDB. Knows how a column comes from
//! Python; its structures are in `interface`, its elements in `layout`.

mod interface; // the structures of C, owned
mod layout; // where the elements are

use std::ops::Range;

use cuculus::{KeyHash, KeyHasher};
use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use interface::{Array, Owned, Schema, Stream};
use layout::{Chunk, Layout};

/// A column of keys, in pieces as the producer made them.
pub(crate) struct Column {
    chunks: Vec<Chunk>,
    len: usize,
}

impl Column {
    /// The column, or `None` if the object offers none.
    pub(crate) fn of(object: &Bound<'_, PyAny>, hasher: &KeyHasher) -> PyResult<Option<Self>> {
        if object.hasattr("__arrow_c_stream__")? {
            let stream = Owned::<Stream>::of(&object.call_method0("__arrow_c_stream__")?)?;
            // Whoever makes the pieces may wait for threads that need the interpreter.
            let read = object.py().detach(|| stream.read());
            let (schema, arrays) = read.map_err(PyOSError::new_err)?;
            Self::new(&schema, arrays, hasher).map(Some)
        } else if object.hasattr("__arrow_c_array__")? {
            let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
                object.call_method0("__arrow_c_array__")?.extract()?;
            let (schema, array) = (Owned::<Schema>::of(&schema)?, Owned::<Array>::of(&array)?);
            Self::new(&schema, vec![array], hasher).map(Some)
        } else {
            Ok(None)
        }
    }

    fn new(
        schema: &Owned<Schema>,
        arrays: Vec<Owned<Array>>,
        hasher: &KeyHasher,
    ) -> PyResult<Self> {
        let layout = Layout::of(schema).map_err(PyTypeError::new_err)?;
        let chunks = arrays.into_iter().map(|array| Chunk::new(array, &layout, hasher));
        let chunks = chunks.collect::<Result<Vec<_>, _>>().map_err(PyValueError::new_err)?;
        let nulls: usize = chunks.iter().map(Chunk::nulls).sum();
        if nulls > 0 {
            return Err(PyValueError::new_err(format!(
                "the column has {nulls} nulls, which are no keys; drop or fill them first"
            )));
        }
        let len = chunks.iter().map(Chunk::len).sum();
        Ok(Self { chunks, len })
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Appends the hashes of some of the elements.
    pub(crate) fn hash(
        &self,
        mut range: Range<usize>,
        hasher: &KeyHasher,
        hashes: &mut Vec<KeyHash>,
    ) {
        for chunk in &self.chunks {
            let here = range.start.min(chunk.len())..range.end.min(chunk.len());
            if !here.is_empty() {
                chunk.hash(here, hasher, hashes);
            }
            range = range.start.saturating_sub(chunk.len())..range.end.saturating_sub(chunk.len());
            if range.is_empty() {
                return;
            }
        }
    }
}
