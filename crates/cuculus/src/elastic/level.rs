//! Segments that hold entries, as many segments as the entries need: they are split and merged
//! one after the other (linear hashing), and each is as large as its own entries want it. Knows
//! entries and shapes; what becomes of an entry too short for its segment is the filter's matter.

use super::address::{Address, PATH_BITS};
use super::draft::{Draft, MAX_KICKS};
use super::form::{Entry, Form, MAX_WIDTH, Recut, Step};
use super::lengths::Lengths;
use super::policy::{Goal, Settings};
use super::pool::{Ladder, Rung};
use super::store::{
    LANES, Prepared, Probe, Probes, RowGroup, SLOTS, Segment, Shape, SlotIndex, Store, with_slots,
    with_slots_mut,
};
use crate::table::OutOfMemory;
use crate::wide::{self, Chosen, Instructions, Job};
use crate::{DecodeError, FullCause};

/// Entries that are written to find a size at which a key finds room.
const MOST_TRIED: u32 = 1500;
/// The load to which the elder's segments grow.
const ELDER_LOAD: f64 = 0.75;
/// Of how many removals one tries to shrink a segment that could not be shrunk before.
const SHRINK_EVERY: u32 = 16;

/// What an operation needs besides the segments.
pub(super) struct Context<'a> {
    pub(super) settings: &'a Settings,
    pub(super) lengths: &'a mut Lengths,
    pub(super) work: &'a mut Work,
    pub(super) chosen: Chosen,
}

/// Entries written by an operation, and the most by any.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    now: u32,
    pub(super) most: u32,
}

impl Work {
    #[inline(always)]
    pub(super) fn start(&mut self) {
        self.now = 0;
    }

    fn add(&mut self, entries: u32) {
        self.now += entries;
        self.most = self.most.max(self.now);
    }
}

/// All that is known of a key: its place, and the lowest `known` bits of its path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) key: Address,
    pub(super) bits: u32,
}

/// An entry that may be of a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Match {
    index: usize,
    slot: SlotIndex,
    /// The bits of the path that the entry knows.
    pub(super) known: u32,
}

/// Segments by the lowest bits of the path.
#[derive(Default)]
pub(super) struct Level {
    store: Store,
    entries: usize,
    slots: usize,
    /// Whether it holds what has become too short for the level before. Its entries are never
    /// shortened to keep a rate, since there are few.
    elder: bool,
}

impl Known {
    /// Whether all of the path is known, as of a key that was just hashed.
    #[inline(always)]
    pub(super) fn is_whole(self) -> bool {
        self.bits == PATH_BITS
    }
}

impl Level {
    pub(super) fn elder() -> Self {
        Self { elder: true, ..Self::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.entries
    }

    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    pub(super) fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.store.iter()
    }

    pub(super) fn segment_count(&self) -> usize {
        self.store.len()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.store.heap_bytes()
    }

    /// The depth of the deepest segment.
    pub(super) fn depth(&self) -> u32 {
        self.store.len().saturating_sub(1).checked_ilog2().map_or(0, |depth| depth + 1)
    }

    /// How many bits of a path choose its segment, or will once there is one.
    pub(super) fn depth_at(&self, path: u64, settings: &Settings) -> u32 {
        match self.store.len() {
            0 if self.elder => 0,
            0 => settings.least_depth(),
            _ => self.store.find(path).depth(),
        }
    }

    #[inline(always)]
    pub(super) fn contains(&self, key: Address) -> bool {
        self.entries > 0 && self.store.find(key.path).contains(key)
    }

