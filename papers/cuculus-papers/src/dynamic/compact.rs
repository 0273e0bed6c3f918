//! A shorter list: filters that can be emptied into the others are dropped. Three ways: the paper's
//! Algorithm 4 as it is printed, the same without moves that free nothing, and one with kicks.

use super::filter::DynamicCuckooFilter;
use cuculus::lab::memory;
use cuculus::lab::placement::{BucketIndex, Placement};
use cuculus::lab::room::Candidates;
use cuculus::lab::table::OutOfMemory;

impl DynamicCuckooFilter {
    /// Algorithm 4 of the paper as it is printed, and how many filters it dropped: one or none.
    ///
    /// The filters below
    /// [`capacity_per_filter`](super::DynamicCuckooFilterBuilder::capacity_per_filter) are sorted by
    /// their number of keys. One after the other, the sparsest first, gives each bucket's entries to
    /// the same bucket of the densest that has room. The first that is empty then is dropped, and that
    /// is the end. *What could not be emptied has still given away what fitted*: the keys gather in
    /// the dense filters, and a filter that was too full for one call is empty some calls later. So
    /// the list gets shorter if this is called after every few removals, even with random ones. The
    /// price is that it looks at every bucket of every filter that is not full, each time.
    ///
    /// ```
    /// use cuculus::{Filter, Insert, Remove};
    /// use cuculus_papers::DynamicCuckooFilter;
    ///
    /// let builder = DynamicCuckooFilter::builder().buckets_per_filter(64).fingerprint_bits(16);
    /// let mut set = builder.seed(1).build()?;
    /// set.extend(0..8000u64);
    /// let before = set.filters();
    /// for key in (0..8000u64).filter(|key| key % 3 == 0) {
    ///     set.remove(&key);
    ///     set.compact_as_printed();
    /// }
    /// assert!(set.filters() < before * 9 / 10);
    /// assert!((0..8000u64).all(|key| key % 3 == 0 || set.contains(&key)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compact_as_printed(&mut self) -> usize {
        let Ok(queue) = self.sparsest_first() else { return 0 };
        for (at, &sparse) in queue.iter().enumerate() {
            let denser = &queue[at + 1..];
            // The last one has nobody to give to.
            if denser.is_empty() {
                break;
            }
            self.give_what_fits(sparse, denser);
            if self.blocks[sparse].len == 0 {
                self.drop_filter(sparse);
                self.restart();
                return 1;
            }
        }
        0
    }

    /// Moves every entry of a filter that has room in the same bucket of another, the densest first.
    fn give_what_fits(&mut self, sparse: usize, denser: &[usize]) {
        for bucket in self.buckets() {
            for entry in self.blocks[sparse].entries(bucket) {
                let mut densest_first = denser.iter().rev();
                if densest_first.any(|&at| self.blocks[at].place_at(bucket, entry)) {
                    self.blocks[sparse].remove_at(bucket, entry);
                }
            }
        }
    }

    /// The filters below their capacity, in the order of their keys.
    fn sparsest_first(&self) -> Result<Vec<usize>, OutOfMemory> {
        let below = (0..self.blocks.len()).filter(|&at| self.is_below_capacity(at));
        let mut queue = memory::collected(below, self.blocks.len())?;
        queue.sort_unstable_by_key(|&at| (self.blocks[at].len, at));
        Ok(queue)
    }

    /// Drops filters whose entries all fit the same buckets of denser ones, and says how many.
    ///
    /// Of the filters below
    /// [`capacity_per_filter`](super::DynamicCuckooFilterBuilder::capacity_per_filter) the sparsest is
    /// emptied, bucket by bucket, into the same bucket of the others, the densest first. One that
    /// cannot be emptied in full stays as it was, and the next sparsest is tried; this goes on until
    /// nothing more can be dropped. The last filter stays. Where holes are used again, keys then go to
    /// the first filter of the list that is below its capacity. The paper's Algorithm 4 moves what
    /// fits in any case: that is [`compact_as_printed`](Self::compact_as_printed).
    ///
    /// No fingerprint is hashed and nothing is kicked, so it is fast: one pass over the buckets for
    /// each filter that is dropped, and usually a few buckets for one that cannot be. For the same
    /// reason it frees much when keys go in the order in which they came, and little when they go at
    /// random: one bucket that does not fit keeps a whole filter. The laboratory's `dcf-compact` says
    /// what is left after a share of the keys was removed.
    pub fn compact(&mut self) -> usize {
        let mut freed = 0;
        while self.free_by_moving() {
            freed += 1;
        }
        self.restart();
        freed
    }

    /// Drops as many filters as possible, and says how many: like [`compact`](Self::compact), but an
    /// entry may also go to its other bucket, and push others aside with kicks.
    ///
    /// Goes beyond the paper. The entries of the sparsest filter are inserted into copies of the
    /// others, so it takes about as long as inserting its keys, and for that time as much memory
    /// again as the list has; if there is no such memory, less is freed. It leaves as few filters as can hold the keys. What is left may be
    /// full to the last slots, so that the next keys soon need another filter.
    pub fn shrink_to_fit(&mut self) -> usize {
        let mut freed = 0;
        while self.free_by_moving() || self.free_by_kicks() {
            freed += 1;
        }
        self.restart();
        freed
    }

    /// Frees one filter, if that is possible without kicks. Buckets do not depend on each other, so it
    /// is known before anything is moved.
    fn free_by_moving(&mut self) -> bool {
        if self.blocks.len() == 1 {
            return false;
        }
        let Ok(queue) = self.sparsest_first() else { return false };
        for (sparser, &sparse) in queue.iter().enumerate() {
            let denser = &queue[sparser + 1..];
            if self.fits_into(sparse, denser) {
                self.move_into(sparse, denser);
                self.drop_filter(sparse);
                return true;
            }
        }
        false
    }

    fn buckets(&self) -> impl Iterator<Item = BucketIndex> + use<> {
        (0..self.placement.buckets()).map(BucketIndex)
    }

    /// Whether each bucket of a filter fits what is free in the same bucket of others. (It would not
    /// be the same bucket to a key if the filters had different lengths.)
    fn fits_into(&self, sparse: usize, denser: &[usize]) -> bool {
        self.buckets().all(|bucket| {
            let used = self.shape.slots_per_bucket - self.blocks[sparse].free(bucket);
            let mut missing = used;
            denser.iter().rev().any(|&at| {
                missing = missing.saturating_sub(self.blocks[at].free(bucket));
                missing == 0
            }) || missing == 0
        })
    }

    fn move_into(&mut self, sparse: usize, denser: &[usize]) {
        for bucket in self.buckets() {
            for entry in self.blocks[sparse].entries(bucket) {
                let mut densest_first = denser.iter().rev();
                let placed = densest_first.any(|&at| self.blocks[at].place_at(bucket, entry));
                debug_assert!(placed, "there was room for every entry");
            }
        }
    }

    /// Empties the sparsest filter into copies of the others, which take their place if everything
    /// went in. Copies, since a kick cannot be undone by what it moved: equal entries are
    /// interchangeable, but their slots are part of the bytes.
    fn free_by_kicks(&mut self) -> bool {
        let (shape, placement, kicks) = (self.shape, self.placement, self.kicks);
        let slots = self.slots_per_filter();
        let rest = self.blocks.len() - 1;
        if rest == 0 || self.len > rest * slots {
            return false;
        }
        let open = (0..=rest).filter(|&at| self.blocks[at].len < slots);
        let Ok(mut order) = memory::collected(open, rest + 1) else { return false };
        order.sort_unstable_by_key(|&at| (self.blocks[at].len, at));
        let Some((&sparse, others)) = order.split_first() else { return false };
        let Ok(mut copies) = memory::with_room(others.len()) else { return false };
        for &at in others {
            let Ok(copy) = self.blocks[at].copy(shape, placement.buckets()) else { return false };
            copies.push(copy);
        }
        for bucket in self.buckets() {
            for fingerprint in self.blocks[sparse].entries(bucket) {
                // A bucket and a fingerprint are all of a key that is needed: the alternate of the
                // alternate is the bucket itself.
                let alternate = placement.alternate(bucket, fingerprint);
                let key = Candidates { fingerprint, home: bucket, alternate };
                // What has room at once goes to the densest; kicks are few in the sparsest.
                let placed = copies.iter_mut().rev().any(|copy| copy.place(&key))
                    || copies.iter_mut().any(|copy| copy.insert(placement, kicks, &key).is_ok());
                if !placed {
                    return false;
                }
            }
        }
        for (&at, copy) in others.iter().zip(copies) {
            self.blocks[at] = copy;
        }
        self.drop_filter(sparse);
        true
    }

    fn drop_filter(&mut self, at: usize) {
        self.blocks.remove(at);
        memory::shrink(&mut self.blocks, 0);
        // The same filter stays current, or the one after it.
        self.current -= usize::from(at < self.current);
        self.current = self.current.min(self.blocks.len() - 1);
    }
}
