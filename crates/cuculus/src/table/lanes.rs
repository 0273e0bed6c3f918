//! Words cut into equal lanes, one slot per lane, and questions to all lanes at once. Knows nothing
//! of tables.

use core::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};

/// A machine word that a bucket, or a half of one, is read into.
pub trait Word:
    Copy
    + Eq
    + From<u32>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    const BITS: u32;
    const ZERO: Self;

    fn wrapping_add(self, other: Self) -> Self;
    fn wrapping_sub(self, other: Self) -> Self;
    fn wrapping_mul(self, other: Self) -> Self;
    fn trailing_zeros(self) -> u32;
    fn count_ones(self) -> u32;
    fn low_u32(self) -> u32;

    /// Whether any of two words has a lane of zeros, each word with its own lanes: their lowest
    /// bits and their highest.
    #[inline]
    fn either_has_zero(words: [Self; 2], ones: [Self; 2], highs: [Self; 2]) -> bool {
        let zeros = |i: usize| words[i].wrapping_sub(ones[i]) & !words[i] & highs[i];
        zeros(0) | zeros(1) != Self::ZERO
    }

    /// Whether any of the words in two windows has a lane that is equal to that of `pattern`.
    #[inline]
    fn either_equal(windows: [&[u8; WINDOW]; 2], pattern: Self, lanes: &Lanes<Self>) -> bool {
        let [a, b] = Self::equal_in_each(windows, pattern, lanes);
        a | b != Self::ZERO
    }

    /// [`Lanes::any_equal`] for the words in two windows.
    #[inline]
    fn equal_in_each(windows: [&[u8; WINDOW]; 2], pattern: Self, lanes: &Lanes<Self>) -> [Self; 2] {
        windows.map(|window| lanes.any_equal(Self::load(window), pattern))
    }

    /// [`Lanes::equal`] to zero for the words in two windows.
    #[inline]
    fn free_in_each(windows: [&[u8; WINDOW]; 2], lanes: &Lanes<Self>) -> [Self; 2] {
        windows.map(|window| lanes.equal(Self::load(window), Self::ZERO))
    }

    /// The word in the first bytes of a window of memory.
    fn load(window: &[u8; WINDOW]) -> Self;
    fn store(self, window: &mut [u8; WINDOW]);
}

/// The bytes of the widest word.
pub const WINDOW: usize = 16;

