//! A published segment as threads without a lock see it: words that are loaded by atomic operations,
//! under a version (version.rs). Knows where things are in a segment; what a group holds is read
//! from a copy of its words.
//!
//! ```text
//!  memory of a segment   version, description (8 words), block, window
//! ```
//!
//! What a reader has loaded may be of several versions, and then means nothing, until the version
//! was found unchanged. Whatever number of units a reader has loaded, there is memory for so many as long
//! as the memory is this segment's (`room` in copied.rs), so it bounds every load.
#![allow(unsafe_code, reason = "words of segments that one thread changes while others read them")]

use core::marker::PhantomData;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering};

use super::address::Address;
use super::code::Form;
use super::copied::Boxed;
use super::group::{self, HEADER};
use super::level::copies_in;
use super::pool::UNIT;
use super::probe::{self, NARROW};
use super::segment::{MAX_UNITS, PLAIN, Segment, each_match_in};
use super::version::Version;
use crate::prefetch::prefetch_at;
use crate::table::WINDOW;

/// The bytes before the description.
pub(super) const VERSION: usize = size_of::<Version>();
/// The words of a description.
pub(super) const DESCRIPTION: usize = size_of::<Segment>() / 8;
/// The words of the largest block and its window.
const MAX_WORDS: usize = (MAX_UNITS * UNIT + WINDOW) / 8;
/// The words of a group that is read by itself: most are of six or seven.
const GROUP_WORDS: usize = 32;
/// How often a reader tries again before it waits for the writer: a change takes as long as a few
/// tries, unless its thread was stopped in the middle.
const TRIES: usize = 64;

/// Words that one instruction moves.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const VECTOR: usize = 4;

/// Shifts vectors of four words, each with bits of the word before or after: `$by` bits of one are left,
/// and the others of the neighbour at `$beside` bytes follow. Then goes on by `$step` bytes.
#[cfg(all(target_arch = "x86_64", not(miri)))]
macro_rules! shift_vectors {
    ($held:literal, $other:literal, $beside:literal, $step:literal, $at:expr, $vectors:expr, $by:expr) => {
        core::arch::asm!(
            "vmovd xmm2, {by:e}",
            "vmovd xmm3, {rest:e}",
            "2:",
            "vmovdqu ymm0, ymmword ptr [{at}]",
            concat!("vmovdqu ymm1, ymmword ptr [{at} + ", $beside, "]"),
            concat!($held, " ymm0, ymm0, xmm2"),
            concat!($other, " ymm1, ymm1, xmm3"),
            "vpor ymm0, ymm0, ymm1",
            "vmovdqu ymmword ptr [{at}], ymm0",
            concat!("add {at}, ", $step),
            "dec {vectors}",
            "jnz 2b",
            // As compilers do: what comes after may be code for smaller vectors.
            "vzeroupper",
            at = inout(reg) $at => _,
            vectors = inout(reg) $vectors => _,
            by = in(reg) $by,
            rest = in(reg) 64 - $by,
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
            out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
            out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
            out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
            options(nostack)
        )
    };
}

/// A segment that can be found by others.
#[derive(Clone, Copy)]
pub(super) struct Shown<'a> {
    start: NonNull<AtomicU64>,
    life: PhantomData<&'a AtomicU64>,
}

impl<'a> Shown<'a> {
    /// # Safety
    /// The segment was allocated by copied.rs and written; it is not freed during `'a`. Whoever stores
    /// to it meanwhile does so by [`Self::change`], and holds the lock of its part.
    #[inline(always)]
    pub(super) unsafe fn new(segment: Boxed) -> Self {
        // SAFETY: the version is before the description.
        let start = unsafe { segment.cast::<u8>().sub(VERSION).cast() };
        Self { start, life: PhantomData }
    }

