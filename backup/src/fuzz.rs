//! Every decoder of stored bytes, for the fuzzer. Knows how each object is put together, so that
//! the fuzzer's bytes are sealed correctly: whoever can write to a repository without encryption
//! can seal anything.

use std::sync::Arc;

use crate::config::{self, Locked, Parameters};
use crate::error::{Error, Result};
use crate::id::{ChunkId, Name};
use crate::index::{self, Index, Run};
use crate::pack::{self, Decompressor, read_footer};
use crate::seal::{Keys, Master};
use crate::snapshot::Snapshot;
use crate::store::{Draft, GoOn, Object, ObjectKind, SINGLETON, Store};
use crate::{intent, key, marks, sealed, tree};

const MASTER: [u8; 32] = [7; 32];

/// Decodes the bytes after the first one as the kind of object that the first one selects. Nothing
/// may panic, and nothing may be accepted that cannot be used.
pub fn decode(input: &[u8]) {
    let Some((&kind, bytes)) = input.split_first() else { return };
    let keys = Arc::new(Keys::new(&Master(MASTER), false));
    match kind % 11 {
        0 => pack_footer(&keys, bytes),
        1 => group(&keys, bytes),
        2 => run(&keys, bytes),
        3 => {
            let object = object(&keys, ObjectKind::Snapshot, bytes);
            let _ = Snapshot::load(&object, &keys, &SINGLETON);
        }
        4 => directory(bytes),
        5 => _ = Locked::read(&One::new(bytes.to_vec()), "here").map(|locked| open(&locked)),
        6 => parameters(&keys, bytes),
        // A key, for a passphrase that was hashed already.
        7 => _ = key::Hashed::of([7; 32]).open(bytes),
        8 => {
            let intents = object(&keys, ObjectKind::Intent, bytes);
            let _ = intent::live_writers(&intents, &keys, &Name([1; 16]));
        }
        9 => _ = marks::all(&object(&keys, ObjectKind::Mark, bytes), &keys),
        _ => filter(&keys, bytes),
    }
}

/// A pack with a footer of these bytes.
fn pack_footer(keys: &Keys, bytes: &[u8]) {
    let object = with_tail(keys, &pack::MAGIC, &pack::footer_place(&SINGLETON), bytes, |len| {
        [&(len as u32).to_le_bytes()[..], &pack::TRAILER_MAGIC].concat()
    });
    let Ok((footer, info)) = read_footer(&One::new(object), keys, &SINGLETON, None) else { return };
    let _ = footer.covers(&info);
    for (_, location) in footer.locations(SINGLETON) {
        assert!(location.offset.checked_add(location.len).is_some(), "a chunk beyond its group");
    }
}

fn group(keys: &Keys, bytes: &[u8]) {
    let parameters = Parameters::default();
    let Ok(mut open) = Decompressor::new(&parameters) else { return };
    if let Ok(opened) = open.open(keys, seal(keys, pack::GROUP_PLACE, bytes)) {
        assert!(opened.len() <= parameters.max_group_size(), "a group of {} bytes", opened.len());
    }
}

/// A run whose tail is the first bytes, and whose blocks are the rest. All its ids are in one bucket of
/// the filter.
fn run(keys: &Arc<Keys>, bytes: &[u8]) {
    let Some((&len, bytes)) = bytes.split_first() else { return };
    let (tail, entries) = bytes.split_at(bytes.len().min(usize::from(len)));
    let filter = one_bucket(entries.len() / index::ENTRY_LEN);
    let Some(run) = opened_run(keys, entries, &filter, &[tail, &[1]].concat()) else { return };
    let _ = run.filter();
    let index = Index::of_runs(vec![run]);
    let read = index.entries().filter_map(Result::ok).count() as u64;
    assert!(read <= index.len(), "{read} entries of {}", index.len());
    for id in entries.chunks_exact(ChunkId::LEN).take(8) {
        let id = ChunkId(id.try_into().unwrap_or_default());
        let _ = (index.find(&id), index.find_all(&[id].into_iter(), |_, _| ()));
    }
}

/// A filter of this number of ids, all in one bucket.
fn one_bucket(ids: usize) -> Vec<u8> {
    let mut filter = vec![0; (ids + 1).div_ceil(64) * 8 + ids];
    (0..ids).for_each(|id| filter[id / 8] |= 1 << (id % 8));
    filter
}

fn opened_run(keys: &Arc<Keys>, entries: &[u8], filter: &[u8], tail: &[u8]) -> Option<Run> {
    let mut head = index::MAGIC.to_vec();
    for (number, block) in entries.chunks(index::BLOCK_LEN).enumerate() {
        head.extend(seal(keys, &index::block_place(&SINGLETON, number as u64), block));
    }
    head.extend(seal(keys, &index::filter_place(&SINGLETON, 0), filter));
    let object = with_tail(keys, &head, &index::tail_place(&SINGLETON), tail, |len| {
        (len as u64).to_le_bytes().to_vec()
    });
    Run::open(&One::new(object), keys, &SINGLETON).ok()
}

