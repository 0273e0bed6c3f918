//! Many keys at once in a list of filters.

use super::block::Block;
use cuculus::KeyHash;
use cuculus::lab::Contains;
use cuculus::lab::placement::{AnyPlacement, FingerprintSize};
use cuculus::lab::wide::{self, Instructions};
use cuculus::with_table;

/// Keys that are taken through all filters before the next: enough for the start of each to weigh
/// little, and few enough for the stack.
pub(super) const CHUNK: usize = 1024;

#[derive(Clone, Copy)]
pub(super) struct Lookup {
    pub(super) placement: AnyPlacement,
    pub(super) size: FingerprintSize,
    pub(super) instructions: Instructions,
}

impl Lookup {
    /// Looks up a chunk of keys in one filter after the other.
    ///
    /// Working out the candidates once and asking all filters for each key would save a nanosecond
    /// per filter; out of the caches it was slower by a quarter, since requests to all tables at once
    /// find the queues full.
    pub(super) fn contains(self, blocks: &[Block], hashes: &[KeyHash], hits: &mut [bool]) {
        let mut found = [false; CHUNK];
        for block in blocks {
            let found = &mut found[..hashes.len()];
            self.contains_in(block, hashes, found);
            hits.iter_mut().zip(found).for_each(|(hit, found)| *hit |= *found);
        }
    }

    fn contains_in(self, block: &Block, keys: &[KeyHash], hits: &mut [bool]) {
        let Self { placement, size, instructions } = self;
        let hash = |&hash: &KeyHash| hash;
        with_table!(&block.table, table => match placement {
            AnyPlacement::AnySize(placement) => {
                wide::run(instructions, Contains { table, placement, size, keys, hash, hits });
            }
            placement => {
                wide::run(instructions, Contains { table, placement, size, keys, hash, hits });
            }
        });
    }
}
