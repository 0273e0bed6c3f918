//! Where entries lie, and where they would lie with another seed or size. Knows hashes, nothing of
//! keys and values: what does not fit is found out before anything is moved.

use cuculus::lab::{memory, table::OutOfMemory};
use cuculus::{Key, KeyHasher};

use crate::baselines::kicks::{Place, Space, make_room};
use crate::baselines::probes::{remix, scale};

/// What decides about the buckets of a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub(super) seed: u64,
    /// All buckets, an even number; of two tables the first half and the second.
    pub(super) buckets: usize,
    pub(super) tables: u32,
    pub(super) slots_per_bucket: usize,
}

impl Form {
    pub(super) fn slots(self) -> usize {
        self.buckets * self.slots_per_bucket
    }

    #[inline(always)]
    pub(super) fn hash(self, key: &(impl Key + ?Sized)) -> u64 {
        KeyHasher::xxh3(self.seed).hash(key).get()
    }

    /// The two buckets of a hash, which differ.
    #[inline(always)]
    pub(super) fn buckets_of(self, hash: u64) -> [usize; 2] {
        let buckets = self.buckets as u64;
        let [first, second] = if self.tables == 2 {
            [scale(hash, buckets / 2), buckets / 2 + scale(remix(hash), buckets / 2)]
        } else {
            let (first, second) = (scale(hash, buckets), scale(remix(hash), buckets));
            [first, if second == first { first ^ 1 } else { second }]
        };
        [first as usize, second as usize]
    }

    #[inline(always)]
    pub(super) fn index(self, place: Place) -> usize {
        place.bucket * self.slots_per_bucket + place.slot
    }

    #[inline(always)]
    pub(super) fn places_of(self, hash: u64) -> impl Iterator<Item = Place> {
        let slots = self.slots_per_bucket;
        let buckets = self.buckets_of(hash).into_iter();
        buckets.flat_map(move |bucket| (0..slots).map(move |slot| Place { bucket, slot }))
    }
}

/// A table of numbers instead of entries.
pub(super) struct Draft {
    form: Form,
    hashes: Vec<u64>,
    /// The number of an entry, from one on; zero where there is none.
    slots: Vec<usize>,
}

impl Draft {
    /// Lays out entries with these hashes, numbered from zero; `None` if one of them finds no room.
    pub(super) fn lay_out(
        form: Form,
        hashes: Vec<u64>,
        max_kicks: u32,
    ) -> Result<Option<Self>, OutOfMemory> {
        let mut draft = Self { form, hashes, slots: memory::filled(0, form.slots())? };
        for number in 0..draft.hashes.len() {
            let buckets = form.buckets_of(draft.hashes[number]);
            let Some(place) = make_room(&mut draft, buckets, max_kicks) else { return Ok(None) };
            draft.slots[form.index(place)] = number + 1;
        }
        Ok(Some(draft))
    }

    pub(super) fn targets(&self) -> Result<Vec<usize>, OutOfMemory> {
        let mut targets = memory::filled(0, self.hashes.len())?;
        for (at, number) in self.slots.iter().enumerate() {
            if let Some(number) = number.checked_sub(1) {
                targets[number] = at;
            }
        }
        Ok(targets)
    }
}

impl Space for Draft {
    fn slots_per_bucket(&self) -> usize {
        self.form.slots_per_bucket
    }

    fn is_free(&self, place: Place) -> bool {
        self.slots[self.form.index(place)] == 0
    }

    fn other_bucket(&self, place: Place) -> usize {
        let number = self.slots[self.form.index(place)];
        let hash = number.checked_sub(1).map_or(0, |number| self.hashes[number]);
        let [first, second] = self.form.buckets_of(hash);
        if place.bucket == first { second } else { first }
    }

    fn relocate(&mut self, from: Place, to: Place) {
        self.slots[self.form.index(to)] = core::mem::take(&mut self.slots[self.form.index(from)]);
    }
}
