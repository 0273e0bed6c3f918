//! The elastic filter in a file (FORMAT.md, kind 3).

use std::io::{Read, Write};

use super::address::{GROUPS, PATH_BITS};
use super::bits::read;
use super::builder;
use super::code::{Form, MAX_WIDTH, mask};
use super::engine::Engine;
use super::filter::ElasticFilter;
use super::lengths::Lengths;
use super::level::{Level, LoadError, Work, depth_of};
use super::levels::{Levels, MAX_LEVELS};
use super::policy::Settings;
use super::rewrite::{Draft, Shape};
use super::segment::{COUNTED, Counted, HEADERS, MAX_SLOTS, PLAIN, Segment};
use crate::container::{self, Fields, Incoming, Parameters};
use crate::{DecodeError, Kind, Persist};

/// The bytes before the sizes of a segment's groups.
const DESCRIPTION: usize = 8;
/// Flags of a description: sizes of groups have two bytes, not one; bases are exact in memory.
const LARGE_GROUPS: u8 = 1;
const WIDE: u8 = 2;
const PACKED: u8 = 4;
/// `spare_bytes` when nothing was said.
const USUAL_SPARE: u64 = u64::MAX;

pub(super) fn invalid(field: &'static str, got: u64, expected: &'static str) -> DecodeError {
    DecodeError::Invalid { field, got, expected }
}

impl Segment {
    fn has_large_groups(&self) -> bool {
        (0..GROUPS).any(|group| self.group(group).1 > usize::from(u8::MAX))
    }

    /// The bytes of the segment in a file.
    fn saved_len(&self) -> u64 {
        let size = if self.has_large_groups() { 2 } else { 1 };
        let groups = self.used_bits().div_ceil(8);
        (DESCRIPTION + size * GROUPS + groups + COUNTED * self.counted_codes()) as u64
    }

    fn save(&self, put: &mut dyn FnMut(&[u8]) -> std::io::Result<()>) -> std::io::Result<()> {
        let form = self.form();
        let is_large = self.has_large_groups();
        let flags = if is_large { LARGE_GROUPS } else { 0 }
            | if self.is_wide() { WIDE } else { 0 }
            | if self.is_packed() { PACKED } else { 0 };
        let tag = form.width as u8 | if form.ended { 0 } else { PLAIN };
        put(&[tag, flags])?;
        for number in [self.units() as u16, self.counted_codes() as u16, self.slope().unwrap_or(0)]
        {
            put(&number.to_le_bytes())?;
        }
        let sizes = core::array::from_fn::<u16, GROUPS, _>(|group| self.group(group).1 as u16);
        if is_large {
            sizes.iter().try_for_each(|size| put(&size.to_le_bytes()))?;
        } else {
            put(&sizes.map(|size| size as u8))?;
        }
        let (whole, bits) = (self.used_bits() / 8, self.used_bits() % 8);
        put(&self.bytes()[..whole])?;
        if bits > 0 {
            // What is behind the last group means nothing.
            put(&[self.bytes()[whole] & mask(bits as u32) as u8])?;
        }
        (0..self.counted_codes()).try_for_each(|at| {
            let Counted { key, more } = self.counted(at);
            put(&key.to_le_bytes())?;
            put(&more.to_le_bytes())
        })
    }
}

/// How many entries know so many bits of their paths.
type Entries = [u32; PATH_BITS as usize + 1];

/// The payload that is left.
struct Payload<'a>(&'a [u8]);

impl<'a> Payload<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let Some((taken, rest)) = self.0.split_at_checked(len) else {
            return Err(invalid("length of the payload", self.0.len() as u64, "all segments"));
        };
        self.0 = rest;
        Ok(taken)
    }

    /// The next segment, and its entries by what they know.
    fn segment(&mut self, depth: u32) -> Result<(Draft, Shape, Entries), DecodeError> {
        let mut fields = Fields(self.take(DESCRIPTION)?);
        let (tag, flags) = (fields.u8()?, fields.u8()?);
        let (units, counted, slope) = (fields.u16()?, usize::from(fields.u16()?), fields.u16()?);
        let form = Form { width: u32::from(tag & !PLAIN), ended: tag & PLAIN == 0 };
        if form.width == 0 || form.width > MAX_WIDTH {
            return Err(invalid("width of codes", u64::from(form.width), "from 1 to 40"));
        }
        if flags & !(LARGE_GROUPS | WIDE | PACKED) != 0 {
            return Err(invalid("flags of a segment", u64::from(flags), "from 0 to 7"));
        }
        let mut sizes = [0u16; GROUPS];
        if flags & LARGE_GROUPS == 0 {
            let bytes = self.take(GROUPS)?;
            sizes.iter_mut().zip(bytes).for_each(|(size, &byte)| *size = u16::from(byte));
        } else {
            let (pairs, _) = self.take(2 * GROUPS)?.as_chunks();
            sizes.iter_mut().zip(pairs).for_each(|(size, &pair)| *size = u16::from_le_bytes(pair));
            if sizes.iter().all(|&size| size <= u16::from(u8::MAX)) {
                return Err(invalid("sizes of groups", 2, "one byte each if all fit"));
            }
        }
        let slots: usize = sizes.iter().map(|&size| usize::from(size)).sum();
        if slots > MAX_SLOTS {
            return Err(invalid("slots of a segment", slots as u64, "at most 2040"));
        }
        let bits = HEADERS + slots * form.step();
        let groups = self.take(bits.div_ceil(8))?;
        if !bits.is_multiple_of(8) && read(groups, bits, 8 - (bits % 8) as u32) != 0 {
            return Err(invalid("bits after the last group", 1, "0"));
        }
        let mut draft = Draft::new(form, depth);
        draft.about.is_packed = flags & PACKED != 0;
        let no_group = || invalid("segment", slots as u64, "one with groups that keys can make");
        let entries = draft.read_saved(groups, &sizes).ok_or_else(no_group)?;
        for bytes in self.take(counted * COUNTED)?.chunks_exact(COUNTED) {
            let mut fields = Fields(bytes);
            let counted = Counted { key: fields.u64()?, more: fields.u32()? };
            draft.read_counted(counted).ok_or_else(no_group)?;
        }
        let slope = (flags & WIDE == 0).then_some(slope);
        Ok((draft, Shape { units: usize::from(units), slope }, entries))
    }
}

