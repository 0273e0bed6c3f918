//! A consistent cuckoo filter, or an index-independent one, that gains and loses buckets.

use arbitrary::Arbitrary;
use cuculus_papers::{ConsistentCuckooFilter, IndexIndependentCuckooFilter};

use crate::followed::{self, Follow, Followed, Limits};
use crate::parameters::RingParameters;

pub type Input = followed::Input<Parameters, Own>;

#[derive(Arbitrary, Debug)]
pub struct Parameters {
    ring: RingParameters,
    /// An index-independent filter instead of a consistent one.
    single: bool,
}

/// What is done to these filters only.
#[derive(Arbitrary, Debug)]
pub enum Own {
    Copies { key: u8, count: u8 },
    ScaleUp(u8),
    ScaleDown(u8),
    ScaleOut,
    ScaleOutWith(RingParameters),
    Compact,
}

/// Failed inserts may take long where the limit of kicks is high.
const MOST_FAILURES: u32 = 200;

macro_rules! follow {
    ($($filter:ty: $resize:ident),*) => {
        $(impl Follow for $filter {
            type Parameters = Parameters;
            type Own = Own;
            const DROPPED: fn(&Self) -> u64 = Self::refused;

            fn perform(set: &mut Followed<Self>, own: &Own, _: &Parameters) {
                perform(set, own, $resize);
            }

            fn goes_on(set: &Followed<Self>) -> bool {
                set.failures <= MOST_FAILURES
            }
        })*
    };
}

follow!(ConsistentCuckooFilter: resize_several, IndexIndependentCuckooFilter: resize_one);

/// False if it was refused and nothing has changed.
fn resize_several(filter: &mut ConsistentCuckooFilter, how: &Own) -> bool {
    let (buckets, filters) = (filter.buckets(), filter.filters());
    match how {
        Own::Copies { .. } => false,
        Own::ScaleUp(least) => {
            let least = usize::from(least % 8);
            let added = filter.scale_up(least);
            assert!(added.is_err() || added.is_ok_and(|added| added >= least));
            assert_eq!(filter.buckets(), buckets + added.unwrap_or(0));
            added.is_ok()
        }
        Own::ScaleDown(_) => {
            let done = filter.scale_down();
            assert_eq!(filter.buckets(), buckets - usize::from(done));
            done
        }
        Own::ScaleOut => filter.scale_out().is_ok(),
        Own::ScaleOutWith(part) => filter.scale_out_with(&part.index_independent()).is_ok(),
        Own::Compact => {
            let gone = filter.compact();
            assert_eq!(filter.filters(), filters - gone);
            gone > 0
        }
    }
}

fn resize_one(filter: &mut IndexIndependentCuckooFilter, how: &Own) -> bool {
    let before = filter.buckets();
    match how {
        Own::Copies { .. } => false,
        Own::ScaleUp(_) => {
            let added = filter.add_bucket();
            assert_eq!(filter.buckets(), before + added.unwrap_or(0));
            added.is_ok()
        }
        Own::ScaleDown(bucket) => {
            let done = match bucket {
                0 => filter.remove_bucket(),
                number => filter.remove_bucket_at(usize::from(*number) - 1),
            };
            assert_eq!(filter.buckets(), before - usize::from(done));
            done
        }
        Own::ScaleOut => filter.remove_bucket(),
        Own::ScaleOutWith(_) => filter.remove_bucket_at(usize::MAX),
        Own::Compact => {
            while filter.remove_bucket() {}
            filter.buckets() < before
        }
    }
}

pub fn check(input: &Input) {
    let Parameters { ring, single } = &input.parameters;
    let limits = Limits { holds_spare_memory: true, ..Limits::default() };
    if *single {
        let _ = ring.index_independent().build().map(|filter| input.follow(filter, limits));
    } else {
        let _ = ring.consistent().build().map(|filter| input.follow(filter, limits));
    }
}

fn perform<F: Follow>(set: &mut Followed<F>, own: &Own, resize: impl Fn(&mut F, &Own) -> bool) {
    if let Own::Copies { key, count } = own {
        (0..*count).for_each(|_| _ = set.insert(u16::from(*key)));
        return;
    }
    // Resizes both, or neither: what is refused changes nothing.
    let done = resize(&mut set.filter, own);
    if !done {
        set.is_like_twin("a refused change of size changed the filter");
    }
    assert_eq!(resize(&mut set.twin, own), done);
    assert_eq!(set.filter.len(), set.len);
}
