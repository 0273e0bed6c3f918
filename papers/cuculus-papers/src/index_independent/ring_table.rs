//! A table whose buckets lie on a ring and come and go one by one. An index-independent filter is
//! one of these, a consistent filter several.
//!
//! Whatever is tried and does not work out leaves every bucket as it was: what a bucket held is
//! noted before it changes, and put back if need be.

use crate::ring::{MAX_CANDIDATES, MAX_VIRTUAL_NODES, Points, Ring};
use cuculus::lab::placement::{BucketIndex, Fingerprint};
use cuculus::lab::relocate::{Space, Stuck, make_room};
use cuculus::lab::room::Kicks;
use cuculus::lab::table::{BucketShape, Buckets, MAX_SLOTS, OutOfMemory, Table};
use cuculus::with_table;
use cuculus::{
    FullCause,
    lab::{memory, work},
};

/// Buckets that a table may get because a file says so, whatever it holds: some kilobytes.
pub(crate) const FREE_BUCKETS: u32 = 256;

#[derive(Clone)]
pub(crate) struct RingTable {
    ring: Ring,
    table: Table,
    shape: BucketShape,
    candidates: usize,
    kicks: Kicks,
    len: usize,
}

/// What fixes a table before its first entry. Builders and decoders check it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RingPlan {
    pub(crate) shape: BucketShape,
    pub(crate) candidates: usize,
    pub(crate) kicks: Kicks,
    pub(crate) virtual_nodes: u32,
    pub(crate) buckets: u32,
}

/// What buckets held before they were changed, and how many were opened on the way.
#[derive(Default)]
pub(crate) struct Log {
    notes: Vec<(BucketIndex, [Fingerprint; MAX_SLOTS])>,
    opened: u32,
}

/// The most buckets that searches may open while a table grows, with what their notes cost. After that
/// entries go to where there is room, or wait for the next new bucket.
const MOST_OPENED: u32 = 8192;
/// Kicks for an entry that lost its place to a new bucket, if fewer were asked for: with a few only, a
/// filter that is nearly full leaves as many entries without a place as its new buckets take.
const GROWING_KICKS: u32 = 64;

impl Log {
    fn reserve(&mut self, notes: usize) -> Result<(), OutOfMemory> {
        let bytes = (notes * size_of::<(BucketIndex, [Fingerprint; MAX_SLOTS])>()) as u64;
        self.notes.try_reserve(notes).map_err(|_| OutOfMemory { bytes })
    }
}

/// A few buckets, each once.
#[derive(Clone, Copy)]
struct Few<const MOST: usize> {
    buckets: [BucketIndex; MOST],
    count: usize,
}

impl<const MOST: usize> Few<MOST> {
    const NONE: Self = Self { buckets: [BucketIndex(0); MOST], count: 0 };

    #[inline(always)]
    fn add(&mut self, bucket: BucketIndex) {
        if !self.as_slice().contains(&bucket) {
            self.buckets[self.count] = bucket;
            self.count += 1;
        }
    }

    #[inline(always)]
    fn as_slice(&self) -> &[BucketIndex] {
        &self.buckets[..self.count]
    }
}

/// The buckets where a fingerprint may lie: one or more, up to as many as the fingerprint has points.
type RingCandidates = Few<MAX_CANDIDATES>;

impl RingCandidates {
    #[inline(always)]
    fn of(ring: &Ring, points: &Points, most: usize) -> Self {
        let mut candidates = Self::NONE;
        points.iter().take(most).for_each(|point| candidates.add(ring.owner(point)));
        candidates
    }
}

/// As the kick engine sees it.
struct Placed<'a, T> {
    table: &'a mut T,
    ring: &'a Ring,
    candidates: usize,
    log: Option<&'a mut Log>,
}

impl<T: Buckets> Placed<'_, T> {
    /// To be called before a bucket changes, and after [`prepare`](Space::prepare).
    fn note(&mut self, bucket: BucketIndex) {
        if let Some(log) = &mut self.log {
            debug_assert!(log.notes.len() < log.notes.capacity(), "not prepared");
            log.notes.push((bucket, self.table.entries(bucket)));
        }
    }

    fn place(&mut self, bucket: BucketIndex, fingerprint: Fingerprint) {
        self.note(bucket);
        let placed = self.table.place(bucket, fingerprint);
        debug_assert!(placed.is_some(), "the bucket has room");
    }
}

