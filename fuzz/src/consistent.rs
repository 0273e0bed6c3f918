//! A consistent cuckoo filter, or an index-independent one, that gains and loses buckets.

use arbitrary::Arbitrary;
use cuculus_papers::{ConsistentCuckooFilter, IndexIndependentCuckooFilter};

use crate::followed::{self, Follow, Followed, Limits, Operation};
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

impl Follow for ConsistentCuckooFilter {
    fn dropped(&self) -> u64 {
        self.refused()
    }
}

impl Follow for IndexIndependentCuckooFilter {
    fn dropped(&self) -> u64 {
        self.refused()
    }
}

/// How each of the two is resized. False if it was refused and nothing has changed.
trait Resize: Follow {
    fn up(&mut self, buckets: u8) -> bool;
    fn down(&mut self, bucket: u8) -> bool;
    fn out(&mut self) -> bool;
    fn out_with(&mut self, part: &RingParameters) -> bool;
    fn compact_all(&mut self) -> bool;
}

impl Resize for ConsistentCuckooFilter {
    fn up(&mut self, buckets: u8) -> bool {
        let (before, least) = (self.buckets(), usize::from(buckets % 8));
        let added = self.scale_up(least);
        assert!(added.is_err() || added.is_ok_and(|added| added >= least));
        assert_eq!(self.buckets(), before + added.unwrap_or(0));
        added.is_ok()
    }

    fn down(&mut self, _: u8) -> bool {
        let before = self.buckets();
        let done = self.scale_down();
        assert_eq!(self.buckets(), before - usize::from(done));
        done
    }

    fn out(&mut self) -> bool {
        self.scale_out().is_ok()
    }

    fn out_with(&mut self, part: &RingParameters) -> bool {
        self.scale_out_with(&part.index_independent()).is_ok()
    }

    fn compact_all(&mut self) -> bool {
        let before = self.filters();
        let gone = self.compact();
        assert_eq!(self.filters(), before - gone);
        gone > 0
    }
}

impl Resize for IndexIndependentCuckooFilter {
    fn up(&mut self, _: u8) -> bool {
        let before = self.buckets();
        let added = self.add_bucket();
        assert_eq!(self.buckets(), before + added.unwrap_or(0));
        added.is_ok()
    }

    fn down(&mut self, bucket: u8) -> bool {
        let before = self.buckets();
        let done = match bucket {
            0 => self.remove_bucket(),
            number => self.remove_bucket_at(usize::from(number) - 1),
        };
        assert_eq!(self.buckets(), before - usize::from(done));
        done
    }

    fn out(&mut self) -> bool {
        self.remove_bucket()
    }

    fn out_with(&mut self, _: &RingParameters) -> bool {
        self.remove_bucket_at(usize::MAX)
    }

    fn compact_all(&mut self) -> bool {
        let before = self.buckets();
        while self.remove_bucket() {}
        self.buckets() < before
    }
}

pub fn check(input: &Input) {
    let Parameters { ring, single } = &input.parameters;
    if *single {
        if let Ok(filter) = ring.index_independent().build() {
            follow(filter, &input.operations);
        }
    } else if let Ok(filter) = ring.consistent().build() {
        follow(filter, &input.operations);
    }
}

fn follow<F: Resize>(filter: F, operations: &[Operation<Own>]) {
    let limits = Limits { holds_spare_memory: true, ..Limits::default() };
    let mut set = Followed::new(filter, limits);
    for operation in operations {
        match operation {
            Operation::Common(common) => set.perform(*common),
            Operation::Own(own) => perform(&mut set, own),
        }
        if set.failures > MOST_FAILURES {
            break;
        }
    }
    set.check_all();
}

fn perform<F: Resize>(set: &mut Followed<F>, operation: &Own) {
    match operation {
        Own::Copies { key, count } => {
            for _ in 0..*count {
                let _ = set.insert(u16::from(*key));
            }
        }
        Own::ScaleUp(buckets) => resize(set, |filter| filter.up(*buckets)),
        Own::ScaleDown(bucket) => resize(set, |filter| filter.down(*bucket)),
        Own::ScaleOut => resize(set, F::out),
        Own::ScaleOutWith(part) => resize(set, |filter| filter.out_with(part)),
        Own::Compact => resize(set, F::compact_all),
    }
}

/// Resizes both, or neither: what is refused changes nothing.
fn resize<F: Resize>(set: &mut Followed<F>, operation: impl Fn(&mut F) -> bool) {
    let done = operation(&mut set.filter);
    if !done {
        set.is_like_twin("a refused change of size changed the filter");
    }
    assert_eq!(operation(&mut set.twin), done);
    assert_eq!(set.filter.len(), set.len);
}
