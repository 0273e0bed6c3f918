//! One run: entries sorted by id in sealed blocks of equal size, their filter, and a tail with the
//! first id of each block, so that a look-up reads one block. Knows nothing of other runs.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::Entry;
use super::filter::{FilterBuilder, MAX_LEN, RunFilter};
use crate::codec::{Decoded, Malformed, Reader};
use crate::error::{Error, Result, if_sound};
use crate::id::{ChunkId, Name};
use crate::pack::{Location, PackInfo};
use crate::seal::Keys;
use crate::store::{Object, ObjectKind, Store, read_or_refetch};

pub(crate) const MAGIC: [u8; 8] = *b"CUCINDX1";
/// Bytes of a filter that are sealed together.
pub(super) const FILTER_FRAME: usize = 256 * 1024;
/// After the sealed tail: its length in eight bytes.
pub(super) const TRAILER_LEN: u64 = 8;
pub(crate) const ENTRY_LEN: usize = ChunkId::LEN + 4 + 4 + 3 + 3 + 3;
/// With this many entries a block is just below 4 KiB, the smallest read of a disk.
pub(super) const BLOCK_ENTRIES: usize = 98;
pub(crate) const BLOCK_LEN: usize = BLOCK_ENTRIES * ENTRY_LEN;
/// Blocks per read of a full scan.
const READ_AHEAD: u64 = 64;

/// The metadata of a run.
pub(super) struct Tail {
    pub(super) len: u64,
    pub(super) packs: Vec<PackInfo>,
    /// Runs that this one replaces.
    pub(super) predecessors: Vec<Name>,
    /// The prefix of the first id of each block.
    pub(super) fences: Vec<u64>,
    /// Of the filter.
    pub(super) buckets: u64,
}

impl Tail {
    fn blocks(&self) -> u64 {
        self.len.div_ceil(BLOCK_ENTRIES as u64)
    }

    /// The byte range of a block, if sealing adds `overhead` bytes to it.
    fn block_range(&self, block: u64, overhead: u64) -> Range<u64> {
        let full = BLOCK_LEN as u64 + overhead;
        let start = MAGIC.len() as u64 + block * full;
        let entries = (self.len - block * BLOCK_ENTRIES as u64).min(BLOCK_ENTRIES as u64);
        start..start + entries * ENTRY_LEN as u64 + overhead
    }

    /// The byte range of the sealed filter.
    fn filter_range(&self, overhead: u64) -> Range<u64> {
        let blocks = self.blocks();
        let start = match blocks.checked_sub(1) {
            Some(last) => self.block_range(last, overhead).end,
            None => MAGIC.len() as u64,
        };
        let plain = RunFilter::encoded_len(self.buckets, self.len);
        start..start + plain + plain.div_ceil(FILTER_FRAME as u64) * overhead
    }
}

/// A clone reads the same object, which other processes may have removed since.
#[derive(Clone)]
pub(crate) struct Run {
    name: Name,
    object: Arc<dyn Object>,
    keys: Arc<Keys>,
    pub(super) tail: Arc<Tail>,
    filter: Arc<OnceLock<RunFilter>>,
}

pub(crate) fn filter_place(run: &Name, frame: u64) -> [u8; 28] {
    place(b"runf", run, frame)
}

pub(crate) fn tail_place(run: &Name) -> Vec<u8> {
    [b"tail".as_slice(), &run.0].concat()
}

pub(crate) fn block_place(run: &Name, block: u64) -> [u8; 28] {
    place(b"runb", run, block)
}

fn place(what: &[u8; 4], run: &Name, number: u64) -> [u8; 28] {
    let mut place = [0; 28];
    place[..4].copy_from_slice(what);
    place[4..20].copy_from_slice(&run.0);
    place[20..].copy_from_slice(&number.to_le_bytes());
    place
}

/// Three little-endian bytes; `None` for larger values, which no group of an intact repository has.
pub(super) fn u24(value: u32) -> Option<[u8; 3]> {
    let [a, b, c, high] = value.to_le_bytes();
    (high == 0).then_some([a, b, c])
}