impl<T: Buckets> Space for Placed<'_, T> {
    const OPENED_TOGETHER: usize = 1;

    fn noted_buckets(&self) -> Option<u32> {
        Some(self.ring.buckets())
    }

    fn slots_in(&self, _: BucketIndex) -> u32 {
        self.table.slots_per_bucket()
    }

    fn ways_out_of(&self, bucket: BucketIndex, slot: u32, visit: impl FnMut(BucketIndex)) {
        let points = Points::of(self.table.entries(bucket)[slot as usize], self.candidates);
        let owners = points.iter().map(|point| self.ring.owner(point));
        owners.filter(|&target| target != bucket).for_each(visit);
    }

    #[inline(always)]
    fn has_room(&self, bucket: BucketIndex) -> bool {
        self.table.find(bucket, Fingerprint::EMPTY).is_some()
    }

    /// Each entry to each of its other candidates.
    #[inline(always)]
    fn ways_out(&self, bucket: BucketIndex, mut visit: impl FnMut(u32, BucketIndex)) {
        let slots = self.table.slots_per_bucket();
        for (slot, entry) in (0..slots).zip(self.table.entries(bucket)) {
            for point in Points::of(entry, self.candidates).iter() {
                let target = self.ring.owner(point);
                if target != bucket {
                    visit(slot, target);
                }
            }
        }
    }

    fn prefetch(&self, _: BucketIndex) {}

    /// A move changes two buckets, and a new entry one more.
    fn prepare(&mut self, moves: usize) -> Result<(), OutOfMemory> {
        match &mut self.log {
            Some(log) => log.reserve(2 * moves + 1),
            None => Ok(()),
        }
    }

    fn opened(&mut self, buckets: u32) {
        if let Some(log) = &mut self.log {
            log.opened += buckets;
        }
    }

    fn kick(&mut self, from: BucketIndex, slot: u32, to: BucketIndex) {
        let entry = self.table.entries(from)[slot as usize];
        self.note(from);
        self.table.clear_slot(from, slot);
        self.place(to, entry);
    }
}

impl RingTable {
    pub(crate) fn new(plan: RingPlan, salt: u32) -> Result<Self, OutOfMemory> {
        let RingPlan { shape, candidates, kicks, virtual_nodes, buckets } = plan;
        let table = Table::new(shape, buckets)?;
        let ring = Ring::with_buckets(virtual_nodes, salt, buckets)?;
        Ok(Self { ring, table, shape, candidates, kicks, len: 0 })
    }

    /// Becomes an empty table with this plan and salt: but not with more buckets than `most`, unless
    /// they are few. A file may say anything, and nobody is to pay for it.
    pub(crate) fn clear_to(&mut self, plan: RingPlan, salt: u32, most: u32) {
        let buckets = plan.buckets.min(most.max(FREE_BUCKETS));
        match Self::new(RingPlan { buckets, ..plan }, salt) {
            Ok(empty) => *self = empty,
            Err(_) => {
                with_table!(&mut self.table, table => table.runs_mut().clear());
                self.len = 0;
            }
        }
    }

    pub(crate) fn plan(&self) -> RingPlan {
        let Self { ring, shape, candidates, kicks, .. } = self;
        RingPlan {
            shape: *shape,
            candidates: *candidates,
            kicks: *kicks,
            virtual_nodes: ring.virtual_nodes,
            buckets: ring.buckets(),
        }
    }

    /// A table as it was saved, if every entry lies where it can be found.
    pub(crate) fn from_parts(plan: RingPlan, ring: Ring, table: Table) -> Option<Self> {
        let RingPlan { shape, candidates, kicks, .. } = plan;
        let mut all = Self { ring, table, shape, candidates, kicks, len: 0 };
        let mut len = 0;
        for bucket in all.buckets() {
            for entry in all.entries(bucket) {
                if !all.candidates(&all.points(entry)).as_slice().contains(&bucket) {
                    return None;
                }
                len += 1;
            }
        }
        all.len = len;
        Some(all)
    }

    pub(crate) fn ring(&self) -> &Ring {
        &self.ring
    }

    pub(crate) fn payload(&self) -> &[u8] {
        with_table!(&self.table, table => table.runs().payload())
    }

