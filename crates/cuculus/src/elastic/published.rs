//! What threads without a lock see of a part, how a change becomes visible to them, and when memory
//! is given back.
//!
//! ```text
//!  Published   root (atomic pointer; null: no segments)
//!  Root        for each level the number of its segments, then all slots
//!  slot        a segment (atomic pointer)
//!  segment     a version, and words that are changed only under it (version.rs, shown.rs)
//! ```
//!
//! **Readers** pin an epoch, load the root, load the slot of their key on each level, and read
//! segments. They take no lock, and write nothing but their own thread's epoch. If a segment was
//! changed meanwhile they read it again; after some tries they say so, and the caller asks again
//! with the part's lock, when nothing changes.
//!
//! **A writer** has the part's lock.
//! * What nearly every operation does it does to the published segment, under its version
//!   (in_place.rs).
//! * Everything else it does to copies (copied.rs), and publishes them when the operation is done. If
//!   no segment was added or dropped, every entry is in the slot in which it was before: a copy is
//!   written over the segment, under its version, or stored into its slot if its block needs more or less
//!   memory. A reader sees the segment of its key before or after the change, and either is right.
//! * Otherwise entries may have moved from one segment or level to another. A new root is filled with
//!   the copies and stored: one store, before which readers see nothing of the change, and after it
//!   all of it.
//!
//! A writer that panics has published nothing of its operation: nothing that can panic is done under
//! a version, or between the stores of one publication.
//!
//! **Why this is right.** A segment is written before the `Release` store that publishes it, or the
//! root that has it; a reader got to it by `Acquire` loads of the same places, so all of these writes
//! happen before its reads. What is stored later is stored and loaded by atomic operations: no data
//! race. A reader's answer was true at a moment during its call: if the segment is still one of the
//! current root, at the moment at which it began to read it (version.rs); otherwise at the moment at
//! which the segment was replaced, from which on nobody stores to it. (In the slots of an old root,
//! the segments that the current one has too are the same, and so is what belongs to them: one that
//! was split or merged was replaced.) What a thread has inserted is visible when the call returns:
//! the same thread, or one that was told of it, loads that root, slot and version, or later ones.
//!
//! **Memory.** What a store has replaced cannot be reached by readers that pin after the store; those
//! that were pinned before may still read it. It is freed by crossbeam-epoch when all of these have
//! gone on. A segment in the slots of an old root is not freed while somebody may read that root:
//! it was replaced in the current root after the old one was replaced there.
#![allow(unsafe_code, reason = "pointers to what other threads may free")]

use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::Arc;

pub(crate) use crossbeam_epoch::{Guard, pin};

use super::address::{Address, GROUPS};
use super::copied::{self, Boxed, Copied};
use super::directory::index_among;
use super::level::Level;
use super::levels::{Levels, MAX_LEVELS};
use super::part::PartKey;
use super::segment::Segment;
use super::segments::Segments;
use super::shown::Shown;
use crate::memory::with_room;
use crate::table::OutOfMemory;

/// With more bytes of a part waiting, every change tries to have some given back.
const MANY_BYTES: usize = 1 << 14;

/// Segments of a level whose groups are measured for a guess.
const MEASURED: usize = 8;

/// Where the slots of a level are.
#[derive(Clone, Copy, Default)]
struct Table {
    count: u32,
    mask: u32,
    start: u32,
    /// The mean bits of a group in segments that are still to be split, and in those that were.
    strides: [u16; 2],
}

impl Table {
    fn new(level: &Level<Copied>, start: usize) -> Self {
        let directory = &level.directory;
        let (count, mask) = (directory.len(), directory.mask());
        // Those from here to there are still to be split.
        let there = (mask as usize >> 1) + 1;
        let here = count - there;
        let mean = |from: usize, to: usize| {
            let measured = (from..to).step_by((to - from).div_ceil(MEASURED).max(1));
            let bits = measured.map(|index| directory.get(index).used_bits() / GROUPS);
            let (sum, count) = bits.fold((0, 0), |(sum, count), bits| (sum + bits, count + 1));
            (sum / count.max(1)) as u16
        };
        let strides = [mean(here, there), mean(there, count)];
        Self { count: count as u32, mask, start: start as u32, strides }
    }

