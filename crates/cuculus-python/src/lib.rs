//! The Python package `cuculus_filter`: the library's filters as Python's sets. Knows Python's objects, arrays
//! and columns; everything about filters is in the library.
#![allow(
    clippy::needless_pass_by_value,
    reason = "PyO3 hands over the paths and bytes it converted"
)]

mod key; // a Python object → 64 bits

mod integers; // arrays of integers, by the buffer protocol

mod arrow; // columns, by the Arrow C data interface

mod batch; // many keys, whatever they are in

mod answers; // many answers, as a numpy array

mod gate; // keeps fork out of what works without the interpreter

mod errors; // the library's errors as Python's
mod files; // saved and loaded
mod set; // what the classes have in common

mod filter; // class Filter
mod fixed; // class FixedFilter
mod maplet; // class Maplet
mod partition; // the parts of a set on a cluster

use pyo3::prelude::*;

/// Compiled part of the package; import from `cuculus_filter`.
#[pymodule(gil_used = false)]
fn _cuculus(module: &Bound<'_, PyModule>) -> PyResult<()> {
    gate::install()?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("FullError", module.py().get_type::<errors::FullError>())?;
    module.add("DecodeError", module.py().get_type::<errors::DecodeError>())?;
    module.add_class::<filter::Filter>()?;
    module.add_class::<fixed::FixedFilter>()?;
    module.add_class::<maplet::Maplet>()?;
    module.add_class::<partition::Partition>()
}
