//! Many keys at once: the buckets of later keys are prefetched before those of the first are
//! looked at, so that the waits for memory overlap. Knows hashes and groups of them, nothing of
//! filters.

use crate::KeyHash;
use crate::prefetch::prefetch;

/// Keys whose candidates are worked out together. One to two groups are on their way at any time;
/// of 4 to 128 keys this is the best in and out of cache, since the processor follows sixteen
/// requests at a time and more only wait in line.
pub const GROUP: usize = 16;
/// How many groups ahead the keys themselves are prefetched. They come one after the other,
/// but the processor's own guess at that gives way to all the other requests.
const KEYS_AHEAD: usize = 8;

/// The candidates of a group of keys.
pub(crate) trait CandidateGroup {
    /// Works out where to look for each key.
    fn set(&mut self, hashes: &[KeyHash; GROUP]);

    /// Prefetches the buckets of a key.
    fn prefetch(&self, i: usize);

    fn is_contained(&self, i: usize) -> bool;
}

/// Looks all keys up, hashed by `hash` on the way.
#[inline(always)]
pub(crate) fn look_up<C: CandidateGroup, K>(
    mut groups: [C; 2],
    keys: &[K],
    hash: impl Fn(&K) -> KeyHash,
    hits: &mut [bool],
) {
    // Two groups take turns, and for each key that is looked at the buckets of one of the next
    // group are prefetched: requests that come in bursts find the queues full. The first time
    // round nothing is looked at.
    let [mut this, mut next] = groups.each_mut();
    let mut coming = keys.chunks(GROUP);
    let nothing: &mut [bool] = &mut [];
    for hits in core::iter::once(nothing).chain(hits.chunks_mut(GROUP)) {
        core::mem::swap(&mut this, &mut next);
        if let Some(later) = coming.clone().nth(KEYS_AHEAD) {
            let in_a_line = (64 / size_of::<K>().max(1)).max(1);
            (0..later.len()).step_by(in_a_line).for_each(|i| prefetch(later, i));
        }
        let mut hashes = [KeyHash::new(0); GROUP];
        for (to, key) in hashes.iter_mut().zip(coming.next().unwrap_or_default()) {
            *to = hash(key);
        }
        next.set(&hashes);
        if hits.is_empty() {
            (0..GROUP).for_each(|i| next.prefetch(i));
        }
        for (i, hit) in hits.iter_mut().take(GROUP).enumerate() {
            next.prefetch(i);
            *hit = this.is_contained(i);
        }
    }
}
