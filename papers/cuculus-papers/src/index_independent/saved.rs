//! The index-independent filter in a file (FORMAT.md, kind 5), and a table on a ring in any file.

use std::io::{Read, Write};

use super::filter::IndexIndependentCuckooFilter;
use super::ring_table::{RingPlan, RingTable};
use crate::ring::Ring;
use cuculus::lab::container::{self, Fields, Incoming, Parameters, Put};
use cuculus::lab::placement::FingerprintSize;
use cuculus::lab::relocate::Search;
use cuculus::lab::room::Kicks;
use cuculus::lab::table::{BucketShape, Buckets, Layout, Table, WINDOW};
use cuculus::with_table;
use cuculus::{BuildError, DecodeError, Filter, Persist, lab::memory};

const KIND: u16 = 5;

pub(crate) fn invalid(field: &'static str, got: u64, expected: &'static str) -> DecodeError {
    DecodeError::Invalid { field, got, expected }
}

/// A reader refuses what a builder refuses, and names the same parameter.
pub(crate) fn refused(error: &BuildError) -> DecodeError {
    match *error {
        BuildError::OutOfRange { parameter, got, .. } => {
            invalid(parameter, got, "a number in its range")
        }
        BuildError::SlotsPerBucket { got, expected } => {
            invalid("slots_per_bucket", u64::from(got), expected)
        }
        BuildError::TooLarge { buckets, .. } => {
            invalid("buckets", buckets, "no more than a ring can have")
        }
        _ => invalid("parameters", 0, "those of a table on a ring"),
    }
}

/// What a file says of a table on a ring before its contents.
pub(crate) struct SavedRing {
    pub(crate) plan: RingPlan,
    salt: u32,
    next_name: u32,
    len: u64,
}

impl SavedRing {
    pub(crate) const BYTES: usize = 32;

    pub(crate) fn of_plan(plan: RingPlan) -> Self {
        Self { plan, salt: 0, next_name: 0, len: 0 }
    }

    /// Whether it is what [`of_plan`](Self::of_plan) writes.
    pub(crate) fn is_of_plan(&self) -> bool {
        (self.salt, self.next_name, self.len) == (0, 0, 0)
    }

    pub(crate) fn of(table: &RingTable) -> Self {
        let (ring, len) = (table.ring(), table.len() as u64);
        Self { plan: table.plan(), salt: ring.salt, next_name: ring.next_name(), len }
    }

