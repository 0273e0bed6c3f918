//! Many keys at a time, part by part, so that each part is entered once for many of them.

use core::ops::Range;

use super::filter::{Shared, SharedFilter};
use crate::elastic::part::PartKey;
use crate::{Full, KeyHash};

/// Keys for each part, on average, that are taken together: enough to make up for the sorting, and
/// few enough that nobody waits long for a part.
const KEYS_PER_PART: usize = 32;

/// Some keys in the order of their parts, each with its number among them.
struct Sorted {
    keys: Vec<(u32, PartKey)>,
    ends: Vec<u32>,
}

impl Sorted {
    fn new(shared: &Shared, hashes: &[KeyHash]) -> Self {
        let located: Vec<_> = hashes.iter().map(|&hash| shared.division.locate(hash)).collect();
        let mut ends = vec![0u32; shared.parts.len()];
        located.iter().for_each(|&(part, _)| ends[part] += 1);
        let mut sum = 0;
        for end in &mut ends {
            (*end, sum) = (sum, sum + *end);
        }
        let mut keys = vec![(0, PartKey::default()); hashes.len()];
        for (at, &(part, key)) in (0..).zip(&located) {
            keys[ends[part] as usize] = (at, key);
            ends[part] += 1;
        }
        Self { keys, ends }
    }

    /// The parts that have keys, with their keys.
    fn iter(&self) -> impl Iterator<Item = (usize, &[(u32, PartKey)])> {
        let mut start = 0;
        self.ends.iter().enumerate().filter_map(move |(part, &end)| {
            let range = core::mem::replace(&mut start, end as usize)..end as usize;
            (!range.is_empty()).then(|| (part, &self.keys[range]))
        })
    }
}

impl SharedFilter {
    /// Cuts a batch into pieces that are sorted.
    fn pieces(&self, keys: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let most = KEYS_PER_PART * self.parts();
        (0..keys).step_by(most).map(move |start| start..keys.min(start + most))
    }

    /// Inserts many keys.
    ///
    /// # Errors
    /// If a key is refused. Keys are taken part by part, so some of the others are stored then and
    /// some are not: [`Full::inserted`] says how many are. To know which, insert them one by one.
    pub fn insert_batch(&self, hashes: &[KeyHash]) -> Result<(), Full> {
        let Shared { division, parts, .. } = &*self.shared;
        let mut inserted = 0;
        for piece in self.pieces(hashes.len()) {
            for (part, keys) in Sorted::new(&self.shared, &hashes[piece]).iter() {
                if let Err(cause) = parts[part].insert_many(keys, division, &mut inserted) {
                    return Err(Full { inserted, ..self.full(cause) });
                }
            }
        }
        Ok(())
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
        let Shared { division, parts, .. } = &*self.shared;
        absent.clear();
        absent.resize(hashes.len(), false);
        for piece in self.pieces(hashes.len()) {
            let absent = &mut absent[piece.clone()];
            for (part, keys) in Sorted::new(&self.shared, &hashes[piece]).iter() {
                let each = |at: u32, is_absent| absent[at as usize] = is_absent;
                let done = parts[part].insert_absent_many(keys, division, each);
                if let Err(cause) = done {
                    let inserted = absent.iter().filter(|&&absent| absent).count();
                    return Err(Full { inserted, ..self.full(cause) });
                }
            }
        }
        Ok(())
    }

    /// Removes one occurrence of each of many keys. `removed[i]` says whether there was one of key
    /// `i`; `removed` is cleared first.
    pub fn remove_batch(&self, hashes: &[KeyHash], removed: &mut Vec<bool>) {
        let Shared { division, parts, .. } = &*self.shared;
        removed.clear();
        removed.resize(hashes.len(), false);
        for piece in self.pieces(hashes.len()) {
            let removed = &mut removed[piece.clone()];
            for (part, keys) in Sorted::new(&self.shared, &hashes[piece]).iter() {
                let each = |at: u32, was_there| removed[at as usize] = was_there;
                parts[part].remove_many(keys, division, each);
            }
        }
    }

    /// Looks up many keys. `hits` is cleared first.
    pub fn contains_batch(&self, hashes: &[KeyHash], hits: &mut Vec<bool>) {
        hits.clear();
        hits.extend(hashes.iter().map(|&hash| self.contains_hash(hash)));
    }
}
