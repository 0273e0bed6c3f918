//! The filters that follow the set, and what each was told in advance. Knows builders, nothing of
//! the course.

use anyhow::{Context, Result};
use cuculus::papers::{ConsistentCuckooFilter, DynamicCuckooFilter, Resizing};
use cuculus::{BuildError, CuckooFilter, ElasticFilter, Insert, Persist, Remove};

use super::RATE;
use crate::text::thousands;

const SEED: u64 = 1;

/// The consistent filter searches its ring and adds a bucket for every fourth key: an insert takes
/// it some twenty times as long as the elastic filter. So it follows a sixteenth of the set.
const CONSISTENT_TAKES_EVERY: u64 = 16;
/// With the default of 50 it is three per cent smaller, and takes nearly three times as long.
const CONSISTENT_KICKS: u32 = 10;

/// What the demo asks of a filter.
pub(super) trait Contestant: Insert + Remove + Send {
    /// Gives memory back, if the filter does not by itself.
    fn tidy(&mut self) {}

    fn bytes(&self) -> Vec<u8>;
}

impl Contestant for ElasticFilter {
    fn bytes(&self) -> Vec<u8> {
        self.to_bytes()
    }
}

impl Contestant for CuckooFilter {
    fn bytes(&self) -> Vec<u8> {
        self.to_bytes()
    }
}

impl Contestant for DynamicCuckooFilter {
    fn tidy(&mut self) {
        self.shrink_to_fit();
    }

    fn bytes(&self) -> Vec<u8> {
        self.to_bytes()
    }
}

impl Contestant for ConsistentCuckooFilter {
    fn bytes(&self) -> Vec<u8> {
        self.to_bytes()
    }
}

/// A filter before the course, twice.
pub(super) struct Entry {
    /// For a narrow column.
    pub(super) name: &'static str,
    /// What must be known about it.
    pub(super) note: String,
    /// It follows one key in so many.
    pub(super) takes_every: u64,
    pub(super) twins: [Box<dyn Contestant>; 2],
}

/// All filters, the slowest last.
pub(super) fn entries(most: u64) -> Result<Vec<Entry>> {
    let keys = usize::try_from(most).context("too many keys for this machine")?;
    let elastic = || ElasticFilter::builder().false_positive_rate(RATE).seed(SEED).build();
    let fixed =
        || CuckooFilter::builder().capacity(keys).false_positive_rate(RATE).seed(SEED).build();
    let dynamic = || {
        DynamicCuckooFilter::builder().capacity(keys).false_positive_rate(RATE).seed(SEED).build()
    };
    let share = most.div_ceil(CONSISTENT_TAKES_EVERY);
    let consistent = || {
        ConsistentCuckooFilter::builder()
            .capacity(keys.div_ceil(CONSISTENT_TAKES_EVERY as usize))
            .false_positive_rate(RATE)
            .resizing(Resizing::Buckets)
            .max_kicks(CONSISTENT_KICKS)
            .seed(SEED)
            .build()
    };
    let most = thousands(most);
    Ok(vec![
        entry("elastic", "told the rate and nothing else".to_owned(), 1, elastic)?,
        entry("fixed CF", format!("CuckooFilter, built for {most} keys"), 1, fixed)?,
        entry(
            "DCF",
            format!(
                "DynamicCuckooFilter, told that there will be {most} keys at most; gives memory \
                 back only when asked to, which it was now and then on the way down, and \
                 that is its longest pause"
            ),
            1,
            dynamic,
        )?,
        entry(
            "CCF 1/16",
            format!(
                "ConsistentCuckooFilter, by buckets, told that there will be {} keys at most; it \
                 follows every sixteenth key only, since with all of them it would take minutes",
                thousands(share)
            ),
            CONSISTENT_TAKES_EVERY,
            consistent,
        )?,
    ])
}

fn entry<C: Contestant + 'static>(
    name: &'static str,
    note: String,
    takes_every: u64,
    build: impl Fn() -> Result<C, BuildError>,
) -> Result<Entry> {
    let twin = || -> Result<Box<dyn Contestant>> { Ok(Box::new(build().context(name)?)) };
    Ok(Entry { name, note, takes_every, twins: [twin()?, twin()?] })
}
