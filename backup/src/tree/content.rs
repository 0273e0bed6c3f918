//! The bytes of a file, or of half a directory, as a tree of chunks. Up to some hundred chunks are
//! listed where the content is named; the lists of larger contents are chunks themselves, as are
//! lists of these lists, so that neither writing nor reading holds a whole list in memory.
//!
//! A list ends after a chunk whose id says so. An insertion into a large file therefore changes the
//! list around it and no other.

use super::encoding::{decode_list, encode_list};
use crate::chunks::Chunks;
use crate::codec::Malformed;
use crate::config::Parameters;
use crate::error::{DamagedPart, Error, Result};
use crate::id::ChunkId;

/// Lists of lists beyond this depth are forged: four levels are enough for every disk.
pub(super) const MAX_LEVELS: u8 = 8;
/// A list has about this many entries more than the least.
const MEAN_ENTRIES: u8 = 64;
const MAX_ENTRIES: usize = 256;
/// The most bytes of an encoded entry: a kind, an id and a length.
const ENTRY_BYTES: usize = 1 + ChunkId::LEN + 10;

/// Stores a chunk.
pub(crate) type Save<'a> = &'a mut dyn FnMut(&[u8]) -> Result<ChunkId>;

/// Part of some content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Piece {
    /// A chunk that holds this many bytes of the content, or a list of pieces that do.
    Chunk { id: ChunkId, len: u64 },
    /// This many bytes that were never written.
    Hole(u64),
}

impl Piece {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Chunk { len, .. } | Self::Hole(len) => *len,
        }
    }
}

/// The bytes of a file, or of half a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Content {
    /// 0 if the pieces are parts of the bytes; otherwise they are lists of pieces one level below.
    pub(crate) levels: u8,
    pub(crate) pieces: Vec<Piece>,
}

pub(crate) fn read_list(chunks: &mut Chunks, id: &ChunkId, len: u64) -> Result<Vec<Piece>> {
    let mut bytes = Vec::new();
    chunks.read(id, &mut bytes)?;
    let pieces = decode_list(&bytes).map_err(|Malformed| damaged("it cannot be decoded"))?;
    let sum = pieces.iter().fold(0u64, |sum, piece| sum.saturating_add(piece.len()));
    if sum == len { Ok(pieces) } else { Err(damaged("its lengths do not add up")) }
}

fn damaged(detail: &str) -> Error {
    Error::damage(DamagedPart::ChunkList, detail)
}

/// Yields the pieces of some content in order. After an error it can be asked again.
pub(crate) struct Pieces {
    /// Lists that are being read, the outermost first: their level, and the next piece.
    open: Vec<(u8, Vec<Piece>, usize)>,
}

impl Pieces {
    pub(crate) fn new(content: &Content) -> Self {
        Self { open: vec![(content.levels, content.pieces.clone(), 0)] }
    }

    pub(crate) fn next(&mut self, chunks: &mut Chunks) -> Result<Option<Piece>> {
        let piece = self.find(chunks, |_| false)?;
        if let Some((_, _, at)) = self.open.last_mut() {
            *at += 1;
        }
        Ok(piece)
    }

    /// Skips what ends before this many bytes; returns the bytes skipped. After an error nobody knows
    /// how many those are.
    #[cfg(feature = "mount")]
    pub(crate) fn skip_to(&mut self, chunks: &mut Chunks, target: u64) -> Result<u64> {
        let mut position = 0u64;
        self.find(chunks, |piece| {
            let end = position.saturating_add(piece.len());
            let skips = piece.len() > 0 && end <= target;
            position = if skips { end } else { position };
            skips
        })?;
        Ok(position)
    }

    /// Enters lists up to the next piece that is none; it stays the next. Leaves out pieces and whole
    /// lists for which `skips` is true.
    fn find(
        &mut self,
        chunks: &mut Chunks,
        mut skips: impl FnMut(&Piece) -> bool,
    ) -> Result<Option<Piece>> {
        while let Some((level, pieces, at)) = self.open.last_mut() {
            match pieces.get(*at).copied() {
                None => _ = self.open.pop(),
                Some(piece) if skips(&piece) => *at += 1,
                Some(Piece::Chunk { id, len }) if *level > 0 => {
                    let below = (*level - 1, read_list(chunks, &id, len)?, 0);
                    *at += 1;
                    self.open.push(below);
                }
                piece => return Ok(piece),
            }
        }
        Ok(None)
    }
}

