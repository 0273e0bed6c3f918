//! Files of version 1, in which an elastic filter was a list of small cuckoo tables: their entries
//! are read and inserted one by one. FORMAT.md has the old layout; nothing else knows it.

use super::address::{Scheme, from_first, known_from_first};
use super::bits::read as read_bits;
use super::builder;
use super::code::mask;
use super::filter::ElasticFilter;
use super::lengths::Lengths;
use super::level::{PartialKey, Work, depth_of};
use super::levels::Levels;
use super::saved::invalid;
use crate::container::Fields;
use crate::{DecodeError, Full, FullCause, KeyHasher};

/// The bytes of a segment's description.
const DESCRIPTION: usize = 4;
const ENDED: u8 = 0x80;
const SLOTS: usize = 4;
const MAX_WIDTH: u32 = 29;
const MAX_BUCKETS: u16 = 1022;
const PATH_BITS: u32 = 40;
const PLACE_BITS: u32 = 15;
const MAX_LEVELS: u64 = 40;

/// A table of buckets.
#[derive(Clone, Copy)]
struct Table {
    buckets: u16,
    width: u32,
    ended: bool,
}

impl Table {
    fn from(mut fields: Fields<'_>) -> Result<Self, DecodeError> {
        let buckets = fields.u16()?;
        if !(2..=MAX_BUCKETS).contains(&buckets) || buckets % 2 == 1 {
            return Err(invalid(
                "buckets of a segment",
                u64::from(buckets),
                "even, from 2 to 1022",
            ));
        }
        let form = fields.u8()?;
        fields.zeros(1)?;
        let table = Self { buckets, width: u32::from(form & !ENDED), ended: form & ENDED != 0 };
        let place = table.low_bits() + u32::from(table.ended);
        if table.width > MAX_WIDTH || table.width < place {
            let expected = "at most 29, with room for the place of a key";
            return Err(invalid("width of slots", u64::from(table.width), expected));
        }
        Ok(table)
    }

    fn bytes(self) -> usize {
        usize::from(self.buckets) * self.width as usize / 2
    }

    /// The low bits of a place that its bucket does not give.
    fn low_bits(self) -> u32 {
        self.buckets.leading_zeros()
    }

    /// The place, the extension and its length in a slot that is not empty. `None` if no key makes
    /// such a slot.
    fn entry(self, bucket: u32, slot: u64) -> Option<(u32, u64, u32)> {
        let low = self.low_bits();
        let first = (bucket << PLACE_BITS).div_ceil(u32::from(self.buckets));
        let place = first + ((slot as u32).wrapping_sub(first) & mask(low) as u32);
        let is_here =
            place < 1 << PLACE_BITS && (place * u32::from(self.buckets)) >> PLACE_BITS == bucket;
        if !is_here || place & 63 == 0 {
            return None;
        }
        let (above, room) = (slot >> low, self.width - low);
        if !self.ended {
            return Some((place, above, room));
        }
        // The end is the highest zero.
        let zeros = !above & mask(room);
        let length = 63u32.checked_sub(zeros.leading_zeros())?;
        Some((place, above & mask(length), length))
    }
}

/// The filter that a file of version 1 holds.
pub(super) fn read(
    hasher: KeyHasher,
    parameters: &[u8],
    payload: &[u8],
) -> Result<ElasticFilter, DecodeError> {
    let mut fields = Fields(parameters);
    let (rate, load) = (f64::from_bits(fields.u64()?), f64::from_bits(fields.u64()?));
    let (expected_items, spare_bytes) = (fields.u64()?, fields.u64()?);
    let scheme = Scheme::First;
    let most = builder::check(rate, load, 0, Some(spare_bytes), scheme)
        .map_err(|_| invalid("rate, load or spare bytes", rate.to_bits(), "in their ranges"))?
        .most_expected_items();
    // A hint that is too large is no worse than none.
    let expected = if expected_items <= most { expected_items } else { 0 };
    let settings = builder::check(rate, load, expected, Some(spare_bytes), scheme)
        .map_err(|_| invalid("expected items", expected_items, "in their range"))?;
    let (len, refused, levels) = (fields.u64()?, fields.u64()?, fields.u64()?);
    if !(1..=MAX_LEVELS).contains(&levels) {
        return Err(invalid("number of levels", levels, "from 1 to 40"));
    }
    let mut segments = [0; MAX_LEVELS as usize];
    let segments = &mut segments[..levels as usize];
    for count in segments.iter_mut() {
        *count = fields.u64()?;
    }
    fields.end()?;
    let described = segments.iter().fold(0u64, |sum, &n| sum.saturating_add(n));
    let bytes = usize::try_from(described.saturating_mul(DESCRIPTION as u64)).ok();
    let Some((descriptions, mut slots)) = bytes.and_then(|bytes| payload.split_at_checked(bytes))
    else {
        return Err(invalid("number of segments", described, "as the payload has"));
    };
    let mut filter = ElasticFilter {
        hasher,
        settings,
        levels: Levels::default(),
        lengths: Lengths::default(),
        work: Work::default(),
        refused,
    };
    let mut descriptions = descriptions.chunks_exact(DESCRIPTION);
    let mut entries = 0;
    for &count in segments.iter() {
        for (index, description) in (0..count).zip(&mut descriptions) {
            let depth = depth_of(index, count);
            let table = Table::from(Fields(description))?;
            let Some((held, rest)) = slots.split_at_checked(table.bytes()) else {
                return Err(invalid("length of the payload", payload.len() as u64, "all segments"));
            };
            slots = rest;
            for at in 0..usize::from(table.buckets) * SLOTS {
                let slot = read_bits(held, at * table.width as usize, table.width);
                if slot == 0 {
                    continue;
                }
                let entry = table.entry((at / SLOTS) as u32, slot);
                let Some((place, extension, length)) =
                    entry.filter(|&(_, _, length)| depth + length <= PATH_BITS)
                else {
                    return Err(invalid("segment", index, "one with slots that keys can make"));
                };
                let key = from_first(place, index | extension << depth);
                let bits = known_from_first(depth + length);
                filter.load_partial(PartialKey { key, bits }).map_err(refusal)?;
                entries += 1;
            }
        }
    }
    if !slots.is_empty() {
        return Err(invalid("bytes after the last segment", slots.len() as u64, "0"));
    }
    if entries != len {
        return Err(invalid("number of keys", len, "the number of entries in the segments"));
    }
    if !filter.finish_loading() {
        let rate = (filter.lengths.rate(scheme) * 1e9) as u64;
        return Err(invalid("rate of all entries", rate, "at most the filter's"));
    }
    Ok(filter)
}

fn refusal(full: Full) -> DecodeError {
    match full.cause {
        FullCause::OutOfMemory => DecodeError::OutOfMemory { bytes: full.len as u64 },
        _ => invalid("entries of one segment", full.len as u64, "as many as keys make"),
    }
}
