//! The library's errors as Python's: one exception class for what Python has no word for.

use cuculus::{BuildError, Full, FullCause, MergeError};
use pyo3::exceptions::{PyException, PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::{create_exception, intern};

create_exception!(
    cuculus_filter,
    FullError,
    PyException,
    "A key was refused because there is no room for it.\n\nThe attribute `added` is the number of keys of \
     the call that were added before it; they stay."
);
create_exception!(
    cuculus_filter,
    DecodeError,
    PyValueError,
    "Bytes are no saved filter of this class, or they are damaged."
);

/// A key was refused after others of the same call.
pub(crate) fn full(py: Python<'_>, full: Full, before: usize) -> PyErr {
    if full.cause == FullCause::OutOfMemory {
        return PyMemoryError::new_err(full.to_string());
    }
    let error = FullError::new_err(full.to_string());
    let added = before + full.inserted;
    match error.value(py).setattr(intern!(py, "added"), added) {
        Ok(()) => error,
        Err(failed) => failed,
    }
}

pub(crate) fn build(error: &BuildError) -> PyErr {
    match error {
        BuildError::OutOfMemory { .. } => PyMemoryError::new_err(error.to_string()),
        BuildError::NoRandomSeed => {
            PyOSError::new_err("the system gave no random seed; give one, as in seed=7")
        }
        _ => PyValueError::new_err(error.to_string()),
    }
}

pub(crate) fn decode(error: cuculus::DecodeError) -> PyErr {
    match error {
        cuculus::DecodeError::OutOfMemory { .. } => PyMemoryError::new_err(error.to_string()),
        cuculus::DecodeError::Io(error) => error.into(),
        cuculus::DecodeError::SetInParts => DecodeError::new_err(
            "a set in parts, not one filter; put it into a server with `cuculus cluster import`, and \
             open it with cuculus_filter.cluster.PartitionedFilter",
        ),
        _ => DecodeError::new_err(error.to_string()),
    }
}

pub(crate) fn merge(py: Python<'_>, error: MergeError) -> PyErr {
    match error {
        // Nothing was added: a merge is all or nothing.
        MergeError::Full(refused) => {
            full(py, Full::new(refused.cause, refused.len, refused.slots), 0)
        }
        MergeError::OtherHash => PyValueError::new_err(
            "the filters have different hash functions or seeds; make both with the same seed, as in \
             Filter(seed=7)",
        ),
        _ => PyValueError::new_err(error.to_string()),
    }
}
