//! What can be a key: anything with one portable byte string. Knows nothing of hashing.

/// A key: a value with a byte string that is the same on every platform and in every release.
///
/// Text is its UTF-8 bytes, byte strings are themselves, and integers are their little-endian
/// bytes (`usize` and `isize` always as eight), so a filter written on one machine answers the
/// same on another. Equal bytes are equal keys: `"ab"`, `b"ab"` and `String::from("ab")` are one
/// key, and so are `1u32` and `[1u8, 0, 0, 0]`; but `1u32` and `1u64` differ in length and are
/// two.
///
/// A type of your own is a key as soon as it says what its bytes are:
///
/// ```
/// struct Address([u8; 4]);
///
/// impl cuculus::Key for Address {
///     type Bytes<'a> = [u8; 4];
///     fn bytes(&self) -> [u8; 4] {
///         self.0
///     }
/// }
/// ```
pub trait Key {
    /// The form in which the bytes are handed out: borrowed, or an array whose length is known to
    /// the compiler, which makes hashing an integer a handful of instructions.
    type Bytes<'a>: AsRef<[u8]>
    where
        Self: 'a;

    /// The key's bytes.
    fn bytes(&self) -> Self::Bytes<'_>;
}

macro_rules! borrowed_keys {
    ($($key:ty),*) => {$(
        impl Key for $key {
            type Bytes<'a> = &'a [u8];

            #[inline]
            fn bytes(&self) -> &[u8] {
                self.as_ref()
            }
        }
    )*};
}
borrowed_keys!([u8], Vec<u8>, str, String);

impl<const N: usize> Key for [u8; N] {
    type Bytes<'a> = &'a [u8; N];

    #[inline]
    fn bytes(&self) -> &[u8; N] {
        self
    }
}

impl<K: Key + ?Sized> Key for &K {
    type Bytes<'a>
        = K::Bytes<'a>
    where
        Self: 'a;

    #[inline]
    fn bytes(&self) -> Self::Bytes<'_> {
        (**self).bytes()
    }
}

macro_rules! integer_keys {
    ($($int:ty as $wide:ty),*) => {$(
        impl Key for $int {
            type Bytes<'a> = [u8; size_of::<$wide>()];

            #[inline]
            fn bytes(&self) -> [u8; size_of::<$wide>()] {
                (*self as $wide).to_le_bytes()
            }
        }
    )*};
}
integer_keys! {
    u8 as u8, u16 as u16, u32 as u32, u64 as u64, u128 as u128, usize as u64,
    i8 as i8, i16 as i16, i32 as i32, i64 as i64, i128 as i128, isize as i64
}
