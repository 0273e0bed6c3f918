//! The levels after the main one. Most filters have none, so that they are a pointer that is null.

use core::ops::{Deref, DerefMut};

use super::level::Level;
use crate::table::OutOfMemory;

/// An array of one vector: a box of which the allocation can fail.
#[derive(Default)]
pub(crate) struct Overflow(Option<Box<[Vec<Level>; 1]>>);

impl Overflow {
    pub(super) fn push(&mut self, level: Level) -> Result<(), OutOfMemory> {
        let failed = OutOfMemory { bytes: size_of::<Level>() as u64 };
        if let Some([levels]) = self.0.as_deref_mut() {
            levels.try_reserve_exact(1).map_err(|_| failed)?;
            levels.push(level);
            return Ok(());
        }
        let (mut levels, mut one) = (Vec::new(), Vec::new());
        levels.try_reserve_exact(1).map_err(|_| failed)?;
        one.try_reserve_exact(1).map_err(|_| failed)?;
        levels.push(level);
        one.push(levels);
        self.0 = one.into_boxed_slice().try_into().ok();
        Ok(())
    }

    /// Takes the last levels away that are empty.
    pub(super) fn truncate(&mut self, is_empty: impl Fn(&Level) -> bool) {
        if let Some([levels]) = self.0.as_deref_mut() {
            while levels.last().is_some_and(&is_empty) {
                levels.pop();
            }
        }
        if self.is_empty() {
            self.0 = None;
        }
    }

    /// The memory of the list, without that of the levels.
    pub(super) fn heap_bytes(&self) -> usize {
        self.0.as_deref().map_or(0, |one| size_of_val(one) + one[0].capacity() * size_of::<Level>())
    }
}

impl Deref for Overflow {
    type Target = [Level];

    #[inline]
    fn deref(&self) -> &[Level] {
        self.0.as_deref().map_or(&[], |[levels]| levels)
    }
}

impl DerefMut for Overflow {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Level] {
        self.0.as_deref_mut().map_or(&mut [], |[levels]| levels)
    }
}
