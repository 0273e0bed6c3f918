//! A filter in sections, to be copied piece by piece while it is in use. Knows which entries belong
//! to a section, however segments were split or merged meanwhile, and the bytes of a piece.
//!
//! A section is the keys whose paths end in the same bits, and the number of bits is chosen when the
//! copy begins. The bits of a key never change, so a key that stays in the filter is in its section
//! whenever that section is copied. Only an entry that knows fewer bits has none: such entries are
//! copied after the last section. An entry never learns bits, so none is missed.
//!
//! ```text
//!  piece    sections in order, each: number of entries (varint), entries
//!           after the last section of all: entries without one, likewise
//!  entry    distance of its home from the one before (byte; 255: the home follows, 2 bytes)
//!           bits known beyond those of the section, 0 to 52; 64 is added if copies follow (byte)
//!           these bits of the path, the lowest first (as many bytes as they need)
//!           copies (varint, two or more)
//! ```

use core::fmt;

use super::address::{Address, HOMES, PATH_BITS};
use super::code::mask;
use super::filter::ElasticFilter;
use super::level::{Level, PartialKey, each_partial_key};
use super::policy::{LOAD_PER_SEGMENT, segments_for};
use crate::{Full, FullCause};

/// The most bits that tell sections apart.
const MOST_BITS: u32 = 32;
/// Sections are a quarter of a segment, if entries know enough: the segments of a copy are then filled
/// evenly at any time, also if the filter grows meanwhile.
const FINER: u32 = 2;
/// In place of a distance: the home follows.
const FAR: u8 = 255;
/// In the number of bits: copies follow.
const COPIES: u8 = 64;

/// Keys of a piece for each segment that is split before it is needed, at least. If the filter has grown
/// severalfold since its copy began, a section is more than a segment takes. Then the copy needs as many
/// segments as it will have in the end, and they are made with every piece, some at a time.
const KEYS_PER_SPLIT: usize = 128;
/// Keys of a section that is large: half of a segment.
const LARGE_SECTION: u64 = LOAD_PER_SEGMENT as u64 / 2;

/// What is copied at a time, and in what order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sections {
    /// There are 2^bits sections.
    pub bits: u32,
    /// The first section to copy.
    pub next: u64,
}

impl Sections {
    /// Whether all are copied.
    #[must_use]
    pub fn is_done(self) -> bool {
        self.next >= 1 << self.bits.min(MOST_BITS)
    }
}

/// A piece was refused. The filter holds the keys that it held before.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum PieceError {
    /// The bytes are not a piece of these sections.
    Invalid,
    /// The keys would exceed the false positive rate of the filter: it changed too much while it was
    /// copied.
    Rate,
    /// A key was refused: the filter changed too much while it was copied, or memory is short.
    Full(Full),
}

impl fmt::Display for PieceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid => f.write_str("the bytes are not a piece of these sections"),
            Self::Rate => f.write_str(
                "the filter changed too much while it was copied: its keys would exceed the false \
                 positive rate; copy it again",
            ),
            Self::Full(full) => write!(f, "a key of the piece was refused: {full}"),
        }
    }
}

impl std::error::Error for PieceError {}

impl ElasticFilter {
    /// How to copy the filter in sections, from the first on.
    #[must_use]
    pub fn sections(&self) -> Sections {
        let least = self.engine.levels.main.segment_count().max(1).ilog2();
        let shortest = self.engine.lengths.iter().next().map_or(0, |(bits, _)| bits);
        Sections { bits: (least + FINER).min(shortest.max(least)).min(MOST_BITS), next: 0 }
    }

    /// Copies sections until there are `most_sections`, or `most_keys` keys or more, or the last one is
    /// copied. Returns the bytes of the piece, and how to go on. Each section is a reading of a segment,
    /// or of several, so both limits bound the time.
    ///
    /// The filter may change between two calls: a key that is there all the time is in one of the
    /// pieces. One that comes or goes may be in none, in one, or in several.
    ///
    /// ```
    /// use cuculus::{ElasticFilter, Filter, Insert};
    ///
    /// let mut set = ElasticFilter::builder().build()?;
    /// for key in 0..10_000u64 {
    ///     set.insert(&key)?;
    /// }
    /// let mut copy = ElasticFilter::builder().hasher(set.hasher().clone()).build()?;
    /// let mut at = set.sections();
    /// while !at.is_done() {
    ///     let (piece, next) = set.copy_sections(at, 100, 1000)?;
    ///     copy.add_sections(at, next, &piece)?;
    ///     set.insert(&(1_000_000 + next.next))?;
    ///     at = next;
    /// }
    /// assert!((0..10_000u64).all(|key| copy.contains(&key)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Full`] if memory is short.
    pub fn copy_sections(
        &self,
        from: Sections,
        most_sections: u64,
        most_keys: usize,
    ) -> Result<(Vec<u8>, Sections), Full> {
        let Sections { bits, mut next } = from;
        let bits = bits.min(MOST_BITS);
        let end = next.saturating_add(most_sections).min(1 << bits);
        let (mut piece, mut entries, mut keys) = (Vec::new(), Vec::new(), 0);
        while next < end && keys < most_keys {
            let mut section = Entries::new(&mut entries, bits);
            for level in self.engine.levels.iter() {
                each_of_section(level, bits, next, |known, copies| section.put(known, copies))
                    .map_err(|cause| self.full(cause))?;
            }
            keys += section.number;
            section.end(&mut piece).map_err(|cause| self.full(cause))?;
            next += 1;
        }
        if next >= 1 << bits {
            let mut rest = Entries::new(&mut entries, 0);
            if self.engine.lengths.iter().next().is_some_and(|(shortest, _)| shortest < bits) {
                for level in self.engine.levels.iter().filter(|level| may_be_shorter(level, bits)) {
                    let visited = level.each_known(|known, copies| match known.bits < bits {
                        true => rest.put(known, copies),
                        false => Ok(()),
                    });
                    visited.map_err(|cause| self.full(cause))?;
                }
            }
            rest.end(&mut piece).map_err(|cause| self.full(cause))?;
        }
        Ok((piece, Sections { bits, next }))
    }

