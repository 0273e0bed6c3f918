//! Memory that may not be there. Knows nothing of what is kept in it.

use cuculus::BuildError;

/// The most bits that a structure may ask for, 128 GiB. Systems promise more memory than they
/// have, and end the program when it is used.
pub(crate) const MAX_BITS: u64 = 1 << 40;

/// `len` zeros, or an error instead of an abort.
pub(crate) fn zeroed<T: Copy + Default>(len: u64) -> Result<Box<[T]>, BuildError> {
    let bytes = len.saturating_mul(size_of::<T>() as u64);
    let failed = BuildError::OutOfMemory { bytes };
    let Ok(len) = usize::try_from(len) else { return Err(failed) };
    let mut items = Vec::new();
    items.try_reserve_exact(len).map_err(|_| failed)?;
    items.resize(len, T::default());
    Ok(items.into_boxed_slice())
}