impl Run {
    pub(crate) fn open(store: &dyn Store, keys: &Arc<Keys>, name: &Name) -> Result<Self> {
        let object = store.open(ObjectKind::Run, name)?;
        let tail = read_or_refetch(&*object, || read_tail(&*object, keys, name))?;
        Ok(Self {
            name: *name,
            object: object.into(),
            keys: Arc::clone(keys),
            tail: Arc::new(tail),
            filter: Arc::default(),
        })
    }

    /// Gives it the filter that was written to it.
    pub(super) fn with_filter(self, filter: RunFilter) -> Self {
        let _ = self.filter.set(filter);
        self
    }

    #[cfg(test)]
    pub(super) fn with_spoiled_filter(self, filter: RunFilter) -> Self {
        Self { filter: Arc::default(), ..self }.with_filter(filter)
    }

    /// The filter. It is read at the first call, or built from the entries if it is damaged.
    pub(crate) fn filter(&self) -> Result<&RunFilter> {
        if let Some(filter) = self.filter.get() {
            return Ok(filter);
        }
        let filter = match if_sound(self.stored_filter())? {
            Some(filter) => filter,
            None => {
                let mut builder = FilterBuilder::new(self.len());
                for entry in self.entries() {
                    builder.push(&entry?.id);
                }
                builder.finish()
            }
        };
        Ok(self.filter.get_or_init(|| filter))
    }

    pub(crate) fn stored_filter(&self) -> Result<RunFilter> {
        let bytes = read_or_refetch(&*self.object, || self.read_filter())?;
        let filter = RunFilter::decode(self.tail.buckets, self.len(), &bytes);
        filter.map_err(|Malformed| self.damaged().with_detail("its filter"))
    }

    /// Whether the filter is in memory and says that the run does not have this id.
    pub(super) fn says_no(&self, id: &ChunkId) -> bool {
        self.filter.get().is_some_and(|filter| !filter.may_have(id))
    }

    /// Opens the frames of the filter. The tail and the object agree about their size.
    fn read_filter(&self) -> Result<Vec<u8>> {
        let overhead = self.keys.seal.overhead();
        let Range { start: mut at, end } = self.tail.filter_range(overhead as u64);
        let mut bytes = Vec::new();
        let mut frame = 0;
        while at < end {
            let len = (end - at).min((FILTER_FRAME + overhead) as u64);
            let sealed = self.object.read_at(at, len)?;
            let plain = self.keys.seal.open(&filter_place(&self.name, frame), sealed);
            let plain = plain.map_err(|Malformed| self.damaged().with_detail("its filter"))?;
            bytes.extend_from_slice(&plain);
            (at, frame) = (at + len, frame + 1);
        }
        Ok(bytes)
    }

    pub(crate) fn name(&self) -> Name {
        self.name
    }

    pub(crate) fn len(&self) -> u64 {
        self.tail.len
    }

    pub(crate) fn size_in_bytes(&self) -> u64 {
        self.object.len()
    }

    pub(crate) fn packs(&self) -> &[PackInfo] {
        &self.tail.packs
    }

    fn damaged(&self) -> Error {
        Error::damaged(ObjectKind::Run, &self.name)
    }

    /// The byte range of a block. All blocks but the last have the same length.
    fn block_range(&self, block: u64) -> Range<u64> {
        self.tail.block_range(block, self.keys.seal.overhead() as u64)
    }

    /// Blocks that may contain an id: those that begin with its prefix, and the one before.
    fn blocks_of(&self, id: &ChunkId) -> Range<u64> {
        let prefix = id.prefix();
        let fences = &self.tail.fences;
        let first = fences.partition_point(|&fence| fence < prefix).saturating_sub(1);
        let end = fences.partition_point(|&fence| fence <= prefix);
        first as u64..end as u64
    }

