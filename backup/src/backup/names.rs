//! The names of one directory, sorted. A directory may have millions, of which neighbours begin
//! alike: names are sorted in blocks of some ten thousand, and each is held as what it shares with
//! the one before and what follows.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ffi::OsStr;
use std::mem;
use std::os::unix::ffi::OsStrExt;

use crate::codec::{Reader, Writer};

/// The most names of a block, and about the most bytes of them.
const BLOCK_NAMES: usize = 64 * 1024;
const BLOCK_BYTES: usize = 4 << 20;

#[derive(Default)]
pub(super) struct Names {
    /// Names that are in no block yet, each with a zero byte after it, which no name contains.
    bytes: Vec<u8>,
    starts: Vec<u32>,
    blocks: Vec<Vec<u8>>,
}

impl Names {
    pub(super) fn push(&mut self, name: &OsStr) {
        if self.starts.len() >= BLOCK_NAMES || self.bytes.len() >= BLOCK_BYTES {
            self.end_block();
        }
        // A block is far smaller than four gigabytes.
        self.starts.push(self.bytes.len() as u32);
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
    }

    fn end_block(&mut self) {
        let bytes = &self.bytes;
        self.starts.sort_unstable_by(|a, b| at(bytes, *a).cmp(at(bytes, *b)));
        let (mut writer, mut last): (_, &[u8]) = (Writer::default(), &[]);
        for start in &self.starts {
            let name = at(&self.bytes, *start);
            let shared = name.iter().zip(last).take_while(|(a, b)| a == b).count();
            let rest = name.get(shared..).unwrap_or_default();
            writer.varint(shared as u64);
            writer.varint(rest.len() as u64);
            writer.raw(rest);
            last = name;
        }
        writer.0.shrink_to_fit();
        self.blocks.push(writer.0);
        self.starts.clear();
        self.bytes.clear();
    }

    pub(super) fn sorted(mut self) -> SortedNames {
        self.end_block();
        let blocks = self.blocks.into_iter().map(|bytes| (bytes, 0)).collect();
        let mut sorted = SortedNames { blocks, heads: BinaryHeap::new(), last: None };
        for number in 0..sorted.blocks.len() {
            sorted.advance(number, Vec::new());
        }
        sorted
    }
}

fn at(bytes: &[u8], start: u32) -> &[u8] {
    let rest = bytes.get(start as usize..).unwrap_or_default();
    rest.split(|&byte| byte == 0).next().unwrap_or_default()
}

pub(super) struct SortedNames {
    /// Each with the place of its next name.
    blocks: Vec<(Vec<u8>, usize)>,
    /// The first name of each block that is not returned yet.
    heads: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
    /// The name that was returned last, and its block.
    last: Option<(Vec<u8>, usize)>,
}

impl SortedNames {
    /// Decodes the next name of a block over the one before.
    fn advance(&mut self, number: usize, mut name: Vec<u8>) {
        let Some((bytes, place)) = self.blocks.get_mut(number) else { return };
        let mut reader = Reader(bytes.get(*place..).unwrap_or_default());
        let (Ok(shared), Ok(len)) = (reader.number::<usize>(), reader.number::<usize>()) else {
            // The end of the block.
            mem::take(bytes);
            return;
        };
        name.truncate(shared);
        name.extend_from_slice(reader.0.get(..len).unwrap_or_default());
        *place = bytes.len() - reader.0.len() + len;
        self.heads.push(Reverse((name, number)));
    }

    pub(super) fn next(&mut self) -> Option<&OsStr> {
        if let Some((name, number)) = self.last.take() {
            self.advance(number, name);
        }
        self.last = self.heads.pop().map(|Reverse(head)| head);
        self.last.as_ref().map(|(name, _)| OsStr::from_bytes(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(names: Names) -> Vec<Vec<u8>> {
        let mut sorted = names.sorted();
        std::iter::from_fn(|| sorted.next().map(|name| name.as_bytes().to_vec())).collect()
    }

    #[test]
    fn names_come_back_in_order() {
        let mut expected: Vec<&str> = vec!["b", "", "abc", "ab", "\u{fc}", "a b", "B", "abd", "a"];
        for split in 0..=expected.len() {
            let mut names = Names::default();
            for (number, name) in expected.iter().enumerate() {
                // In one block, and in two.
                if number == split {
                    names.end_block();
                }
                names.push(OsStr::new(name));
            }
            expected.sort_unstable();
            assert_eq!(all(names), expected.iter().map(|n| n.as_bytes()).collect::<Vec<_>>());
            expected.rotate_left(split);
        }
        assert!(all(Names::default()).is_empty());
    }

    /// What a name takes in a directory of hundreds of thousands.
    #[test]
    fn many_names_take_few_bytes() {
        let count = 300_000u64;
        let mut names = Names::default();
        for number in 0..count {
            // Every number once, in no order.
            let number = number * 7_919 % count;
            names.push(OsStr::new(&format!("message-{number:07}.eml")));
        }
        assert_eq!(names.blocks.len(), 4);
        let held: usize = names.blocks.iter().map(Vec::capacity).sum();
        assert!(held < 9 * count as usize, "{held}");
        let sorted = all(names);
        assert_eq!(sorted.len() as u64, count);
        assert!(sorted.is_sorted());
        assert_eq!(sorted[12_345], b"message-0012345.eml");
    }
}