    /// About where a group of the segment of a path begins: its bits.
    #[inline(always)]
    fn guess(&self, path: u64, group: usize) -> usize {
        let half = self.mask >> 1;
        let is_split = (path as u32 & half) + half + 1 < self.count;
        usize::from(self.strides[usize::from(is_split)]) * group
    }
}

/// All segments of a part at some moment; slots may change.
pub(crate) struct Root {
    tables: [Table; MAX_LEVELS],
    levels: usize,
    slots: Vec<AtomicPtr<Segment>>,
}

impl Root {
    /// With room for some segments.
    fn with_room(segments: usize) -> Result<Box<Self>, OutOfMemory> {
        let slots = with_room(segments)?;
        let mut one = with_room(1)?;
        one.push(Self { tables: [Table::default(); MAX_LEVELS], levels: 0, slots });
        let one = Box::into_raw(one.into_boxed_slice());
        // SAFETY: a slice of one root has the layout of a root. (`Box::new` aborts without memory.)
        Ok(unsafe { Box::from_raw(one.cast::<Self>()) })
    }

    /// The slot of a path on a level that has segments.
    #[inline(always)]
    fn slot(&self, table: &Table, path: u64) -> &AtomicPtr<Segment> {
        let index = index_among(path, table.count, table.mask);
        // SAFETY: there are segments, and by linear hashing the index is below their number; there
        // is a slot for each from the start of the table on.
        unsafe { self.slots.get_unchecked(table.start as usize + index) }
    }

    /// The segment of a path on a level that has segments.
    #[inline(always)]
    fn segment(&self, table: &Table, path: u64) -> Shown<'_> {
        let segment = self.slot(table, path).load(Ordering::Acquire);
        // SAFETY: not null. It is not freed while a root that was loaded under the same pin is
        // borrowed, as said above.
        unsafe { Shown::new(Boxed::new_unchecked(segment)) }
    }

    fn tables(&self) -> impl Iterator<Item = &Table> {
        self.tables[..self.levels].iter().filter(|table| table.count > 0)
    }

    /// `None` if a segment is changed all the time.
    #[inline(always)]
    fn contains<const WIDE: bool>(&self, key: Address) -> Option<bool> {
        let [main, ..] = &self.tables;
        if self.levels > 1 {
            return self.contains_in_any(key);
        }
        let segment = self.segment(main, key.path);
        // The group is on its way while the description is read, which says where exactly it is.
        segment.prefetch(main.guess(key.path, key.group()));
        Place { segment, key }.contains::<WIDE>()
    }

    #[inline(never)]
    fn contains_in_any(&self, key: Address) -> Option<bool> {
        for table in self.tables() {
            let segment = self.segment(table, key.path);
            if segment.hit::<false>(key).or_else(|| segment.hit_slowly(key))? {
                return Some(true);
            }
        }
        Some(false)
    }

    fn heap_bytes(&self) -> usize {
        size_of::<Self>() + self.slots.capacity() * size_of::<Boxed>()
    }
}

/// A part as readers see it.
#[derive(Default)]
pub(crate) struct Published {
    root: AtomicPtr<Root>,
}

/// A key and the segment that it was in, if it was, when this was made. That may have been replaced
/// since; the answer is then that of the moment at which it was.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    segment: Shown<'a>,
    key: Address,
}

impl Place<'_> {
    /// `None` if a segment is changed all the time.
    #[inline(always)]
    pub(crate) fn contains<const WIDE: bool>(&self) -> Option<bool> {
        match self.segment.hit::<WIDE>(self.key) {
            Some(hit) => Some(hit),
            None => self.segment.hit_slowly(self.key),
        }
    }
}

/// Memory that was replaced: how much of it readers may still see, and what nobody sees any more and
/// the writer may use again.
#[derive(Default)]
pub(crate) struct Replaced {
    bytes: AtomicUsize,
    /// A list: each segment's block is the next.
    first: AtomicPtr<Segment>,
}

