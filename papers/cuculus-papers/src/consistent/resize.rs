//! Growing and shrinking, all or nothing each time.

use super::builder::MAX_MAX_FILTERS;
use super::filter::ConsistentCuckooFilter;
use super::policy::{Growth, History, Resizing, SUDDEN};
use crate::index_independent::builder::IndexIndependentCuckooFilterBuilder;
use crate::index_independent::most_for_one;
use crate::index_independent::ring_table::{FREE_BUCKETS, Log, RingPlan, RingTable};
use crate::ring::Points;
use cuculus::lab::placement::{BucketIndex, Fingerprint};
use cuculus::{
    BuildError, Filter, Full, FullCause,
    lab::{memory, work},
};

/// The most buckets that can be added in one call: more than a gigabyte with its ring.
const MOST_AT_ONCE: u32 = 1 << 24;
/// Buckets looked at after a removal.
const SWEPT: u32 = 8;
/// A load at which more room is the remedy. Keys that find none at a lower one were chosen.
const NEARLY_FULL: f64 = 0.9;

impl ConsistentCuckooFilter {
    /// Adds `buckets` buckets to the filter that has the fewest. Entries that lose their place are
    /// inserted again, and if some find no room a few more buckets are added. Returns how many were
    /// added.
    ///
    /// # Errors
    /// [`Full`] if there is no memory, or no end to the buckets needed; nothing has changed then.
    pub fn scale_up(&mut self, buckets: usize) -> Result<usize, Full> {
        let at = self.fewest_buckets();
        let table = &mut self.filters[at];
        let least = u32::try_from(buckets).ok().filter(|&buckets| buckets <= MOST_AT_ONCE);
        let added = match least {
            None => Err(FullCause::OutOfMemory),
            Some(0) => Ok(0),
            Some(least) => table.grow(None, least, least + most_for_one(table.bucket_count())),
        };
        match added {
            Ok(added) => Ok(added as usize),
            Err(cause) => Err(self.full(cause)),
        }
    }

    /// Removes a bucket: the emptiest of the least loaded filter, or of the next, if its entries
    /// find room where they belong without it. Says whether one was removed; if not, nothing has
    /// changed.
    pub fn scale_down(&mut self) -> bool {
        let order = self.by_load();
        order.iter().any(|at| {
            let emptiest = self.filters[at].emptiest();
            self.filters[at].remove_bucket(emptiest)
        })
    }

    /// Adds an empty filter like the first one: but with no more buckets than there are, unless that
    /// is fewer than 256.
    ///
    /// # Errors
    /// [`Full`] with [`FullCause::TooManyFilters`] or [`FullCause::OutOfMemory`]; nothing has
    /// changed then.
    pub fn scale_out(&mut self) -> Result<(), Full> {
        if self.filters.len() >= self.policy.max_filters as usize {
            let max = self.policy.max_filters as usize;
            return Err(self.full(FullCause::TooManyFilters { max }));
        }
        let most = self.all_buckets().max(FREE_BUCKETS);
        let plan = RingPlan { buckets: self.first.buckets.min(most), ..self.first };
        self.add_filter(plan).map_err(|cause| self.full(cause))
    }

    /// Adds an empty filter with buckets, slots, candidates, nodes and kicks of its own: the
    /// filters need not be alike. The length of fingerprints is that of all filters.
    ///
    /// # Errors
    /// [`BuildError`] if there can be no such filter, or not one more; nothing has changed then.
    pub fn scale_out_with(
        &mut self,
        builder: &IndexIndependentCuckooFilterBuilder,
    ) -> Result<(), BuildError> {
        let bits = self.first.shape.fingerprint_bits;
        let (_, plan) = builder.clone().fingerprint_bits(bits).plan()?;
        let (got, max) = (self.filters.len() as u64 + 1, u64::from(self.policy.max_filters));
        if got > max {
            let parameter = "number of filters";
            return Err(BuildError::OutOfRange { parameter, got, min: 1, max });
        }
        let bytes = plan.shape.payload_bytes(u64::from(plan.buckets));
        self.add_filter(plan).map_err(|_| BuildError::OutOfMemory { bytes })
    }

    /// Moves the entries of the filter that has the fewest to the others, and drops it; again and
    /// again until they do not fit (the paper's Algorithm 4). Returns how many filters are gone.
    /// The last attempt, which fails, leaves everything as it was.
    pub fn compact(&mut self) -> usize {
        let before = self.filters.len();
        while self.merge_smallest() {}
        before - self.filters.len()
    }

