//! The dynamic cuckoo filter in a file (FORMAT.md, kind 4).

use std::io::{Read, Write};

use super::block::Block;
use super::filter::DynamicCuckooFilter;
use super::growth::{Extension, MAX_FILTERS, Rules};
use crate::index_independent::saved::invalid;
use cuculus::lab::SavedTable;
use cuculus::lab::container::{self, Fields, Incoming, Parameters};
use cuculus::lab::placement::{FingerprintSize, Placement};
use cuculus::lab::table::{Layout, WINDOW};
use cuculus::{DecodeError, Persist, lab::memory};

const KIND: u16 = 4;

/// What a file says of the list; the filters in it are all as [`SavedTable`] says.
struct SavedList {
    rules: Rules,
    filters: usize,
    current: usize,
    appended: u64,
    refused: u64,
}

impl SavedList {
    fn of(filter: &DynamicCuckooFilter) -> Self {
        let DynamicCuckooFilter { rules, current, appended, refused, .. } = *filter;
        Self { rules, filters: filter.blocks.len(), current, appended, refused }
    }

    fn write(&self, to: &mut Parameters) {
        let Rules { extension, capacity_per_filter, reuse_holes, filter_duplicates } = self.rules;
        to.extend_from_slice(&[extension.id(), u8::from(reuse_holes), u8::from(filter_duplicates)]);
        to.extend_from_slice(&[0; 5]);
        for number in [capacity_per_filter, self.filters, self.current] {
            to.extend_from_slice(&(number as u64).to_le_bytes());
        }
        for number in [self.appended, self.refused] {
            to.extend_from_slice(&number.to_le_bytes());
        }
    }

    /// `slots` are those of a filter.
    fn read(fields: &mut Fields<'_>, slots: u64) -> Result<Self, DecodeError> {
        let id = fields.u8()?;
        let extension = Extension::from_id(id).ok_or(invalid(
            "extension",
            u64::from(id),
            "0 (active) or 1 (passive)",
        ))?;
        let mut flag = |field| match fields.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            got => Err(invalid(field, u64::from(got), "0 or 1")),
        };
        let (reuse_holes, filter_duplicates) = (flag("reuse_holes")?, flag("filter_duplicates")?);
        fields.zeros(5)?;
        let mut number = |field, min, max, expected| {
            let got = fields.u64()?;
            let usable = usize::try_from(got).ok().filter(|_| (min..=max).contains(&got));
            usable.ok_or(invalid(field, got, expected))
        };
        let expected = "at least 1 and at most the slots of a filter";
        let capacity_per_filter = number("capacity_per_filter", 1, slots, expected)?;
        let most = MAX_FILTERS as u64;
        let filters = number("number of filters", 1, most, "from 1 to 4096")?;
        let last = filters as u64 - 1;
        let current = number("current filter", 0, last, "one of the filters")?;
        let (appended, refused) = (fields.u64()?, fields.u64()?);
        if appended < last {
            return Err(invalid("appended filters", appended, "all filters but the first"));
        }
        let rules = Rules { extension, capacity_per_filter, reuse_holes, filter_duplicates };
        Ok(Self { rules, filters, current, appended, refused })
    }
}

impl Persist for DynamicCuckooFilter {
    fn write_to<W: Write>(&self, writer: W) -> std::io::Result<()> {
        let Self { shape, placement, kicks, len, capacity, .. } = *self;
        let mut parameters = Parameters::new();
        SavedTable { shape, placement, kicks, len, capacity }.write(&mut parameters);
        SavedList::of(self).write(&mut parameters);
        let payload_len = self.blocks.iter().map(|block| block.payload().len() as u64).sum();
        let (kind, hasher) = (KIND, &self.hasher);
        container::write_pieces(writer, kind, hasher, &parameters, payload_len, |put| {
            self.blocks.iter().try_for_each(|block| put(block.payload()))
        })
    }

    fn read_from<R: Read>(reader: R) -> Result<Self, DecodeError> {
        let mut incoming = Incoming::open(reader, KIND)?;
        let parameters = core::mem::take(&mut incoming.parameters);
        let mut fields = Fields(&parameters);
        let saved = SavedTable::read(&mut fields)?;
        let SavedTable { shape, placement, kicks, len, capacity } = saved;
        if shape.layout != Layout::Packed {
            return Err(invalid("layout", u64::from(shape.layout.id()), "0, in a list"));
        }
        let slots = u64::from(placement.buckets()) * u64::from(shape.slots_per_bucket);
        let list = SavedList::read(&mut fields, slots)?;
        fields.end()?;
        let SavedList { rules, filters, current, appended, refused } = list;
        let hasher = incoming.hasher.clone();
        let table_bytes = saved.payload_bytes();
        let payload = incoming.payload(table_bytes.saturating_mul(filters as u64), 0)?;

        let mut blocks = memory::with_room(filters)?;
        let mut entries = 0;
        // A table is never of no bytes, and of no more than the payload, which is there.
        for bytes in payload.chunks_exact(table_bytes as usize) {
            let (table, len) = saved.counted_table(memory::copied(bytes, WINDOW)?)?;
            blocks.push(Block { table, len: len as usize });
            entries += len;
        }
        if entries != len as u64 {
            return Err(invalid("number of keys", len as u64, "the number of entries"));
        }
        Ok(Self {
            hasher,
            shape,
            size: FingerprintSize::new(shape.fingerprint_bits),
            placement,
            kicks,
            rules,
            blocks,
            current,
            len,
            capacity,
            appended,
            refused,
        })
    }
}