pub(crate) struct ContentBuilder {
    /// Entries of the open list of each level, the lowest first.
    levels: Vec<Vec<Piece>>,
    least: usize,
    most: usize,
}

impl ContentBuilder {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        let most = (parameters.max_chunk_size as usize / ENTRY_BYTES).min(MAX_ENTRIES);
        Self { levels: vec![Vec::new()], least: most / 8, most }
    }

    /// Appends a piece; `save` stores the bytes of a list.
    pub(crate) fn push(&mut self, piece: Piece, save: Save<'_>) -> Result<()> {
        self.push_at(0, piece, save)
    }

    fn push_at(&mut self, level: usize, piece: Piece, save: Save<'_>) -> Result<()> {
        if self.levels.len() == level {
            self.levels.push(Vec::new());
        }
        let Some(list) = self.levels.get_mut(level) else { return Ok(()) };
        list.push(piece);
        let ends = match &piece {
            Piece::Chunk { id, .. } => id.0[ChunkId::LEN - 1] % MEAN_ENTRIES == 0,
            Piece::Hole(_) => false,
        };
        let full = list.len() >= self.most || (ends && list.len() >= self.least);
        if full { self.end_list(level, save) } else { Ok(()) }
    }

    fn end_list(&mut self, level: usize, save: Save<'_>) -> Result<()> {
        let Some(list) = self.levels.get_mut(level).map(std::mem::take) else { return Ok(()) };
        let len = list.iter().fold(0u64, |sum, piece| sum.saturating_add(piece.len()));
        let id = save(&encode_list(&list))?;
        self.push_at(level + 1, Piece::Chunk { id, len }, save)
    }

    pub(crate) fn finish(mut self, save: Save<'_>) -> Result<Content> {
        let mut level = 0;
        while level + 1 < self.levels.len() {
            if self.levels.get(level).is_some_and(|list| !list.is_empty()) {
                self.end_list(level, &mut *save)?;
            }
            level += 1;
        }
        let pieces = self.levels.pop().unwrap_or_default();
        Ok(Content { levels: level as u8, pieces })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::id::first_of;

    type Saved = HashMap<ChunkId, Vec<u8>>;

    fn id(number: u64) -> ChunkId {
        ChunkId(first_of(blake3::hash(&number.to_le_bytes()).as_bytes()))
    }

    fn build(pieces: impl Iterator<Item = Piece>) -> (Content, Saved) {
        let mut saved = Saved::new();
        let mut save = |bytes: &[u8]| {
            let id = ChunkId(first_of(blake3::hash(bytes).as_bytes()));
            assert!(bytes.len() <= Parameters::default().max_chunk_size as usize);
            saved.insert(id, bytes.to_vec());
            Ok(id)
        };
        let mut builder = ContentBuilder::new(&Parameters::default());
        pieces.for_each(|piece| builder.push(piece, &mut save).expect("saved"));
        let content = builder.finish(&mut save).expect("saved");
        (content, saved)
    }

    fn flat(content: &Content, saved: &Saved) -> Vec<Piece> {
        let mut pieces = content.pieces.clone();
        for _ in 0..content.levels {
            let lists = pieces.iter().map(|piece| match piece {
                Piece::Chunk { id, .. } => decode_list(&saved[id]).expect("a list"),
                Piece::Hole(_) => panic!("a hole among lists"),
            });
            pieces = lists.flatten().collect();
        }
        pieces
    }

    fn pieces(count: u64) -> impl Iterator<Item = Piece> {
        (0..count).map(|n| match n % 7 {
            3 => Piece::Hole(n),
            _ => Piece::Chunk { id: id(n), len: n + 1 },
        })
    }

    #[test]
    fn lists_of_any_length_come_back() {
        for count in [0, 1, 30, 31, 32, 33, 255, 256, 257, 5000, 100_000] {
            let (content, saved) = build(pieces(count));
            assert!(flat(&content, &saved).into_iter().eq(pieces(count)), "{count}");
            assert!(content.pieces.len() <= MAX_ENTRIES && content.levels <= MAX_LEVELS, "{count}");
        }
    }

    #[test]
    fn an_insertion_changes_few_lists() {
        let (_, before) = build(pieces(50_000));
        let inserted = pieces(20_000)
            .chain([Piece::Chunk { id: id(1 << 40), len: 5 }])
            .chain(pieces(50_000).skip(20_000));
        let (_, after) = build(inserted);
        let new = after.keys().filter(|id| !before.contains_key(id)).count();
        assert!(new <= 8, "{new} of {}", after.len());
    }
}