    /// Moves the entries of the smallest filter to the others, if they fit, and drops it.
    fn merge_smallest(&mut self) -> bool {
        let lens = self.filters.iter().map(RingTable::len);
        let Some((smallest, _)) = lens.enumerate().min_by_key(|&(_, len)| len) else {
            return false;
        };
        let others = self.filters.iter().enumerate().filter(|&(at, _)| at != smallest);
        let free: usize = others.map(|(_, table)| table.slots() - table.len()).sum();
        if self.filters.len() == 1 || self.filters[smallest].len() > free {
            return false;
        }
        let lens = self.filters.iter().map(|table| (table.len(), Log::default()));
        let Ok(mut logs) = memory::collected(lens, self.filters.len()) else { return false };
        logs.remove(smallest);
        let merged = self.filters.remove(smallest);
        let fit = merged.all_entries().all(|entry| {
            work::add(1);
            let points = Points::of(entry, self.most_candidates());
            let order = self.by_load();
            order
                .iter()
                .any(|at| self.filters[at].insert(entry, &points, Some(&mut logs[at].1)).is_ok())
        });
        if fit {
            memory::shrink(&mut self.filters, 0);
        } else {
            for (table, (len, log)) in self.filters.iter_mut().zip(logs) {
                table.roll_back(log, len);
            }
            self.filters.insert(smallest, merged);
        }
        fit
    }

    /// Makes room for a fingerprint that no filter takes, and stores it.
    pub(super) fn grow_for(&mut self, new: Fingerprint) -> Result<(), FullCause> {
        let buckets = self.all_buckets();
        let (count, load) = (self.filters.len(), self.utilization());
        match self.policy.growth(&self.history, count, buckets, self.first.buckets, load) {
            Growth::None if self.policy.resizing == Resizing::Manual => {
                Err(FullCause::NoRoom { max_kicks: self.first.kicks.max })
            }
            Growth::None => Err(FullCause::Crowded),
            Growth::Buckets => {
                let at = self.fewest_buckets();
                let table = &mut self.filters[at];
                match table.grow(Some(new), 1, most_for_one(table.bucket_count())) {
                    Ok(added) => {
                        self.history.grown = self.history.grown.saturating_add(added);
                        Ok(())
                    }
                    // In a filter that is nearly full a new bucket gets as many entries from others as it
                    // has slots, and some of these may find no room within the bounded work.
                    Err(FullCause::Crowded) if load >= NEARLY_FULL => {
                        let first = self.first.buckets;
                        let wanted = self.policy.instead_of_buckets(count, buckets, first);
                        self.grow_filter_for(new, wanted.ok_or(FullCause::Crowded)?)
                    }
                    Err(cause) => Err(cause),
                }
            }
            Growth::Filter { buckets: wanted } => self.grow_filter_for(new, wanted),
        }
    }

    fn grow_filter_for(&mut self, new: Fingerprint, buckets: u32) -> Result<(), FullCause> {
        // A file may say anything of the size of a new filter.
        let buckets = buckets.min(self.all_buckets().max(FREE_BUCKETS));
        let history = self.history;
        self.add_filter(RingPlan { buckets, ..self.first })?;
        let Some(table) = self.filters.last_mut() else { return Err(FullCause::Crowded) };
        let points = Points::of(new, table.candidate_count());
        // Every candidate is empty.
        table.insert(new, &points, None).inspect_err(|_| {
            self.filters.pop();
            self.history = history;
        })
    }

    fn add_filter(&mut self, plan: RingPlan) -> Result<(), FullCause> {
        let table = RingTable::new(plan, salt(self.history.made));
        let table = table.map_err(|_| FullCause::OutOfMemory)?;
        memory::reserve_one(&mut self.filters, usize::MAX).map_err(|_| FullCause::OutOfMemory)?;
        self.filters.push(table);
        self.history.made = self.history.made.wrapping_add(1);
        self.history.grown = 0;
        self.wait_before_merging();
        Ok(())
    }

    /// A filter that is new, or that could not be merged, is left alone until some keys have gone:
    /// with one entry less it would not go better, and a merge that fails has tried all entries of a
    /// filter. (Free slots would be the wrong measure, since they go with the buckets that are
    /// removed.)
    fn wait_before_merging(&mut self) {
        self.history.merge_at = Some(self.some_keys_fewer());
    }

    fn some_keys_fewer(&self) -> u64 {
        let smallest = self.filters.iter().map(RingTable::slots).min().unwrap_or(0);
        let len = self.len();
        (len - (smallest / 16).max(len / 32).min(len / 8)) as u64
    }

