//! Values beside fingerprints: the Cuckoo Filter paper's approximate table lookup (§6).

use core::fmt;
use std::error::Error;
use std::io::{Read, Write};

use super::builder::CuckooFilterBuilder;
use super::filter::CuckooFilter;
use super::room::{make_room_for, refusal, ways_out};
use super::saved::SavedTable;
use crate::builder::{check_range, setters};
use crate::container::{self, Fields, Incoming, Kind, Parameters};
use crate::filter::forward_lookups;
use crate::placement::{AnyPlacement, BucketIndex, Fingerprint, Placement};
use crate::relocate::Space;
use crate::table::{Buckets, Layout, MAX_SLOTS, Runs, WINDOW, with_table};
use crate::{
    BuildError, DecodeError, Filter, Full, Insert, Key, KeyHash, KeyHasher, Persist, memory,
};

const VALUE_BITS: core::ops::RangeInclusive<u32> = 1..=64;
const DEFAULT_VALUE_BITS: u32 = 32;

/// A map that answers approximately in the memory of a filter: keys are kept as fingerprints, and
/// each has a value of up to 64 bits.
///
/// [`values`](Self::values) of a key that was inserted yields its value and, with the filter's
/// false positive rate ε, some other key's beside it: 1 + ε candidates on average. For a key that
/// was not inserted it yields ε candidates on average, so nearly always none.
///
/// ```
/// use cuculus::CuckooMaplet;
///
/// let mut shards = CuckooMaplet::builder().capacity(1000).value_bits(8).build()?;
/// shards.insert("user:17", 3)?;
/// assert!(shards.values("user:17").any(|shard| shard == 3));
/// assert!(shards.remove("user:17", 3));
/// assert_eq!(shards.values("user:17").count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct CuckooMaplet {
    /// The keys. Packed: sorting would have to move values.
    filter: CuckooFilter,
    /// The value of slot `s` of bucket `i` is run `i·b + s`: fingerprints stay as dense as without
    /// values, and a miss reads none.
    values: Runs,
    value_bits: u32,
}

/// Parameters of a [`CuckooMaplet`]: those of a filter, and the length of a value.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until build() is called"]
pub struct CuckooMapletBuilder {
    filter: CuckooFilterBuilder,
    value_bits: u32,
}

setters! { CuckooMapletBuilder, hasher in filter.parameters.hasher;
    /// The keys that the maplet must hold; see [`CuckooFilterBuilder::capacity`].
    capacity(keys: usize) => filter.parameters.capacity;

    /// The share of absent keys that may yield a value; see
    /// [`CuckooFilterBuilder::false_positive_rate`].
    false_positive_rate(rate: f64) => filter.parameters.rate;

    /// See [`CuckooFilterBuilder::fingerprint_bits`].
    fingerprint_bits(bits: u32) => filter.parameters.fingerprint_bits;

    /// See [`CuckooFilterBuilder::slots_per_bucket`].
    slots_per_bucket(slots: u32) => filter.parameters.slots_per_bucket;

    /// See [`CuckooFilterBuilder::max_kicks`].
    max_kicks(max_kicks: u32) => filter.parameters.max_kicks;

    /// The length of a value, 1 to 64 bits; 32 by default.
    value_bits(bits: u32) => value_bits;
}

impl CuckooMapletBuilder {
    /// Builds the maplet.
    ///
    /// # Errors
    /// [`BuildError`] says which parameter cannot be satisfied, and what would be possible.
    pub fn build(&self) -> Result<CuckooMaplet, BuildError> {
        check_range("value_bits", self.value_bits, VALUE_BITS)?;
        let filter = self.filter.build()?;
        let values = Runs::new(filter.slots() as u64, self.value_bits)?;
        Ok(CuckooMaplet { filter, values, value_bits: self.value_bits })
    }
}

/// A value was not stored, and nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueError {
    /// There is no room for the key.
    Full(Full),
    /// The value needs more bits than the maplet's values have.
    TooLarge {
        /// The value.
        got: u64,
        /// The largest that can be stored.
        max: u64,
    },
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(full) => full.fmt(f),
            Self::TooLarge { got, max } => {
                write!(f, "value {got} is above {max}; build the maplet with more value_bits")
            }
        }
    }
}

impl Error for ValueError {}

impl From<Full> for ValueError {
    fn from(full: Full) -> Self {
        Self::Full(full)
    }
}

/// A table with its placement and the values that move with the entries.
struct Valued<'a, T> {
    table: &'a mut T,
    values: &'a mut Runs,
    value_bits: u32,
    placement: AnyPlacement,
}