    fn open_block(&self, number: u64) -> Result<Block> {
        read_or_refetch(&*self.object, || {
            let range = self.block_range(number);
            let mut sealed = self.object.read_at(range.start, range.end - range.start)?;
            let place = block_place(&self.name, number);
            let plain = self.keys.seal.open_in_place(&place, &mut sealed);
            let plain = plain.map_err(|Malformed| self.damaged())?;
            Ok(Block { number, bytes: sealed, plain })
        })
    }

    /// Passes every location of an id in a block, with the rank of the entry in the run, to `each`
    /// until that returns true.
    fn find_in(
        &self,
        block: &Block,
        id: &ChunkId,
        each: &mut dyn FnMut(u64, Location) -> bool,
    ) -> Result<bool> {
        let entries = block.entries();
        let at = entries.partition_point(|entry| entry_id(entry) < *id);
        let same = |entry: &&[u8; ENTRY_LEN]| entry_id(entry) == *id;
        for (i, entry) in entries.iter().enumerate().skip(at).take_while(|(_, e)| same(e)) {
            let rank = block.number * BLOCK_ENTRIES as u64 + i as u64;
            if each(rank, self.decode(entry)?.location) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Looks an id up and returns its rank and location; adds the blocks read to `reads`.
    pub(super) fn find(
        &self,
        id: &ChunkId,
        reads: &mut u64,
        wanted: impl Fn(&Location) -> bool,
    ) -> Result<Option<(u64, Location)>> {
        let mut found = None;
        for number in self.blocks_of(id) {
            *reads += 1;
            let enough = self.find_in(&self.open_block(number)?, id, &mut |rank, location| {
                found = wanted(&location).then_some((rank, location));
                found.is_some()
            })?;
            if enough {
                break;
            }
        }
        Ok(found)
    }

    /// Passes every location of these sorted ids to `each`, with the position of the id in the
    /// list. Each block is opened at most once, and only if it may contain an id.
    pub(super) fn find_all(
        &self,
        ids: impl Iterator<Item = ChunkId>,
        mut each: impl FnMut(usize, u64, Location),
    ) -> Result<()> {
        let mut open: Option<Block> = None;
        for (number, id) in ids.enumerate() {
            for wanted in self.blocks_of(&id) {
                let block = match open.take() {
                    Some(block) if block.number == wanted => block,
                    _ => self.open_block(wanted)?,
                };
                self.find_in(&block, &id, &mut |rank, location| {
                    each(number, rank, location);
                    false
                })?;
                open = Some(block);
            }
        }
        Ok(())
    }

    fn decode(&self, bytes: &[u8; ENTRY_LEN]) -> Result<Entry> {
        let decode = || -> Decoded<Entry> {
            let mut reader = Reader(bytes);
            let id = ChunkId(reader.array()?);
            let pack = self.tail.packs.get(reader.u32()? as usize).ok_or(Malformed)?.name;
            let group = reader.u32()?;
            let mut u24 = || -> Decoded<u32> {
                let [a, b, c] = reader.array()?;
                Ok(u32::from_le_bytes([a, b, c, 0]))
            };
            let (group_len, offset, len) = (u24()?, u24()?, u24()?);
            Ok(Entry { id, location: Location { pack, group, group_len, offset, len } })
        };
        decode().map_err(|Malformed| self.damaged())
    }

    fn read_blocks(&self, first: u64, last: u64) -> Result<Vec<Entry>> {
        let start = self.block_range(first).start;
        let end = self.block_range(last - 1).end;
        let mut bytes = self.object.read_at(start, end - start)?;
        let mut entries = Vec::with_capacity(READ_AHEAD as usize * BLOCK_ENTRIES);
        for block in first..last {
            let range = self.block_range(block);
            let within = (range.start - start) as usize..(range.end - start) as usize;
            let sealed = bytes.get_mut(within).ok_or_else(|| self.damaged())?;
            let plain = self.keys.seal.open_in_place(&block_place(&self.name, block), sealed);
            let plain = plain.map_err(|Malformed| self.damaged())?;
            let (found, _) = sealed.get(plain).unwrap_or_default().as_chunks::<ENTRY_LEN>();
            for entry in found {
                entries.push(self.decode(entry)?);
            }
        }
        Ok(entries)
    }

    pub(crate) fn entries(&self) -> RunEntries<'_> {
        RunEntries { run: self, next_block: 0, entries: Vec::new().into_iter() }
    }
}

fn entry_id(entry: &[u8; ENTRY_LEN]) -> ChunkId {
    entry.first_chunk().map_or(ChunkId([0; ChunkId::LEN]), |id| ChunkId(*id))
}

struct Block {
    number: u64,
    bytes: Vec<u8>,
    /// The byte range of its entries.
    plain: Range<usize>,
}

impl Block {
    fn entries(&self) -> &[[u8; ENTRY_LEN]] {
        self.bytes.get(self.plain.clone()).unwrap_or_default().as_chunks().0
    }
}

pub(crate) struct RunEntries<'a> {
    run: &'a Run,
    next_block: u64,
    entries: std::vec::IntoIter<Entry>,
}

