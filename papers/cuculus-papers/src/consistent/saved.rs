//! The consistent filter in a file (FORMAT.md, kind 6).

use std::io::{Read, Write};

use super::builder::MAX_BUCKETS;
use super::filter::ConsistentCuckooFilter;
use super::policy::{History, Policy, Resizing};
use crate::index_independent::saved::{SavedRing, invalid, refused};
use cuculus::lab::container::{self, Fields, Incoming, Parameters};
use cuculus::lab::placement::FingerprintSize;
use cuculus::{DecodeError, Filter, Persist, lab::memory};

const KIND: u16 = 6;

impl Persist for ConsistentCuckooFilter {
    fn write_to<W: Write>(&self, writer: W) -> std::io::Result<()> {
        let Self { policy, history, .. } = self;
        let mut parameters = Parameters::new();
        SavedRing::of_plan(self.first).write(&mut parameters);
        parameters.extend_from_slice(&[policy.resizing.id(), policy.sparse as u8]);
        parameters.extend_from_slice(&[0; 6]);
        for number in [policy.max_filters, history.made, history.grown, history.sweep] {
            parameters.extend_from_slice(&number.to_le_bytes());
        }
        // Zero says that nothing is waited for.
        let merge_at = history.merge_at.map_or(0, |at| at.saturating_add(1));
        for number in [merge_at, self.len() as u64, self.refused, self.filters.len() as u64] {
            parameters.extend_from_slice(&number.to_le_bytes());
        }
        let each = |table| SavedRing::BYTES as u64 + SavedRing::of(table).payload_bytes();
        let payload_len = self.filters.iter().map(each).sum();
        let (kind, hasher) = (KIND, &self.hasher);
        container::write_pieces(writer, kind, hasher, &parameters, payload_len, |put| {
            for table in &self.filters {
                let mut description = Parameters::new();
                SavedRing::of(table).write(&mut description);
                put(description.as_slice())?;
            }
            self.filters.iter().try_for_each(|table| SavedRing::write_payload(table, put))
        })
    }

    fn read_from<R: Read>(reader: R) -> Result<Self, DecodeError> {
        let mut incoming = Incoming::open(reader, KIND)?;
        let parameters = core::mem::take(&mut incoming.parameters);
        let mut fields = Fields(&parameters);
        let new = SavedRing::read(&mut fields)?;
        let first = new.plan;
        if !new.is_of_plan() {
            return Err(invalid("salt, next name or keys of a new filter", 1, "0"));
        }
        if first.buckets > MAX_BUCKETS {
            let got = u64::from(first.buckets);
            return Err(invalid("buckets of a new filter", got, "at most 1048576"));
        }
        let (resizing, sparse) = (fields.u8()?, u32::from(fields.u8()?));
        fields.zeros(6)?;
        let (max_filters, made) = (fields.u32()?, fields.u32()?);
        let (grown, sweep) = (fields.u32()?, fields.u32()?);
        let resizing = Resizing::from_id(resizing).ok_or(invalid(
            "resizing",
            u64::from(resizing),
            "a known way",
        ))?;
        let policy =
            Policy { resizing, max_filters, sparse, searched: Policy::searched(first.kicks) };
        policy.check(first.shape.slots_per_bucket).map_err(|error| refused(&error))?;
        let merge_at = fields.u64()?.checked_sub(1);
        let (len, refused, count) = (fields.u64()?, fields.u64()?, fields.u64()?);
        fields.end()?;
        if !(1..=u64::from(max_filters)).contains(&count) {
            return Err(invalid("number of filters", count, "from 1 to max_filters"));
        }
        let (hasher, payload_len) = (incoming.hasher.clone(), incoming.payload_len);
        let payload = incoming.payload(payload_len, 0)?;

        let mut rest = &payload[..];
        let mut next = |bytes: u64| {
            let (piece, after) = usize::try_from(bytes)
                .ok()
                .and_then(|bytes| rest.split_at_checked(bytes))
                .ok_or(invalid("length of the payload", payload_len, "all filters"))?;
            rest = after;
            Ok::<_, DecodeError>(piece)
        };
        let mut descriptions = Fields(next(count * SavedRing::BYTES as u64)?);
        // The descriptions of all are there.
        let mut filters = memory::with_room(count as usize)?;
        for _ in 0..count {
            let saved = SavedRing::read(&mut descriptions)?;
            if saved.plan.shape.fingerprint_bits != first.shape.fingerprint_bits {
                let got = u64::from(saved.plan.shape.fingerprint_bits);
                return Err(invalid("fingerprint bits", got, "the same in all filters"));
            }
            filters.push(saved.table(next(saved.payload_bytes())?)?);
        }
        if !rest.is_empty() {
            return Err(invalid("length of the payload", payload_len, "that of all filters"));
        }
        let filter = Self {
            hasher,
            size: FingerprintSize::new(first.shape.fingerprint_bits),
            filters,
            first,
            policy,
            history: History { made, grown, merge_at, sweep },
            refused,
        };
        match filter.len() as u64 == len {
            true => Ok(filter),
            false => Err(invalid("number of keys", len, "the number of entries in all filters")),
        }
    }
}