pub(crate) type Waiting = Arc<Replaced>;

impl Replaced {
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Adds a segment that nobody else can find.
    fn give(&self, mut segment: Boxed) {
        let mut next = self.first.load(Ordering::Relaxed);
        loop {
            // SAFETY: nobody else has it.
            let held = unsafe { segment.as_mut() };
            held.at = Boxed::new(next).map_or(segment.cast(), Boxed::cast);
            let (new, order) = (segment.as_ptr(), Ordering::Release);
            match self.first.compare_exchange_weak(next, new, order, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => next = now,
            }
        }
    }

    /// Takes all of them.
    pub(super) fn take(&self, mut each: impl FnMut(Boxed)) {
        if self.first.load(Ordering::Relaxed).is_null() {
            return;
        }
        let mut next = Boxed::new(self.first.swap(core::ptr::null_mut(), Ordering::Acquire));
        while let Some(segment) = next {
            // SAFETY: in the list, so nobody else has it.
            let held = unsafe { segment.as_ref() };
            self.bytes.fetch_sub(copied::bytes_of(held), Ordering::Relaxed);
            // The last one has no next but itself.
            next = Some(held.at.cast()).filter(|&next| next != segment);
            each(segment);
        }
    }
}

impl Drop for Replaced {
    fn drop(&mut self) {
        // SAFETY: in the list, so nobody else has it.
        self.take(|segment| unsafe { copied::free(segment) });
    }
}

impl Published {
    /// `None` if there are no segments.
    #[inline(always)]
    fn root<'a>(&'a self, _: &'a Guard) -> Option<&'a Root> {
        // SAFETY: null, or made by `publish` and freed only when nobody is pinned who can have
        // loaded it.
        unsafe { self.root.load(Ordering::Acquire).as_ref() }
    }

    /// `None` if a segment is changed all the time, or by a thread that was stopped: ask with the
    /// part's lock. `WIDE` if the processor has the wider instructions.
    #[inline(always)]
    pub(crate) fn contains<const WIDE: bool>(&self, key: PartKey, pinned: &Guard) -> Option<bool> {
        let Some(root) = self.root(pinned) else { return Some(false) };
        root.contains::<WIDE>(key.0)
    }

    /// Where a key is looked for, and prefetches what will be read there. `None` if there are no
    /// segments, or several levels: ask [`contains`](Self::contains).
    #[inline(always)]
    pub(crate) fn place<'a>(&'a self, key: PartKey, pinned: &'a Guard) -> Option<Place<'a>> {
        let root = self.root(pinned)?;
        let [main, ..] = &root.tables;
        if root.levels > 1 {
            return None;
        }
        let segment = root.segment(main, key.0.path);
        segment.prefetch_description();
        segment.prefetch(main.guess(key.0.path, key.0.group()));
        Some(Place { segment, key: key.0 })
    }

    /// `None` as for [`contains`](Self::contains).
    pub(crate) fn count(&self, key: PartKey) -> Option<usize> {
        let guard = pin();
        let Some(root) = self.root(&guard) else { return Some(0) };
        root.tables().map(|table| root.segment(table, key.0.path).count(key.0)).sum()
    }

    /// Calls `visit` for each segment, with the number of its level.
    ///
    /// # Safety
    /// Nobody changes the part meanwhile.
    pub(super) unsafe fn each_segment<E>(
        &self,
        mut visit: impl FnMut(usize, &Segment) -> Result<(), E>,
    ) -> Result<(), E> {
        let guard = pin();
        let Some(root) = self.root(&guard) else { return Ok(()) };
        for (level, table) in root.tables[..root.levels].iter().enumerate() {
            let start = table.start as usize;
            for slot in &root.slots[start..start + table.count as usize] {
                // SAFETY: as in `Root::segment`; by the caller, nobody stores to it.
                visit(level, unsafe { &*slot.load(Ordering::Acquire) })?;
            }
        }
        Ok(())
    }

