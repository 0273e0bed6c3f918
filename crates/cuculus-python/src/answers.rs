//! Many answers for Python: a numpy array of bool. Knows nothing of filters.

use pyo3::prelude::*;
use pyo3::types::PyByteArray;

/// A numpy array with these elements, which may be written to.
pub(crate) fn array<'py>(py: Python<'py>, answers: &[bool]) -> PyResult<Bound<'py, PyAny>> {
    let numpy = py.import("numpy")?;
    let bytes = PyByteArray::new_with(py, answers.len(), |bytes| {
        for (byte, &answer) in bytes.iter_mut().zip(answers) {
            *byte = u8::from(answer);
        }
        Ok(())
    })?;
    if answers.is_empty() {
        // numpy makes no array of an empty buffer.
        return numpy.call_method1("empty", (0, "bool"));
    }
    numpy.call_method1("frombuffer", (bytes, "bool"))
}
