//! The random walk as the papers print it, without what is wrong with it. Knows buckets and ways
//! between them, like the rest of the kick engine.
//!
//! A random entry of the bucket gives way, goes to another of its candidates, and if there is no
//! room a random entry gives way there, up to `max_kicks` times. Unlike the engine's own walk it may
//! come back to a bucket, and kick out what it has put there, the new entry too. That finds room
//! more often in small tables, where a walk that must not return is soon stuck.
//!
//! It is walked on paper: the table is read and what would have moved is noted. If the walk gives up
//! there is nothing to undo, where the papers drop the entry that they hold. If it finds room, the
//! entries on the way from the new entry to the free slot move. A loop of the walk, which only
//! exchanges entries of full buckets, is left out: it changes neither how full a bucket is nor
//! whether an entry is at home (the tests compare the loads with those of the moves as printed).

use super::{Passed, Space, Stuck};
use crate::placement::BucketIndex;
use crate::table::OutOfMemory;
use crate::{memory, work};

/// An entry's candidates: sixteen on a ring, and where it is.
const MOST_TARGETS: usize = 32;

/// A slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    bucket: BucketIndex,
    slot: u32,
}

/// An entry, by the slot that it really is in; `None` is the new one.
type Entry = Option<Place>;

/// What lies where on paper.
struct Paper {
    moved: Vec<(Place, Entry)>,
    passed: Passed,
}

impl Paper {
    /// Puts an entry into a slot, and returns the one that lay there.
    fn exchange(&mut self, place: Place, entry: Entry) -> Result<Entry, OutOfMemory> {
        let mut moved = self.moved.iter_mut();
        if self.passed.may_contain(place.bucket)
            && let Some((_, lies)) = moved.find(|(at, _)| *at == place)
        {
            return Ok(core::mem::replace(lies, entry));
        }
        memory::push(&mut self.moved, (place, entry))?;
        self.passed.note(place.bucket);
        Ok(Some(place))
    }
}

#[inline(never)]
pub(super) fn paper_walk(
    space: &mut impl Space,
    starts: &[BucketIndex],
    max_kicks: u32,
) -> Result<BucketIndex, Stuck> {
    let mut random = Random::of(space, starts);
    let mut paper = Paper { moved: Vec::new(), passed: Passed::new() };
    let mut targets: Vec<BucketIndex> = memory::with_room(MOST_TARGETS)?;
    let mut bucket = random.one_of(starts).ok_or(Stuck::NoPath)?;
    let mut hand: Entry = None;
    for _ in 0..max_kicks {
        work::add(1);
        space.opened(1);
        let slot = random.below(space.slots_in(bucket)).ok_or(Stuck::NoPath)?;
        hand = paper.exchange(Place { bucket, slot }, hand)?;
        targets.clear();
        match hand {
            None => targets.extend(starts),
            Some(home) => {
                targets.push(home.bucket);
                space.ways_out_of(home.bucket, home.slot, |target| targets.push(target));
            }
        }
        targets.retain(|&target| target != bucket);
        // An entry without another candidate goes back, and another gives way.
        bucket = random.one_of(&targets).unwrap_or(bucket);
        if space.has_room(bucket) {
            return carry_out(space, &paper.moved, hand.ok_or(Stuck::NoPath)?, bucket);
        }
    }
    Err(Stuck::NoPath)
}

/// Moves the entries between the new one and the free slot, from there backwards; returns the bucket
/// that has room for the new one.
fn carry_out(
    space: &mut impl Space,
    moved: &[(Place, Entry)],
    last: Place,
    free: BucketIndex,
) -> Result<BucketIndex, Stuck> {
    let mut path = memory::with_room(moved.len())?;
    let mut entry = None;
    // Each slot on the way has lost its own entry to the next one. The last lost it to the hand.
    while entry != Some(last) {
        let Some(&(place, _)) = moved.iter().find(|(_, lies)| *lies == entry) else { break };
        path.push(place);
        entry = Some(place);
    }
    // Of several visits to a bucket only the last counts, so that no bucket changes twice and the
    // slots of a sorted one stay where they are.
    let mut simple: Vec<Place> = memory::with_room(path.len())?;
    let mut at = 0;
    while let Some(here) = path.get(at) {
        let last = path.iter().rposition(|place| place.bucket == here.bucket).unwrap_or(at);
        simple.push(path[last]);
        at = last + 1;
    }
    space.prepare(simple.len())?;
    Ok(simple.iter().rev().fold(free, |to, place| {
        space.kick(place.bucket, place.slot, to);
        place.bucket
    }))
}

/// SplitMix64 from a state that depends on the new entry's buckets and on what the first of them
/// holds: the same operations give the same bytes, and the same bucket does not always lose the
/// entry that it got last.
struct Random(u64);

