//! The elastic filter in a file (FORMAT.md, kind 3).

use std::io::{Read, Write};

use super::address::PATH_BITS;
use super::builder;
use super::filter::ElasticFilter;
use super::form::{Form, MAX_WIDTH};
use super::lengths::Lengths;
use super::level::{Level, Work};
use super::policy::Settings;
use super::store::{Segment, Shape};
use super::tier::Tier;
use crate::container::{self, Fields, Incoming};
use crate::wide::Instructions;
use crate::{DecodeError, Filter, Kind, Persist};

/// Bytes of a segment in the list before the slots: buckets, form, a reserved byte.
const DESCRIPTION: usize = 4;
const ENDED: u8 = 0x80;
/// More elders than there are doublings cannot be.
const MAX_LEVELS: u64 = PATH_BITS as u64;

fn invalid(field: &'static str, got: u64, expected: &'static str) -> DecodeError {
    DecodeError::Invalid { field, got, expected }
}

fn describe(segment: &Segment) -> [u8; DESCRIPTION] {
    let Form { width, ended } = segment.form();
    let [low, high] = segment.buckets().to_le_bytes();
    [low, high, width as u8 | if ended { ENDED } else { 0 }, 0]
}

/// The shape that a description and the depth give, if it is one.
fn shape(mut fields: Fields<'_>, depth: u32) -> Result<Shape, DecodeError> {
    let buckets = fields.u16()?;
    if !(2..=super::address::MAX_BUCKETS).contains(&buckets) || buckets % 2 == 1 {
        return Err(invalid("buckets of a segment", u64::from(buckets), "even, from 2 to 1022"));
    }
    let form = fields.u8()?;
    fields.zeros(1)?;
    let form = Form { width: u32::from(form & !ENDED), ended: form & ENDED != 0 };
    if form.width > MAX_WIDTH || form.longest(buckets).is_none() {
        let expected = "at most 29, with room for the place of a key";
        return Err(invalid("width of slots", u64::from(form.width), expected));
    }
    Ok(Shape { buckets, form, depth })
}

impl Persist for ElasticFilter {
    fn write_to<W: Write>(&self, writer: W) -> std::io::Result<()> {
        let Settings { rate, load, expected_items, spare_bytes, .. } = self.settings;
        let mut parameters = Vec::new();
        for bits in [rate.to_bits(), load.to_bits(), expected_items, spare_bytes] {
            parameters.extend_from_slice(&bits.to_le_bytes());
        }
        let (len, levels) = (self.len() as u64, self.tier.levels().count() as u64);
        for number in [len, self.refused, levels] {
            parameters.extend_from_slice(&number.to_le_bytes());
        }
        let mut descriptions = Vec::new();
        let mut pieces: Vec<&[u8]> = Vec::new();
        for level in self.tier.levels() {
            parameters.extend_from_slice(&(level.segment_count() as u64).to_le_bytes());
            level.segments().for_each(|s| descriptions.extend_from_slice(&describe(s)));
        }
        pieces.push(&descriptions);
        pieces.extend(self.tier.levels().flat_map(Level::segments).map(Segment::bytes));
        container::write(writer, Kind::Elastic, &self.hasher, &parameters, &pieces)
    }

    fn read_from<R: Read>(reader: R) -> Result<Self, DecodeError> {
        let mut incoming = Incoming::open(reader, Kind::Elastic)?;
        let parameters = core::mem::take(&mut incoming.parameters);
        let mut fields = Fields(&parameters);
        let (rate, load) = (f64::from_bits(fields.u64()?), f64::from_bits(fields.u64()?));
        let (expected_items, spare_bytes) = (fields.u64()?, fields.u64()?);
        let settings = builder::check(rate, load, expected_items, spare_bytes).map_err(|_| {
            invalid("rate, load, expected items or spare bytes", rate.to_bits(), "in their ranges")
        })?;
        let (len, refused, levels) = (fields.u64()?, fields.u64()?, fields.u64()?);
        if !(1..=MAX_LEVELS).contains(&levels) {
            return Err(invalid("number of levels", levels, "from 1 to 40"));
        }
        let segments = (0..levels).map(|_| fields.u64()).collect::<Result<Vec<_>, _>>()?;
        fields.end()?;
        let hasher = incoming.hasher.clone();
        let payload_len = incoming.payload_len;
        let payload = incoming.payload(payload_len)?;

        let described = segments.iter().fold(0u64, |sum, &n| sum.saturating_add(n));
        let bytes = described.saturating_mul(DESCRIPTION as u64);
        let Some((descriptions, mut slots)) =
            usize::try_from(bytes).ok().and_then(|bytes| payload.split_at_checked(bytes))
        else {
            return Err(invalid("number of segments", described, "as the payload has"));
        };
        let mut descriptions = descriptions.chunks_exact(DESCRIPTION);
        let mut lengths = Lengths::default();
        let mut read = Vec::new();
        for (i, &count) in segments.iter().enumerate() {
            let mut level = if i == 0 { Level::default() } else { Level::elder() };
            for (index, description) in (0..count).zip(&mut descriptions) {
                let depth = super::level::depth_of(index, count);
                if depth > PATH_BITS {
                    return Err(invalid("number of segments", count, "at most 2^40"));
                }
                let shape = shape(Fields(description), depth)?;
                let Some((held, rest)) = slots.split_at_checked(shape.bytes()) else {
                    return Err(invalid("length of the payload", payload_len, "all segments"));
                };
                slots = rest;
                level.load(settings.ladder, shape, held, &mut lengths)?;
                if !settings.is_kept(&lengths) {
                    let rate = (lengths.rate() * 1e9) as u64;
                    return Err(invalid("rate of all entries", rate, "at most the filter's"));
                }
            }
            read.push(level);
        }
        if !slots.is_empty() {
            return Err(invalid("bytes after the last segment", slots.len() as u64, "0"));
        }
        // Only the first level may be empty, and only as long as there is no elder has it to be.
        let is_empty = |level: &Level| level.len() == 0;
        if read.last().is_some_and(is_empty) && (levels > 1 || segments[0] > 0) {
            return Err(invalid("entries of the last level", 0, "some, or no segments"));
        }
        let entries: usize = read.iter().map(Level::len).sum();
        if entries as u64 != len {
            return Err(invalid("number of keys", len, "the number of entries in the segments"));
        }
        let elder =
            read.drain(1..).rev().fold(None, |elder, level| Some(Box::new(Tier { level, elder })));
        let level = read.pop().unwrap_or_default();
        Ok(Self {
            hasher,
            settings,
            tier: Tier { level, elder },
            lengths,
            work: Work::default(),
            chosen: Instructions::Detected.choose(),
            refused,
        })
    }
}
