//! Writes a run: entries come in order, and only the filter and the tail are kept in memory.

use std::collections::HashMap;
use std::io::Write;
use std::mem;
use std::sync::Arc;

use super::Entry;
use super::filter::FilterBuilder;
use super::run::{self, BLOCK_LEN, FILTER_FRAME, MAGIC, Run, Tail};
use crate::error::{Error, Result};
use crate::id::Name;
use crate::pack::PackInfo;
use crate::seal::Keys;
use crate::store::{Draft, ObjectKind, Store};

pub(crate) struct RunWriter<'a> {
    store: &'a dyn Store,
    keys: &'a Arc<Keys>,
    name: Name,
    draft: Box<dyn Draft>,
    numbers: HashMap<Name, u32>,
    tail: Tail,
    filter: FilterBuilder,
    block: Vec<u8>,
    sealed: Vec<u8>,
}

impl<'a> RunWriter<'a> {
    /// A run of at most `most` entries that replaces its predecessors as soon as it exists.
    pub(crate) fn new(
        store: &'a dyn Store,
        keys: &'a Arc<Keys>,
        predecessors: Vec<Name>,
        most: u64,
    ) -> Result<Self> {
        let tail = Tail { len: 0, packs: Vec::new(), predecessors, fences: Vec::new(), buckets: 0 };
        let (name, numbers) = (Name::random()?, HashMap::new());
        let draft = store.draft(ObjectKind::Run, &name)?;
        let block = Vec::with_capacity(BLOCK_LEN);
        let (sealed, filter) = (MAGIC.to_vec(), FilterBuilder::new(most));
        Ok(Self { store, keys, name, draft, numbers, tail, filter, block, sealed })
    }

    /// Appends an entry; `pack` is the pack of its location.
    pub(crate) fn push(&mut self, entry: &Entry, pack: &PackInfo) -> Result<()> {
        let number = *self.numbers.entry(pack.name).or_insert_with(|| {
            self.tail.packs.push(*pack);
            self.tail.packs.len() as u32 - 1
        });
        if self.block.is_empty() {
            self.tail.fences.push(entry.id.prefix());
        }
        let location = &entry.location;
        self.block.extend_from_slice(&entry.id.0);
        self.block.extend_from_slice(&number.to_le_bytes());
        self.block.extend_from_slice(&location.group.to_le_bytes());
        for number in [location.group_len, location.offset, location.len] {
            let bytes = run::u24(number).ok_or_else(|| {
                Error::damaged(ObjectKind::Pack, &location.pack).with_detail("a group is too large")
            })?;
            self.block.extend_from_slice(&bytes);
        }
        self.filter.push(&entry.id);
        self.tail.len += 1;
        if self.block.len() == BLOCK_LEN {
            self.end_block()?;
        }
        Ok(())
    }

    fn end_block(&mut self) -> Result<()> {
        let place = run::block_place(&self.name, self.tail.fences.len() as u64 - 1);
        self.keys.seal.seal(&place, &self.block, &mut self.sealed)?;
        self.block.clear();
        // Written as it grows: a run may be larger than memory.
        if self.sealed.len() > 1 << 18 { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<()> {
        let what = format!("cannot write {}", ObjectKind::Run.describe(&self.name));
        self.draft.write_all(&self.sealed).map_err(Error::io(what))?;
        self.sealed.clear();
        Ok(())
    }

    /// Makes the run durable and opens it. [`Error::LostWrite`] if it is gone again: a process that
    /// was stopped in between may find that another one has merged it.
    pub(crate) fn finish(mut self) -> Result<Run> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        self.write()?;
        let filter = mem::replace(&mut self.filter, FilterBuilder::new(0)).finish();
        self.tail.buckets = filter.buckets;
        let mut bytes = filter.encode();
        for frame in 0.. {
            let plain: Vec<u8> = bytes.by_ref().take(FILTER_FRAME).collect();
            if plain.is_empty() {
                break;
            }
            let place = run::filter_place(&self.name, frame);
            self.keys.seal.seal(&place, &plain, &mut self.sealed)?;
            self.write()?;
        }
        drop(bytes);
        let tail = run::encode_tail(&self.tail);
        self.keys.seal.seal(&run::tail_place(&self.name), &tail, &mut self.sealed)?;
        let len = self.sealed.len() as u64;
        self.sealed.extend_from_slice(&len.to_le_bytes());
        self.write()?;
        let Self { draft, name, store, keys, .. } = self;
        draft.keep()?;
        match Run::open(store, keys, &name) {
            Err(error) if error.is_missing() => {
                Err(Error::LostWrite { kind: ObjectKind::Run, name })
            }
            opened => opened.map(|run| run.with_filter(filter)),
        }
    }
}

pub(crate) fn write_sorted(
    store: &dyn Store,
    keys: &Arc<Keys>,
    entries: &mut [Entry],
    packs: &HashMap<Name, PackInfo>,
) -> Result<Run> {
    entries.sort_unstable_by_key(|entry| entry.id);
    let mut writer = RunWriter::new(store, keys, Vec::new(), entries.len() as u64)?;
    for entry in &*entries {
        let name = &entry.location.pack;
        let pack = packs.get(name).ok_or_else(|| Error::damaged(ObjectKind::Pack, name))?;
        writer.push(entry, pack)?;
    }
    writer.finish()
}