    #[inline(always)]
    pub(super) fn probe(&self, key: Address) -> Option<Probe<'_>> {
        (self.entries > 0).then(|| Probe::new(self.store.find(key.path), key))
    }

    /// [`probe`](Self::probe) for a group of keys. There must be a segment.
    #[inline(always)]
    pub(super) fn probes(&self) -> Probes<'_> {
        Probes::new(&self.store)
    }

    pub(super) fn count(&self, key: Address) -> u32 {
        if self.entries == 0 {
            return 0;
        }
        let segment = self.store.find(key.path);
        let entry = Entry::whole(key, segment.depth());
        with_slots!(segment, slots => slots.count(entry))
    }

    /// Whether a segment should be split now.
    #[inline(always)]
    pub(super) fn wants_split(&self, cx: &Context<'_>) -> bool {
        cx.settings.wants_split(self.entries, self.store.len())
    }

    /// The longest entry that may be of a key.
    #[inline(always)]
    pub(super) fn longest_match(&self, key: Address) -> Option<Match> {
        if self.entries == 0 {
            return None;
        }
        let index = self.store.index(key.path);
        let segment = self.store.get(index);
        let depth = segment.depth();
        let entry = Entry::whole(key, depth);
        let (slot, length) = with_slots!(segment, slots => slots.longest_match(entry))?;
        Some(Match { index, slot, known: depth + length })
    }

    /// Takes an entry out, and shrinks its segment if that is due.
    #[inline(always)]
    pub(super) fn remove(&mut self, found: Match, cx: &mut Context<'_>) {
        let segment = self.store.get_mut(found.index);
        with_slots_mut!(&mut *segment, slots => slots.clear(found.slot));
        segment.entries -= 1;
        self.entries -= 1;
        cx.lengths.remove(found.known);
        let segment = self.store.get(found.index);
        if let Some(smaller) = segment.rung().0.checked_sub(1) {
            let width = segment.form().width;
            let buckets = Shape::buckets_in(cx.settings.ladder, Rung(smaller), width);
            let most = cx.settings.shrink_below(u32::from(buckets) * SLOTS);
            let below = most.wrapping_sub(u32::from(segment.entries));
            if below as i32 >= 0 && below.is_multiple_of(SHRINK_EVERY) {
                let load = cx.settings.shrink_to();
                self.reshape(found.index, load, cx);
            }
        }
    }

    /// The load to which a segment grows. The elder takes many entries at once, and is small: it
    /// grows in larger steps.
    fn growth_load(&self, cx: &Context<'_>) -> f64 {
        if self.elder { cx.settings.load.min(ELDER_LOAD) } else { cx.settings.load }
    }

    /// How long the entries of a segment should be.
    fn goal(&self, segment: Option<&Segment>, known: u32, cx: &Context<'_>) -> Goal {
        if !self.elder {
            // With the one that is to come, if there is one.
            return cx.settings.goal(u64::from(known > 0), cx.lengths);
        }
        let held = segment.map_or(0, |s| s.depth() + s.form().longest(s.buckets()).unwrap_or(0));
        Goal::Ended { path: held.max(known), shorter: 0, spare: 0 }
    }

    /// Puts an entry into its segment, which grows if it must. Nothing has changed after an error.
    #[inline(always)]
    pub(super) fn insert(&mut self, new: Known, cx: &mut Context<'_>) -> Result<(), FullCause> {
        if self.store.len() == 0 {
            self.found(new, cx)?;
        }
        let index = self.store.index(new.key.path);
        let segment = self.store.get(index);
        let depth = segment.depth();
        let entry = Entry { length: new.bits - depth, ..Entry::whole(new.key, depth) };
        let longest = segment.cut().longest();
        let held = depth + entry.length.min(longest);
        let form_serves =
            if self.elder { entry.length <= longest } else { cx.settings.allows(cx.lengths, held) };
        // Plain slots serve entries of their own length, up to the number of keys expected.
        let is_expected = (self.entries as u64) < cx.settings.expected_items;
        let form_serves =
            form_serves && (segment.form().ended || is_expected && entry.length >= longest);
        if form_serves && self.place(index, entry) {
            cx.lengths.add(held);
            let segment = self.store.get_mut(index);
            segment.entries += 1;
            self.entries += 1;
            let most = cx.settings.grow_above(segment.slots());
            if u32::from(segment.entries) > most {
                // Growth can wait if there is no memory: the segment still has room.
                self.reshape(index, self.growth_load(cx), cx);
            }
            return Ok(());
        }
        self.insert_by_growing(index, new, entry, form_serves, cx)
    }

    /// What is known of a new key if it is held like the others in its segment.
    pub(super) fn as_long_as_others(&self, new: Known) -> Known {
        let segment = self.store.find(new.key.path);
        Known { bits: new.bits.min(segment.depth() + segment.cut().longest()), ..new }
    }

    /// Puts an entry into a segment as it is.
    #[inline(always)]
    fn place(&mut self, index: usize, entry: Entry) -> bool {
        let segment = self.store.get_mut(index);
        with_slots_mut!(segment, slots => {
            slots.place_in_emptier(entry) || slots.place_by_kicks(entry, MAX_KICKS)
        })
    }

    /// Writes a segment anew with one entry more, in a form that serves it, and larger if it is full
    /// in the form that it has.
    #[inline(never)]
    fn insert_by_growing(
        &mut self,
        index: usize,
        new: Known,
        entry: Entry,
        is_full: bool,
        cx: &mut Context<'_>,
    ) -> Result<(), FullCause> {
        let segment = self.store.get(index);
        if with_slots!(segment, slots => slots.is_full_of_equals(entry)) {
            return Err(FullCause::Crowded);
        }
        let goal = self.goal(Some(segment), new.bits, cx);
        let entries = u32::from(segment.entries) + 1;
        let (depth, load) = (segment.depth(), self.growth_load(cx));
        let mut least = 0;
        for attempt in 1.. {
            let shape = cx.settings.shape_above(goal.at(index), depth, entries, load, least);
            // There was no room just now in the shape that it has.
            let is_tried = is_full && shape == self.store.get(index).shape();
            let mut draft = Draft::new(shape, entries);
            cx.work.add(if is_tried { 0 } else { entries });
            if !is_tried && self.draft(&mut draft, &[(index, Step::Stay)], Some(entry), cx) {
                let held = depth + entry.length.min(draft.longest());
                if !self.elder && !cx.settings.allows(cx.lengths, held) {
                    return Err(FullCause::RateReached);
                }
                self.commit(index, &draft, cx).map_err(|_| FullCause::OutOfMemory)?;
                cx.lengths.add(held);
                self.entries += 1;
                return Ok(());
            }
            // Copies of a few keys can need a segment that is far larger than their number.
            least = shape.buckets + shape.buckets / 4 + 1;
            if u32::from(least) > entries + 64 || attempt * entries > MOST_TRIED {
                break;
            }
        }
        Err(FullCause::Crowded)
    }

    /// Writes a segment anew in the shape that its entries should have, filled to `load`. If that
    /// cannot be done it stays as it is.
    #[inline(never)]
    fn reshape(&mut self, index: usize, load: f64, cx: &mut Context<'_>) {
        let segment = self.store.get(index);
        let goal = self.goal(Some(segment), 0, cx);
        let entries = u32::from(segment.entries);
        let shape = cx.settings.shape(goal.at(index), segment.depth(), entries, load);
        if shape == segment.shape() {
            return;
        }
        let mut draft = Draft::new(shape, entries);
        cx.work.add(entries);
        if self.draft(&mut draft, &[(index, Step::Stay)], None, cx) {
            // Without memory for it nothing has changed.
            let _ = self.commit(index, &draft, cx);
        }
    }

    /// Puts the entries of some segments, and one more, into an empty draft; says whether all of
    /// them found room there.
    fn draft(
        &self,
        draft: &mut Draft,
        from: &[(usize, Step)],
        more: Option<Entry>,
        cx: &Context<'_>,
    ) -> bool {
        let fits = more.is_none_or(|entry| !draft.is_too_short(entry))
            && from.iter().all(|&(index, step)| {
                wide::run_chosen(cx.chosen, Copy { segment: self.store.get(index), step, draft })
            });
        if !fits {
            // Plain slots do not serve entries of several lengths.
            let shape = draft.shape();
            let width = (shape.form.width + 1).min(MAX_WIDTH);
            draft.reset(Shape { form: Form { width, ended: true }, ..shape });
            return self.draft(draft, from, more, cx);
        }
        if let Some(entry) = more {
            // Not one that was held longer before.
            draft.add(Entry { length: entry.length.min(draft.longest()), ..entry });
        }
        wide::run_chosen(cx.chosen, Settle(draft))
    }

    /// Memory for a draft as segment `index`.
    fn prepare(
        &mut self,
        index: usize,
        draft: &Draft,
        cx: &Context<'_>,
    ) -> Result<Prepared, OutOfMemory> {
        let slots = draft.pack();
        self.store.prepare(cx.settings.ladder, index, draft.shape(), draft.entries(), &slots)
    }

    /// Replaces a segment by what was prepared from a draft.
    fn install(&mut self, index: usize, prepared: Prepared, draft: &Draft, cx: &mut Context<'_>) {
        self.slots -= self.store.get(index).slots() as usize;
        self.slots += draft.slots();
        cx.work.add(self.store.install(prepared));
        cx.lengths.shorten(&draft.shortened);
    }

    /// Replaces a segment by a draft.
    fn commit(
        &mut self,
        index: usize,
        draft: &Draft,
        cx: &mut Context<'_>,
    ) -> Result<(), OutOfMemory> {
        let prepared = self.prepare(index, draft, cx)?;
        self.install(index, prepared, draft, cx);
        Ok(())
    }

    /// Adds a draft as the last segment.
    fn push(&mut self, draft: &Draft, cx: &Context<'_>) -> Result<(), OutOfMemory> {
        self.store.reserve()?;
        match self.prepare(self.store.len(), draft, cx) {
            Ok(prepared) => {
                self.store.push(prepared);
                self.slots += draft.slots();
                Ok(())
            }
            Err(failed) => {
                self.store.unreserve();
                Err(failed)
            }
        }
    }

    fn pop(&mut self) -> u32 {
        self.slots -= self.store.get(self.store.len() - 1).slots() as usize;
        self.store.pop()
    }

    /// Makes the first segments, empty.
    #[cold]
    fn found(&mut self, new: Known, cx: &mut Context<'_>) -> Result<(), FullCause> {
        let goal = self.goal(None, new.bits, cx);
        let depth = if self.elder { 0 } else { cx.settings.least_depth() };
        let shape = cx.settings.shape(goal, depth, 1, cx.settings.load);
        for _ in 0..1usize << depth {
            if self.push(&Draft::new(shape, 0), cx).is_err() {
                *self = Self { elder: self.elder, ..Self::default() };
                return Err(FullCause::OutOfMemory);
            }
        }
        Ok(())
    }

    /// Splits the segment whose turn it is. What knows too little of its path to have a side is
    /// handed to `send`, all together; if that refuses, or there is no memory, nothing has changed.
    pub(super) fn split(
        &mut self,
        cx: &mut Context<'_>,
        send: impl FnOnce(&[Known], &mut Context<'_>) -> bool,
    ) {
        let count = self.store.len();
        let low = 1usize << count.ilog2();
        let index = count - low;
        let segment = self.store.get(index);
        let depth = segment.depth();
        let (mut entries, mut exhausted) = ([0, 0], Vec::new());
        for entry in self.entries_of(index) {
            match entry.descend() {
                Some((side, _)) => entries[side] += 1,
                None => exhausted.push(known(index, depth, entry)),
            }
        }
        if self.elder && exhausted.len() > usize::from(segment.entries) / 2 {
            // They would all go on to the next elder and fill that one as well.
            return;
        }
        let goal = self.goal(Some(segment), 0, cx);
        let shapes = [(index, entries[0]), (count, entries[1])].map(|(index, entries)| {
            cx.settings.shape(goal.at(index), depth + 1, entries, self.growth_load(cx))
        });
        let mut stay = Draft::new(shapes[0], entries[0]);
        let mut go = Draft::new(shapes[1], entries[1]);
        cx.work.add(u32::from(segment.entries));
        if !self.draft(&mut stay, &[(index, Step::Down(0))], None, cx)
            || !self.draft(&mut go, &[(index, Step::Down(1))], None, cx)
        {
            return;
        }
        let exhausted = shuffled(&exhausted);
        // All memory first, so that nothing can fail once something has changed.
        if self.push(&go, cx).is_err() {
            return;
        }
        let Ok(prepared) = self.prepare(index, &stay, cx) else {
            self.pop();
            return;
        };
        if !exhausted.is_empty() && !send(&exhausted, cx) {
            self.store.discard(&prepared);
            self.pop();
            return;
        }
        self.install(index, prepared, &stay, cx);
        cx.lengths.shorten(&go.shortened);
        self.entries -= exhausted.len();
        exhausted.iter().for_each(|known| cx.lengths.remove(known.bits));
    }

    /// The entries of a segment.
    fn entries_of(&self, index: usize) -> impl Iterator<Item = Entry> + '_ {
        let segment = self.store.get(index);
        let cut = segment.cut();
        segment.used_slots().map(move |(slot, first)| cut.decode(slot, first))
    }

    /// Merges the last segment with the one that it was split from. If that cannot be done nothing
    /// has changed.
    pub(super) fn merge(&mut self, cx: &mut Context<'_>) {
        let Some(last) = self.store.len().checked_sub(1).filter(|&last| last > 0) else { return };
        let index = last - (1 << last.ilog2());
        let [stay, go] = [index, last].map(|i| self.store.get(i));
        let depth = stay.depth() - 1;
        let entries = u32::from(stay.entries) + u32::from(go.entries);
        let goal = self.goal(Some(stay), 0, cx);
        let shape = cx.settings.shape(goal.at(index), depth, entries, cx.settings.shrink_to());
        let from = [(index, Step::Up(0)), (last, Step::Up(1))];
        let mut draft = Draft::new(shape, entries);
        cx.work.add(entries);
        if !self.draft(&mut draft, &from, None, cx) {
            return;
        }
        if self.commit(index, &draft, cx).is_ok() {
            let moved = self.pop();
            cx.work.add(moved);
        }
    }

    /// Some entries of the last segment that know at least `bits` of their path.
    pub(super) fn some_longer(&self, bits: u32, most: usize) -> Vec<Known> {
        let Some(last) = self.store.len().checked_sub(1) else { return Vec::new() };
        self.known_of(last).filter(|known| known.bits >= bits).take(most).collect()
    }

    fn known_of(&self, index: usize) -> impl Iterator<Item = Known> + '_ {
        let depth = self.store.get(index).depth();
        self.entries_of(index).map(move |entry| known(index, depth, entry))
    }

    /// Everything that is known of the keys, shuffled segment by segment.
    pub(super) fn all_known(&self) -> impl Iterator<Item = Known> + '_ {
        (0..self.store.len()).flat_map(|index| shuffled(&self.known_of(index).collect::<Vec<_>>()))
    }

    /// An entry that is exactly this.
    pub(super) fn exact_match(&self, known: Known) -> Option<Match> {
        if self.entries == 0 {
            return None;
        }
        let index = self.store.index(known.key.path);
        let segment = self.store.get(index);
        let depth = segment.depth();
        let length = known.bits.checked_sub(depth)?;
        if length > segment.cut().longest() {
            return None;
        }
        let entry = Entry::whole(known.key, depth);
        let slot = with_slots!(segment, slots => slots.match_of_length(entry, length))?;
        Some(Match { index, slot, known: known.bits })
    }

    /// Adds a segment from a file after the last. `slots` are those of its shape.
    pub(super) fn load(
        &mut self,
        ladder: Ladder,
        shape: Shape,
        slots: &[u8],
        lengths: &mut Lengths,
    ) -> Result<(), DecodeError> {
        let index = self.store.len();
        let out_of_memory = |failed: OutOfMemory| DecodeError::OutOfMemory { bytes: failed.bytes };
        self.store.reserve().map_err(out_of_memory)?;
        let prepared = self.store.prepare(ladder, index, shape, 0, slots);
        self.store.push(prepared.map_err(out_of_memory)?);
        let survey = Survey(self.store.get(index));
        let Some(counts) = wide::run(Instructions::Detected, survey) else {
            let (field, expected) = ("segment", "one with slots that keys can make");
            return Err(DecodeError::Invalid { field, got: index as u64, expected });
        };
        for (length, &count) in (0..).zip(&counts).filter(|&(_, &count)| count > 0) {
            lengths.add_many(length, u64::from(count));
        }
        let entries = counts.iter().sum();
        self.store.get_mut(index).entries = entries;
        self.entries += usize::from(entries);
        self.slots += self.store.get(index).slots() as usize;
        Ok(())
    }

    /// The store, whose memory somebody moves.
    pub(super) fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// The same once more. Aborts if there is no memory, as clones do.
    pub(super) fn duplicate(&self, ladder: Ladder) -> Self {
        let Self { entries, slots, elder, .. } = *self;
        Self { store: self.store.duplicate(ladder), entries, slots, elder }
    }

    /// Takes back what can be taken back, in many steps.
    pub(super) fn shrink_to_fit(&mut self, cx: &mut Context<'_>) {
        while self.store.len() > 1 << cx.settings.least_depth() {
            let before = self.store.len();
            if cx.settings.are_many(self.entries, before - 1) {
                break;
            }
            self.merge(cx);
            if self.store.len() == before {
                break;
            }
        }
        for index in 0..self.store.len() {
            self.reshape(index, cx.settings.shrink_to(), cx);
        }
    }
}

