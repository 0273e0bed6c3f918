//! Memory in huge pages: where the system gives them only to who asks, touching 64 MiB in small
//! pages costs more than the work on them. Knows nothing of what the memory is for.

#![allow(unsafe_code, reason = "advice about memory has no safe form")]

use std::collections::TryReserveError;
use std::mem::MaybeUninit;

use rustix::mm::{Advice, madvise};

const PAGE: usize = 4096;

/// A list of so many values, in huge pages if the system has them.
pub(crate) fn filled<T: Clone>(value: T, len: usize) -> Result<Vec<T>, TryReserveError> {
    let mut list = Vec::new();
    list.try_reserve_exact(len)?;
    advise(list.spare_capacity_mut());
    list.resize(len, value);
    Ok(list)
}

/// Asks for huge pages. What the system says to it does not matter.
fn advise<T>(memory: &mut [MaybeUninit<T>]) {
    let start = memory.as_mut_ptr().cast::<u8>();
    let to_page = start.align_offset(PAGE);
    let len = size_of_val(memory).saturating_sub(to_page) / PAGE * PAGE;
    if len > 0 {
        // SAFETY: the range is whole pages within `memory`, and this advice changes no byte of it.
        let _ = unsafe { madvise(start.wrapping_add(to_page).cast(), len, Advice::LinuxHugepage) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_filled_whatever_its_length() {
        for len in [0, 1, 4095, 4096, 4097, 5 << 20] {
            let list = filled(7u8, len).expect("memory");
            assert!(list.len() == len && list.iter().all(|byte| *byte == 7), "{len}");
        }
        assert!(filled(0u8, usize::MAX).is_err());
    }
}
