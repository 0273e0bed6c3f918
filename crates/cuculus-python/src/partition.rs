//! The parts of a set that is spread over a cluster, for `cuculus_filter.cluster`. Knows the library's partition;
//! knows nothing of servers.

use cuculus::KeyHasher;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::{batch, errors, key};

/// The division of a set on a cluster into parts.
#[pyclass(frozen, module = "cuculus_filter._cuculus")]
pub(crate) struct Partition {
    partition: cuculus::Partition,
    hasher: KeyHasher,
}

#[pymethods]
impl Partition {
    #[new]
    #[pyo3(signature = (bits, seed, /))]
    fn new(bits: u32, seed: u64) -> PyResult<Self> {
        let partition = cuculus::Partition::new(bits).map_err(|error| errors::build(&error))?;
        Ok(Self { partition, hasher: KeyHasher::xxh3(seed) })
    }

    /// The hash tags of all parts.
    fn tags(&self) -> Vec<String> {
        self.partition.tags()
    }

    /// The bytes of keys, and the part of each.
    #[pyo3(signature = (keys, /))]
    fn split<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyList>, Vec<usize>)> {
        let items = PyList::empty(keys.py());
        let mut parts = Vec::new();
        for key in batch::iterate(keys)? {
            let bytes: Bound<'_, PyBytes> = key::bytes(&key?)?;
            parts.push(self.partition.part(self.hasher.hash(bytes.as_bytes())));
            items.append(bytes)?;
        }
        Ok((items, parts))
    }
}
