//! A list whose items begin at cache lines. Knows memory, nothing of what is in it.
//!
//! The memory of a long one is asked for without that alignment, and a little longer. Allocators
//! cut what they give for an alignment from a larger piece; what is left before it is a small piece
//! that some keep for later, and below which no memory is returned to the system: with glibc a filter
//! that had shrunk from sixteen million keys to none left 16 of 26 MB with the process.
#![allow(unsafe_code, reason = "items are placed by hand")]

use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use core::slice;
use std::alloc::{self, Layout};

use crate::memory::is_far_above;
use crate::table::OutOfMemory;

const LINE: usize = 64;
/// What allocators give in any case.
const ALIGN: usize = 16;
/// A list for fewer items is aligned by the allocator: it is of a small filter, for which every byte
/// counts.
const FEW: usize = 64;

/// Items without destructors, each in lines of its own if it is as long as some.
pub(super) struct Page<T> {
    start: NonNull<T>,
    len: u16,
    capacity: u16,
    /// The bytes of the memory before the first item.
    skipped: u8,
}

// SAFETY: a page owns its items.
unsafe impl<T: Send> Send for Page<T> {}
// SAFETY: through a shared reference items are only read.
unsafe impl<T: Sync> Sync for Page<T> {}

impl<T> Page<T> {
    /// An empty list with room for some items, at least for one.
    pub(super) fn with_room(capacity: usize) -> Result<Self, OutOfMemory> {
        const { assert!(align_of::<T>() <= LINE && size_of::<T>() > 0 && !core::mem::needs_drop::<T>()) };
        let capacity = capacity.clamp(1, u16::MAX as usize) as u16;
        let layout = Self::layout(capacity);
        // SAFETY: the layout is not of size zero.
        let memory = NonNull::new(unsafe { alloc::alloc(layout) });
        let memory = memory.ok_or(OutOfMemory { bytes: layout.size() as u64 })?;
        let skipped = memory.as_ptr().addr().wrapping_neg() % LINE;
        // SAFETY: the memory is so much longer than its items.
        let start = unsafe { memory.add(skipped) }.cast();
        Ok(Self { start, len: 0, capacity, skipped: skipped as u8 })
    }

    fn layout(capacity: u16) -> Layout {
        let capacity = usize::from(capacity);
        let (more, align) = if capacity < FEW { (0, LINE) } else { (LINE - ALIGN, ALIGN) };
        Layout::from_size_align(capacity * size_of::<T>() + more, align).expect("pages are small")
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity.into()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        Self::layout(self.capacity).size()
    }

    /// Makes the list longer or shorter, but never too short for its items.
    pub(super) fn set_capacity(&mut self, capacity: usize) -> Result<(), OutOfMemory> {
        let other = Self::with_room(capacity.max(self.len()))?;
        self.move_to(other);
        Ok(())
    }

    /// As for [`memory::lower`](crate::memory::lower).
    pub(super) fn lower(&mut self, end: usize) {
        if is_far_above(self.start.as_ptr(), self.heap_bytes(), end)
            && let Ok(other) = Self::with_room(self.capacity())
            && other.start < self.start
        {
            self.move_to(other);
        }
    }

    /// Moves all items to an empty list with room for them.
    fn move_to(&mut self, mut other: Self) {
        debug_assert!(other.len == 0 && other.capacity >= self.len, "no room for the items");
        // SAFETY: there is room for them, and they have no destructors.
        unsafe { other.start.copy_from_nonoverlapping(self.start, self.len()) };
        other.len = self.len;
        *self = other;
    }

    /// Adds an item, for which there is room.
    pub(super) fn push(&mut self, item: T) {
        assert!(self.len < self.capacity, "the page is full");
        // SAFETY: there is room for one more.
        unsafe { self.start.add(self.len()).write(item) };
        self.len += 1;
    }

    pub(super) fn pop(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        // SAFETY: the item is there, and is not any longer.
        Some(unsafe { self.start.add(self.len.into()).read() })
    }
}

impl<T> Deref for Page<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: so many items were written.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len.into()) }
    }
}

impl<T> DerefMut for Page<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len.into()) }
    }
}

impl<T> Drop for Page<T> {
    fn drop(&mut self) {
        // SAFETY: the memory begins so much before the items, and was allocated with this layout.
        unsafe {
            let memory = self.start.cast::<u8>().sub(self.skipped.into());
            alloc::dealloc(memory.as_ptr(), Self::layout(self.capacity));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_stay_in_their_order_at_cache_lines() {
        let mut pages: Vec<Page<[u64; 8]>> = Vec::new();
        for length in 0..100_u64 {
            let mut page = Page::with_room(1).expect("memory");
            for item in 0..length {
                if page.len() == page.capacity() {
                    page.set_capacity(page.capacity() + 3).expect("memory");
                }
                page.push([item; 8]);
            }
            assert_eq!(page.as_ptr().addr() % LINE, 0);
            pages.push(page);
        }
        for (mut page, length) in pages.into_iter().zip(0..) {
            page.set_capacity(0).expect("memory");
            assert_eq!(page.capacity() as u64, length.max(1));
            // (Above the first address every page lies; where it is then is the allocator's affair.)
            page.lower(0);
            assert!((*page).iter().zip(0..length).all(|(item, at)| *item == [at; 8]));
            for at in (0..length).rev() {
                assert_eq!(page.pop(), Some([at; 8]));
            }
            assert_eq!(page.pop(), None);
        }
    }
}
