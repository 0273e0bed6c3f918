//! What a Python object is as a key. Knows `str`, `bytes` and `int`; knows nothing of filters.
//!
//! The hash is the library's, with the seed of the filter, never Python's own: files and pickles are read
//! by other processes.

use cuculus::{KeyHash, KeyHasher};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyString};

/// The hash of a key: a str is its UTF-8, bytes are themselves, an int is its 64 bits.
#[inline]
pub(crate) fn hash(hasher: &KeyHasher, key: &Bound<'_, PyAny>) -> PyResult<KeyHash> {
    if let Ok(text) = key.cast::<PyString>() {
        Ok(hasher.hash(text.to_str()?))
    } else if let Ok(bytes) = key.cast::<PyBytes>() {
        Ok(hasher.hash(bytes.as_bytes()))
    } else {
        Ok(hasher.hash(&integer(key)?))
    }
}

/// The bytes of a key, as a server gets them.
pub(crate) fn bytes<'py>(key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    if let Ok(text) = key.cast::<PyString>() {
        Ok(PyBytes::new(key.py(), text.to_str()?.as_bytes()))
    } else if let Ok(bytes) = key.cast::<PyBytes>() {
        Ok(bytes.clone())
    } else {
        Ok(PyBytes::new(key.py(), &integer(key)?.to_le_bytes()))
    }
}

/// Whether an object is one key, and not a list of them.
pub(crate) fn is_one(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyBytes>()
        || object.is_instance_of::<PyInt>()
}

/// An integer in 64 bits of two's complement: −1 is 2^64 − 1.
fn integer(key: &Bound<'_, PyAny>) -> PyResult<u64> {
    // What numpy's arrays yield are no `int`, but say which one they are.
    let Ok(number) = index(key) else {
        let kind = key.get_type().name()?;
        return Err(PyTypeError::new_err(format!("keys are str, bytes or int, not {kind}")));
    };
    if let Ok(number) = number.extract::<u64>() {
        return Ok(number);
    }
    number
        .extract::<i64>()
        .map(|number| number as u64)
        .map_err(|_| PyValueError::new_err("an int that is a key must be from -2**63 to 2**64 - 1"))
}

#[allow(unsafe_code, reason = "PyO3 has no safe call for __index__")]
fn index<'py>(key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if key.is_instance_of::<PyInt>() {
        return Ok(key.clone());
    }
    // SAFETY: `key` is a live object and the interpreter is attached; the result is a new reference or
    // null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(key.py(), ffi::PyNumber_Index(key.as_ptr())) }
}
