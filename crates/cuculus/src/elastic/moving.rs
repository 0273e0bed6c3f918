//! Memory that is moved by whoever owns the allocator, as servers do against fragmentation. Knows
//! where the parts are that hold memory, nothing of what is in them.
#![allow(unsafe_code, reason = "the caller answers for the memory that it moves")]

use core::ptr::NonNull;
use std::alloc::Layout;

use super::filter::ElasticFilter;
use super::levels::Levels;

impl ElasticFilter {
    /// Offers the filter's large pieces of memory, one after the other, to somebody who can move
    /// them: `relocate` copies the bytes to a better place, frees the old one and returns the new
    /// one, or returns `None`. Nothing else of the filter changes.
    ///
    /// # Safety
    /// What `relocate` returns was allocated by the global allocator with the layout given and
    /// holds the same bytes, and the old memory was given back to it, or will be by nobody else.
    pub unsafe fn relocate(
        &mut self,
        relocate: &mut dyn FnMut(NonNull<u8>, Layout) -> Option<NonNull<u8>>,
    ) {
        let Levels { main, overflow } = &mut self.engine.levels;
        for level in core::iter::once(main).chain(&mut **overflow) {
            // SAFETY: the caller's.
            unsafe { level.directory_mut().relocate(relocate) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::alloc;

    use super::*;
    use crate::{Filter, Insert, Remove};

    /// A new place for all memory, or for a part of it, at every size and between other changes.
    #[test]
    fn a_filter_goes_on_where_its_memory_was_moved_to() {
        let mut filter = ElasticFilter::builder().false_positive_rate(0.001).seed(1).build();
        let filter = filter.as_mut().expect("valid");
        let (mut offered, mut moved) = (0, 0);
        for round in 0..40u64 {
            let keys = round * 1000..(round + 1) * 1000;
            keys.clone().for_each(|key| filter.insert(&key).expect("room"));
            assert!(keys.step_by(2).all(|key| filter.remove(&key)));
            let mut relocate = |old: NonNull<u8>, layout: Layout| {
                offered += 1;
                if offered % 3 == 0 {
                    return None;
                }
                moved += 1;
                // SAFETY: not of size zero; as long as the old one, which nobody uses any more.
                unsafe {
                    let new = NonNull::new(alloc::alloc(layout)).expect("memory");
                    new.copy_from_nonoverlapping(old, layout.size());
                    // So that a read of the old place would be noticed.
                    old.write_bytes(0xff, layout.size());
                    alloc::dealloc(old.as_ptr(), layout);
                    Some(new)
                }
            };
            let (before, len) = (filter.size_in_bytes(), filter.len());
            // SAFETY: as above.
            unsafe { filter.relocate(&mut relocate) };
            assert_eq!((filter.size_in_bytes(), filter.len()), (before, len));
            assert!((1..(round + 1) * 1000).step_by(2).all(|key| filter.contains(&key)));
        }
        assert!(moved > 100 && offered > moved, "{moved} of {offered}");
    }
}