impl<T: Buckets> Valued<'_, T> {
    fn run(&self, bucket: BucketIndex, slot: u32) -> u64 {
        run(bucket, slot, self.table.slots_per_bucket())
    }

    fn put(&mut self, bucket: BucketIndex, fingerprint: Fingerprint, value: u64) {
        let slot = self.table.place(bucket, fingerprint);
        debug_assert!(slot.is_some(), "the bucket has room");
        if let Some(slot) = slot {
            let run = self.run(bucket, slot);
            self.values.flip(run, u128::from(value));
        }
    }

    /// Empties a slot; the value in an empty slot is zero.
    fn take(&mut self, bucket: BucketIndex, slot: u32) -> (Fingerprint, u64) {
        let fingerprint = self.table.entries(bucket)[slot as usize];
        self.table.clear_slot(bucket, slot);
        let run = self.run(bucket, slot);
        let value = value_at(self.values, run, self.value_bits);
        self.values.flip(run, u128::from(value));
        (fingerprint, value)
    }
}

fn run(bucket: BucketIndex, slot: u32, slots_per_bucket: u32) -> u64 {
    u64::from(bucket.0) * u64::from(slots_per_bucket) + u64::from(slot)
}

fn value_at(values: &Runs, run: u64, value_bits: u32) -> u64 {
    // 64 bits that start anywhere in a byte need a wider word.
    values.load::<u128>(run) as u64 & (u64::MAX >> (64 - value_bits))
}

impl<T: Buckets> Space for Valued<'_, T> {
    const OPENED_TOGETHER: usize = 2;

    fn has_room(&self, bucket: BucketIndex) -> bool {
        self.table.find(bucket, Fingerprint::EMPTY).is_some()
    }

    fn ways_out(&self, bucket: BucketIndex, visit: impl FnMut(u32, BucketIndex)) {
        ways_out(self.table, self.placement, bucket, visit);
    }

    fn prefetch(&self, bucket: BucketIndex) {
        self.table.prefetch(self.table.spot(bucket));
    }

    fn kick(&mut self, from: BucketIndex, slot: u32, to: BucketIndex) {
        let (fingerprint, value) = self.take(from, slot);
        self.put(to, fingerprint, value);
    }
}

impl CuckooMaplet {
    /// Starts with the defaults: a false positive rate of 1 %, values of 32 bits.
    pub fn builder() -> CuckooMapletBuilder {
        CuckooMapletBuilder {
            filter: CuckooFilterBuilder::default(),
            value_bits: DEFAULT_VALUE_BITS,
        }
    }

    /// The number of keys that the maplet was built for. It may take a few more.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.filter.capacity()
    }

    /// The length of a value in bits.
    #[must_use]
    pub fn value_bits(&self) -> u32 {
        self.value_bits
    }

    /// Stores a value with a key. A key may have several, up to eight with buckets of four.
    ///
    /// # Errors
    /// [`ValueError`] if there is no room or the value is too large; nothing has changed then.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K, value: u64) -> Result<(), ValueError> {
        self.insert_hash(self.hasher().hash(key), value)
    }

    /// Stores a value with a key given by its hash.
    ///
    /// # Errors
    /// As for [`insert`](Self::insert).
    pub fn insert_hash(&mut self, hash: KeyHash, value: u64) -> Result<(), ValueError> {
        let max = u64::MAX >> (64 - self.value_bits);
        if value > max {
            return Err(ValueError::TooLarge { got: value, max });
        }
        let key = self.filter.candidates(hash);
        let (placement, kicks) = (self.filter.body.placement(), self.filter.kicks);
        let (values, value_bits) = (&mut self.values, self.value_bits);
        let placed = with_table!(self.filter.body.table_mut(), table => {
            let mut space = Valued { table, values, value_bits, placement };
            let free = |bucket| space.table.count(bucket, Fingerprint::EMPTY);
            let (home, alternate) = (free(key.home), free(key.alternate));
            let bucket = match (home, alternate) {
                (0, 0) => make_room_for(&mut space, &key, kicks),
                _ if home >= alternate => Ok(key.home),
                _ => Ok(key.alternate),
            };
            match bucket {
                Ok(bucket) => {
                    space.put(bucket, key.fingerprint, value);
                    Ok(())
                }
                Err(stuck) => Err(refusal(space.table, &key, kicks, stuck)),
            }
        });
        match placed {
            Ok(()) => {
                self.filter.len += 1;
                Ok(())
            }
            Err(cause) => Err(self.filter.full(cause).into()),
        }
    }

    /// The values that may belong to a key: all that were stored with it and, rarely, others.
    pub fn values<K: Key + ?Sized>(&self, key: &K) -> impl Iterator<Item = u64> {
        self.values_hash(self.hasher().hash(key))
    }

    /// The values that may belong to a key given by its hash.
    pub fn values_hash(&self, hash: KeyHash) -> impl Iterator<Item = u64> {
        self.matches(hash).map(|(bucket, slot)| self.value(bucket, slot))
    }

    /// Removes a value from a key and says whether it was there. Only remove what was inserted:
    /// see [`Remove::remove`](crate::Remove::remove).
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K, value: u64) -> bool {
        self.remove_hash(self.hasher().hash(key), value)
    }

    /// Removes a value from a key given by its hash.
    pub fn remove_hash(&mut self, hash: KeyHash, value: u64) -> bool {
        let found = self.matches(hash).find(|&(bucket, slot)| self.value(bucket, slot) == value);
        let Some((bucket, slot)) = found else { return false };
        let (values, value_bits, placement) =
            (&mut self.values, self.value_bits, self.filter.body.placement());
        with_table!(self.filter.body.table_mut(), table => {
            Valued { table, values, value_bits, placement }.take(bucket, slot);
        });
        self.filter.len -= 1;
        true
    }

    /// Removes everything and keeps the parameters and the seed.
    pub fn clear(&mut self) {
        self.filter.clear();
        self.values.clear();
    }

    /// Empty slots have the value zero, and nothing follows the last one: equal contents are
    /// equal bytes.
    fn check_values(&self) -> Result<(), DecodeError> {
        let slots = self.filter.shape.slots_per_bucket;
        for bucket in (0..self.filter.body.placement().buckets()).map(BucketIndex) {
            for (slot, entry) in (0..slots).zip(self.entries(bucket)) {
                let value = self.value(bucket, slot);
                if entry == Fingerprint::EMPTY && value != 0 {
                    return Err(DecodeError::invalid("value of an empty slot", value, "0"));
                }
            }
        }
        if !self.values.ends_in_zeros() {
            return Err(DecodeError::invalid("payload", 1, "zeros after the last value"));
        }
        Ok(())
    }

    fn entries(&self, bucket: BucketIndex) -> [Fingerprint; MAX_SLOTS] {
        with_table!(self.filter.body.table(), table => table.entries(bucket))
    }

    fn value(&self, bucket: BucketIndex, slot: u32) -> u64 {
        let run = run(bucket, slot, self.filter.shape.slots_per_bucket);
        value_at(&self.values, run, self.value_bits)
    }

    /// The slots that hold the key's fingerprint.
    fn matches(&self, hash: KeyHash) -> impl Iterator<Item = (BucketIndex, u32)> {
        let key = self.filter.candidates(hash);
        let slots = self.filter.shape.slots_per_bucket;
        key.buckets().flat_map(move |bucket| {
            let entries = (0..slots).zip(self.entries(bucket));
            let equal = entries.filter(move |&(_, entry)| entry == key.fingerprint);
            equal.map(move |(slot, _)| (bucket, slot))
        })
    }
}

