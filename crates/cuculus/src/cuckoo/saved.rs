//! The parameters of a cuckoo filter in a file, as FORMAT.md lays them down, and the checks that
//! make a filter of bytes that anybody may have written.

use std::io::{Read, Write};

use super::filter::CuckooFilter;
use super::room::Kicks;
use super::straight::Body;
use crate::container::{self, Fields, Incoming, Kind, Parameters};
use crate::placement::PlacementKind;
use crate::placement::{AnyPlacement, BucketIndex, Fingerprint, FingerprintSize, Placement};
use crate::relocate::Search;
use crate::table::{BucketShape, Buckets, Layout, Table, WINDOW, with_table};
use crate::wide::Instructions;
use crate::{DecodeError, KeyHasher, Persist};

/// What a file says of a table of fingerprints, whatever else the filter holds.
pub struct SavedTable {
    pub shape: BucketShape,
    pub placement: AnyPlacement,
    pub kicks: Kicks,
    pub len: usize,
    pub capacity: usize,
}

impl SavedTable {
    pub fn write(&self, to: &mut Parameters) {
        to.extend_from_slice(&[
            self.shape.fingerprint_bits as u8,
            self.shape.slots_per_bucket as u8,
            self.shape.layout.id(),
            self.placement.kind().id(),
            self.kicks.search.id(),
            0,
            0,
            0,
        ]);
        to.extend_from_slice(&self.kicks.max.to_le_bytes());
        to.extend_from_slice(&self.placement.buckets().to_le_bytes());
        to.extend_from_slice(&(self.len as u64).to_le_bytes());
        to.extend_from_slice(&(self.capacity as u64).to_le_bytes());
    }

    pub fn read(fields: &mut Fields<'_>) -> Result<Self, DecodeError> {
        let invalid = DecodeError::invalid;
        let [fingerprint_bits, slots_per_bucket] = [fields.u8()?, fields.u8()?].map(u32::from);
        let id = fields.u8()?;
        let layout = Layout::from_id(id).ok_or(invalid("layout", id.into(), "a known layout"))?;
        let shape = BucketShape { fingerprint_bits, slots_per_bucket, layout };
        if !shape.exists() {
            let got = u64::from(fingerprint_bits) << 8 | u64::from(slots_per_bucket);
            return Err(invalid("shape of a bucket", got, "a length and number of slots in range"));
        }
        let id = fields.u8()?;
        let placement_kind = PlacementKind::from_id(id).ok_or(invalid(
            "placement",
            id.into(),
            "a known placement",
        ))?;
        let id = fields.u8()?;
        let search = Search::from_id(id).ok_or(invalid("search", id.into(), "a known search"))?;
        fields.zeros(3)?;
        let max = fields.u32()?;
        let kicks = Kicks::new(search, Some(max))
            .map_err(|_| invalid("max_kicks", max.into(), Kicks::EXPECTED))?;
        let buckets = fields.u32()?;
        if !placement_kind.accepts(buckets.into()) {
            return Err(invalid("buckets", buckets.into(), "a number that the placement has"));
        }
        let (len, capacity) = (fields.u64()?, fields.u64()?);
        let usizes = usize::try_from(len).ok().zip(usize::try_from(capacity).ok());
        let (len, capacity) =
            usizes.ok_or(invalid("number of keys", len, "one that this machine can count"))?;
        let placement = AnyPlacement::new(placement_kind, buckets);
        Ok(Self { shape, placement, kicks, len, capacity })
    }

    pub fn payload_bytes(&self) -> u64 {
        self.shape.payload_bytes(u64::from(self.placement.buckets()))
    }

    /// The table in a payload, if every bucket is one that could have been written and the
    /// number of entries is the one promised.
    pub fn table(&self, payload: Vec<u8>) -> Result<Table, DecodeError> {
        let (table, entries) = self.counted_table(payload)?;
        if entries != self.len as u64 {
            let (field, expected) = ("number of keys", "the number of entries in the table");
            return Err(DecodeError::invalid(field, self.len as u64, expected));
        }
        Ok(table)
    }

    /// The table in a payload, if every bucket is one that could have been written, and the number
    /// of its entries.
    pub fn counted_table(&self, payload: Vec<u8>) -> Result<(Table, u64), DecodeError> {
        let buckets = self.placement.buckets();
        let table = Table::from_payload(self.shape, buckets, payload)?;
        let entries = with_table!(&table, table => {
            if !table.runs().ends_in_zeros() {
                return Err(DecodeError::invalid("payload", 1, "zeros after the last bucket"));
            }
            let mut entries = 0u64;
            for bucket in (0..buckets).map(BucketIndex) {
                if !table.is_valid(bucket) {
                    return Err(DecodeError::invalid("bucket", bucket.0.into(), "a sorted one"));
                }
                let free = table.count(bucket, Fingerprint::EMPTY);
                entries += u64::from(self.shape.slots_per_bucket - free);
            }
            entries
        });
        Ok((table, entries))
    }
}

impl SavedTable {
    /// The filter that a file describes, if its payload can be what it says.
    pub(crate) fn into_filter(
        self,
        hasher: KeyHasher,
        payload: Vec<u8>,
        refused: u64,
    ) -> Result<CuckooFilter, DecodeError> {
        let mut table = self.table(payload)?;
        table.ask_for_huge_pages();
        let Self { shape, placement, kicks, len, capacity } = self;
        Ok(CuckooFilter {
            hasher,
            shape,
            body: Body::new(table, placement, FingerprintSize::new(shape.fingerprint_bits)),
            kicks,
            instructions: Instructions::Detected,
            len,
            capacity,
            refused,
        })
    }
}

impl CuckooFilter {
    pub(crate) fn saved_table(&self) -> SavedTable {
        let Self { shape, ref body, kicks, len, capacity, .. } = *self;
        SavedTable { shape, placement: body.placement(), kicks, len, capacity }
    }
}

impl Persist for CuckooFilter {
    fn write_to<W: Write>(&self, writer: W) -> std::io::Result<()> {
        let mut parameters = Parameters::new();
        self.saved_table().write(&mut parameters);
        parameters.extend_from_slice(&self.refused.to_le_bytes());
        let payload = with_table!(self.body.table(), table => table.runs().payload());
        container::write(writer, Kind::Cuckoo, &self.hasher, &parameters, &[payload])
    }

    fn read_from<R: Read>(reader: R) -> Result<Self, DecodeError> {
        let mut incoming = Incoming::open(reader, Kind::Cuckoo)?;
        let parameters = core::mem::take(&mut incoming.parameters);
        let mut fields = Fields(&parameters);
        let saved = SavedTable::read(&mut fields)?;
        let refused = fields.u64()?;
        fields.end()?;
        let hasher = incoming.hasher.clone();
        let payload = incoming.payload(saved.payload_bytes(), WINDOW)?;
        saved.into_filter(hasher, payload, refused)
    }
}