    /// The points, and so the most candidates, of a fingerprint.
    pub(crate) fn candidate_count(&self) -> usize {
        self.candidates
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn bucket_count(&self) -> u32 {
        self.ring.buckets()
    }

    pub(crate) fn slots(&self) -> usize {
        self.bucket_count() as usize * self.shape.slots_per_bucket as usize
    }

    pub(crate) fn load(&self) -> f64 {
        self.len as f64 / self.slots() as f64
    }

    /// All memory held beside the value itself: the table and the ring.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.table.heap_bytes() + self.ring.heap_bytes()
    }

    fn buckets(&self) -> impl Iterator<Item = BucketIndex> + use<> {
        (0..self.bucket_count()).map(BucketIndex)
    }

    fn entries(&self, bucket: BucketIndex) -> impl Iterator<Item = Fingerprint> + use<> {
        let entries = with_table!(&self.table, table => table.entries(bucket));
        entries.into_iter().filter(|&entry| entry != Fingerprint::EMPTY)
    }

    pub(crate) fn all_entries(&self) -> impl Iterator<Item = Fingerprint> {
        self.buckets().flat_map(|bucket| self.entries(bucket))
    }

    pub(crate) fn held_by(&self, bucket: BucketIndex) -> u32 {
        self.entries(bucket).count() as u32
    }

    pub(crate) fn emptiest(&self) -> BucketIndex {
        self.buckets().min_by_key(|&bucket| self.held_by(bucket)).unwrap_or(BucketIndex(0))
    }

    fn points(&self, fingerprint: Fingerprint) -> Points {
        Points::of(fingerprint, self.candidates)
    }

    #[inline(always)]
    fn candidates(&self, points: &Points) -> RingCandidates {
        RingCandidates::of(&self.ring, points, self.candidates)
    }

    #[inline(always)]
    pub(crate) fn contains(&self, fingerprint: Fingerprint, points: &Points) -> bool {
        with_table!(&self.table, table => {
            let mut points = points.iter().take(self.candidates);
            points.any(|point| table.find(self.ring.owner(point), fingerprint).is_some())
        })
    }

    pub(crate) fn count(&self, fingerprint: Fingerprint, points: &Points) -> usize {
        let candidates = self.candidates(points);
        let counts = candidates
            .as_slice()
            .iter()
            .map(|&bucket| with_table!(&self.table, table => table.count(bucket, fingerprint)));
        counts.sum::<u32>() as usize
    }

    /// Stores a fingerprint without a new bucket; nothing has changed after an error.
    #[inline]
    pub(crate) fn insert(
        &mut self,
        fingerprint: Fingerprint,
        points: &Points,
        log: Option<&mut Log>,
    ) -> Result<(), FullCause> {
        self.insert_with(self.kicks, fingerprint, points, log)
    }

    #[inline(always)]
    fn insert_with(
        &mut self,
        kicks: Kicks,
        fingerprint: Fingerprint,
        points: &Points,
        log: Option<&mut Log>,
    ) -> Result<(), FullCause> {
        let Self { ring, table, candidates, .. } = self;
        let key = RingCandidates::of(ring, points, *candidates);
        let placed = with_table!(table, table => {
            let mut space = Placed { table, ring, candidates: *candidates, log };
            place(&mut space, &key, kicks, fingerprint)
        });
        match placed {
            Ok(()) => {
                self.len += 1;
                Ok(())
            }
            Err(Stuck::OutOfMemory) => Err(FullCause::OutOfMemory),
            Err(Stuck::NoPath) => Err(self.refusal(fingerprint, &key)),
        }
    }

    /// Stores a fingerprint in one of its buckets, if one has room as it is.
    pub(crate) fn place(&mut self, fingerprint: Fingerprint, points: &Points) -> bool {
        let key = self.candidates(points);
        let placed = with_table!(&mut self.table, table => {
            key.as_slice().iter().any(|&bucket| table.place(bucket, fingerprint).is_some())
        });
        self.len += usize::from(placed);
        placed
    }

    #[cold]
    fn refusal(&self, fingerprint: Fingerprint, key: &RingCandidates) -> FullCause {
        let most = key.count * self.shape.slots_per_bucket as usize;
        let held: u32 = with_table!(&self.table, table => {
            key.as_slice().iter().map(|&bucket| table.count(bucket, fingerprint)).sum()
        });
        if held as usize == most {
            FullCause::EqualEntries { held: most }
        } else {
            FullCause::NoRoom { max_kicks: self.kicks.max }
        }
    }

