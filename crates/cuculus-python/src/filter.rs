//! `cuculus.Filter`: the shared filter, so that threads need no lock of their own.

use cuculus::{ElasticFilter, Kind, Note, SharedFilter};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;
use crate::set::{Set, set_class};

/// Enough that threads of one interpreter seldom meet in a part, and few enough that a small set is small.
const PARTS: usize = 16;

/// A set in a few bits per key that grows and shrinks, deletes and keeps its false positive rate.
///
/// A key that was added is always found. A key that was not is reported as present with a small
/// probability, at most `false_positive_rate`. Keys are str, bytes and int.
///
/// `expected_items` is a hint: up to that number of keys the set needs less memory. Sets with the same
/// `seed` can be merged; without one it is random.
///
/// >>> from cuculus import Filter
/// >>> seen = Filter(0.001)
/// >>> seen.add("https://example.org/")
/// >>> "https://example.org/" in seen
/// True
/// >>> seen.add_new(["https://example.org/", "https://example.com/"])
/// array([False,  True])
/// >>> seen.discard("https://example.org/")
/// True
/// >>> len(seen)
/// 1
#[pyclass(frozen, module = "cuculus")]
pub(crate) struct Filter {
    set: SharedFilter,
    /// What the program that saved the file wrote after it; saved again with it.
    note: Option<Note>,
}

impl Filter {
    fn loaded(filter: ElasticFilter, note: Option<Note>) -> PyResult<Self> {
        let set =
            SharedFilter::from_filter(filter, PARTS).map_err(|error| errors::build(&error))?;
        Ok(Self { set, note })
    }

    fn duplicate(&self) -> PyResult<Self> {
        Self::loaded(self.set.snapshot(), self.note.clone())
    }

    fn own_stats(&self, stats: &Bound<'_, PyDict>) -> PyResult<()> {
        stats.set_item("false_positive_rate", self.false_positive_rate())
    }
}

set_class! { Filter, kind Kind::Elastic;
    #[new]
    #[pyo3(signature = (false_positive_rate = 0.01, *, expected_items = None, seed = None))]
    fn new(
        false_positive_rate: f64,
        expected_items: Option<usize>,
        seed: Option<u64>,
    ) -> PyResult<Self> {
        let mut builder = SharedFilter::builder().parts(PARTS).false_positive_rate(false_positive_rate);
        if let Some(items) = expected_items {
            builder = builder.expected_items(items);
        }
        if let Some(seed) = seed {
            builder = builder.seed(seed);
        }
        let set = builder.build().map_err(|error| errors::build(&error))?;
        Ok(Self { set, note: None })
    }

    /// The rate that the set keeps at any size.
    #[getter]
    fn false_positive_rate(&self) -> f64 {
        self.set.false_positive_rate()
    }

    /// Adds all keys of another set with the same seed: all of them, or none and an error.
    #[pyo3(signature = (other, /))]
    fn merge(&self, py: Python<'_>, other: &Bound<'_, Self>) -> PyResult<()> {
        let other = other.get();
        let merged = py.detach(|| self.set.merge(&other.set.snapshot()));
        merged.map_err(|error| errors::merge(py, error))
    }

    fn __ior__(&self, py: Python<'_>, other: &Bound<'_, Self>) -> PyResult<()> {
        self.merge(py, other)
    }

    fn __repr__(&self) -> String {
        let words = self.set.figures().in_words();
        format!("<cuculus.Filter: {words}, false positive rate at most {}>", self.false_positive_rate())
    }
}