impl RunEntries<'_> {
    fn read_ahead(&mut self) -> Result<()> {
        let last = (self.next_block + READ_AHEAD).min(self.run.tail.blocks());
        let read = || self.run.read_blocks(self.next_block, last);
        self.entries = read_or_refetch(&*self.run.object, read)?.into_iter();
        self.next_block = last;
        Ok(())
    }
}

impl Iterator for RunEntries<'_> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        let is_empty = self.entries.as_slice().is_empty();
        if is_empty
            && self.next_block < self.run.tail.blocks()
            && let Err(error) = self.read_ahead()
        {
            // After a damaged block the order of entries cannot be trusted.
            self.next_block = self.run.tail.blocks();
            return Some(Err(error));
        }
        self.entries.next().map(Ok)
    }
}

pub(super) fn encode_tail(tail: &Tail) -> Vec<u8> {
    let mut writer = crate::codec::Writer::default();
    writer.varint(tail.len);
    writer.list(&tail.packs, |writer, pack| {
        writer.raw(&pack.name.0);
        writer.varint(pack.size);
        writer.varint(pack.footer_len.into());
    });
    writer.names(&tail.predecessors);
    writer.list(&tail.fences, |writer, &fence| writer.u64(fence));
    writer.varint(tail.buckets);
    writer.0
}

fn read_tail(object: &dyn Object, keys: &Keys, name: &Name) -> Result<Tail> {
    let damaged = || Error::damaged(ObjectKind::Run, name);
    let size = object.len();
    let end = size.checked_sub(TRAILER_LEN).ok_or_else(damaged)?;
    let trailer = object.read_at(end, TRAILER_LEN)?;
    let tail_len = Reader(&trailer).u64().map_err(|Malformed| damaged())?;
    let start = end.checked_sub(tail_len).ok_or_else(damaged)?;
    let head = object.read_at(0, (MAGIC.len() as u64).min(size))?;
    let sealed = object.read_at(start, tail_len)?;
    let plain = keys.seal.open(&tail_place(name), sealed).map_err(|Malformed| damaged())?;
    let tail = Reader::whole(&plain, decode_tail).map_err(|Malformed| damaged())?;
    let overhead = keys.seal.overhead() as u64;
    let sound = head == MAGIC
        && tail.fences.len() as u64 == tail.blocks()
        && tail.fences.is_sorted()
        && tail.filter_range(overhead).end == start;
    if sound { Ok(tail) } else { Err(damaged()) }
}

fn decode_tail(reader: &mut Reader<'_>) -> Decoded<Tail> {
    let len = reader.varint()?;
    let packs = reader.list(Name::LEN + 2, |reader| {
        let name = Name(reader.array()?);
        Ok(PackInfo { name, size: reader.varint()?, footer_len: reader.number()? })
    })?;
    let predecessors = reader.names()?;
    let fences = reader.list(8, Reader::u64)?;
    let buckets = reader.varint()?;
    // Otherwise offsets in the file could overflow.
    if len > MAX_LEN || buckets > MAX_LEN || buckets == 0 {
        return Err(Malformed);
    }
    Ok(Tail { len, packs, predecessors, fences, buckets })
}
