//! The kick engine: makes room in one of a key's candidate buckets by moving entries that are
//! already there to their other candidates. Knows buckets and ways between them, nothing of
//! fingerprints or keys.
//!
//! All or nothing: a path of moves is found first, while nothing moves, and carried out from its
//! free end backwards. A search that gives up has therefore changed nothing, byte for byte, and
//! nothing has to be undone. (The Cuckoo Filter paper's Algorithm 1 moves as it goes, and drops
//! an entry of another key when it gives up.)

mod paper_walk; // the walk that the papers print

use crate::placement::BucketIndex;
use crate::table::OutOfMemory;
use crate::{memory, work};

/// How the kick engine looks for a path to a free slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[allow(unreachable_pub, reason = "public with the feature `lab`")]
pub enum Search {
    /// The nearest free slot, so that the fewest entries move; the buckets of a level are fetched
    /// while the level before is looked at. The default.
    #[default]
    BreadthFirst,
    /// One entry at a time, chosen by a fixed scramble of its position, never back to a bucket on
    /// the way. It ends where every way leads back, so small tables are left emptier than by the
    /// walk of the papers.
    RandomWalk,
    /// The walk that the papers print: a random entry gives way, up to the allowed number of kicks,
    /// and buckets may be visited again. Unlike theirs it changes nothing when it gives up.
    PaperWalk,
}

impl Search {
    pub const ALL: [Self; 3] = [Self::BreadthFirst, Self::RandomWalk, Self::PaperWalk];

    pub fn id(self) -> u8 {
        self as u8
    }

    pub fn from_id(id: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|search| search.id() == id)
    }
}

/// What the engine needs to know of the table that it works on.
pub trait Space {
    /// Buckets that are opened before the targets of their entries are looked at: more than one
    /// if these come from far away, so that the waits overlap.
    const OPENED_TOGETHER: usize;

    /// The number of buckets, if a breadth-first search is to note which of them it has reached,
    /// and not go there twice. In a large table it hardly ever would; in a small one, or where a
    /// bucket has many ways out, most of a search that fails goes in circles otherwise.
    fn noted_buckets(&self) -> Option<u32> {
        None
    }

    /// The slots of a full bucket. By default those that have a way out: all of them, unless an
    /// entry's candidates can be one and the same bucket.
    fn slots_in(&self, bucket: BucketIndex) -> u32 {
        let mut slots = 0;
        self.ways_out(bucket, |slot, _| slots = slots.max(slot + 1));
        slots
    }

    /// Calls `visit(target)` for every way in which the entry in one slot of a full bucket can leave.
    fn ways_out_of(&self, bucket: BucketIndex, slot: u32, mut visit: impl FnMut(BucketIndex)) {
        self.ways_out(bucket, |from, target| {
            if from == slot {
                visit(target);
            }
        });
    }

    fn has_room(&self, bucket: BucketIndex) -> bool;

    /// Calls `visit(slot, target)` for every way in which an entry of a full bucket can leave.
    fn ways_out(&self, bucket: BucketIndex, visit: impl FnMut(u32, BucketIndex));

    fn prefetch(&self, bucket: BucketIndex);

    /// Takes the memory, if any, that this number of moves needs. Nothing has moved yet.
    #[inline]
    fn prepare(&mut self, _moves: usize) -> Result<(), OutOfMemory> {
        Ok(())
    }

    /// Is told how many buckets a search has opened.
    #[inline]
    fn opened(&mut self, _buckets: u32) {}

    /// Moves the entry in `slot` of `from` to a free slot of `to`.
    fn kick(&mut self, from: BucketIndex, slot: u32, to: BucketIndex);
}

/// Why no room was made. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// No path was found.
    NoPath,
    /// There is no memory to search further.
    OutOfMemory,
}

impl From<OutOfMemory> for Stuck {
    fn from(_: OutOfMemory) -> Self {
        Self::OutOfMemory
    }
}