    #[inline(always)]
    fn version(self) -> &'a Version {
        // SAFETY: written when the memory was allocated, and there as long as the segment is.
        unsafe { self.start.cast::<Version>().as_ref() }
    }

    /// A word after the version.
    ///
    /// # Safety
    /// There is one.
    #[inline(always)]
    unsafe fn word(self, at: usize) -> &'a AtomicU64 {
        // SAFETY: the caller's; memory is aligned for words.
        unsafe { self.start.add(1 + at).as_ref() }
    }

    /// A word of the description: its bytes as they are in memory, the first one lowest.
    #[inline(always)]
    fn described(self, at: usize) -> u64 {
        debug_assert!(at < DESCRIPTION);
        // SAFETY: a description has so many words.
        u64::from_le(unsafe { self.word(at % DESCRIPTION) }.load(Ordering::Relaxed))
    }

    /// A word of the block, as bits.
    ///
    /// # Safety
    /// The block or its window has it.
    #[inline(always)]
    pub(super) unsafe fn block_word(self, at: usize) -> u64 {
        // SAFETY: the caller's.
        u64::from_le(unsafe { self.word(DESCRIPTION + at) }.load(Ordering::Relaxed))
    }

    /// Stores a word of the block.
    ///
    /// # Safety
    /// The block has it. Only within [`Self::change`].
    #[inline(always)]
    pub(super) unsafe fn set_block_word(self, at: usize, bits: u64) {
        // SAFETY: the caller's.
        unsafe { self.word(DESCRIPTION + at) }.store(bits.to_le(), Ordering::Relaxed);
    }

    /// Bits of the block from one on, of which 57 are good; `None` past the end of the block, which is
    /// so many words long.
    #[inline(always)]
    fn bits(self, bit: usize, words: usize) -> Option<u64> {
        // SAFETY: within the block, or one word further; after it there is a window of two words.
        (bit / 64 < words).then(|| unsafe { self.load(bit) })
    }

    /// The bytes of two words by one instruction, if the processor has one for any address.
    ///
    /// The language sees loads of both words, by atomic operations, and knows nothing of how. However
    /// the processor cuts such a load into pieces, every byte is one of its word at some moment
    /// between the loads of the version, which is all that version.rs asks for.
    ///
    /// # Safety
    /// The bit is within the block, or the word after it.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[inline(always)]
    unsafe fn load(self, bit: usize) -> u64 {
        let at = self.start.as_ptr().wrapping_add(1 + DESCRIPTION).cast::<u8>();
        let word: u64;
        // SAFETY: the caller's; reads eight bytes, and the window has as many.
        unsafe {
            core::arch::asm!(
                "mov {word}, qword ptr [{at}]",
                at = in(reg) at.wrapping_add(bit / 8),
                word = out(reg) word,
                options(readonly, nostack, preserves_flags)
            );
        }
        word >> (bit % 8)
    }

    /// The same of two words that are loaded one after the other.
    ///
    /// # Safety
    /// The bit is within the block, or the word after it.
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    #[inline(always)]
    unsafe fn load(self, bit: usize) -> u64 {
        let (at, shift) = (bit / 64, bit % 64);
        // SAFETY: the caller's; after the block there is a window.
        let (low, high) = unsafe { (self.block_word(at), self.block_word(at + 1)) };
        low >> shift | (high << 1) << (63 - shift)
    }

    /// Moves words of the block from `low` on, before `end`, up by fewer than 64 bits: each becomes the
    /// bits that many below its own. The last of them, four at a time; says how many.
    ///
    /// As in [`Self::load`], the language sees loads and stores of words by atomic operations, in the order
    /// of the words. What a reader has loaded meanwhile means nothing, since the version tells it so.
    ///
    /// # Safety
    /// The block has them, and one before them. Only within [`Self::change`]; the processor has AVX2.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[inline(always)]
    pub(super) unsafe fn move_up(self, low: usize, end: usize, by: u32) -> usize {
        let vectors = (end - low) / VECTOR;
        if vectors > 0 {
            let at = self.start.as_ptr().wrapping_add(1 + DESCRIPTION + end - VECTOR);
            // SAFETY: the caller's; the words from the last on, and the one before each four.
            unsafe {
                shift_vectors!("vpsllq", "vpsrlq", "-8", "-32", at, vectors, by);
            }
        }
        vectors * VECTOR
    }

    /// Moves words of the block from `low` on, before `end`, down by fewer than 64 bits. The first of them,
    /// four at a time; says how many. As [`Self::move_up`] does.
    ///
    /// # Safety
    /// The block and its window have them, and one after them. Only within [`Self::change`]; the
    /// processor has AVX2.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[inline(always)]
    pub(super) unsafe fn move_down(self, low: usize, end: usize, by: u32) -> usize {
        let vectors = (end - low) / VECTOR;
        if vectors > 0 {
            let at = self.start.as_ptr().wrapping_add(1 + DESCRIPTION + low);
            // SAFETY: the caller's; the words from the first on, and the one after each four.
            unsafe {
                shift_vectors!("vpsrlq", "vpsllq", "8", "32", at, vectors, by);
            }
        }
        vectors * VECTOR
    }

    /// Moves nothing: where there are no such instructions.
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    #[inline(always)]
    pub(super) unsafe fn move_up(self, _: usize, _: usize, _: u32) -> usize {
        0
    }

    /// Moves nothing: where there are no such instructions.
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    #[inline(always)]
    pub(super) unsafe fn move_down(self, _: usize, _: usize, _: u32) -> usize {
        0
    }

    /// Prefetches the version and the description.
    #[inline(always)]
    pub(super) fn prefetch_description(self) {
        let start = self.start.as_ptr().cast::<u8>();
        prefetch_at(start);
        prefetch_at(start.wrapping_add(VERSION + size_of::<Segment>() - 1));
    }

    /// Prefetches what is around a bit of the block: two cache lines.
    #[inline(always)]
    pub(super) fn prefetch(self, bit: usize) {
        let block = self.start.as_ptr().wrapping_add(1 + DESCRIPTION).cast::<u8>();
        let at = block.wrapping_add(bit / 8);
        prefetch_at(at.wrapping_sub(24));
        prefetch_at(at.wrapping_add(40));
    }

    /// Whether an entry may be of a key; `None` if that takes longer to say: [`Self::count`] does.
    #[inline(always)]
    pub(super) fn hit<const WIDE: bool>(self, key: Address) -> Option<bool> {
        let version = self.version().begin()?;
        let first = First(self.described(1));
        if (first.form() & !PLAIN).wrapping_sub(1) >= NARROW {
            return None;
        }
        let (tag, base) = (first.form(), self.base(first, key.group()));
        let group = self.group_of::<WIDE>(key, first, tag, base)?;
        let hit = probe::compare(tag, group.held, key.path >> first.depth(), group.count)?;
        if self.version().is_still(version) { Some(hit) } else { None }
    }

    /// The group of a key, with a tag whose width is from 1 to [`NARROW`], and the base of the group.
    #[inline(always)]
    fn group_of<const WIDE: bool>(
        self,
        key: Address,
        first: First,
        tag: u8,
        base: i32,
    ) -> Option<GroupOf> {
        let (bits, home) = (usize::from(tag & !PLAIN), key.home_in_group());
        let at = (HEADER * key.group()).wrapping_add((base as usize).wrapping_mul(bits));
        let words = first.words();
        let block = self.start.as_ptr().wrapping_add(1 + DESCRIPTION);
        // As in `probe::hit`: likely the place of the codes.
        prefetch_at(block.cast::<u8>().wrapping_add(at / 8 + 6 + 2 * home as usize));
        let header = self.bits(at, words)? as u32;
        let (before, count) =
            if WIDE { group::before_by_ones(header, home) } else { group::before(header, home) };
        // The codes of the last home may end with the block.
        let held = self.bits(at + HEADER + before as usize * bits, words + 1)?;
        Some(GroupOf { at, header, count, held })
    }

    /// What [`Self::hit`] leaves to say; `None` as for [`Self::count`].
    #[inline(never)]
    pub(super) fn hit_slowly(self, key: Address) -> Option<bool> {
        again(|| {
            let (version, first) = (self.version().begin()?, First(self.described(1)));
            self.hit_in_short_tail(key, version, first)
                .or_else(|| self.matches(key, version, first).map(|matches| matches > 0))
        })
    }

    /// [`Self::hit`] with the tail of the group, if that is short; for wide segments too: who chooses
    /// keys can make many of them.
    #[inline(always)]
    fn hit_in_short_tail(self, key: Address, version: u64, first: First) -> Option<bool> {
        let (tag, base, next) = self.bases(first, key.group())?;
        if (tag & !PLAIN).wrapping_sub(1) >= NARROW {
            return None;
        }
        let GroupOf { at, header, count, held } = self.group_of::<false>(key, first, tag, base)?;
        let extension = key.path >> first.depth();
        let hit = match probe::compare(tag, held, extension, count) {
            Some(hit) => hit,
            None => {
                let inline = group::sum(header) as usize;
                let tail = (next.wrapping_sub(base) as usize).wrapping_sub(inline);
                let tail_at = at + HEADER + inline * usize::from(tag & !PLAIN);
                let held = self.bits(tail_at, first.words() + 1)?;
                probe::compare_tail(tag, held, extension, tail)?
            }
        };
        if self.version().is_still(version) { Some(hit) } else { None }
    }

    /// How many entries may be of a key, copies counted; `None` if the segment is being changed all
    /// the time, or by a thread that was stopped.
    pub(super) fn count(self, key: Address) -> Option<usize> {
        again(|| {
            let (version, first) = (self.version().begin()?, First(self.described(1)));
            match first.form() {
                // A wide segment may have counted codes.
                0 => self.count_in_copy(key, version, first),
                _ => self.matches(key, version, first),
            }
        })
    }

    /// The slots before a group of a narrow segment.
    #[inline(always)]
    fn base(self, first: First, group: usize) -> i32 {
        let at = Segment::BASES + group;
        let distance = (self.described(at / 8) >> (at % 8 * 8)) as i8;
        ((i32::from(first.slope()) * group as i32) >> 5) + i32::from(distance)
    }

    /// The same of a wide segment, whose block has so many words.
    fn exact_base(self, words: usize, group: usize) -> Option<i32> {
        let base = self.bits(Segment::exact_base_at(words * 8, group)? * 8, words)?;
        Some((base & 0xffff) as i32)
    }

    /// The entries that may be of a key, counted codes at least once; `None` if the version is another.
    fn matches(self, key: Address, version: u64, first: First) -> Option<usize> {
        let Some((form, (start, end), slots)) = self.small_group(key.group(), first) else {
            return self.count_in_copy(key, version, first);
        };
        let mut held = [0; GROUP_WORDS];
        let at = start / 64;
        for (i, held) in held[..=end / 64 - at].iter_mut().enumerate() {
            // SAFETY: up to the word after the block, which is the window's.
            *held = unsafe { self.block_word(at + i) }.to_le();
        }
        if !self.version().is_still(version) {
            return None;
        }
        let (mut count, extension) = (0, key.path >> first.depth());
        // SAFETY: words are bytes.
        let bytes = unsafe { core::slice::from_raw_parts(held.as_ptr().cast(), GROUP_WORDS * 8) };
        let group = (start % 64, slots);
        each_match_in(bytes, group, form, key.home_in_group(), extension, |_, _| count += 1);
        Some(count)
    }

    /// The tag of a segment, narrow or wide, and the slots before a group and the next.
    #[inline(always)]
    fn bases(self, first: First, group: usize) -> Option<(u8, i32, i32)> {
        let words = first.words();
        Some(match first.form() {
            0 => (
                first.slope() as u8,
                self.exact_base(words, group)?,
                self.exact_base(words, group + 1)?,
            ),
            tag => (tag, self.base(first, group), self.base(first, group + 1)),
        })
    }

    /// The form of a group, where it begins and ends, and its slots: within the block, and no longer than
    /// can be copied, whatever a writer does meanwhile. `None` if it seems to be longer, or to end before
    /// it begins.
    #[inline(always)]
    fn small_group(self, group: usize, first: First) -> Option<(Form, (usize, usize), usize)> {
        let words = first.words();
        let (tag, base, next) = self.bases(first, group)?;
        let form = Segment::form_of(tag);
        let bits = form.width as usize;
        let start = (HEADER * group).wrapping_add((base as usize).wrapping_mul(bits));
        let slots = usize::try_from(next.wrapping_sub(base)).ok()?;
        let end = start.wrapping_add(HEADER).wrapping_add(slots.wrapping_mul(bits));
        let is_small = start <= end && end <= words * 64 && end - start <= (GROUP_WORDS - 2) * 64;
        is_small.then_some((form, (start, end), slots))
    }

    /// The same for segments that are not as most are.
    #[cold]
    #[inline(never)]
    fn count_in_copy(self, key: Address, version: u64, first: First) -> Option<usize> {
        let words = first.words();
        let mut copy = [0u64; DESCRIPTION + MAX_WORDS];
        let (description, block) = copy.split_at_mut(DESCRIPTION);
        for (at, to) in description.iter_mut().enumerate() {
            *to = self.described(at).to_le();
        }
        for (at, to) in block.iter_mut().enumerate().take(words) {
            // SAFETY: the block has so many.
            *to = unsafe { self.block_word(at) }.to_le();
        }
        if !self.version().is_still(version) {
            return None;
        }
        let at = NonNull::from(block).cast();
        // SAFETY: a description that was whole, and its block with a window.
        let segment = unsafe { Segment::from_words(description.first_chunk()?, at) };
        Some(copies_in(&segment, key))
    }

    /// Stores to the segment while readers know that they have to try again.
    ///
    /// # Safety
    /// The caller holds the lock of the part. `stores` does not panic.
    #[inline(always)]
    pub(super) unsafe fn change(self, description: &[u64; DESCRIPTION], stores: impl FnOnce()) {
        self.version().change(
            #[inline(always)]
            || {
                // All but the first, which is where the block is.
                for (at, &word) in description.iter().enumerate().skip(1) {
                    // SAFETY: a description has so many words.
                    unsafe { self.word(at) }.store(word, Ordering::Relaxed);
                }
                stores();
            },
        );
    }

    /// Makes the segment like another, with as much memory, that nobody else can see.
    ///
    /// # Safety
    /// The caller holds the lock of the part, and has no reference to the segment.
    pub(super) unsafe fn write_over(self, private: &Segment) {
        // Words that are stored, and compared, at once.
        const CHUNK: usize = 4;
        const { assert!(UNIT == 8 * CHUNK) };
        let words = private.words();
        let block = self.start.as_ptr().wrapping_add(1 + DESCRIPTION).cast::<[u64; CHUNK]>();
        let store = || {
            for (at, new) in words.as_chunks::<CHUNK>().0.iter().enumerate() {
                // SAFETY: there is as much memory for both blocks; nobody else stores here.
                if unsafe { block.add(at).read() } == *new {
                    continue;
                }
                for (i, &word) in new.iter().enumerate() {
                    // SAFETY: as above.
                    unsafe { self.set_block_word(at * CHUNK + i, u64::from_le(word)) };
                }
            }
        };
        // SAFETY: the caller's; comparing and storing words does not panic.
        unsafe { self.change(&private.to_words(), store) };
    }
}

