//! The chunk digest: an elastic cuckoo filter of all chunk ids in the index. Knows ids and the
//! generation of the index that it belongs to. It is a cache: "no" saves a read of the index,
//! "maybe" must be confirmed by the index, and it can be rebuilt at any time.

use std::io::{self, Read, Write};

use cuculus::{ElasticFilter, Filter, Insert, KeyHasher, Persist, Remove};

use crate::codec::{Malformed, Reader, Writer};
use crate::config::Parameters;
use crate::error::{Error, Result};
use crate::id::ChunkId;
use crate::index::{Generation, Index};
use crate::seal::Keys;
use crate::store::{Draft, Object, ObjectKind, SINGLETON, Store};

/// Bytes sealed together.
const FRAME_SIZE: usize = 256 * 1024;

/// The state of the saved digest.
pub(crate) enum State {
    Current(Box<Digest>),
    /// It belongs to another generation of the index.
    Stale,
    Damaged,
    Absent,
}

pub(crate) struct Digest {
    filter: ElasticFilter,
    /// Whether the filter has every id once. It has, unless it refused an insertion because too
    /// many ids share one 64-bit hash; such a digest is not saved.
    exact: bool,
    /// The generation that it was loaded for, if it was not rebuilt.
    saved_for: Option<Generation>,
}

impl Digest {
    fn empty(keys: &Keys, parameters: &Parameters) -> Result<Self> {
        let rate = f64::from(parameters.digest_rate_ppm) / 1e6;
        let builder = ElasticFilter::builder()
            .false_positive_rate(rate)
            .hasher(KeyHasher::siphash(keys.digest));
        let filter = builder
            .build()
            .map_err(|error| Error::io("cannot create the digest")(io::Error::other(error)))?;
        Ok(Self { filter, exact: true, saved_for: None })
    }

    /// The saved digest if it belongs to this generation of the index, otherwise a new one.
    pub(crate) fn of(
        index: &Index,
        store: &dyn Store,
        keys: &Keys,
        parameters: &Parameters,
    ) -> Result<Self> {
        match Self::load(store, keys, &index.generation()) {
            Some(digest) => Ok(digest),
            None => Self::rebuild(index, keys, parameters),
        }
    }

    /// Built from the index: each id once, however often its chunk is stored.
    pub(crate) fn rebuild(index: &Index, keys: &Keys, parameters: &Parameters) -> Result<Self> {
        let mut digest = Self::empty(keys, parameters)?;
        let mut last = None;
        for entry in index.entries() {
            let (_, _, entry) = entry?;
            if last != Some(entry.id) {
                digest.insert(&entry.id);
                last = Some(entry.id);
            }
        }
        Ok(digest)
    }

    pub(crate) fn contains(&self, id: &ChunkId) -> bool {
        self.filter.contains(&id.0)
    }

    /// To be called once per id, when the index gains it.
    pub(crate) fn insert(&mut self, id: &ChunkId) {
        // The chunk of a refused id will look new again and be stored twice.
        self.exact &= self.filter.insert(&id.0).is_ok();
    }

    /// To be called once per id, when its last entry leaves the index.
    pub(crate) fn remove(&mut self, id: &ChunkId) {
        self.exact &= self.filter.remove(&id.0);
    }

    pub(crate) fn shrink(&mut self) {
        self.filter.shrink_to_fit();
    }

    pub(crate) fn len(&self) -> u64 {
        self.filter.len() as u64
    }

    pub(crate) fn size_in_bytes(&self) -> u64 {
        self.filter.size_in_bytes() as u64
    }

    pub(crate) fn rate(&self) -> f64 {
        self.filter.expected_false_positive_rate()
    }

    pub(crate) fn was_saved_for(&self, generation: &Generation) -> bool {
        self.saved_for.as_ref() == Some(generation)
    }

    /// The saved digest, if it is intact and belongs to this generation.
    pub(crate) fn load(store: &dyn Store, keys: &Keys, generation: &Generation) -> Option<Self> {
        match Self::state(store, keys, generation) {
            Ok(State::Current(digest)) => Some(*digest),
            _ => None,
        }
    }

