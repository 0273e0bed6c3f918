//! Lists whose memory the allocator may refuse. Growing says so before anything has changed;
//! shrinking is left undone. Knows vectors, nothing of what is in them.

use crate::table::OutOfMemory;

fn failed<T>(items: usize) -> OutOfMemory {
    OutOfMemory { bytes: (items as u64).saturating_mul(size_of::<T>() as u64) }
}

/// An empty list with room for exactly this many items.
pub fn with_room<T>(items: usize) -> Result<Vec<T>, OutOfMemory> {
    let mut list = Vec::new();
    list.try_reserve_exact(items).map_err(|_| failed::<T>(items))?;
    Ok(list)
}

/// A copy of a slice, with room for exactly this many items more.
pub fn copied<T: Copy>(items: &[T], more: usize) -> Result<Vec<T>, OutOfMemory> {
    let mut list = with_room(items.len() + more)?;
    list.extend_from_slice(items);
    Ok(list)
}

/// Copies of one item.
pub fn filled<T: Copy>(item: T, items: usize) -> Result<Vec<T>, OutOfMemory> {
    let mut list = with_room(items)?;
    list.resize(items, item);
    Ok(list)
}

/// What an iterator yields, at most `most` items.
#[cfg(any(test, feature = "lab"))]
pub fn collected<T>(
    items: impl IntoIterator<Item = T>,
    most: usize,
) -> Result<Vec<T>, OutOfMemory> {
    let mut list = with_room(most)?;
    list.extend(items.into_iter().take(most));
    Ok(list)
}

/// Adds an item to a list that grows by doubling: for work that is thrown away.
pub fn push<T>(list: &mut Vec<T>, item: T) -> Result<(), OutOfMemory> {
    if list.len() == list.capacity() {
        list.try_reserve(1).map_err(|_| failed::<T>(list.len() + 1))?;
    }
    list.push(item);
    Ok(())
}

/// Makes room for one item more in a list that is kept: the list then has room for a share more
/// than it holds, at least for one.
#[cfg(any(test, feature = "lab"))]
pub fn reserve_one<T>(list: &mut Vec<T>, share: usize) -> Result<(), OutOfMemory> {
    if list.len() == list.capacity() {
        let more = (list.len() / share).max(1);
        list.try_reserve_exact(more).map_err(|_| failed::<T>(list.len() + more))?;
    }
    Ok(())
}

/// Gives back what a list does not need, but for room for some items more. (The standard library's
/// way aborts if there is no memory for the copy.)
pub fn shrink<T>(list: &mut Vec<T>, more: usize) {
    let room = list.len() + more;
    if list.capacity() > room
        && let Ok(mut smaller) = with_room(room)
    {
        smaller.append(list);
        *list = smaller;
    }
}

/// Moves a list that begins more than its own length above `end`, if the allocator has room for it
/// below. Allocators return memory to the system from its end on: a list that stays there keeps all
/// that is free below it.
pub(crate) fn lower<T>(list: &mut Vec<T>, end: usize) {
    if is_far_above(list.as_ptr(), list.capacity() * size_of::<T>(), end)
        && let Ok(mut lower) = with_room(list.capacity())
        && lower.as_ptr() < list.as_ptr()
    {
        lower.append(list);
        *list = lower;
    }
}

/// Whether what begins there is more than its own length above `end`.
pub(crate) fn is_far_above<T>(start: *const T, bytes: usize, end: usize) -> bool {
    start.addr().saturating_sub(end) > bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_the_room_that_was_asked_for() {
        let mut list = copied(&[1u32, 2, 3], 5).expect("memory");
        assert_eq!((&list[..], list.capacity()), (&[1, 2, 3][..], 8));
        shrink(&mut list, 1);
        assert_eq!((&list[..], list.capacity()), (&[1, 2, 3][..], 4));
        for item in 4..=1000 {
            reserve_one(&mut list, 128).expect("memory");
            list.push(item);
            assert!(list.capacity() <= list.len() + list.len() / 128 + 1);
        }
        assert_eq!(collected(list.drain(..), 7).expect("memory"), [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(filled(9u8, 3).expect("memory"), [9; 3]);
    }

    /// No allocator has so much, or has it twice where addresses have 32 bits.
    #[test]
    #[cfg_attr(miri, ignore = "Miri ends when an allocation is too large")]
    fn impossible_sizes_are_errors() {
        let _half_of_all = with_room::<u64>(usize::MAX / 16);
        assert!(with_room::<u64>(usize::MAX / 16).is_err());
        assert!(with_room::<u64>(usize::MAX).is_err());
        assert!(filled(0u64, usize::MAX / 16).is_err());
    }
}