impl Persist for ElasticFilter {
    fn write_to<W: Write>(&self, writer: W) -> std::io::Result<()> {
        let Settings { rate, load, expected_items, .. } = self.engine.settings;
        let mut parameters = Parameters::new();
        let spare = self.engine.settings.spare_bytes().unwrap_or(USUAL_SPARE);
        for bits in [rate.to_bits(), load.to_bits(), expected_items, spare] {
            parameters.extend_from_slice(&bits.to_le_bytes());
        }
        let (len, levels) = (self.engine.levels.len(), self.engine.levels.iter().count() as u64);
        for number in [len, self.refused, levels] {
            parameters.extend_from_slice(&number.to_le_bytes());
        }
        for level in self.engine.levels.iter() {
            parameters.extend_from_slice(&(level.segment_count() as u64).to_le_bytes());
        }
        let segments = || self.engine.levels.iter().flat_map(Level::segments);
        let payload_len = segments().map(Segment::saved_len).sum();
        let (kind, hasher) = (Kind::Elastic, &self.hasher);
        container::write_pieces(writer, kind, hasher, &parameters, payload_len, |put| {
            segments().try_for_each(|segment| segment.save(put))
        })
    }

    fn read_from<R: Read>(reader: R) -> Result<Self, DecodeError> {
        let mut incoming = Incoming::open(reader, Kind::Elastic)?;
        let parameters = core::mem::take(&mut incoming.parameters);
        let hasher = incoming.hasher.clone();
        let payload_len = incoming.payload_len;
        let payload = incoming.payload(payload_len, 0)?;
        let mut fields = Fields(&parameters);
        let (rate, load) = (f64::from_bits(fields.u64()?), f64::from_bits(fields.u64()?));
        let (expected_items, spare) = (fields.u64()?, fields.u64()?);
        let (len, refused) = (fields.u64()?, fields.u64()?);
        let spare_bytes = Some(spare).filter(|&spare| spare != USUAL_SPARE);
        let settings = builder::check(rate, load, expected_items, spare_bytes);
        let settings = settings.map_err(|_| {
            invalid("rate, load, expected items or spare bytes", rate.to_bits(), "in their ranges")
        })?;
        let levels = fields.u64()?;
        if !(1..=MAX_LEVELS as u64).contains(&levels) {
            return Err(invalid("number of levels", levels, "from 1 to 16"));
        }
        let mut segments = [0; MAX_LEVELS];
        let segments = &mut segments[..levels as usize];
        for count in segments.iter_mut() {
            *count = fields.u64()?;
        }
        fields.end()?;
        let mut payload = Payload(&payload);
        let mut lengths = Lengths::default();
        let mut read = Levels::default();
        for (i, &count) in segments.iter().enumerate() {
            let mut level: Level = if i == 0 { Level::default() } else { Level::overflow() };
            for index in 0..count {
                let depth = depth_of(index, count);
                if depth > PATH_BITS {
                    return Err(invalid("segment", index, "one that some path leads to"));
                }
                let (draft, shape, counts) = payload.segment(depth)?;
                let out_of_memory = |bytes| DecodeError::OutOfMemory { bytes };
                for (length, &count) in (0..).zip(&counts).filter(|&(_, &count)| count > 0) {
                    lengths.reserve(length).map_err(|failed| out_of_memory(failed.bytes))?;
                    lengths.add_many(length, u64::from(count));
                }
                if !settings.allows(lengths.sum()) {
                    let rate = (lengths.rate() * 1e9) as u64;
                    return Err(invalid("rate of all entries", rate, "at most the filter's"));
                }
                level.load(&draft, shape, &settings).map_err(|error| match error {
                    LoadError::Unfit => invalid("segment", index, "one that fits its block"),
                    LoadError::OutOfMemory(failed) => out_of_memory(failed.bytes),
                })?;
            }
            level.directory.fit();
            if i == 0 {
                read.main = level;
            } else {
                let pushed = read.overflow.push(level);
                pushed.map_err(|failed| DecodeError::OutOfMemory { bytes: failed.bytes })?;
            }
        }
        if !payload.0.is_empty() {
            return Err(invalid("bytes after the last segment", payload.0.len() as u64, "0"));
        }
        // Only the first level may be empty, and only as long as there is another has it to be.
        let is_empty = |level: &Level| level.len() == 0;
        if read.iter().last().is_some_and(is_empty) && (levels > 1 || segments[0] > 0) {
            return Err(invalid("entries of the last level", 0, "some, or no segments"));
        }
        if read.len() != len {
            return Err(invalid("number of keys", len, "the number of entries in the segments"));
        }
        let engine = Engine { settings, levels: read, lengths, work: Work::default() };
        Ok(Self { hasher, engine, refused })
    }
}