    /// Makes all changes visible. Only one thread at a time, the one that holds the part's lock.
    pub(super) fn publish(
        &self,
        levels: &mut Levels<Copied>,
        spare: &mut Option<Box<Root>>,
        waiting: &Waiting,
    ) {
        // SAFETY: only the writer replaces the root, and this is the only one.
        let root = unsafe { self.root.load(Ordering::Relaxed).as_ref() };
        let is_reshaped = levels.iter().any(|level| level.directory.is_reshaped())
            || levels.iter().count() != root.map_or(1, |root| root.levels);
        match root {
            Some(root) if !is_reshaped && levels.main.segment_count() > 0 => {
                publish_in_place(root, levels, waiting);
            }
            None if levels.iter().all(|level| level.segment_count() == 0) => {}
            _ => self.publish_root(levels, spare, waiting),
        }
        levels.main.directory.set_published();
        levels.overflow.iter_mut().for_each(|level| level.directory.set_published());
    }

    #[cold]
    fn publish_root(
        &self,
        levels: &Levels<Copied>,
        spare: &mut Option<Box<Root>>,
        waiting: &Waiting,
    ) {
        let segments = levels.iter().map(Level::segment_count).sum();
        let new = if segments == 0 {
            *spare = None;
            core::ptr::null_mut()
        } else {
            let ready = spare.take().map(Ok).unwrap_or_else(|| Root::with_room(segments));
            let mut root = match ready {
                Ok(root) => root,
                // Room is reserved before operations that are known to need it.
                Err(_) => std::alloc::handle_alloc_error(core::alloc::Layout::new::<Root>()),
            };
            for (table, level) in root.tables.iter_mut().zip(levels.iter()) {
                let segments = level.directory.segments();
                if !segments.is_empty() {
                    *table = Table::new(level, root.slots.len());
                }
                root.slots.extend(segments.iter().map(|segment| AtomicPtr::new(segment.as_ptr())));
            }
            root.levels = levels.iter().count();
            Box::into_raw(root)
        };
        let guard = pin();
        let old = self.root.swap(new, Ordering::AcqRel);
        // SAFETY: the new root is not freed before the next one is published; nobody but readers
        // that are pinned now have the old one.
        unsafe {
            let (Some(old_root), new) = (old.as_ref(), new.as_ref()) else { return };
            for (level, table) in old_root.tables[..old_root.levels].iter().enumerate() {
                for index in 0..table.count {
                    // A segment has one place as long as it lives.
                    let is_kept = new.and_then(|new| new.at(level, index));
                    let segment = old_root.at(level, index);
                    if let Some(segment) = segment.filter(|_| segment != is_kept) {
                        retire(segment, &guard, waiting);
                    }
                }
            }
            let bytes = old_root.heap_bytes();
            let (old, waiting) = (Box::from_raw(old), Arc::clone(waiting));
            waiting.bytes.fetch_add(bytes, Ordering::Relaxed);
            guard.defer_unchecked(move || {
                waiting.bytes.fetch_sub(old.heap_bytes(), Ordering::Relaxed);
            });
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let guard = pin();
        self.root(&guard).map_or(0, Root::heap_bytes)
    }
}

impl Root {
    fn at(&self, level: usize, index: u32) -> Option<Boxed> {
        let table = self.tables[..self.levels].get(level).filter(|table| index < table.count)?;
        Boxed::new(self.slots[(table.start + index) as usize].load(Ordering::Relaxed))
    }
}

/// Publishes each changed segment in its slot.
#[inline(always)]
fn publish_in_place(root: &Root, levels: &mut Levels<Copied>, waiting: &Waiting) {
    for (level, table) in root.tables[..root.levels].iter().enumerate() {
        levels.level_mut(level).directory.publish_each(|index, new| {
            let slot = &root.slots[(table.start + index) as usize];
            let old = Boxed::new(slot.load(Ordering::Relaxed))?;
            // SAFETY: both are there, and the writer has no other reference to either. One is in the
            // slot; nobody else has seen the other.
            unsafe {
                if copied::room(old.as_ref().units()) == copied::room(new.as_ref().units()) {
                    Shown::new(old).write_over(new.as_ref());
                    return Some(old);
                }
            }
            let guard = pin();
            slot.store(new.as_ptr(), Ordering::Release);
            // SAFETY: it was in the slot of the only root that readers can find from now on, and no
            // longer is.
            unsafe { retire(old, &guard, waiting) };
            None
        });
    }
}

/// Gives a segment back as soon as nobody can read it.
///
/// # Safety
/// Who pins from now on cannot find it, and nobody else frees it.
unsafe fn retire(segment: Boxed, guard: &Guard, waiting: &Waiting) {
    // SAFETY: it is still there.
    let bytes = copied::bytes_of(unsafe { segment.as_ref() });
    let bytes_waiting = waiting.bytes.fetch_add(bytes, Ordering::Relaxed);
    let (segment, waiting) = (segment.as_ptr(), Arc::clone(waiting));
    // SAFETY: the caller's. A pointer and a list may go to another thread.
    unsafe {
        guard.defer_unchecked(move || waiting.give(Boxed::new_unchecked(segment)));
    }
    if bytes_waiting > MANY_BYTES {
        guard.flush();
    }
}

#[cfg(test)]
impl Published {
    /// Runs something while the segment of a key is being changed. The caller holds the lock.
    pub(crate) fn while_changed(&self, key: PartKey, run: impl FnOnce()) {
        let guard = pin();
        let root = self.root(&guard).expect("segments");
        let shown = root.segment(&root.tables[0], key.0.path);
        // SAFETY: the caller's; a panic ends the test.
        unsafe { shown.change(&shown.description(), run) };
    }