    /// Adds the keys of a piece that [`copy_sections`](Self::copy_sections) made of a filter with the
    /// same hash function, seed and parameters; `from` and `to` are what was passed and returned there.
    /// It takes as long as inserting the keys.
    ///
    /// # Errors
    /// [`PieceError`] says why not; the filter then holds the keys that it held before.
    pub fn add_sections(
        &mut self,
        from: Sections,
        to: Sections,
        piece: &[u8],
    ) -> Result<(), PieceError> {
        let each = |visit: &mut Visit<'_>| each_of_piece(from, to, piece, visit);
        // Once without a change: most damage is found here.
        let mut keys = 0;
        let mut count = |_: PartialKey, _: u64| {
            keys += 1;
            Ok(())
        };
        each(&mut count).ok_or(PieceError::Invalid)?.map_err(|_| PieceError::Invalid)?;
        let before = self.engine.work;
        // Entries stay as long as they are: they are what a filter of the whole size made them.
        self.engine.levels.main.set_loading(true);
        // Keys come segment by segment: without enough segments they crowd one.
        let (levels, mut cx) = self.engine.parts();
        levels.prepare_by(keys, keys, &mut cx);
        let whole = segments_of_all(keys, from, to);
        levels.split_towards(whole, keys / KEYS_PER_SPLIT, &mut cx);
        let mut added = self.add_each(&each);
        if matches!(added, Err(PieceError::Full(Full { cause: FullCause::Crowded, .. }))) {
            // Once more with more segments, but a small piece does not rebuild a large filter, whoever has
            // written it.
            let (levels, mut cx) = self.engine.parts();
            levels.split_towards(4 * levels.main.segment_count(), keys, &mut cx);
            added = self.add_each(&each);
        }
        self.engine.levels.main.set_loading(false);
        if added.is_err() {
            let (levels, mut cx) = self.engine.parts();
            levels.merge_while_due(&mut cx);
            levels.drop_empty();
        }
        self.engine.work = before;
        self.engine.drop_if_empty();
        added
    }

    /// Adds what `each` visits, all or nothing.
    fn add_each(&mut self, each: &Each<'_>) -> Result<(), PieceError> {
        let (levels, mut cx) = self.engine.parts();
        let mut done = 0;
        let mut add = |known: PartialKey, copies: u64| {
            cx.work.start();
            levels.insert_copies(known, copies, &mut cx)?;
            done += 1;
            Ok(())
        };
        let added = match each(&mut add) {
            Some(Ok(())) if self.engine.settings.allows(self.engine.lengths.sum()) => return Ok(()),
            Some(Err(cause)) => PieceError::Full(self.full(cause)),
            _ => PieceError::Rate,
        };
        let mut take_out = |known: PartialKey, copies: u64| {
            if done > 0 {
                done -= 1;
                let (levels, mut cx) = self.engine.parts();
                levels.take_back(0, known, copies, &mut cx);
            }
            Ok(())
        };
        let _ = each(&mut take_out);
        Err(added)
    }
}

/// The segments of a filter whose sections are all as large as those of a piece; 0 if they are much smaller
/// than a segment.
fn segments_of_all(keys: usize, from: Sections, to: Sections) -> usize {
    let sections = to.next.saturating_sub(from.next).max(1);
    let each = keys as u64 / sections;
    let all = if each < LARGE_SECTION { 0 } else { each << from.bits.min(MOST_BITS) };
    usize::try_from(segments_for(all)).unwrap_or(usize::MAX)
}

/// Calls a function for each entry of a piece; `None` if the bytes are not a piece.
type Each<'a> = dyn Fn(&mut Visit<'_>) -> Option<Result<(), FullCause>> + 'a;
type Visit<'a> = dyn FnMut(PartialKey, u64) -> Result<(), FullCause> + 'a;

