//! Codes: what an entry holds of a key's path beyond the bits that chose its segment. Knows no
//! homes and no memory.
//!
//! ```text
//!  ended code, w bits:   1 … 1 0 │ extension     any length up to w − 1
//!                        └ fill  └ end
//!  plain code, w bits:   extension               all of w bits
//! ```
//!
//! The extension's lowest bit is the next bit of the path: when a segment is split it is spent,
//! when two are merged it comes back. An ended code is never all ones.

/// The widest code: three of them and the bits before the first in its byte fit 128 bits.
pub(super) const MAX_WIDTH: u32 = 40;

#[inline]
pub(super) const fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

/// How the codes of a segment are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) width: u32,
    /// Whether extensions have an end of their own, and so any length that fits.
    pub(super) ended: bool,
}

impl Form {
    /// Whether codes of another form are so much like these that a segment is not rewritten for
    /// the difference.
    pub(super) fn is_near(self, other: Self) -> bool {
        self.ended == other.ended && self.width.abs_diff(other.width) <= u32::from(self.ended)
    }

    /// The narrowest form of ended codes, this wide at least, that holds all that codes of this form
    /// and extensions of a length know.
    pub(super) fn keeping(self, length: u32, least: u32) -> Self {
        let longest = self.longest().max(length);
        Self { width: (longest + 1).max(least).min(MAX_WIDTH), ended: true }
    }

    /// The bits that a code takes of a group: its own, and one of the header.
    #[inline]
    pub(super) fn step(self) -> usize {
        self.width as usize + 1
    }

    /// The longest extension.
    #[inline]
    pub(super) fn longest(self) -> u32 {
        self.width - u32::from(self.ended)
    }

    /// The code of an extension, shortened if it is too long. A plain code needs all its bits.
    #[inline]
    pub(super) fn encode(self, extension: u64, length: u32) -> u64 {
        if self.ended {
            let length = length.min(self.width - 1);
            extension & mask(length) | mask(self.width) & !mask(length + 1)
        } else {
            debug_assert!(length >= self.width, "an extension is too short for a plain code");
            extension & mask(self.width)
        }
    }

    /// The length of the extension in a code.
    #[inline]
    pub(super) fn length(self, code: u64) -> u32 {
        if self.ended {
            // The end is the highest zero.
            63 - (!code & mask(self.width) | 1).leading_zeros()
        } else {
            self.width
        }
    }

    /// The length of the extension in a code, if it begins like this one.
    #[inline]
    pub(super) fn match_length(self, code: u64, extension: u64) -> Option<u32> {
        let length = self.length(code);
        ((code ^ extension) & mask(length) == 0).then_some(length)
    }

    /// Whether a key can have this code.
    pub(super) fn is_possible(self, code: u64) -> bool {
        !self.ended || code != mask(self.width)
    }
}

/// What becomes of entries when their segment is rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// They stay at their depth.
    Stay,
    /// Those of one side go down to that child.
    Down(u64),
    /// They come up from the child on this side.
    Up(u64),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Random;

    #[test]
    fn decoding_inverts_encoding() {
        let mut random = Random::new(1);
        for width in 1..=MAX_WIDTH {
            for ended in [false, true] {
                let form = Form { width, ended };
                for length in 0..=form.longest() {
                    if !ended && length < width {
                        continue;
                    }
                    let extension = random.bits() & mask(length);
                    let code = form.encode(extension, length);
                    assert!(code <= mask(width) && form.is_possible(code));
                    assert_eq!(form.length(code), length);
                    assert_eq!(code & mask(length), extension);
                    assert_eq!(form.match_length(code, extension | 1 << 45), Some(length));
                    if length > 0 {
                        assert_eq!(form.match_length(code, extension ^ 1), None);
                    }
                }
            }
        }
        let form = Form { width: 7, ended: true };
        assert!((0..127).all(|code| form.is_possible(code)) && !form.is_possible(127));
    }
}