/// Makes room in one of the `starts`, all of them full, by opening at most `max_kicks` buckets;
/// returns the one that has room now. After an error nothing has changed.
#[inline]
pub fn make_room(
    space: &mut impl Space,
    starts: &[BucketIndex],
    search: Search,
    max_kicks: u32,
) -> Result<BucketIndex, Stuck> {
    match search {
        Search::BreadthFirst => breadth_first(space, starts, max_kicks),
        Search::RandomWalk => random_walk(space, starts, max_kicks),
        Search::PaperWalk => paper_walk::paper_walk(space, starts, max_kicks),
    }
}

/// A bucket reached by the search, and the entry whose move leads to it: the place of the bucket
/// that it leaves in the list, and its slot there, which takes three bits.
#[derive(Clone, Copy)]
struct Node {
    bucket: BucketIndex,
    from: u32,
}

impl Node {
    const START: u32 = u32::MAX;

    #[inline]
    fn reached(bucket: BucketIndex, parent: usize, slot: u32) -> Self {
        Self { bucket, from: (parent as u32) << 3 | slot }
    }

    #[inline]
    fn parent(self) -> Option<(usize, u32)> {
        (self.from != Self::START).then_some(((self.from >> 3) as usize, self.from & 7))
    }
}

/// Nodes in the order in which they were reached. Most searches end within the first two levels
/// and need no memory but this; the rest of the list is thrown away, because a filter should not
/// hold memory that it does not need to answer questions.
struct Nodes {
    few: [Node; FEW],
    more: Vec<Node>,
    len: usize,
}

const FEW: usize = 32;

impl Nodes {
    #[inline]
    fn new() -> Self {
        let none = Node { bucket: BucketIndex(0), from: 0 };
        Self { few: [none; FEW], more: Vec::new(), len: 0 }
    }

    /// Adds a node, and says whether there was memory for it.
    #[inline]
    fn push(&mut self, node: Node) -> bool {
        let is_added = match self.few.get_mut(self.len) {
            Some(place) => {
                *place = node;
                true
            }
            None => self.push_more(node),
        };
        self.len += usize::from(is_added);
        is_added
    }

    #[cold]
    fn push_more(&mut self, node: Node) -> bool {
        memory::push(&mut self.more, node).is_ok()
    }

    /// Node `at`, which must have been pushed.
    #[inline]
    fn get(&self, at: usize) -> Node {
        if at < FEW { self.few[at] } else { self.get_more(at) }
    }

    #[cold]
    fn get_more(&self, at: usize) -> Node {
        self.more[at - FEW]
    }
}

/// A first-come search visits buckets in the order of their distance. The path to the first free
/// one passes no bucket twice: if it did, the part in between could be left out, and the shorter
/// path would have been found before. So the moves do not disturb each other.
#[inline]
fn breadth_first<S: Space>(
    space: &mut S,
    starts: &[BucketIndex],
    max_kicks: u32,
) -> Result<BucketIndex, Stuck> {
    if max_kicks == 0 {
        return Err(Stuck::NoPath);
    }
    let mut nodes = Nodes::new();
    let most = max_kicks.saturating_mul(NOTES_PER_KICK).checked_next_power_of_two();
    let most = most.map_or(MOST_NOTED, |most| most.clamp(FEWEST_NOTED, MOST_NOTED));
    let noted = space.noted_buckets().map_or(0, |m| m.min(most).div_ceil(64) as usize);
    work::add(noted / WORDS_PER_UNIT);
    space.opened((noted / WORDS_PER_UNIT) as u32);
    let mut reached = memory::filled(0u64, noted)?;
    let mut is_short_of_memory = false;
    for &bucket in starts {
        is_short_of_memory |= !nodes.push(Node { bucket, from: Node::START });
    }
    // All before `tested` are full, and all before `opened` have their targets in the list.
    let (mut opened, mut tested) = (0, nodes.len);
    loop {
        // What is opened is prefetched, a few at a time so that the waits overlap, and
        // then looked at before more is opened: most searches end with the first few.
        let batch = (opened + S::OPENED_TOGETHER).min(nodes.len).min(max_kicks as usize);
        if is_short_of_memory {
            return Err(Stuck::OutOfMemory);
        }
        if opened == batch {
            return Err(Stuck::NoPath);
        }
        work::add(batch - opened);
        space.opened((batch - opened) as u32);
        while opened < batch {
            let bucket = nodes.get(opened).bucket;
            space.ways_out(bucket, |slot, target| {
                // Equal entries fill both of their buckets and lead back and forth between them.
                if !starts.contains(&target) && is_new(&mut reached, target) {
                    space.prefetch(target);
                    is_short_of_memory |= !nodes.push(Node::reached(target, opened, slot));
                }
            });
            opened += 1;
        }
        while tested < nodes.len {
            let node = nodes.get(tested);
            if space.has_room(node.bucket) {
                return carry_out(space, &nodes, node);
            }
            tested += 1;
        }
    }
}

