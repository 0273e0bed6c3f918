//! `cuculus_filter.FixedFilter`: the filter of fixed size.

use cuculus::{CuckooFilter, Kind, Note};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;
use crate::gate::Inside;
use crate::set::{Held, Locked, Set, set_class};

/// A set of fixed size: for a known number of keys, a little smaller and faster than Filter.
///
/// FullError if a key does not fit. A key can be added eight times at most. `semi_sorted` saves a bit per
/// key and is slower.
///
/// >>> from cuculus_filter import FixedFilter
/// >>> known = FixedFilter(1000, 0.001)
/// >>> known.update(range(1000))
/// >>> known.contains_many([999, 1]).all()
/// np.True_
#[pyclass(frozen, module = "cuculus_filter")]
pub(crate) struct FixedFilter {
    set: Locked<CuckooFilter>,
    note: Option<Note>,
}

impl FixedFilter {
    fn loaded(filter: CuckooFilter, note: Option<Note>) -> PyResult<Self> {
        Ok(Self { set: Locked::new(filter), note })
    }

    fn duplicate(&self, inside: &Inside) -> PyResult<Self> {
        Self::loaded(self.set.reader_inside(inside).clone(), self.note.clone())
    }

    fn own_stats(&self, stats: &Bound<'_, PyDict>) -> PyResult<()> {
        stats.set_item("capacity", self.capacity())
    }
}

set_class! { FixedFilter, kind Kind::Cuckoo;
    #[new]
    #[pyo3(signature = (capacity, false_positive_rate = 0.01, *, semi_sorted = false, seed = None))]
    fn new(
        capacity: usize,
        false_positive_rate: f64,
        semi_sorted: bool,
        seed: Option<u64>,
    ) -> PyResult<Self> {
        let mut builder = CuckooFilter::builder()
            .capacity(capacity)
            .false_positive_rate(false_positive_rate)
            .semi_sorted(semi_sorted);
        if let Some(seed) = seed {
            builder = builder.seed(seed);
        }
        Self::loaded(builder.build().map_err(|error| errors::build(&error))?, None)
    }

    /// The number of keys that the set was made for. It may take a few more.
    #[getter]
    fn capacity(&self) -> usize {
        self.set.reader().capacity()
    }

    fn __repr__(&self) -> String {
        let (words, capacity) = (self.set.figures().in_words(), self.capacity());
        let rate = self.set.figures().expected_false_positive_rate;
        format!("<cuculus_filter.FixedFilter: {words}, for {capacity} keys, false positive rate now {rate:.2}>")
    }
}