    /// Takes a fingerprint out and says which bucket it was in.
    pub(crate) fn remove(
        &mut self,
        fingerprint: Fingerprint,
        points: &Points,
    ) -> Option<BucketIndex> {
        let Self { ring, table, candidates, .. } = self;
        let (bucket, slot) = with_table!(&*table, table => {
            points.iter().take(*candidates).find_map(|point| {
                let bucket = ring.owner(point);
                Some((bucket, table.find(bucket, fingerprint)?))
            })
        })?;
        with_table!(table, table => table.clear_slot(bucket, slot));
        self.len -= 1;
        Some(bucket)
    }

    /// Adds `least` buckets, and more if they are needed for entries that lost their place and for
    /// the `new` ones, if there are any, but not more than `most`. Returns how many were added; after
    /// an error nothing has changed.
    ///
    /// A new bucket takes points from others. An entry there stays if one of its points still
    /// belongs to its bucket; otherwise it goes to where its points belong now, like a new one.
    /// (The Consistent Cuckoo Filter paper moves entries from one successor to the new bucket:
    /// with several nodes per bucket that loses keys.)
    pub(crate) fn grow(
        &mut self,
        new: impl IntoIterator<Item = Fingerprint>,
        least: u32,
        most: u32,
    ) -> Result<u32, FullCause> {
        let end = Ring::most_buckets(self.ring.virtual_nodes);
        if least > end - self.bucket_count() {
            return Err(FullCause::OutOfMemory);
        }
        let (len, next_name) = (self.len, self.ring.next_name());
        let (mut log, mut added) = (Log::default(), 0);
        let mut homeless: Vec<Fingerprint> = Vec::new();
        for entry in new {
            memory::push(&mut homeless, entry).map_err(|_| FullCause::OutOfMemory)?;
        }
        loop {
            let mut pushed = Ok(());
            if added >= least {
                homeless.retain(|&entry| {
                    work::add(1);
                    let points = self.points(entry);
                    let most = MOST_OPENED
                        .saturating_sub(log.opened)
                        .min(self.kicks.max.max(GROWING_KICKS));
                    let kicks = Kicks { max: most, ..self.kicks };
                    match self.insert_with(kicks, entry, &points, Some(&mut log)) {
                        Ok(()) => false,
                        Err(FullCause::OutOfMemory) => {
                            pushed = Err(FullCause::OutOfMemory);
                            true
                        }
                        Err(_) => true,
                    }
                });
                if homeless.is_empty() {
                    return Ok(added);
                }
            }
            if pushed.is_ok() {
                pushed = match added < most.max(least) {
                    // What was not enough at random is enough sooner where it is needed: a filter that
                    // is nearly full would get as many homeless entries with each bucket as it has
                    // slots.
                    true => {
                        let needed = homeless.first().filter(|_| added >= least);
                        let points = needed.map(|&entry| self.points(entry));
                        self.push_bucket(points.as_ref(), &mut homeless, &mut log)
                    }
                    false => Err(FullCause::Crowded),
                };
            }
            if let Err(cause) = pushed {
                self.undo(log);
                (0..added).for_each(|_| self.pop_bucket());
                self.ring.set_next_name(next_name);
                self.len = len;
                return Err(cause);
            }
            added += 1;
        }
    }