/// How many bits of a path choose segment `index` of `count`.
pub(super) fn depth_of(index: u64, count: u64) -> u32 {
    let depth = count.max(1).ilog2();
    let split = count - (1 << depth);
    // Those that were split already, and their other halves.
    depth + u32::from(index < split || index >= 1 << depth)
}

/// The same in an order that jumps: entries that come by their places would fill one end of a
/// segment before the other.
fn shuffled(known: &[Known]) -> Vec<Known> {
    let len = known.len();
    // Near the golden section, and with no divisor in common with the length.
    let near = (len * 5 / 8).max(1);
    let jump = (near..=near + len).find(|&jump| coprime(jump, len)).unwrap_or(1);
    (0..len).map(|i| known[i * jump % len]).collect()
}

fn coprime(a: usize, b: usize) -> bool {
    if b == 0 { a == 1 } else { coprime(b, a % b) }
}

/// What an entry of a segment is without the segment.
fn known(index: usize, depth: u32, entry: Entry) -> Known {
    let path = index as u64 | entry.extension << depth;
    Known { key: Address { path, place: entry.place }, bits: depth + entry.length }
}

/// Copies the entries of a segment to a draft, and says whether all of them are long enough.
struct Copy<'a> {
    segment: &'a Segment,
    step: Step,
    draft: &'a mut Draft,
}