/// A maplet is a filter of its keys.
impl Filter for CuckooMaplet {
    forward_lookups!(self => self.filter);

    fn contains_keys<K: Key>(&self, keys: &[K], hits: &mut Vec<bool>) {
        self.filter.contains_keys(keys, hits);
    }

    fn size_in_bytes(&self) -> usize {
        let around = size_of::<Self>() - size_of::<CuckooFilter>();
        self.filter.size_in_bytes() + around + self.values.heap_bytes()
    }
}

impl Persist for CuckooMaplet {
    fn write_to<W: Write>(&self, writer: W) -> std::io::Result<()> {
        let mut parameters = Parameters::new();
        self.filter.saved_table().write(&mut parameters);
        parameters.extend_from_slice(&u64::from(self.value_bits).to_le_bytes());
        let table = with_table!(self.filter.body.table(), table => table.runs().payload());
        let payload = [table, self.values.payload()];
        container::write(writer, Kind::Maplet, self.hasher(), &parameters, &payload)
    }

    fn read_from<R: Read>(reader: R) -> Result<Self, DecodeError> {
        let mut incoming = Incoming::open(reader, Kind::Maplet)?;
        let parameters = core::mem::take(&mut incoming.parameters);
        let mut fields = Fields(&parameters);
        let saved = SavedTable::read(&mut fields)?;
        let got = fields.u64()?;
        fields.end()?;
        let invalid = DecodeError::invalid;
        let value_bits = u32::try_from(got)
            .ok()
            .filter(|bits| VALUE_BITS.contains(bits))
            .ok_or(invalid("value_bits", got, "1 to 64"))?;
        if saved.shape.layout != Layout::Packed {
            return Err(invalid("layout", u64::from(saved.shape.layout.id()), "0, with values"));
        }
        let hasher = incoming.hasher.clone();
        let slots = u64::from(saved.placement.buckets()) * u64::from(saved.shape.slots_per_bucket);
        let table_bytes = saved.payload_bytes();
        let value_bytes = Runs::payload_bytes(slots, value_bits);
        let mut payload = incoming.payload(table_bytes.saturating_add(value_bytes), 0)?;
        let values = memory::copied(&payload[table_bytes as usize..], WINDOW)?;
        let values = Runs::from_payload(values, slots, value_bits)?;
        // Else the table would hold the memory of the values too.
        payload.truncate(table_bytes as usize);
        memory::shrink(&mut payload, WINDOW);
        let maplet = Self { filter: saved.into_filter(hasher, payload, 0)?, values, value_bits };
        maplet.check_values()?;
        Ok(maplet)
    }
}

impl fmt::Debug for CuckooMaplet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CuckooMaplet({:?}, values of {} bits)", self.filter, self.value_bits)
    }
}
