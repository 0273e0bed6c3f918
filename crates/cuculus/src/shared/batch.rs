//! Many keys at a time, part by part, so that each part is entered once for many of them.

use core::ops::Range;

use super::filter::{Shared, SharedFilter};
use super::part::{Numbered, SharedPart};
use crate::memory::filled;
use crate::table::OutOfMemory;
use crate::{Full, FullCause, KeyHash};

/// Keys for each part, on average, that are taken together: enough to make up for the sorting, and
/// few enough that nobody waits long for a part.
const KEYS_PER_PART: usize = 32;

/// Some keys in the order of their parts, each with its number among them.
struct Sorted {
    keys: Vec<Numbered>,
    ends: Vec<u32>,
}

impl Sorted {
    fn new(shared: &Shared, hashes: &[KeyHash]) -> Result<Self, OutOfMemory> {
        let mut ends = filled(0u32, shared.parts.len())?;
        hashes.iter().for_each(|&hash| ends[shared.part_of(hash)] += 1);
        let mut sum = 0;
        for end in &mut ends {
            (*end, sum) = (sum, sum + *end);
        }
        let mut keys = filled((0, KeyHash::new(0)), hashes.len())?;
        for (at, &hash) in (0..).zip(hashes) {
            let end = &mut ends[shared.part_of(hash)];
            keys[*end as usize] = (at, hash);
            *end += 1;
        }
        Ok(Self { keys, ends })
    }

    /// The parts that have keys, with their keys.
    fn iter(&self) -> impl Iterator<Item = (usize, &[Numbered])> {
        let mut start = 0;
        self.ends.iter().enumerate().filter_map(move |(part, &end)| {
            let range = core::mem::replace(&mut start, end as usize)..end as usize;
            (!range.is_empty()).then(|| (part, &self.keys[range]))
        })
    }
}

impl SharedFilter {
    /// Cuts a batch into pieces, and gives the keys of each in the order of their parts. Without memory
    /// for sorting, each key by itself.
    fn by_part(
        &self,
        hashes: &[KeyHash],
        mut each: impl FnMut(&SharedPart, Range<usize>, &[Numbered]) -> Result<(), FullCause>,
    ) -> Result<(), FullCause> {
        let Shared { parts, .. } = &*self.shared;
        let most = KEYS_PER_PART * self.parts();
        for start in (0..hashes.len()).step_by(most) {
            let piece = start..hashes.len().min(start + most);
            if let Ok(sorted) = Sorted::new(&self.shared, &hashes[piece.clone()]) {
                for (part, keys) in sorted.iter() {
                    each(&parts[part], piece.clone(), keys)?;
                }
                continue;
            }
            for (at, &hash) in (0..).zip(&hashes[piece.clone()]) {
                each(&parts[self.shared.part_of(hash)], piece.clone(), &[(at, hash)])?;
            }
        }
        Ok(())
    }

    /// Inserts many keys.
    ///
    /// # Errors
    /// If a key is refused. Keys are taken part by part, so some of the others are stored then and
    /// some are not: [`Full::inserted`] says how many are. To know which, insert them one by one.
    pub fn insert_batch(&self, hashes: &[KeyHash]) -> Result<(), Full> {
        let mut inserted = 0;
        let done = self.by_part(hashes, |part, _, keys| part.insert_many(keys, &mut inserted));
        done.map_err(|cause| Full { inserted, ..self.full(cause) })
    }

    /// Inserts those of many keys that are not contained, as [`insert_absent`](Self::insert_absent)
    /// does. `absent[i]` is true if key `i` was inserted; `absent` is cleared first.
    ///
    /// # Errors
    /// If a key is refused. Keys are taken part by part, so some of those after it may have been
    /// inserted, and some before it not: `absent` is true for all that were.
    pub fn insert_absent_batch(
        &self,
        hashes: &[KeyHash],
        absent: &mut Vec<bool>,
    ) -> Result<(), Full> {
        absent.clear();
        if absent.try_reserve(hashes.len()).is_err() {
            return Err(self.full(FullCause::OutOfMemory));
        }
        absent.resize(hashes.len(), false);
        let done = self.by_part(hashes, |part, piece, keys| {
            let each = |at: u32, is_absent| absent[piece.start + at as usize] = is_absent;
            part.insert_absent_many(keys, each)
        });
        done.map_err(|cause| {
            let inserted = absent.iter().filter(|&&absent| absent).count();
            Full { inserted, ..self.full(cause) }
        })
    }

    /// Removes one occurrence of each of many keys. `removed[i]` says whether there was one of key
    /// `i`; `removed` is cleared first.
    pub fn remove_batch(&self, hashes: &[KeyHash], removed: &mut Vec<bool>) {
        removed.clear();
        removed.resize(hashes.len(), false);
        let _ = self.by_part(hashes, |part, piece, keys| {
            let each = |at: u32, was_there| removed[piece.start + at as usize] = was_there;
            // From a part that a panic has left nothing is removed.
            let _ = part.remove_many(keys, each);
            Ok(())
        });
    }

    /// Looks up many keys. `hits` is cleared first.
    pub fn contains_batch(&self, hashes: &[KeyHash], hits: &mut Vec<bool>) {
        hits.clear();
        hits.resize(hashes.len(), false);
        let looked_up = self.by_part(hashes, |part, piece, keys| {
            part.contains_many(keys, |at, hit| hits[piece.start + at as usize] = hit);
            Ok(())
        });
        debug_assert_eq!(looked_up, Ok(()));
    }
}
