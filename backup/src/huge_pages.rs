//! The memory of Argon2, in huge pages: where the system gives them only to who asks, touching 64 MiB
//! in small pages costs more than the work on them. Knows nothing of passphrases.

#![allow(unsafe_code, reason = "neither advice about memory nor lists of zeros have a safe form")]

use std::alloc::{Layout, alloc_zeroed};

use argon2::Block;
use rustix::mm::{Advice, madvise};

const PAGE: usize = 4096;

/// Bytes that the allocator returned as zeros: the system clears each page when it is touched, and
/// nothing clears it a second time. Any bytes are a block, which is 128 words.
pub(crate) struct ZeroedBlocks(Vec<u8>);

impl ZeroedBlocks {
    /// `None` if there is no memory.
    pub(crate) fn new(len: usize) -> Option<Self> {
        let size = len.checked_mul(Block::SIZE)?.checked_add(align_of::<Block>())?;
        let layout = Layout::array::<u8>(size).ok()?;
        // SAFETY: `size` is at least the alignment of a block, so not zero. `layout` is that of `size`
        // bytes, all of which `alloc_zeroed` has initialised: the list has this length and capacity.
        let mut bytes = unsafe {
            let start = alloc_zeroed(layout);
            if start.is_null() {
                return None;
            }
            Vec::from_raw_parts(start, size, size)
        };
        advise(&mut bytes);
        Some(Self(bytes))
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [Block] {
        // SAFETY: any bytes are a block (see `ZeroedBlocks`; its `AsMut<[u64]>` shows the words).
        let (_, blocks, _) = unsafe { self.0.align_to_mut() };
        blocks
    }
}

/// Asks for huge pages. What the system says to it does not matter.
fn advise(memory: &mut [u8]) {
    let start = memory.as_mut_ptr();
    let to_page = start.align_offset(PAGE);
    let len = memory.len().saturating_sub(to_page) / PAGE * PAGE;
    if len > 0 {
        // SAFETY: the range is whole pages within `memory`, and this advice changes no byte of it.
        let _ = unsafe { madvise(start.wrapping_add(to_page).cast(), len, Advice::LinuxHugepage) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_blocks_as_asked_for_and_they_are_zeros() {
        for len in [0, 1, 3, 4, 5, 5000] {
            let mut blocks = ZeroedBlocks::new(len).expect("memory");
            let blocks = blocks.as_mut_slice();
            assert!(blocks.len() >= len, "{len}");
            assert!(blocks.iter().all(|block| block.as_ref().iter().all(|word| *word == 0)));
        }
        assert!(ZeroedBlocks::new(usize::MAX).is_none());
        assert!(ZeroedBlocks::new(usize::MAX / Block::SIZE / 2).is_none());
    }
}
