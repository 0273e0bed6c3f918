//! What can be a key: anything with one portable byte string. Knows nothing of hashing.

/// A key: a value with a byte string that is the same on every platform and in every release.
///
/// Text is its UTF-8 bytes, byte strings are themselves, and integers are their little-endian
/// bytes (`usize` and `isize` always as eight), so a filter written on one machine answers the
/// same on another. Equal bytes are equal keys: `"ab"`, `b"ab"` and `String::from("ab")` are one
/// key, and so are `1u32` and `[1u8, 0, 0, 0]`; but `1u32` and `1u64` differ in length and are
/// two.
pub trait Key {
    /// Calls `f` with the key's bytes.
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R;
}

impl Key for [u8] {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self)
    }
}

impl<const N: usize> Key for [u8; N] {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self)
    }
}

impl Key for Vec<u8> {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self)
    }
}

impl Key for str {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self.as_bytes())
    }
}

impl Key for String {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self.as_bytes())
    }
}

impl<K: Key + ?Sized> Key for &K {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        (**self).with_bytes(f)
    }
}

macro_rules! integer_keys {
    ($($int:ty as $wide:ty),*) => {$(
        impl Key for $int {
            #[inline]
            fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
                f(&(*self as $wide).to_le_bytes())
            }
        }
    )*};
}
integer_keys!(
    u8 as u8,
    u16 as u16,
    u32 as u32,
    u64 as u64,
    u128 as u128,
    usize as u64,
    i8 as i8,
    i16 as i16,
    i32 as i32,
    i64 as i64,
    i128 as i128,
    isize as i64
);