    /// The state of the saved digest.
    pub(crate) fn state(store: &dyn Store, keys: &Keys, generation: &Generation) -> Result<State> {
        let object = match store.open(ObjectKind::Digest, &SINGLETON) {
            Ok(object) => object,
            Err(error) if error.is_missing() => return Ok(State::Absent),
            Err(error) => return Err(error),
        };
        match Self::read(&*object, keys, generation) {
            State::Damaged if object.refetch()? => Ok(Self::read(&*object, keys, generation)),
            state => Ok(state),
        }
    }

    fn read(object: &dyn Object, keys: &Keys, generation: &Generation) -> State {
        let mut frames = FrameReader::new(object, keys);
        let mut saved = Generation::default();
        if frames.read_exact(&mut saved).is_err() {
            return State::Damaged;
        }
        let read = ElasticFilter::read_from(&mut frames);
        let nothing_follows = frames.read(&mut [0]).is_ok_and(|read| read == 0);
        match read {
            Ok(filter) if nothing_follows && saved == *generation => {
                State::Current(Box::new(Self { filter, exact: true, saved_for: Some(saved) }))
            }
            Ok(_) if nothing_follows => State::Stale,
            _ => State::Damaged,
        }
    }

    pub(crate) fn save(
        &self,
        store: &dyn Store,
        keys: &Keys,
        generation: &Generation,
    ) -> Result<()> {
        if !self.exact {
            return Ok(());
        }
        let mut frames = FrameWriter::new(store.draft(ObjectKind::Digest, &SINGLETON)?, keys);
        let written = frames.write_all(generation).and_then(|()| {
            self.filter.write_to(&mut frames)?;
            frames.end_frame()
        });
        written.map_err(Error::io("cannot write the digest"))?;
        frames.draft.keep()
    }
}

pub(crate) fn place(frame: u64) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.raw(b"digest");
    writer.u64(frame);
    writer.0
}

/// A stream sealed in frames: a length of four bytes, then the sealed bytes.
struct FrameWriter<'a> {
    draft: Box<dyn Draft>,
    keys: &'a Keys,
    frame: u64,
    plain: Vec<u8>,
}

impl<'a> FrameWriter<'a> {
    fn new(draft: Box<dyn Draft>, keys: &'a Keys) -> Self {
        Self { draft, keys, frame: 0, plain: Vec::new() }
    }

    fn end_frame(&mut self) -> io::Result<()> {
        let mut out = Vec::new();
        let len = self.plain.len() + self.keys.seal.overhead();
        out.extend_from_slice(&(len as u32).to_le_bytes());
        let sealed = self.keys.seal.seal(&place(self.frame), &self.plain, &mut out);
        sealed.map_err(io::Error::other)?;
        self.frame += 1;
        self.plain.clear();
        self.draft.write_all(&out)
    }
}

impl Write for FrameWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = FRAME_SIZE - self.plain.len();
        let taken = bytes.len().min(room);
        self.plain.extend_from_slice(&bytes[..taken]);
        if self.plain.len() == FRAME_SIZE {
            self.end_frame()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct FrameReader<'a> {
    object: &'a dyn Object,
    keys: &'a Keys,
    position: u64,
    frame: u64,
    plain: Vec<u8>,
    taken: usize,
}

impl<'a> FrameReader<'a> {
    fn new(object: &'a dyn Object, keys: &'a Keys) -> Self {
        Self { object, keys, position: 0, frame: 0, plain: Vec::new(), taken: 0 }
    }

    fn next_frame(&mut self) -> Result<()> {
        let damaged = |Malformed| Error::damaged(ObjectKind::Digest, &SINGLETON);
        let head = self.object.read_at(self.position, 4)?;
        let len = u64::from(Reader(&head).u32().map_err(damaged)?);
        let sealed = self.object.read_at(self.position + 4, len)?;
        self.plain = self.keys.seal.open(&place(self.frame), sealed).map_err(damaged)?;
        self.taken = 0;
        self.frame += 1;
        self.position += 4 + len;
        Ok(())
    }
}

impl Read for FrameReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.plain.len() && self.position < self.object.len() {
            self.next_frame().map_err(io::Error::other)?;
        }
        let read = (&self.plain[self.taken..]).read(buffer)?;
        self.taken += read;
        Ok(read)
    }
}