impl Random {
    fn of(space: &impl Space, starts: &[BucketIndex]) -> Self {
        let mut random = Self(0);
        let mut mix = |number: u32| {
            random.0 ^= u64::from(number);
            random.0 = random.next();
        };
        starts.iter().for_each(|start| mix(start.0));
        if let Some(&first) = starts.first() {
            space.ways_out(first, |_, target| mix(target.0));
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below `end`, unless that is zero.
    fn below(&mut self, end: u32) -> Option<u32> {
        ((self.next() >> 32) as u32).checked_rem(end)
    }

    fn one_of(&mut self, buckets: &[BucketIndex]) -> Option<BucketIndex> {
        let at = self.below(buckets.len() as u32)?;
        buckets.get(at as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Toy;
    use super::*;

    const SLOTS: usize = 3;
    const BUCKETS: u32 = 64;

    fn empty() -> Toy {
        Toy::new(SLOTS, vec![Vec::new(); BUCKETS as usize])
    }

    fn random_key(random: &mut Random) -> (u32, u32) {
        (random.below(BUCKETS).unwrap(), random.below(BUCKETS).unwrap())
    }

    /// Until one is refused after this many kicks, with random candidates.
    fn filled(
        seed: u64,
        insert: impl Fn(&mut Toy, (u32, u32), &mut Random) -> bool,
    ) -> (Toy, usize) {
        let (mut table, mut random) = (empty(), Random(seed));
        loop {
            let key = random_key(&mut random);
            let before = table.clone();
            if !insert(&mut table, key, &mut random) {
                return (before, table.len());
            }
            assert_eq!(table.len(), before.len() + 1);
            assert!(table.entries_are_at_home());
        }
    }

    fn ours(table: &mut Toy, key: (u32, u32), _: &mut Random) -> bool {
        let starts = [BucketIndex(key.0), BucketIndex(key.1)];
        if table.place(key.0, key) || table.place(key.1, key) {
            return true;
        }
        match paper_walk(table, &starts, 500) {
            Ok(bucket) => starts.contains(&bucket) && table.place(bucket.0, key),
            Err(_) => false,
        }
    }

    /// Algorithm 1 of the Cuckoo Filter paper, which moves as it goes and loses an entry at the end.
    fn as_printed(table: &mut Toy, key: (u32, u32), random: &mut Random) -> bool {
        if table.place(key.0, key) || table.place(key.1, key) {
            return true;
        }
        let mut hand = key;
        let mut bucket = [key.0, key.1][random.below(2).unwrap() as usize];
        for _ in 0..500 {
            let slot = random.below(SLOTS as u32).unwrap() as usize;
            hand = core::mem::replace(&mut table.buckets[bucket as usize][slot], hand);
            bucket = if hand.0 == bucket { hand.1 } else { hand.0 };
            if table.place(bucket, hand) {
                return true;
            }
        }
        false
    }

    #[test]
    fn a_walk_that_gives_up_changes_nothing() {
        for seed in 0..20 {
            let (before, _) = filled(seed, ours);
            let mut random = Random(seed);
            for _ in 0..50 {
                let mut after = before.clone();
                let starts = <[u32; 2]>::from(random_key(&mut random)).map(BucketIndex);
                if starts.iter().any(|&start| before.has_room(start)) {
                    continue;
                }
                if paper_walk(&mut after, &starts, 20).is_err() {
                    assert_eq!(after.buckets, before.buckets);
                }
            }
        }
    }

    /// The mean load at the first refusal, of 400 tables each: within five standard errors, which
    /// is half a point.
    #[test]
    fn loops_left_out_do_not_change_how_full_a_table_gets() {
        let tables = 400;
        let loads = |insert: fn(&mut Toy, (u32, u32), &mut Random) -> bool| {
            let of = |seed| filled(seed, insert).1 as f64 / (BUCKETS as usize * SLOTS) as f64;
            let loads: Vec<f64> = (0..tables).map(of).collect();
            let mean = loads.iter().sum::<f64>() / loads.len() as f64;
            let spread = loads.iter().map(|load| (load - mean).powi(2)).sum::<f64>();
            (mean, (spread / loads.len() as f64).sqrt())
        };
        let ((ours, spread), (printed, _)) = (loads(ours), loads(as_printed));
        let tolerance = 5.0 * spread * (2.0 / tables as f64).sqrt();
        assert!((ours - printed).abs() < tolerance, "{ours:.4} {printed:.4} ± {tolerance:.4}");
        assert!(tolerance < 0.015, "{tolerance}");
    }

    #[test]
    fn nothing_to_kick_ends_the_walk() {
        assert!(paper_walk(&mut empty(), &[], 500).is_err());
        let mut stuck = empty();
        stuck.buckets[5] = vec![(5, 5); SLOTS];
        assert!(paper_walk(&mut stuck, &[BucketIndex(5)], 500).is_err());
    }
}
