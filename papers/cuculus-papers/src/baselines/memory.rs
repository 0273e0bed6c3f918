//! Memory that may not be there. Knows nothing of what is kept in it.

use cuculus::BuildError;
use cuculus::lab::memory::filled;

/// The most bits that a structure may ask for, 128 GiB. Systems promise more memory than they
/// have, and end the program when it is used.
pub(crate) const MAX_BITS: u64 = 1 << 40;

/// `len` zeros, or an error instead of an abort.
pub(crate) fn zeroed<T: Copy + Default>(len: u64) -> Result<Box<[T]>, BuildError> {
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    Ok(filled(T::default(), len)?.into_boxed_slice())
}