/// Notes are made of so many buckets for each kick, within these bounds. In a larger table some
/// share a note, and a search that passes one leaves out the others: of all the ways of 500 kicks, one
/// in fifteen. Notes of all buckets would take longer than the search: memory in proportion to the table
/// for every search.
const NOTES_PER_KICK: u32 = 32;
const FEWEST_NOTED: u32 = 1 << 12;
const MOST_NOTED: u32 = 1 << 16;
/// Notes that are cleared are counted by cache lines.
const WORDS_PER_UNIT: usize = 8;

/// Whether a bucket is reached for the first time, as far as that is noted.
#[inline]
fn is_new(reached: &mut [u64], bucket: BucketIndex) -> bool {
    let mut at = (bucket.0 / 64) as usize;
    if at >= reached.len() {
        at = at.checked_rem(reached.len()).unwrap_or(0);
    }
    let Some(word) = reached.get_mut(at) else { return true };
    let bit = 1 << (bucket.0 % 64);
    let new = *word & bit == 0;
    *word |= bit;
    new
}

#[inline]
fn carry_out(space: &mut impl Space, nodes: &Nodes, free: Node) -> Result<BucketIndex, Stuck> {
    let mut node = free;
    let mut moves = 0;
    while let Some((parent, _)) = node.parent() {
        moves += 1;
        node = nodes.get(parent);
    }
    space.prepare(moves)?;
    node = free;
    while let Some((parent, slot)) = node.parent() {
        let parent = nodes.get(parent);
        space.kick(parent.bucket, slot, node.bucket);
        node = parent;
    }
    Ok(node.bucket)
}

/// Buckets on a walk's way, as bits: one that is clear was not passed. The way is searched only for
/// the others, else a long walk would take the square of its length.
struct Passed([u64; Self::WORDS]);

impl Passed {
    const WORDS: usize = 256;

    fn new() -> Self {
        Self([0; Self::WORDS])
    }

    /// The word and the bit of a bucket.
    fn place(bucket: BucketIndex) -> (usize, u64) {
        let spread = bucket.0.wrapping_mul(0x9e37_79b1);
        ((spread >> 24) as usize % Self::WORDS, 1 << (spread >> 18 & 63))
    }

    fn note(&mut self, bucket: BucketIndex) {
        let (word, bit) = Self::place(bucket);
        self.0[word] |= bit;
    }

    fn may_contain(&self, bucket: BucketIndex) -> bool {
        let (word, bit) = Self::place(bucket);
        self.0[word] & bit != 0
    }
}

/// The most ways out of a bucket: those of eight entries on a ring, each to sixteen buckets.
const MOST_WAYS: usize = 128;

