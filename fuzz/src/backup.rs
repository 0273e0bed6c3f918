//! Bytes of a backup repository: every kind of object is refused, or can be used.

use arbitrary::Arbitrary;

use crate::parameters::all_of;

/// The kind of object, and its bytes.
#[derive(Arbitrary, Debug)]
pub struct Input(#[arbitrary(with = all_of)] Vec<u8>);

pub fn check(input: &Input) {
    cuculus_backup::fuzz::decode(&input.0);
}