macro_rules! impl_word {
    ($word:ident $($rest:item)*) => {
        impl Word for $word {
            const BITS: u32 = $word::BITS;
            const ZERO: Self = 0;

            #[inline]
            fn wrapping_add(self, other: Self) -> Self {
                $word::wrapping_add(self, other)
            }
            #[inline]
            fn wrapping_sub(self, other: Self) -> Self {
                $word::wrapping_sub(self, other)
            }
            #[inline]
            fn wrapping_mul(self, other: Self) -> Self {
                $word::wrapping_mul(self, other)
            }
            #[inline]
            fn trailing_zeros(self) -> u32 {
                $word::trailing_zeros(self)
            }
            #[inline]
            fn count_ones(self) -> u32 {
                $word::count_ones(self)
            }
            #[inline]
            fn low_u32(self) -> u32 {
                self as u32
            }
            #[inline]
            fn load(window: &[u8; WINDOW]) -> Self {
                let mut word = [0; size_of::<$word>()];
                word.copy_from_slice(&window[..size_of::<$word>()]);
                $word::from_le_bytes(word)
            }
            #[inline]
            fn store(self, window: &mut [u8; WINDOW]) {
                window[..size_of::<$word>()].copy_from_slice(&self.to_le_bytes());
            }
            $($rest)*
        }
    };
}
impl_word!(u128);
impl_word!(
    u64
    /// Both words side by side in a vector: what follows the loads is fewer instructions,
    /// and what waits for memory is what fills the processor's queues.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    fn either_has_zero(words: [u64; 2], ones: [u64; 2], highs: [u64; 2]) -> bool {
        super::vector::either_has_zero(words, ones, highs)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    fn either_equal(windows: [&[u8; WINDOW]; 2], pattern: u64, lanes: &Lanes<u64>) -> bool {
        super::vector::either_equal(windows, pattern, lanes.ones, lanes.highs)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    fn equal_in_each(windows: [&[u8; WINDOW]; 2], pattern: u64, lanes: &Lanes<u64>) -> [u64; 2] {
        super::vector::equal_in_each(windows, pattern, lanes.ones, lanes.highs)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    fn free_in_each(windows: [&[u8; WINDOW]; 2], lanes: &Lanes<u64>) -> [u64; 2] {
        super::vector::zero_in_each(windows, lanes.lows, lanes.highs)
    }
);

/// Whether a run of `bits`, one of many that follow each other without gaps, can be read as one
/// word from the byte in which it starts, wherever in the byte that is.
pub(crate) fn fits<W: Word>(bits: u32) -> bool {
    // Runs start at multiples of `bits`, so at multiples of its largest power of two in a byte.
    let step = 1 << bits.trailing_zeros().min(3);
    bits + (8 - step) <= W::BITS
}

/// A word twice, as vectors of two words read it from memory in one go.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
pub(super) struct Twice<W>(pub(super) [W; 2]);

impl<W: Copy> Twice<W> {
    #[inline]
    fn new(word: W) -> Self {
        Self([word; 2])
    }

    #[inline]
    fn word(&self) -> W {
        self.0[0]
    }
}

/// Equal lanes of `width` bits from the low end of a word. Bits above the last lane may be
/// anything: no answer depends on them, since borrows and carries only travel upwards.
#[derive(Clone, Copy, Debug)]
pub struct Lanes<W> {
    width: u32,
    /// From the lowest bit of a lane to its highest.
    span: u32,
    /// The lowest bit of each lane.
    ones: Twice<W>,
    /// The highest bit of each lane.
    highs: Twice<W>,
    /// All bits of each lane but the highest.
    lows: Twice<W>,
    /// The bits of the first lane.
    first: W,
    /// The lowest bit of each lane, if the last lane ended with the word.
    tops: W,
}

impl<W: Word> Lanes<W> {
    pub(crate) fn new(width: u32, count: u32) -> Self {
        debug_assert!(width >= 1 && width * count <= W::BITS);
        let ones = (0..count).fold(W::ZERO, |ones, i| ones | W::from(1) << (i * width));
        Self::of_ones(width, count, ones)
    }

    /// The lanes whose lowest bits these are.
    #[inline]
    pub(crate) fn of_ones(width: u32, count: u32, ones: W) -> Self {
        let highs = ones << (width - 1);
        let lows = highs.wrapping_sub(ones);
        Self {
            width,
            span: width - 1,
            ones: Twice::new(ones),
            highs: Twice::new(highs),
            lows: Twice::new(lows),
            first: W::from(u32::MAX >> (32 - width)),
            tops: ones << (W::BITS - width * count),
        }
    }

    /// The bits of `lanes` lanes.
    #[inline]
    pub(crate) fn bits(&self, lanes: u32) -> u32 {
        self.width * lanes
    }

    /// The lowest and the highest bit of each lane, `bit` positions further up. Lanes that do not
    /// fit there are cut off.
    pub(crate) fn shifted(&self, bit: u32) -> (W, W) {
        (self.ones.word() << bit, self.highs.word() << bit)
    }

    /// The value in every lane.
    #[inline]
    pub(crate) fn splat(&self, value: u32) -> W {
        self.ones.word().wrapping_mul(W::from(value))
    }

    /// The lowest and the highest bit of each lane.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn ends(&self) -> (W, W) {
        (self.ones.word(), self.highs.word())
    }

    /// Not zero if, and only if, some lane of `word` is equal to that of `pattern`. Which bits are
    /// set says only where the first such lane is.
    #[inline]
    pub(crate) fn any_equal(&self, word: W, pattern: W) -> W {
        let difference = word ^ pattern;
        difference.wrapping_sub(self.ones.word()) & !difference & self.highs.word()
    }

    /// The highest bit of each lane of `word` that is equal to that of `pattern`.
    #[inline]
    pub(crate) fn equal(&self, word: W, pattern: W) -> W {
        let difference = word ^ pattern;
        // Adding all low bits carries into the highest unless the low bits are zero; the sum of
        // two numbers without their highest bits stays within the lane.
        let not_equal = (difference & self.lows.word()).wrapping_add(self.lows.word()) | difference;
        !not_equal & self.highs.word()
    }

    /// The number of lanes in a mask of highest bits.
    #[inline]
    pub(crate) fn count(&self, mask: W) -> u32 {
        if self.width < 4 {
            return mask.count_ones();
        }
        // Three bits further down, the highest bit of lane `i` times the lowest of lane `j` from the top
        // is four bits below the end of the word if they are the same lane, past the end if `i` is
        // the greater and lanes lower down if not: the last four bits are the sum, which is below 16.
        // Lower lanes hold sums below 16 too. Two shifts by constants and a product: the baseline of
        // x86-64 has no instruction that counts bits.
        ((mask >> 3).wrapping_mul(self.tops) >> (W::BITS - 4)).low_u32()
    }

    /// The first lane in a mask of highest bits.
    #[inline]
    pub(crate) fn first_in(&self, mask: W) -> Option<u32> {
        if mask == W::ZERO { None } else { Some(mask.trailing_zeros() / self.width) }
    }

    /// The value in the first lane of a mask of highest bits; nothing if the mask is empty.
    #[inline]
    pub(crate) fn in_first(&self, mask: W, value: u32) -> W {
        let high = mask & W::ZERO.wrapping_sub(mask);
        (high >> self.span).wrapping_mul(W::from(value))
    }

    #[inline]
    pub(crate) fn get(&self, word: W, lane: u32) -> u32 {
        (word >> (lane * self.width) & self.first).low_u32()
    }

    /// The bits of a lane.
    #[inline]
    pub(crate) fn mask(&self, lane: u32) -> W {
        self.first << (lane * self.width)
    }

    /// A mask of highest bits from one bit for each lane.
    pub(crate) fn mask_of(&self, lanes: u32) -> W {
        let lane_bits =
            (0..W::BITS / self.width).filter(|lane| lane < &32 && lanes >> lane & 1 == 1);
        lane_bits
            .fold(W::ZERO, |mask, lane| mask | W::from(1) << (lane * self.width + self.width - 1))
    }
}