/// A walk that never returns to a bucket on its way, so that its moves do not disturb each other.
#[inline(never)]
fn random_walk(
    space: &mut impl Space,
    starts: &[BucketIndex],
    max_kicks: u32,
) -> Result<BucketIndex, Stuck> {
    let mut path: Vec<(BucketIndex, u32)> = Vec::new();
    let mut passed = Passed::new();
    let mut ways = [(0, BucketIndex(0)); MOST_WAYS];
    let Some(first) = starts.first() else { return Err(Stuck::NoPath) };
    let mut bucket = starts[scramble(first.0, 0) as usize % starts.len()];
    for step in 0..max_kicks {
        work::add(1);
        space.opened(1);
        let is_open = |target: BucketIndex| {
            let was_passed =
                passed.may_contain(target) && path.iter().any(|&(passed, _)| passed == target);
            target != bucket && !was_passed
        };
        let mut count = 0;
        space.ways_out(bucket, |slot, target| {
            if is_open(target) {
                ways[count] = (slot, target);
                count += 1;
            }
        });
        let choice = (scramble(bucket.0, step + 1) as usize).checked_rem(count);
        let Some((slot, target)) = choice.map(|choice| ways[choice]) else {
            return Err(Stuck::NoPath);
        };
        memory::push(&mut path, (bucket, slot))?;
        passed.note(bucket);
        bucket = target;
        if space.has_room(bucket) {
            space.prepare(path.len())?;
            for &(from, slot) in path.iter().rev() {
                space.kick(from, slot, bucket);
                bucket = from;
            }
            return Ok(bucket);
        }
    }
    Err(Stuck::NoPath)
}