    pub(crate) fn write(&self, bytes: &mut Parameters) {
        let Self { plan, salt, next_name, len } = self;
        bytes.extend_from_slice(&[
            plan.shape.fingerprint_bits as u8,
            plan.shape.slots_per_bucket as u8,
            plan.candidates as u8,
            plan.virtual_nodes as u8,
            plan.kicks.search.id(),
            0,
            0,
            0,
        ]);
        for number in [plan.kicks.max, plan.buckets, *salt, *next_name] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&len.to_le_bytes());
    }

    pub(crate) fn read(fields: &mut Fields<'_>) -> Result<Self, DecodeError> {
        let [bits, slots, candidates, virtual_nodes, search] =
            [fields.u8()?, fields.u8()?, fields.u8()?, fields.u8()?, fields.u8()?];
        fields.zeros(3)?;
        let search = Search::from_id(search).ok_or(invalid(
            "search",
            u64::from(search),
            "a known search",
        ))?;
        let [max_kicks, buckets] = [fields.u32()?, fields.u32()?];
        let [salt, next_name] = [fields.u32()?, fields.u32()?];
        let len = fields.u64()?;
        let kicks = Kicks::new(search, Some(max_kicks))
            .map_err(|_| invalid("max_kicks", u64::from(max_kicks), Kicks::EXPECTED))?;
        let shape = BucketShape {
            fingerprint_bits: u32::from(bits),
            slots_per_bucket: u32::from(slots),
            layout: Layout::Packed,
        };
        let plan = RingPlan {
            shape,
            candidates: usize::from(candidates),
            kicks,
            virtual_nodes: u32::from(virtual_nodes),
            buckets,
        };
        plan.check().map_err(|error| refused(&error))?;
        if buckets == 0 {
            return Err(invalid("buckets", 0, "at least 1"));
        }
        Ok(Self { plan, salt, next_name, len })
    }

    /// The bytes that the names and the table take, which cannot overflow.
    pub(crate) fn payload_bytes(&self) -> u64 {
        4 * u64::from(self.plan.buckets)
            + self.plan.shape.payload_bytes(u64::from(self.plan.buckets))
    }

    pub(crate) fn write_payload(table: &RingTable, put: &mut Put<'_>) -> std::io::Result<()> {
        table.ring().names().iter().try_for_each(|name| put(&name.to_le_bytes()))?;
        put(table.payload())
    }

    /// The table in a payload of the right length, if it can be what the description says.
    pub(crate) fn table(&self, payload: &[u8]) -> Result<RingTable, DecodeError> {
        let Self { plan, salt, next_name, len } = *self;
        let (names, slots) = payload.split_at(4 * plan.buckets as usize);
        let names = names.as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes));
        let names = memory::collected(names, plan.buckets as usize)?;
        let ring = Ring::from_names(plan.virtual_nodes, salt, names, next_name)?.ok_or(invalid(
            "names of buckets",
            u64::from(plan.buckets),
            "different ones in their range",
        ))?;
        let slots = memory::copied(slots, WINDOW)?;
        let table = Table::from_payload(plan.shape, plan.buckets, slots)?;
        if !with_table!(&table, table => table.runs().ends_in_zeros()) {
            return Err(invalid("payload", 1, "zeros after the last bucket"));
        }
        let table = RingTable::from_parts(plan, ring, table).ok_or(invalid(
            "entries",
            len,
            "each in a bucket where it can be found",
        ))?;
        if table.len() as u64 != len {
            return Err(invalid("number of keys", len, "the number of entries in the table"));
        }
        Ok(table)
    }
}

impl Persist for IndexIndependentCuckooFilter {
    fn write_to<W: Write>(&self, writer: W) -> std::io::Result<()> {
        let mut parameters = Parameters::new();
        let saved = SavedRing::of(&self.table);
        saved.write(&mut parameters);
        for number in [self.capacity as u64, u64::from(self.first_buckets), self.refused] {
            parameters.extend_from_slice(&number.to_le_bytes());
        }
        let (kind, hasher) = (KIND, &self.hasher);
        container::write_pieces(writer, kind, hasher, &parameters, saved.payload_bytes(), |put| {
            SavedRing::write_payload(&self.table, put)
        })
    }

    fn read_from<R: Read>(reader: R) -> Result<Self, DecodeError> {
        let mut incoming = Incoming::open(reader, KIND)?;
        let parameters = core::mem::take(&mut incoming.parameters);
        let mut fields = Fields(&parameters);
        let saved = SavedRing::read(&mut fields)?;
        let (capacity, first_buckets, refused) = (fields.u64()?, fields.u64()?, fields.u64()?);
        fields.end()?;
        let capacity = usize::try_from(capacity)
            .map_err(|_| invalid("capacity", capacity, "one that this machine can count"))?;
        let most = u64::from(Ring::most_buckets(saved.plan.virtual_nodes));
        let first_buckets = u32::try_from(first_buckets)
            .ok()
            .filter(|&buckets| buckets > 0 && u64::from(buckets) <= most)
            .ok_or(invalid("first number of buckets", first_buckets, "from 1 to what fits"))?;
        let hasher = incoming.hasher.clone();
        let payload = incoming.payload(saved.payload_bytes(), 0)?;
        let table = saved.table(&payload)?;
        let size = FingerprintSize::new(saved.plan.shape.fingerprint_bits);
        let filter = Self { hasher, size, table, first_buckets, capacity, refused };
        debug_assert_eq!(filter.len() as u64, saved.len);
        Ok(filter)
    }
}
