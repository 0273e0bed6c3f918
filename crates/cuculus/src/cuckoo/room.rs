//! Room for one more fingerprint: the emptier of its two buckets, or the kick engine.

use crate::builder::check_range;
use crate::placement::{BucketIndex, Fingerprint, FingerprintSize, Placement};
use crate::relocate::{Search, Space, Stuck, make_room};
use crate::table::Buckets;
use crate::{BuildError, FullCause, KeyHash};

/// A key, as far as a filter is concerned: its fingerprint and where it may lie.
#[derive(Clone, Copy)]
pub struct Candidates {
    pub fingerprint: Fingerprint,
    pub home: BucketIndex,
    pub alternate: BucketIndex,
}

impl Candidates {
    #[inline]
    pub fn of(placement: impl Placement, size: FingerprintSize, hash: KeyHash) -> Self {
        let fingerprint = size.fingerprint(hash);
        let home = placement.home(hash);
        let alternate = placement.alternate(home, fingerprint);
        Self { fingerprint, home, alternate }
    }

    /// The distinct buckets: two, or one that is its own alternate.
    #[inline]
    pub fn buckets(&self) -> impl Iterator<Item = BucketIndex> + use<> {
        let (home, alternate) = (self.home, self.alternate);
        core::iter::once(home).chain((alternate != home).then_some(alternate))
    }
}

/// The limits of the kick engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kicks {
    pub search: Search,
    pub max: u32,
}

impl Kicks {
    const DEFAULT_MAX: u32 = 500;
    /// A refusal after this number of kicks has looked at some thousand buckets, four times as many as
    /// by default. Files may not have more either.
    const MOST: u32 = 2000;
    /// The same in words.
    pub const EXPECTED: &'static str = "at most 2000";

    /// Buckets that all searches for one key may open, if a filter has several tables.
    const ALL: u32 = 8192;

    /// How many tables besides the first may be searched for one key.
    pub fn others(self, most: usize) -> usize {
        (Self::ALL / self.max.max(1)).min(most as u32) as usize
    }

    /// The limits, if they are reasonable.
    pub fn new(search: Search, max: Option<u32>) -> Result<Self, BuildError> {
        let max = max.unwrap_or(Self::DEFAULT_MAX);
        check_range("max_kicks", max, 0..=Self::MOST)?;
        Ok(Self { search, max })
    }
}

/// A table with its placement, as the kick engine sees it.
pub(super) struct Placed<'a, T, P> {
    pub(super) table: &'a mut T,
    pub(super) placement: P,
}

/// The ways out of a full bucket: each entry to its other candidate.
#[inline(always)]
pub(super) fn ways_out(
    table: &impl Buckets,
    placement: impl Placement,
    bucket: BucketIndex,
    mut visit: impl FnMut(u32, BucketIndex),
) {
    let slots = table.slots_per_bucket();
    for (slot, fingerprint) in (0..slots).zip(table.entries(bucket)) {
        visit(slot, placement.alternate(bucket, fingerprint));
    }
}

impl<T: Buckets, P: Placement> Space for Placed<'_, T, P> {
    const OPENED_TOGETHER: usize = 2;

    #[inline(always)]
    fn has_room(&self, bucket: BucketIndex) -> bool {
        self.table.find(bucket, Fingerprint::EMPTY).is_some()
    }

    #[inline(always)]
    fn ways_out(&self, bucket: BucketIndex, visit: impl FnMut(u32, BucketIndex)) {
        ways_out(self.table, self.placement, bucket, visit);
    }

    #[inline(always)]
    fn prefetch(&self, bucket: BucketIndex) {
        self.table.prefetch(self.table.spot(bucket));
    }

    #[inline(always)]
    fn kick(&mut self, from: BucketIndex, slot: u32, to: BucketIndex) {
        let entry = self.table.entries(from)[slot as usize];
        self.table.clear_slot(from, slot);
        let placed = self.table.place(to, entry);
        debug_assert!(placed.is_some(), "the engine moves into free slots only");
    }
}

/// Puts a key into a table; nothing has changed after an error. `SINGLE`: not one of a
/// batch, see `guess`.
#[inline(always)]
pub fn insert_into<const SINGLE: bool, T: Buckets>(
    table: &mut T,
    placement: impl Placement,
    kicks: Kicks,
    key: &Candidates,
) -> Result<(), FullCause> {
    let Candidates { fingerprint, home, alternate } = *key;
    if table.place_in_emptier::<SINGLE>(home, alternate, fingerprint) {
        return Ok(());
    }
    // A copy of its own: a key that is lent is kept in memory, and what is read of it there right
    // after it was written in other pieces took six nanoseconds of a batch's thirty.
    insert_overflowing(table, placement, kicks, &Candidates { fingerprint, home, alternate })
}

/// Puts a key into a table both of whose buckets are full; nothing has changed after an error.
#[cold]
#[inline(never)]
pub(super) fn insert_overflowing<T: Buckets>(
    table: &mut T,
    placement: impl Placement,
    kicks: Kicks,
    key: &Candidates,
) -> Result<(), FullCause> {
    let bucket = match make_room_for(&mut Placed { table, placement }, key, kicks) {
        Ok(bucket) => bucket,
        Err(stuck) => return Err(refusal(table, key, kicks, stuck)),
    };
    let placed = table.place(bucket, key.fingerprint);
    debug_assert!(placed.is_some(), "the bucket has room");
    Ok(())
}

/// Makes room for a key both of whose buckets are full; returns the one that has room now. After an
/// error nothing has changed.
#[cold]
#[inline(never)]
pub(super) fn make_room_for(
    space: &mut impl Space,
    key: &Candidates,
    kicks: Kicks,
) -> Result<BucketIndex, Stuck> {
    let starts = [key.home, key.alternate];
    let distinct = if key.home == key.alternate { 1 } else { 2 };
    make_room(space, &starts[..distinct], kicks.search, kicks.max)
}

/// Why there was no room for a key.
#[cold]
pub(super) fn refusal(
    table: &impl Buckets,
    key: &Candidates,
    kicks: Kicks,
    stuck: Stuck,
) -> FullCause {
    if stuck == Stuck::OutOfMemory {
        return FullCause::OutOfMemory;
    }
    let slots: u32 = key.buckets().map(|_| table.slots_per_bucket()).sum();
    let held: u32 = key.buckets().map(|bucket| table.count(bucket, key.fingerprint)).sum();
    if held == slots {
        FullCause::EqualEntries { held: held as usize }
    } else {
        FullCause::NoRoom { max_kicks: kicks.max }
    }
}
