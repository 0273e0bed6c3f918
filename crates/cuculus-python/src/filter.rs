//! `cuculus_filter.Filter`: the elastic filter.
//!
//! With a global lock the interpreter runs one thread at a time, and an elastic filter behind a lock of its own
//! is the fastest: only batches run beside other calls, and they take many keys under the lock at once. For
//! interpreters without one, the feature `shared` puts the shared filter here, whose threads do not wait
//! for each other.

use cuculus::{ElasticFilter, Kind, MergeError, Note};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;
use crate::gate::{self, Inside};
use crate::set::{Held, Set, set_class};

#[cfg(not(feature = "shared"))]
type Inner = crate::set::Locked<ElasticFilter>;
#[cfg(feature = "shared")]
type Inner = cuculus::SharedFilter;

#[cfg(not(feature = "shared"))]
mod inner {
    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "as for the shared filter")]
    pub(super) fn new(filter: ElasticFilter) -> PyResult<Inner> {
        Ok(Inner::new(filter))
    }

    pub(super) fn snapshot(inside: &Inside, set: &Inner) -> ElasticFilter {
        set.reader_inside(inside).clone()
    }

    pub(super) fn rate(set: &Inner) -> f64 {
        set.reader().false_positive_rate()
    }

    /// Takes a copy of the other: sets that are merged into each other would wait for each other's locks.
    pub(super) fn merge(inside: &Inside, set: &Inner, other: &Inner) -> Result<(), MergeError> {
        let other = snapshot(inside, other);
        set.writer_inside(inside).merge(&other)
    }
}

#[cfg(feature = "shared")]
mod inner {
    use super::*;

    /// Enough that threads seldom meet in a part, and few enough that a small set is small.
    const PARTS: usize = 16;

    pub(super) fn new(filter: ElasticFilter) -> PyResult<Inner> {
        Inner::from_filter(filter, PARTS).map_err(|error| errors::build(&error))
    }

    pub(super) fn snapshot(_: &Inside, set: &Inner) -> ElasticFilter {
        set.snapshot()
    }

    pub(super) fn rate(set: &Inner) -> f64 {
        set.false_positive_rate()
    }

    pub(super) fn merge(_: &Inside, set: &Inner, other: &Inner) -> Result<(), MergeError> {
        set.merge(&other.snapshot())
    }
}

/// A set in a few bits per key that grows and shrinks, deletes and keeps its false positive rate.
///
/// A key that was added is always found. A key that was not is reported as present with a small
/// probability, at most `false_positive_rate`. Keys are str, bytes and int.
///
/// `expected_items` is a hint: up to that number of keys the set needs less memory. Sets with the same
/// `seed` can be merged; without one it is random.
///
/// >>> from cuculus_filter import Filter
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
#[pyclass(frozen, module = "cuculus_filter")]
pub(crate) struct Filter {
    set: Inner,
    /// What the program that saved the file wrote after it; saved again with it.
    note: Option<Note>,
}

impl Filter {
    fn loaded(filter: ElasticFilter, note: Option<Note>) -> PyResult<Self> {
        Ok(Self { set: inner::new(filter)?, note })
    }

    fn duplicate(&self, inside: &Inside) -> PyResult<Self> {
        Self::loaded(inner::snapshot(inside, &self.set), self.note.clone())
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
        let mut builder = ElasticFilter::builder().false_positive_rate(false_positive_rate);
        if let Some(items) = expected_items {
            builder = builder.expected_items(items);
        }
        if let Some(seed) = seed {
            builder = builder.seed(seed);
        }
        Self::loaded(builder.build().map_err(|error| errors::build(&error))?, None)
    }

    /// The rate that the set keeps at any size.
    #[getter]
    fn false_positive_rate(&self) -> f64 {
        inner::rate(&self.set)
    }

    /// Adds all keys of another set with the same seed: all of them, or none and an error.
    #[pyo3(signature = (other, /))]
    fn merge(&self, py: Python<'_>, other: &Bound<'_, Self>) -> PyResult<()> {
        let other = other.get();
        let merged = gate::detached(py, |inside| inner::merge(inside, &self.set, &other.set));
        merged.map_err(|error| errors::merge(py, error))
    }

    fn __ior__(&self, py: Python<'_>, other: &Bound<'_, Self>) -> PyResult<()> {
        self.merge(py, other)
    }

    fn __repr__(&self) -> String {
        let words = self.set.figures().in_words();
        format!("<cuculus_filter.Filter: {words}, false positive rate at most {}>", self.false_positive_rate())
    }
}
