//! The laws that every filter obeys, checked against an exact multiset.
//!
//! A filter's test hands [`check`] a way to make the filter, and how many keys to try it with; the
//! laws are the same for all, and each is a function of its own name. A law that is broken panics
//! with the name of the subject.
//!
//! ```
//! use cuculus::{CuckooFilter, conformance};
//!
//! conformance::check(&conformance::Subject {
//!     name: "a small cuckoo filter",
//!     keys: 200,
//!     all_fit: true,
//!     copies: conformance::Copies::Bounded { least: 2 },
//!     make: &|seed| CuckooFilter::builder().capacity(200).seed(seed).build().unwrap(),
//! });
//! ```

mod files;
mod growth;
mod laws;
mod oracle;
mod random;
mod state;

pub use files::loads_as_it_is;
pub use growth::*;
pub use laws::*;
pub use oracle::Multiset;
pub use random::Random;
pub use state::{Copies, State};

use crate::{Insert, Persist, Remove};

/// A kind of filter with fixed parameters, as the laws see it.
pub struct Subject<'a, F> {
    /// What to call it when a law is broken.
    pub name: &'a str,
    /// Distinct keys to work with, enough to fill it.
    pub keys: usize,
    /// Whether it must take all of them. Where it need not, a key that it refuses must be
    /// refused without a trace, and all others kept.
    pub all_fit: bool,
    /// What becomes of a key that is inserted again and again.
    pub copies: Copies,
    /// Makes an empty one with this seed.
    pub make: &'a dyn Fn(u64) -> F,
}

impl<F> Subject<'_, F> {
    fn make(&self, seed: u64) -> F {
        (self.make)(seed)
    }

    /// The keys that the laws insert, and as many more as they like.
    fn keys(&self, count: usize) -> std::ops::Range<u64> {
        0..count as u64
    }

    /// Keys that the laws never insert.
    fn absent_keys(&self, count: usize) -> std::ops::Range<u64> {
        1 << 40..(1 << 40) + count as u64
    }
}

/// All laws.
pub fn check<F: Insert + Remove + Persist + Clone>(subject: &Subject<'_, F>) {
    check_unsaved(subject);
    check_files(subject);
}

/// The laws for filters that cannot remove.
pub fn check_insert_only<F: Insert + Persist + Clone>(subject: &Subject<'_, F>) {
    check_unsaved_insert_only(subject);
    check_files(subject);
}

/// The laws for filters that cannot be saved.
pub fn check_unsaved<F: Insert + Remove + State + Clone>(subject: &Subject<'_, F>) {
    check_unsaved_insert_only(subject);
    any_operations_agree_with_a_multiset(subject);
    removing_a_key_keeps_the_others(subject);
    copies_are_removed_one_by_one(subject);
    removing_every_key_leaves_an_empty_filter(subject);
}

/// The laws for filters that can neither remove nor be saved.
pub fn check_unsaved_insert_only<F: Insert + State + Clone>(subject: &Subject<'_, F>) {
    no_false_negatives(subject);
    count_is_never_low(subject);
    false_positive_rate_is_as_expected(subject);
    batch_equals_scalar(subject);
    failed_insert_changes_nothing(subject);
    one_key_many_times_is_bounded(subject);
    clear_leaves_an_empty_filter(subject);
    same_seed_same_bytes(subject);
}

/// The laws of saving and loading.
fn check_files<F: Insert + Persist>(subject: &Subject<'_, F>) {
    decode_inverts_encode(subject);
    damaged_bytes_are_refused(subject);
}
