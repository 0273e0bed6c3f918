//! Room in full buckets of a table whose entries can be in either of two buckets. Knows buckets and
//! slots, nothing of what an entry is.
//!
//! A small form of the library's engine, which is not public: the nearest free slot is found first,
//! breadth first, and then the moves are carried out from there backwards. So a search that finds
//! nothing has changed nothing, and no entry is ever without a place.

pub(crate) const DEFAULT_MAX_KICKS: u32 = 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) bucket: usize,
    pub(crate) slot: usize,
}

pub(crate) trait Space {
    fn slots_per_bucket(&self) -> usize;

    fn is_free(&self, place: Place) -> bool;

    /// The other bucket of the entry in a place.
    fn other_bucket(&self, place: Place) -> usize;

    /// Moves an entry to a free place.
    fn relocate(&mut self, from: Place, to: Place);
}

/// A bucket that was reached, and the entry that would move there.
struct Step {
    bucket: usize,
    from: Option<(usize, usize)>,
}

/// The free slots of a bucket, and the last of them.
#[inline(always)]
fn room(space: &impl Space, bucket: usize) -> (u32, Option<Place>) {
    let places = (0..space.slots_per_bucket()).map(|slot| Place { bucket, slot });
    places.filter(|&at| space.is_free(at)).fold((0, None), |(count, _), at| (count + 1, Some(at)))
}

#[inline(always)]
fn free_slot(space: &impl Space, bucket: usize) -> Option<Place> {
    (0..space.slots_per_bucket()).map(|slot| Place { bucket, slot }).find(|&at| space.is_free(at))
}

/// A free place in one of two buckets, for which entries of at most `max_kicks` full buckets are
/// looked at. After `None` nothing has changed.
pub(crate) fn make_room(
    space: &mut impl Space,
    buckets: [usize; 2],
    max_kicks: u32,
) -> Option<Place> {
    // The emptier of the two, so that fewer pairs of full buckets arise.
    let room = buckets.map(|bucket| room(space, bucket));
    let emptier = if room[1].0 > room[0].0 { room[1] } else { room[0] };
    if let (_, Some(place)) = emptier {
        return Some(place);
    }
    let mut steps: Vec<Step> = buckets.map(|bucket| Step { bucket, from: None }).into();
    for opened in 0..max_kicks as usize {
        let bucket = steps.get(opened)?.bucket;
        for slot in 0..space.slots_per_bucket() {
            let next = space.other_bucket(Place { bucket, slot });
            if let Some(free) = free_slot(space, next) {
                return Some(carry_out(space, &steps, (opened, slot), free));
            }
            steps.push(Step { bucket: next, from: Some((opened, slot)) });
        }
    }
    None
}

/// The first bucket with room is reached by a path that meets no bucket twice, or a shorter one would
/// have been found before: the moves do not disturb each other.
fn carry_out(
    space: &mut impl Space,
    steps: &[Step],
    (mut step, mut slot): (usize, usize),
    mut free: Place,
) -> Place {
    loop {
        let from = Place { bucket: steps[step].bucket, slot };
        space.relocate(from, free);
        free = from;
        match steps[step].from {
            Some(before) => (step, slot) = before,
            None => return free,
        }
    }
}
