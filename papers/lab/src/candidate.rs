//! Filters that can be built again and again under a name, each as a user gets it from its builder.

use std::time::Duration;

use anyhow::Context;
use cuculus::{CuckooFilter, CuckooFilterBuilder, ElasticFilter};
use cuculus_papers::DynamicCuckooFilter;

use crate::clock::timed;
use crate::heap::Mark;
use crate::subject::Subject;

/// The row that ratios are about.
pub(crate) const CUCKOO: &str = "cuculus";
/// The row of the same with semi-sorted buckets.
pub(crate) const SEMI_SORTED: &str = "cuculus semi-sorted";
/// The row of the filter that grows.
pub(crate) const ELASTIC: &str = "cuculus elastic";

#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan<'a> {
    /// The keys that it must have room for at first.
    pub(crate) first: usize,
    /// The most keys that it will hold, for filters that must know.
    pub(crate) most: usize,
    pub(crate) rate: f64,
    /// The keys themselves, for filters that are built from all of them at once.
    pub(crate) keys: &'a [u64],
}

type Make = Box<dyn Fn(&Plan<'_>) -> anyhow::Result<Box<dyn Subject>>>;

pub(crate) struct Candidate {
    /// The crate's name, or ours. Ratios are looked up by it.
    pub(crate) name: &'static str,
    /// What a reader must know beside the name, such as a hash function that is not the default.
    note: &'static str,
    /// Whether it holds all keys as soon as it is built, and takes no others.
    is_static: bool,
    make: Make,
}

pub(crate) struct Built {
    pub(crate) filter: Box<dyn Subject>,
    pub(crate) refused: Vec<u64>,
    pub(crate) time: Duration,
    /// What the allocator counts for it.
    pub(crate) bytes: usize,
}

impl Candidate {
    /// A filter that takes keys one by one.
    pub(crate) fn new<F: Subject + 'static, E: Into<anyhow::Error>>(
        name: &'static str,
        note: &'static str,
        make: impl Fn(&Plan<'_>) -> Result<F, E> + 'static,
    ) -> Self {
        let make: Make =
            Box::new(move |plan| Ok(Box::new(make(plan).map_err(Into::into)?) as Box<dyn Subject>));
        Self { name, note, is_static: false, make }
    }

    /// It is built from all keys at once.
    pub(crate) fn holding_all_keys(self) -> Self {
        Self { is_static: true, ..self }
    }

    pub(crate) fn label(&self) -> String {
        match self.note {
            "" => self.name.to_owned(),
            note => format!("{} ({note})", self.name),
        }
    }

    pub(crate) fn start(
        &self,
        first: usize,
        most: usize,
        rate: f64,
    ) -> anyhow::Result<Box<dyn Subject>> {
        self.make(&Plan { first, most, rate, keys: &[] })
    }

    fn make(&self, plan: &Plan<'_>) -> anyhow::Result<Box<dyn Subject>> {
        (self.make)(plan).with_context(|| format!("cannot build {}", self.name))
    }

    pub(crate) fn build(&self, keys: &[u64], rate: f64) -> anyhow::Result<Built> {
        self.build_by(keys, rate, |filter| filter.insert_all(keys))
    }

    /// The same with the filter's call for many keys; `None` if it has none.
    pub(crate) fn build_batched(&self, keys: &[u64], rate: f64) -> anyhow::Result<Option<Built>> {
        if self.is_static || self.start(1, 1, rate)?.insert_batch(&[]).is_none() {
            return Ok(None);
        }
        let insert = |filter: &mut dyn Subject| {
            let (mut rest, mut refused) = (keys, Vec::new());
            while let Some(taken) = filter.insert_batch(rest).filter(|&taken| taken < rest.len()) {
                refused.push(rest[taken]);
                rest = &rest[taken + 1..];
            }
            refused
        };
        self.build_by(keys, rate, insert).map(Some)
    }

    fn build_by(
        &self,
        keys: &[u64],
        rate: f64,
        insert: impl FnOnce(&mut dyn Subject) -> Vec<u64>,
    ) -> anyhow::Result<Built> {
        let plan = Plan { first: keys.len(), most: keys.len(), rate, keys };
        let mark = Mark::now();
        let (time, made) = timed(|| {
            let mut filter = self.make(&plan)?;
            let refused = if self.is_static { Vec::new() } else { insert(&mut *filter) };
            anyhow::Ok((filter, refused))
        });
        let (filter, refused) = made?;
        let list = refused.capacity() * size_of::<u64>();
        let bytes = mark.map_or(0, Mark::held).saturating_sub(list) + filter.foreign_bytes();
        Ok(Built { filter, refused, time, bytes })
    }
}

/// The builder of a filter for some keys at a rate: builders share their words, not a trait.
macro_rules! planned {
    ($filter:ident, $keys:expr, $rate:expr) => {
        $filter::builder().capacity($keys).false_positive_rate($rate)
    };
}
pub(crate) use planned;

fn fixed(plan: &Plan<'_>) -> CuckooFilterBuilder {
    planned!(CuckooFilter, plan.most, plan.rate)
}

pub(crate) fn cuckoo() -> Candidate {
    Candidate::new(CUCKOO, "", |plan| fixed(plan).build())
}

pub(crate) fn semi_sorted() -> Candidate {
    Candidate::new(SEMI_SORTED, "", |plan| fixed(plan).semi_sorted(true).build())
}

/// Our filter that grows, from nothing. The seed is fixed, so that two runs do the same and the
/// times of single operations can be compared.
pub(crate) fn elastic() -> Candidate {
    Candidate::new(ELASTIC, "", |plan| {
        ElasticFilter::builder().false_positive_rate(plan.rate).seed(1).build()
    })
}

/// The same with its size declared: it keeps nothing in reserve for a larger set.
pub(crate) fn elastic_sized() -> Candidate {
    Candidate::new("cuculus elastic, sized", "size declared", |plan| {
        let builder = ElasticFilter::builder().false_positive_rate(plan.rate);
        builder.expected_items(plan.most).seed(1).build()
    })
}

/// A list of filters, which keeps its rate up to a number of keys that must be declared.
pub(crate) fn dynamic() -> Candidate {
    Candidate::new("cuculus DCF", "largest size declared", |plan| {
        planned!(DynamicCuckooFilter, plan.most, plan.rate).seed(1).build()
    })
}