/// The entries of a section, as bytes.
struct Entries<'a> {
    bytes: &'a mut Vec<u8>,
    /// The bits that all of them share.
    bits: u32,
    home: u16,
    number: usize,
}

impl<'a> Entries<'a> {
    fn new(bytes: &'a mut Vec<u8>, bits: u32) -> Self {
        bytes.clear();
        Self { bytes, bits, home: 0, number: 0 }
    }

    fn put(&mut self, known: PartialKey, copies: u64) -> Result<(), FullCause> {
        // 3 for the home, 1 for the length, 7 for the path, 10 for copies.
        self.bytes.try_reserve(21).map_err(|_| FullCause::OutOfMemory)?;
        let PartialKey { key: Address { path, home }, bits } = known;
        match home.checked_sub(self.home).map(u8::try_from) {
            Some(Ok(distance)) if distance < FAR => self.bytes.push(distance),
            _ => {
                self.bytes.push(FAR);
                self.bytes.extend_from_slice(&home.to_le_bytes());
            }
        }
        let length = bits - self.bits;
        self.bytes.push(length as u8 | if copies > 1 { COPIES } else { 0 });
        let kept = (path >> self.bits & mask(length)).to_le_bytes();
        self.bytes.extend_from_slice(&kept[..length.div_ceil(8) as usize]);
        if copies > 1 {
            put_number(self.bytes, copies);
        }
        self.home = home;
        self.number += 1;
        Ok(())
    }

    fn end(self, piece: &mut Vec<u8>) -> Result<(), FullCause> {
        piece.try_reserve(10 + self.bytes.len()).map_err(|_| FullCause::OutOfMemory)?;
        put_number(piece, self.number as u64);
        piece.extend_from_slice(self.bytes);
        Ok(())
    }
}

fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Calls `visit` for all entries of a piece. `None` if the bytes are not a piece.
fn each_of_piece(
    from: Sections,
    to: Sections,
    piece: &[u8],
    visit: &mut Visit<'_>,
) -> Option<Result<(), FullCause>> {
    let Sections { bits, next } = from;
    let is_order = bits == to.bits && bits <= MOST_BITS && next < to.next && to.next <= 1 << bits;
    let mut bytes = Some(piece).filter(|_| is_order)?;
    let rest = to.is_done().then_some((0, 0));
    for (section, bits) in (next..to.next).map(|section| (section, bits)).chain(rest) {
        let mut home = 0;
        for _ in 0..number(&mut bytes)? {
            home = match byte(&mut bytes)? {
                FAR => u16::from(byte(&mut bytes)?) | u16::from(byte(&mut bytes)?) << 8,
                distance => home + u16::from(distance),
            };
            let tag = byte(&mut bytes)?;
            let length = u32::from(tag & !COPIES);
            if usize::from(home) >= HOMES || tag >= 2 * COPIES || bits + length > PATH_BITS {
                return None;
            }
            let mut kept = [0; 8];
            let (taken, left) = bytes.split_at_checked(length.div_ceil(8) as usize)?;
            bytes = left;
            kept[..taken.len()].copy_from_slice(taken);
            let kept = u64::from_le_bytes(kept);
            let copies = if tag & COPIES == 0 { 1 } else { number(&mut bytes)? };
            if kept > mask(length) || copies == 0 {
                return None;
            }
            let key = Address { path: section | kept << bits, home };
            if let Err(cause) = visit(PartialKey { key, bits: bits + length }, copies) {
                return Some(Err(cause));
            }
        }
    }
    bytes.is_empty().then_some(Ok(()))
}

fn byte(bytes: &mut &[u8]) -> Option<u8> {
    let (&first, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(first)
}

fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..63).step_by(7) {
        let next = byte(bytes)?;
        number |= u64::from(next & 0x7f) << shift;
        if next < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Calls `visit` for the entries of a section on a level.
fn each_of_section(
    level: &Level,
    bits: u32,
    section: u64,
    mut visit: impl FnMut(PartialKey, u64) -> Result<(), FullCause>,
) -> Result<(), FullCause> {
    for index in segments_of(level, bits, section) {
        let mut result = Ok(());
        each_partial_key(level.directory.get(index), index, |known, copies| {
            if result.is_ok() && known.bits >= bits && known.key.path & mask(bits) == section {
                result = visit(known, copies);
            }
        });
        result?;
    }
    Ok(())
}

/// The segments that may hold keys of a section: the one of its bits, and those that were split off
/// from it.
fn segments_of(level: &Level, bits: u32, section: u64) -> impl Iterator<Item = usize> + use<> {
    let count = level.segment_count() as u64;
    let first = (count > 0).then(|| level.directory.index(section));
    let end = if section < count { (count - section).div_ceil(1 << bits) } else { 0 };
    let others = (1..end).map(move |number| (section + (number << bits)) as usize);
    first.into_iter().chain(others)
}

/// Whether a level may have entries that know fewer bits: an entry knows those that chose its segment.
fn may_be_shorter(level: &Level, bits: u32) -> bool {
    let count = level.segment_count();
    count > 0 && count.ilog2() < bits
}