/// A group of which the codes of one home were loaded.
struct GroupOf {
    /// The bit of the block where it begins.
    at: usize,
    header: u32,
    /// The number of the home's codes inline, and these.
    count: u32,
    held: u64,
}

#[cfg(test)]
impl Shown<'_> {
    pub(super) fn description(self) -> [u64; DESCRIPTION] {
        core::array::from_fn(|at| self.described(at).to_le())
    }

    /// A description in which the group after one begins one slot before it.
    pub(super) fn with_torn_group(self, group: usize) -> [u64; DESCRIPTION] {
        let first = First(self.described(1));
        let slots = self.base(first, group + 1) - self.base(first, group);
        let (at, mut torn) = (Segment::BASES + group + 1, self.description());
        let shift = at % 8 * 8;
        let distance = ((torn[at / 8] >> shift) as i8).wrapping_sub((slots + 1) as i8);
        torn[at / 8] = torn[at / 8] & !(0xff << shift) | u64::from(distance as u8) << shift;
        torn
    }

    pub(super) fn reads_group(self, group: usize) -> bool {
        self.small_group(group, First(self.described(1))).is_some()
    }
}

/// Asks until there is an answer, some times.
#[inline(always)]
fn again<T>(ask: impl Fn() -> Option<T>) -> Option<T> {
    for _ in 0..TRIES {
        match ask() {
            Some(answer) => return Some(answer),
            None => core::hint::spin_loop(),
        }
    }
    None
}

/// The first word of a description after the place of its block, as bits.
#[derive(Clone, Copy)]
struct First(u64);

impl First {
    #[inline(always)]
    fn slope(self) -> u16 {
        u16::from_ne_bytes([self.0 as u8, (self.0 >> 8) as u8])
    }

    /// The words of the block.
    #[inline(always)]
    fn words(self) -> usize {
        let units = u16::from_ne_bytes([(self.0 >> 16) as u8, (self.0 >> 24) as u8]);
        usize::from(units) * UNIT / 8
    }

    #[inline(always)]
    fn form(self) -> u8 {
        (self.0 >> 32) as u8
    }

    #[inline(always)]
    fn depth(self) -> u32 {
        u32::from((self.0 >> 40) as u8)
    }
}