/// The walk's only randomness: a fixed function of where it is, so that the same operations
/// give the same bytes and no generator has to be saved.
fn scramble(bucket: u32, step: u32) -> u32 {
    let x = (u64::from(bucket) << 32 | u64::from(step)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33) as u32
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Buckets of a few slots; entry `e` may lie in `e.0` or `e.1`.
    #[derive(Clone)]
    pub(super) struct Toy {
        slots: usize,
        pub(super) buckets: Vec<Vec<(u32, u32)>>,
        opened: Cell<u32>,
    }

    impl Toy {
        pub(super) fn new(slots: usize, buckets: Vec<Vec<(u32, u32)>>) -> Self {
            Self { slots, buckets, opened: Cell::new(0) }
        }

        pub(super) fn place(&mut self, bucket: u32, entry: (u32, u32)) -> bool {
            let room = self.has_room(BucketIndex(bucket));
            if room {
                self.buckets[bucket as usize].push(entry);
            }
            room
        }

        pub(super) fn len(&self) -> usize {
            self.buckets.iter().map(Vec::len).sum()
        }

        pub(super) fn entries_are_at_home(&self) -> bool {
            (0u32..)
                .zip(&self.buckets)
                .all(|(i, bucket)| bucket.iter().all(|&(a, b)| a == i || b == i))
        }
    }

    impl Space for Toy {
        const OPENED_TOGETHER: usize = 2;

        fn has_room(&self, bucket: BucketIndex) -> bool {
            self.buckets[bucket.0 as usize].len() < self.slots
        }

        fn ways_out(&self, bucket: BucketIndex, mut visit: impl FnMut(u32, BucketIndex)) {
            self.opened.set(self.opened.get() + 1);
            for (slot, &(a, b)) in (0..).zip(&self.buckets[bucket.0 as usize]) {
                visit(slot, BucketIndex(if a == bucket.0 { b } else { a }));
            }
        }

        fn prefetch(&self, _: BucketIndex) {}

        fn kick(&mut self, from: BucketIndex, slot: u32, to: BucketIndex) {
            let entry = self.buckets[from.0 as usize].remove(slot as usize);
            assert!(self.place(to.0, entry), "moved into a full bucket");
        }
    }

    /// A chain 0 → 1 → … → n−1 whose last bucket has room.
    fn chain(n: u32) -> Toy {
        let mut buckets: Vec<_> = (0..n).map(|i| vec![(i, (i + 1).min(n - 1)); 2]).collect();
        buckets[n as usize - 1].pop();
        Toy::new(2, buckets)
    }

    /// As many buckets as there can be, all full; no two lead to the same one for long.
    struct Vast;

    impl Space for Vast {
        const OPENED_TOGETHER: usize = 1;

        fn noted_buckets(&self) -> Option<u32> {
            Some(u32::MAX)
        }

        fn has_room(&self, _: BucketIndex) -> bool {
            false
        }

        fn ways_out(&self, bucket: BucketIndex, mut visit: impl FnMut(u32, BucketIndex)) {
            (0..4).for_each(|slot| {
                let target = bucket.0.wrapping_mul(4).wrapping_add(slot + 2);
                visit(slot, BucketIndex(target));
            });
        }

        fn prefetch(&self, _: BucketIndex) {}

        fn kick(&mut self, _: BucketIndex, _: u32, _: BucketIndex) {}
    }

    #[test]
    fn a_search_costs_as_much_in_the_largest_table() {
        for search in Search::ALL {
            work::take_work();
            let stuck = make_room(&mut Vast, &[BucketIndex(0)], search, 500);
            let work = work::take_work();
            assert!(stuck == Err(Stuck::NoPath) && work <= 2000, "{search:?}: {work}");
        }
    }

    #[test]
    fn all_searches_make_room_and_keep_every_entry_at_home() {
        for search in Search::ALL {
            let mut toy = chain(10);
            let before = toy.len();
            // Each bucket of the chain has two entries that lead to the same next one, so the
            // breadth-first search sees 2^9 ways to its end.
            let freed = make_room(&mut toy, &[BucketIndex(0)], search, 600);
            assert_eq!(freed, Ok(BucketIndex(0)));
            assert!(toy.has_room(BucketIndex(0)) && toy.entries_are_at_home());
            assert_eq!(toy.len(), before);
        }
    }

    #[test]
    fn a_search_that_gives_up_changes_nothing() {
        for search in Search::ALL {
            for max_kicks in 0..9 {
                let mut toy = chain(10);
                let stuck = make_room(&mut toy, &[BucketIndex(0)], search, max_kicks);
                assert_eq!(stuck, Err(Stuck::NoPath));
                assert_eq!(toy.buckets, chain(10).buckets);
            }
        }
    }

    /// The papers' walk reads a bucket again to know where an entry came from.
    #[test]
    fn no_search_opens_more_buckets_than_allowed() {
        for search in [Search::BreadthFirst, Search::RandomWalk] {
            for max_kicks in 0..9 {
                let mut toy = chain(10);
                work::take_work();
                let stuck = make_room(&mut toy, &[BucketIndex(0)], search, max_kicks);
                assert_eq!(stuck, Err(Stuck::NoPath));
                assert_eq!(toy.opened.get(), max_kicks, "{search:?}");
                assert_eq!(work::take_work(), max_kicks.into(), "{search:?}");
            }
        }
    }

    #[test]
    fn breadth_first_takes_the_shortest_path() {
        // From 0 a long way over 1, 2, 3 to 4, and a short one over 5 to 4.
        let buckets =
            [[(0, 1), (0, 5)], [(1, 2); 2], [(2, 3); 2], [(3, 4); 2], [(4, 0); 2], [(5, 4); 2]];
        let mut toy = Toy::new(2, buckets.map(Vec::from).to_vec());
        toy.buckets[4].pop();
        assert!(make_room(&mut toy, &[BucketIndex(0)], Search::BreadthFirst, 9).is_ok());
        assert_eq!(toy.buckets[0], vec![(0, 1)]);
        assert_eq!(toy.buckets[5], vec![(5, 4), (0, 5)]);
        assert_eq!(toy.buckets[4], vec![(4, 0), (5, 4)]);
    }

    #[test]
    fn a_bucket_that_leads_only_to_itself_ends_the_search() {
        for search in Search::ALL {
            let mut toy = Toy::new(2, vec![vec![(0, 0); 2]]);
            let starts = [BucketIndex(0)];
            assert_eq!(make_room(&mut toy, &starts, search, 500), Err(Stuck::NoPath));
            assert_eq!(make_room(&mut toy, &[], search, 500), Err(Stuck::NoPath));
        }
    }
}