impl Job for Copy<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let Self { segment, step, draft } = self;
        let cut = segment.cut();
        if let Some(recut) = Recut::new(cut, draft.cut(), step) {
            let (mut rows, mut group) = (segment.rows(), RowGroup::EMPTY);
            let (mut buckets, mut anew) = ([0; LANES], [0; LANES]);
            while group.read(&mut rows) {
                let mut shortened = false;
                // Nothing but arithmetic, so that vectors do it.
                for i in 0..LANES {
                    let place = cut.place(group.slots[i], group.firsts[i]);
                    buckets[i] = place.bucket(draft.shape().buckets).0;
                    anew[i] = recut.slot(group.slots[i], place);
                    shortened |= recut.shortens(group.slots[i]);
                }
                draft.add_slots(&buckets, &anew);
                if shortened {
                    for slot in group.slots {
                        if recut.shortens(slot) {
                            draft.note_shortened(recut.length(slot));
                        }
                    }
                }
            }
            return true;
        }
        for (slot, first) in segment.used_slots() {
            let entry = cut.decode(slot, first);
            let entry = match step {
                Step::Stay => entry,
                Step::Up(side) => entry.ascend(side),
                Step::Down(side) => match entry.descend() {
                    Some((its_side, entry)) if its_side == side => entry,
                    _ => continue,
                },
            };
            if draft.is_too_short(entry) {
                return false;
            }
            draft.add(entry);
        }
        true
    }
}

