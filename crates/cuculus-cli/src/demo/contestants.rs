//! The filters that take part, and what each is told in advance. Knows builders, nothing of the
//! order of keys.

use anyhow::{Context, Result};
use cuculus::{BuildError, CuckooFilter, ElasticFilter, Insert, Persist, Remove};
use cuculus_papers::{ConsistentCuckooFilter, DynamicCuckooFilter, Resizing};

use super::RATE;
use crate::text::thousands;

const SEED: u64 = 1;

/// The consistent filter searches its ring and adds a bucket for every fourth key: its insert takes
/// about twenty times as long as that of the elastic filter. So it gets every sixteenth key only.
const CONSISTENT_TAKES_EVERY: u64 = 16;
/// With the default of 50 it is three percent smaller, and takes nearly three times as long.
const CONSISTENT_KICKS: u32 = 10;

/// What the demo needs of a filter.
pub(super) trait Contestant: Insert + Remove + Send {
    /// Gives memory back, for filters that do not do so by themselves.
    fn tidy(&mut self) {}

    fn bytes(&self) -> Vec<u8>;
}

macro_rules! contestant {
    ($type:ty $(, tidied by $tidy:ident)?) => {
        impl Contestant for $type {
            $(fn tidy(&mut self) {
                self.$tidy();
            })?

            fn bytes(&self) -> Vec<u8> {
                self.to_bytes()
            }
        }
    };
}
contestant!(ElasticFilter);
contestant!(CuckooFilter);
contestant!(DynamicCuckooFilter, tidied by shrink_to_fit);
contestant!(ConsistentCuckooFilter);

/// A filter before the start, as two equal copies.
pub(super) struct Entry {
    /// Short, for a narrow column.
    pub(super) name: &'static str,
    /// What a reader must know to compare it.
    pub(super) note: String,
    /// It gets every `takes_every`-th key.
    pub(super) takes_every: u64,
    pub(super) twins: [Box<dyn Contestant>; 2],
}

/// All filters; the slowest is the last.
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
        entry("elastic", "told the false positive rate and nothing else".to_owned(), 1, elastic)?,
        entry("fixed CF", format!("CuckooFilter, built for {most} keys"), 1, fixed)?,
        entry(
            "DCF",
            format!(
                "DynamicCuckooFilter, told that there will be at most {most} keys; gives memory \
                 back only when told to, here several times while the set shrinks; these calls \
                 are its longest pauses"
            ),
            1,
            dynamic,
        )?,
        entry(
            "CCF 1/16",
            format!(
                "ConsistentCuckooFilter, resized by buckets, told that there will be at most {} \
                 keys; it gets every sixteenth key only, since all keys would take minutes",
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