    /// Whether enough keys have gone; those that have come since are not waited for.
    fn merge_is_due(&mut self) -> bool {
        if self.filters.len() == 1 || !self.policy.merges() {
            return false;
        }
        let Some(at) = self.history.merge_at else { return true };
        let at = at.max(self.some_keys_fewer());
        self.history.merge_at = Some(at);
        self.len() as u64 <= at
    }

    /// Shrinks, if the removal of an entry has made that worth trying.
    pub(super) fn shrink_after_removal(&mut self, filter: usize, bucket: BucketIndex) {
        self.history.grown = 0;
        if self.merge_is_due() {
            if self.compact() > 0 || self.policy.removes_buckets() && self.merge_small() {
                self.history.merge_at = None;
                return;
            }
            self.wait_before_merging();
        }
        if self.policy.removes_buckets() {
            self.remove_if_sparse(filter, bucket);
            self.sweep();
        }
    }

    /// Moves the entries of a filter that has become smaller than a new one to another, which gets
    /// buckets for them: where sparse buckets are removed, no room is left for a merge without.
    fn merge_small(&mut self) -> bool {
        let at = self.fewest_buckets();
        let small = self.filters[at].bucket_count() < self.first.buckets.max(SUDDEN);
        if self.filters.len() == 1 || !small {
            return false;
        }
        let merged = self.filters.remove(at);
        let into = self.fewest_buckets();
        let table = &mut self.filters[into];
        let most = merged.bucket_count() + most_for_one(table.bucket_count());
        let fit = table.grow(merged.all_entries(), 0, most).is_ok();
        match fit {
            true => memory::shrink(&mut self.filters, 0),
            false => self.filters.insert(at, merged),
        }
        fit
    }

    fn remove_if_sparse(&mut self, filter: usize, bucket: BucketIndex) {
        let table = &mut self.filters[filter];
        if table.held_by(bucket) < self.policy.sparse {
            table.remove_bucket(bucket);
        }
    }

    /// Looks at a few buckets in turn: one that got a small share of the ring has few entries from
    /// the beginning, and no removal leads there.
    fn sweep(&mut self) {
        for _ in 0..SWEPT {
            let mut at = self.history.sweep;
            let found = self.filters.iter().enumerate().find_map(|(filter, table)| {
                let here = at < table.bucket_count();
                at = if here { at } else { at - table.bucket_count() };
                here.then_some((filter, BucketIndex(at)))
            });
            match found {
                Some((filter, bucket)) => self.remove_if_sparse(filter, bucket),
                None => self.history.sweep = u32::MAX,
            }
            self.history.sweep = self.history.sweep.wrapping_add(1);
        }
    }

    pub(super) fn all_buckets(&self) -> u32 {
        self.filters.iter().map(RingTable::bucket_count).fold(0, u32::saturating_add)
    }

    fn fewest_buckets(&self) -> usize {
        let counts = self.filters.iter().map(RingTable::bucket_count).enumerate();
        counts.min_by_key(|&(_, count)| count).map_or(0, |(at, _)| at)
    }

    /// The active filter: the one that keys are offered first.
    #[inline(always)]
    pub(super) fn least_loaded(&self) -> usize {
        let loads = self.filters.iter().map(RingTable::load).enumerate();
        loads.min_by(|(_, a), (_, b)| a.total_cmp(b)).map_or(0, |(at, _)| at)
    }

    /// All filters, the least loaded first.
    pub(super) fn by_load(&self) -> Order {
        let mut order = Order { at: [0; MAX_MAX_FILTERS as usize], count: self.filters.len() };
        for (at, place) in order.at.iter_mut().take(order.count).enumerate() {
            *place = at as u16;
        }
        order.at[..order.count].sort_unstable_by(|&a, &b| {
            let load = |at: u16| self.filters[usize::from(at)].load();
            load(a).total_cmp(&load(b)).then(a.cmp(&b))
        });
        order
    }
}

/// Filters in some order. There are few enough to need no memory for it.
pub(super) struct Order {
    at: [u16; MAX_MAX_FILTERS as usize],
    count: usize,
}

impl Order {
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.at[..self.count].iter().map(|&at| usize::from(at))
    }
}

impl History {
    /// Of a filter with its first table.
    pub(super) fn of_new() -> Self {
        Self { made: 1, ..Self::default() }
    }
}

/// Every filter has other positions on its ring than those before it, so that what is crowded in
/// one is not in the next.
pub(super) fn salt(made: u32) -> u32 {
    made.wrapping_mul(0x9e37_79b1)
}