/// A directory whose contents are the first bytes, and whose metadata is the rest.
fn directory(bytes: &[u8]) {
    let Some((&[low, high], bytes)) = bytes.split_first_chunk() else { return };
    let len = usize::from(u16::from_le_bytes([low, high]));
    let (contents, metadata) = bytes.split_at(bytes.len().min(len));
    if let Ok(nodes) = tree::decode(contents, metadata) {
        let (contents, metadata) = tree::encode(&nodes);
        let again = tree::decode(&contents, &metadata);
        assert!(again.is_ok_and(|again| again == nodes), "a directory is not what it was");
    }
}

fn open(locked: &Locked) {
    if !locked.needs_passphrase() {
        let _ = locked.unlock(&One::new(Vec::new()), None);
    }
}

fn parameters(keys: &Keys, bytes: &[u8]) {
    let head = [&config::MAGIC[..], &[0], &MASTER].concat();
    let object = [&head[..], &seal(keys, &head, bytes)].concat();
    if let Ok(locked) = Locked::read(&One::new(object), "here") {
        open(&locked);
    }
}

/// A run of three entries with a filter of these bytes.
fn filter(keys: &Arc<Keys>, bytes: &[u8]) {
    let Some((&buckets, bytes)) = bytes.split_first() else { return };
    let ids = [1, 2, 3].map(|byte| ChunkId([byte; ChunkId::LEN]));
    let block: Vec<u8> = ids.iter().flat_map(|id| [&id.0[..], &[0; 17]].concat()).collect();
    let mut tail = vec![3, 1];
    tail.extend([0; 18]);
    tail.extend([0, 1]);
    tail.extend(ids[0].prefix().to_le_bytes());
    tail.push(buckets & 0x7f);
    let Some(run) = opened_run(keys, &block, bytes, &tail) else { return };
    if let Ok(filter) = run.filter() {
        ids.iter().for_each(|id| _ = filter.may_have(id));
        assert!(filter.size_in_bytes() < 1_000, "a filter of {} bytes", filter.size_in_bytes());
    }
}

fn seal(keys: &Keys, place: &[u8], bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let _ = keys.seal.seal(place, bytes, &mut out);
    out
}

fn object(keys: &Keys, kind: ObjectKind, bytes: &[u8]) -> One {
    One::new(seal(keys, &sealed::place(kind, &SINGLETON), bytes))
}

/// A head, a sealed tail, and an end that depends on the length of the sealed tail.
fn with_tail(
    keys: &Keys,
    head: &[u8],
    place: &[u8],
    tail: &[u8],
    end: impl FnOnce(usize) -> Vec<u8>,
) -> Vec<u8> {
    let sealed = seal(keys, place, tail);
    let end = end(sealed.len());
    [head, &sealed, &end].concat()
}

/// A store that returns the same object, which is itself, for every name.
struct One(Arc<Vec<u8>>);

impl One {
    fn new(bytes: Vec<u8>) -> Self {
        Self(Arc::new(bytes))
    }
}

impl Store for One {
    fn draft(&self, _: ObjectKind, _: &Name) -> Result<Box<dyn Draft>> {
        Err(Error::io("cannot write")(std::io::ErrorKind::Unsupported.into()))
    }

    fn list(&self, _: ObjectKind) -> Result<Vec<(Name, u64)>> {
        Ok(vec![(SINGLETON, self.0.len() as u64)])
    }

    fn open(&self, _: ObjectKind, _: &Name) -> Result<Box<dyn Object>> {
        Ok(Box::new(Self(Arc::clone(&self.0))))
    }

    fn remove_all(&self, _: ObjectKind, _: &[Name], _: GoOn<'_>) -> Result<()> {
        Ok(())
    }
}

impl Object for One {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, len: u64) -> Result<Vec<u8>> {
        let end = offset.checked_add(len).and_then(|end| usize::try_from(end).ok());
        let bytes = end.and_then(|end| self.0.get(usize::try_from(offset).ok()?..end));
        Ok(bytes.ok_or_else(|| Error::damaged(ObjectKind::Pack, &SINGLETON))?.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise the fuzzer would never get past the tail.
    #[test]
    fn a_run_that_is_put_together_right_opens() {
        let keys = Arc::new(Keys::new(&Master(MASTER), false));
        for ids in [1u8, 70] {
            let entries = vec![0; usize::from(ids) * index::ENTRY_LEN];
            // The number of entries, one pack, no predecessors, one block, one bucket.
            let tail = [&[ids, 1][..], &[0; 18], &[0, 1], &[0; 8], &[1]].concat();
            let run = opened_run(&keys, &entries, &one_bucket(ids.into()), &tail);
            assert!(run.expect("a run").stored_filter().is_ok(), "{ids}");
        }
    }
}