    /// Adds an empty bucket, at one of some points if any are given. Entries of other buckets that
    /// lost their place are taken out. After an error nothing has changed.
    fn push_bucket(
        &mut self,
        points: Option<&Points>,
        homeless: &mut Vec<Fingerprint>,
        log: &mut Log,
    ) -> Result<(), FullCause> {
        let buckets = self.bucket_count() + 1;
        if buckets > Ring::most_buckets(self.ring.virtual_nodes) {
            return Err(FullCause::OutOfMemory);
        }
        let nodes = self.ring.virtual_nodes as usize;
        work::add(nodes);
        log.reserve(nodes).map_err(|_| FullCause::OutOfMemory)?;
        homeless.try_reserve(nodes * MAX_SLOTS).map_err(|_| FullCause::OutOfMemory)?;
        self.table.resize(buckets).map_err(|_| FullCause::OutOfMemory)?;
        // Where the points of the new nodes belonged.
        let mut former = Few::<{ MAX_VIRTUAL_NODES as usize }>::NONE;
        if let Err(cause) = self.ring.push(points, |bucket| former.add(bucket)) {
            let smaller = self.table.resize(self.bucket_count());
            debug_assert!(smaller.is_ok(), "needs no memory");
            return Err(cause);
        }
        for &bucket in former.as_slice() {
            let before = with_table!(&self.table, table => table.entries(bucket));
            let mut after = before;
            for entry in after.iter_mut().filter(|entry| **entry != Fingerprint::EMPTY) {
                if !self.candidates(&self.points(*entry)).as_slice().contains(&bucket) {
                    homeless.push(*entry);
                    self.len -= 1;
                    *entry = Fingerprint::EMPTY;
                }
            }
            if after != before {
                log.notes.push((bucket, before));
                with_table!(&mut self.table, table => table.restore(bucket, after));
            }
        }
        Ok(())
    }

    /// Takes the last bucket away, which must be empty and the last that was added.
    fn pop_bucket(&mut self) {
        let last = BucketIndex(self.bucket_count() - 1);
        self.ring.leave(last);
        self.take_away(last);
    }

    /// Takes an empty bucket that has left the ring out of the table. The last one gets its place.
    fn take_away(&mut self, bucket: BucketIndex) {
        let last = self.bucket_count() - 1;
        with_table!(&mut self.table, table => {
            let moved = table.entries(BucketIndex(last));
            table.restore(bucket, moved);
        });
        self.ring.forget(bucket);
        let smaller = self.table.resize(last);
        debug_assert!(smaller.is_ok(), "needs no memory");
    }

    /// Removes a bucket, if there is another and its entries fit where they belong without it;
    /// otherwise nothing has changed. The last bucket gets its index.
    pub(crate) fn remove_bucket(&mut self, bucket: BucketIndex) -> bool {
        if self.bucket_count() == 1 || bucket.0 >= self.bucket_count() {
            return false;
        }
        let (len, held) = (self.len, self.held_by(bucket) as usize);
        let others = self.slots() - self.shape.slots_per_bucket as usize;
        if len > others {
            return false;
        }
        let before = with_table!(&self.table, table => table.entries(bucket));
        let mut log = Log::default();
        if log.reserve(1 + MAX_SLOTS).is_err() {
            return false;
        }
        log.notes.push((bucket, before));
        self.ring.leave(bucket);
        with_table!(&mut self.table, table => {
            table.restore(bucket, [Fingerprint::EMPTY; MAX_SLOTS]);
        });
        self.len -= held;
        for entry in before.into_iter().filter(|&entry| entry != Fingerprint::EMPTY) {
            let points = self.points(entry);
            if self.insert(entry, &points, Some(&mut log)).is_err() {
                self.undo(log);
                self.ring.enter(bucket);
                self.len = len;
                return false;
            }
        }
        self.take_away(bucket);
        true
    }

    /// Puts back what was noted. The number of entries is the caller's.
    fn undo(&mut self, log: Log) {
        with_table!(&mut self.table, table => {
            for (bucket, entries) in log.notes.into_iter().rev() {
                table.restore(bucket, entries);
            }
        });
    }

    /// Puts back what was noted since the table had `len` entries.
    pub(crate) fn roll_back(&mut self, log: Log, len: usize) {
        self.undo(log);
        self.len = len;
    }
}

/// Puts a fingerprint into the emptiest of its buckets, the first if several are, or into one where
/// the kick engine makes room.
#[inline(always)]
fn place<T: Buckets>(
    space: &mut Placed<'_, T>,
    key: &RingCandidates,
    kicks: Kicks,
    fingerprint: Fingerprint,
) -> Result<(), Stuck> {
    let (mut emptiest, mut most_free) = (BucketIndex(0), 0);
    for &bucket in key.as_slice() {
        let free = space.table.count(bucket, Fingerprint::EMPTY);
        if free > most_free {
            (emptiest, most_free) = (bucket, free);
        }
    }
    let bucket = match most_free {
        0 => make_room(space, key.as_slice(), kicks.search, kicks.max)?,
        _ => {
            space.prepare(0)?;
            emptiest
        }
    };
    space.place(bucket, fingerprint);
    Ok(())
}
