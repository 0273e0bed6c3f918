//! Hashes that are grouped by the segments that they belong to, by several threads. Knows nothing of
//! what is done with them.

use core::ops::Range;
use std::panic::resume_unwind;
use std::thread;

use super::address::Address;
use super::directory::linear_index;
use crate::table::OutOfMemory;
use crate::{FullCause, KeyHash, memory};

/// Segments in a first, coarse group, which stays in the cache while it is divided.
const COARSE: u32 = 7;

/// The most threads that share work.
pub(super) const MOST_THREADS: usize = 64;

/// Hashes by groups; within a group they are in the order in which they came.
struct Grouped {
    hashes: Vec<KeyHash>,
    /// Where each group ends.
    ends: Vec<usize>,
}

impl Grouped {
    /// `group` says which of the `groups` a hash belongs to.
    #[inline(always)]
    fn new(
        hashes: &[KeyHash],
        groups: usize,
        group: impl Fn(KeyHash) -> usize,
    ) -> Result<Self, OutOfMemory> {
        let mut ends = memory::filled(0usize, groups)?;
        hashes.iter().for_each(|&hash| ends[group(hash)] += 1);
        let mut all = 0;
        for end in &mut ends {
            all += core::mem::replace(end, all);
        }
        let mut sorted = memory::filled(KeyHash::new(0), all)?;
        for &hash in hashes {
            let next = &mut ends[group(hash)];
            sorted[*next] = hash;
            *next += 1;
        }
        Ok(Self { hashes: sorted, ends })
    }

    fn get(&self, group: usize) -> &[KeyHash] {
        let start = group.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.hashes[start..self.ends[group]]
    }
}

/// Does several pieces of work, [`MOST_THREADS`] at most, each by a thread of its own. `done` gets
/// the outcomes in the order of the pieces; it has room for them.
pub(super) fn in_threads<W: Clone + Send, T: Send>(
    pieces: impl Iterator<Item = W>,
    work: impl Fn(W) -> T + Sync,
    done: &mut Vec<T>,
) {
    let work = &work;
    thread::scope(|scope| {
        let mut workers = pieces.map(|piece| {
            let of_worker = piece.clone();
            (piece, thread::Builder::new().spawn_scoped(scope, move || work(of_worker)).ok())
        });
        let running: [_; MOST_THREADS] = core::array::from_fn(|_| workers.next());
        for (piece, worker) in running.into_iter().flatten() {
            done.push(match worker {
                Some(worker) => worker.join().unwrap_or_else(|panic| resume_unwind(panic)),
                // What got no thread is done by this one.
                None => work(piece),
            });
        }
    });
}

/// The segment of a hash among so many.
#[inline(always)]
pub(super) fn index_of(hash: KeyHash, count: usize) -> usize {
    linear_index(Address::of(hash).path, count as u32)
}

/// Hashes in groups of those of 2^[`COARSE`] segments.
pub(super) struct Groups {
    /// Parts of the hashes, each grouped by a thread.
    parts: Vec<Grouped>,
    /// The segments of the filter.
    pub(super) count: usize,
}

impl Groups {
    pub(super) fn new(hashes: &[KeyHash], count: usize, threads: usize) -> Result<Self, FullCause> {
        let groups = count.div_ceil(1 << COARSE);
        let grouped = |hashes| {
            Grouped::new(hashes, groups, |hash| index_of(hash, count) >> COARSE)
                .map_err(|_| FullCause::OutOfMemory)
        };
        let (mut made, mut parts) = (Vec::new(), Vec::new());
        let reserved = made.try_reserve_exact(threads);
        reserved.and(parts.try_reserve_exact(threads)).map_err(|_| FullCause::OutOfMemory)?;
        if threads == 1 {
            made.push(grouped(hashes));
        } else {
            in_threads(hashes.chunks(hashes.len().div_ceil(threads)), grouped, &mut made);
        }
        for part in made {
            parts.push(part?);
        }
        Ok(Self { parts, count })
    }

    /// Calls a function with every segment of a range and its keys, in turn, until it fails. The
    /// range begins with a group. Without memory it is not called at all.
    pub(super) fn each(
        &self,
        range: Range<usize>,
        mut see: impl FnMut(usize, &[KeyHash]) -> Result<(), FullCause>,
    ) -> Result<(), FullCause> {
        let firsts = || range.clone().step_by(1 << COARSE);
        let keys_from = |first| self.parts.iter().map(move |part| part.get(first >> COARSE));
        let most = firsts().map(|first| keys_from(first).map(<[_]>::len).sum()).max();
        let mut sorted =
            memory::with_room(most.unwrap_or(0)).map_err(|_| FullCause::OutOfMemory)?;
        for first in firsts() {
            let among = |hash: KeyHash| index_of(hash, self.count) - first;
            let keys = || keys_from(first).flatten();
            let mut ends = [0; 1 << COARSE];
            keys().for_each(|&hash| ends[among(hash)] += 1);
            let mut all = 0;
            for end in &mut ends {
                all += core::mem::replace(end, all);
            }
            sorted.clear();
            sorted.resize(all, KeyHash::new(0));
            for &hash in keys() {
                let next = &mut ends[among(hash)];
                sorted[*next] = hash;
                *next += 1;
            }
            let mut from = 0;
            for (at, &to) in ends.iter().enumerate().take(range.end - first) {
                see(first + at, &sorted[from..to])?;
                from = to;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_keep_the_order() {
        let hashes: Vec<KeyHash> = (0..1000u64).map(|i| KeyHash::new(i * 7 % 1000)).collect();
        let grouped = Grouped::new(&hashes, 10, |hash| (hash.get() % 10) as usize).expect("memory");
        for group in 0..10 {
            let expected: Vec<KeyHash> =
                hashes.iter().copied().filter(|hash| hash.get() % 10 == group).collect();
            assert_eq!(grouped.get(group as usize), expected);
        }
        assert_eq!(grouped.hashes.len(), 1000);
    }

    #[test]
    fn outcomes_are_in_the_order_of_the_pieces() {
        let mut done = Vec::with_capacity(20);
        in_threads(0..20u64, |piece| piece * piece, &mut done);
        assert!(done.iter().copied().eq((0..20).map(|piece| piece * piece)));
    }
}
