//! The filters that a user of Rust would find, one adapter a crate. Each is made by the
//! constructor and works with the hash function that its documentation shows first; a row's note
//! says where another one was taken.

mod autoscale;
mod bloom_lib;
mod fastbloom;
mod qfilter;
mod scalable;
mod sketches;
mod xorf;

use crate::growing::Grower;
use crate::keys::WorkKey;
use crate::speed::{Contestant, Entry};

pub use self::xorf::FuseKey;

/// All peers, for a false positive rate.
pub(crate) fn contestants<K: WorkKey + FuseKey>(rate: f64) -> Vec<Box<dyn Contestant<K>>> {
    vec![
        Box::new(Entry::<qfilter::Quotient, K>::new(rate).deleting()),
        Box::new(Entry::<sketches::Packed, K>::new(rate).deleting()),
        Box::new(Entry::<bloom_lib::Wide<K>, K>::new(rate).deleting()),
        Box::new(Entry::<autoscale::Autoscale<K>, K>::new(rate).deleting()),
        Box::new(Entry::<scalable::Scalable<K>, K>::new(rate).deleting()),
        Box::new(Entry::<fastbloom::Bloom, K>::new(rate)),
        xorf::contestant(rate),
    ]
}

/// The peers that grow.
pub(crate) fn growers() -> Vec<Grower> {
    vec![
        Grower::of::<qfilter::Quotient>(),
        Grower::of::<autoscale::Autoscale<u64>>(),
        Grower::of::<scalable::Scalable<u64>>(),
    ]
}