    /// Whether the group of a key is read when it seems to end before it begins, as it may to who reads
    /// while it is changed. The caller holds the lock.
    pub(crate) fn reads_torn_groups(&self, key: PartKey) -> bool {
        let guard = pin();
        let root = self.root(&guard).expect("segments");
        let shown = root.segment(&root.tables[0], key.0.path);
        let (whole, group) = (shown.description(), key.0.group());
        let torn = shown.with_torn_group(group);
        // SAFETY: the caller's; nobody looks keys up meanwhile.
        unsafe { shown.change(&torn, || ()) };
        let reads = shown.reads_group(group);
        // SAFETY: as above.
        unsafe { shown.change(&whole, || ()) };
        reads
    }
}

/// Room for a root with the segments that there are, if there are any.
pub(super) fn room_for(levels: &Levels<Copied>) -> Result<Option<Box<Root>>, OutOfMemory> {
    let segments = levels.iter().map(Level::segment_count).sum();
    if segments == 0 { Ok(None) } else { Root::with_room(segments).map(Some) }
}

/// Room for a root that an operation may need.
pub(super) fn make_ready(
    levels: &Levels<Copied>,
    spare: &mut Option<Box<Root>>,
) -> Result<(), OutOfMemory> {
    // A split of the main level and of another, and two levels more.
    const MORE: usize = 4;
    let segments = levels.iter().map(Level::segment_count).sum::<usize>() + MORE;
    if spare.as_ref().is_none_or(|spare| spare.slots.capacity() < segments) {
        *spare = Some(Root::with_room(segments)?);
    }
    Ok(())
}

/// The bytes of a spare root.
pub(super) fn spare_bytes(spare: &Option<Box<Root>>) -> usize {
    spare.as_ref().map_or(0, |spare| spare.heap_bytes())
}

/// Nobody reads any more: frees everything.
impl Drop for Published {
    fn drop(&mut self) {
        let Some(root) = core::ptr::NonNull::new(*self.root.get_mut()) else { return };
        // SAFETY: made by `publish_root`, and no thread has a reference to this part.
        let root = unsafe { Box::from_raw(root.as_ptr()) };
        for slot in &root.slots {
            if let Some(segment) = Boxed::new(slot.load(Ordering::Relaxed)) {
                // SAFETY: in one slot of one root.
                unsafe { copied::free(segment) };
            }
        }
    }
}