/// Counts the entries of a segment from a file by the bits that they know; `None` if there are
/// slots that keys cannot make.
struct Survey<'a>(&'a Segment);

impl Job for Survey<'_> {
    type Output = Option<[u16; PATH_BITS as usize + 1]>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let (segment, cut) = (self.0, self.0.cut());
        let (mut rows, mut group) = (segment.rows(), RowGroup::EMPTY);
        let (mut counts, mut bucket) = ([0; PATH_BITS as usize + 1], 0);
        while group.read(&mut rows) {
            let mut is_wrong = false;
            // Nothing but arithmetic, so that vectors do it.
            for i in 0..LANES {
                let slot = group.slots[i];
                let place = cut.place(slot, group.firsts[i]);
                let is_here = place.bucket(segment.buckets()).0 == bucket + i as u32 / SLOTS;
                let is_possible = place.is_possible() & is_here & cut.is_possible(slot);
                is_wrong |= (slot != 0) & !is_possible;
            }
            if is_wrong {
                return None;
            }
            for slot in group.slots {
                match counts.get_mut((segment.depth() + cut.length(slot)) as usize) {
                    Some(count) => *count += u16::from(slot != 0),
                    None if slot == 0 => {}
                    None => return None,
                }
            }
            bucket += LANES as u32 / SLOTS;
        }
        Some(counts)
    }
}

/// Finds places for all entries of a draft.
struct Settle<'a>(&'a mut Draft);

impl Job for Settle<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        self.0.settle()
    }
}
