//! Directories as streams of nodes: neither writing nor reading holds more than a segment of a
//! directory in memory. Knows how nodes become the bytes of two contents; nothing of file systems.
//!
//! A segment is some hundred nodes in the order of their names. It ends after a name whose hash says
//! so: a new file changes its own segment and no other.

use super::content::{Content, ContentBuilder, Piece, Pieces, Save};
use super::encoding::{decode, encode};
use super::node::{DirRef, Node, NodeKind};
use crate::chunker::Chunker;
use crate::chunks::Chunks;
use crate::codec::{Malformed, Writer};
use crate::config::Parameters;
use crate::error::{DamagedPart, Error, Result};

/// A segment has at least this many nodes if there are as many, and about four times as many.
const MIN_NODES: usize = 64;
const MEAN_NODES: u8 = 192;
const MAX_NODES: usize = 1024;
/// Or this many bytes, as far as they are foreseen.
const SEGMENT_BYTES: usize = 64 * 1024;
/// A longer segment is forged: attributes of one file may take some MiB.
const MAX_SEGMENT_BYTES: usize = 64 << 20;

struct StreamWriter {
    buffer: Vec<u8>,
    content: ContentBuilder,
}

impl StreamWriter {
    fn new(parameters: &Parameters) -> Self {
        Self { buffer: Vec::new(), content: ContentBuilder::new(parameters) }
    }

    /// Cuts chunks off the buffer while it has at least `left` bytes.
    fn cut(&mut self, left: usize, chunker: &Chunker, save: Save<'_>) -> Result<()> {
        let mut start = 0;
        while self.buffer.len() - start >= left.max(1) {
            let rest = self.buffer.get(start..).unwrap_or_default();
            let chunk = rest.get(..chunker.cut(rest)).unwrap_or(rest);
            let piece = Piece::Chunk { id: save(chunk)?, len: chunk.len() as u64 };
            start += chunk.len();
            self.content.push(piece, &mut *save)?;
        }
        self.buffer.drain(..start);
        Ok(())
    }

    fn segment(&mut self, bytes: &[u8]) {
        let mut writer = Writer::default();
        writer.varint(bytes.len() as u64);
        self.buffer.extend_from_slice(&writer.0);
        self.buffer.extend_from_slice(bytes);
    }

    fn finish(mut self, chunker: &Chunker, save: Save<'_>) -> Result<Content> {
        self.cut(1, chunker, save)?;
        self.content.finish(save)
    }
}

/// A directory that is being written. Nodes come in the order of their names.
pub(crate) struct DirWriter {
    nodes: Vec<Node>,
    /// About the bytes of these nodes.
    bytes: usize,
    contents: StreamWriter,
    metadata: StreamWriter,
}

impl DirWriter {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        let stream = || StreamWriter::new(parameters);
        Self { nodes: Vec::new(), bytes: 0, contents: stream(), metadata: stream() }
    }

    pub(crate) fn add(&mut self, node: Node, chunker: &Chunker, save: Save<'_>) -> Result<()> {
        self.bytes += size(&node);
        let [hash, ..] = *blake3::hash(&node.name).as_bytes();
        self.nodes.push(node);
        let count = self.nodes.len();
        let ends = count >= MIN_NODES && hash % MEAN_NODES == 0;
        if ends || count >= MAX_NODES || self.bytes >= SEGMENT_BYTES {
            self.end_segment(chunker, save)?;
        }
        Ok(())
    }

    fn end_segment(&mut self, chunker: &Chunker, save: Save<'_>) -> Result<()> {
        let (contents, metadata) = encode(&self.nodes);
        self.nodes.clear();
        self.bytes = 0;
        for (stream, bytes) in [(&mut self.contents, contents), (&mut self.metadata, metadata)] {
            stream.segment(&bytes);
            stream.cut(chunker.most, chunker, save)?;
        }
        Ok(())
    }

    pub(crate) fn finish(mut self, chunker: &Chunker, save: Save<'_>) -> Result<DirRef> {
        if !self.nodes.is_empty() {
            self.end_segment(chunker, save)?;
        }
        let contents = self.contents.finish(chunker, save)?;
        Ok(DirRef { contents, metadata: self.metadata.finish(chunker, save)? })
    }
}

fn size(node: &Node) -> usize {
    let pieces = |content: &Content| content.pieces.len() * 28;
    let kind = match &node.kind {
        NodeKind::File { content, .. } => pieces(content),
        NodeKind::Dir(dir) => pieces(&dir.contents) + pieces(&dir.metadata),
        NodeKind::Symlink(target) => target.len(),
        _ => 0,
    };
    let xattrs = node.meta.xattrs.iter().map(|(name, value)| name.len() + value.len());
    node.name.len() + kind + xattrs.sum::<usize>() + 32
}

struct StreamReader {
    pieces: Pieces,
    /// A piece whose chunk could not be read yet.
    next: Option<Piece>,
    buffer: Vec<u8>,
}

impl StreamReader {
    fn new(content: &Content) -> Self {
        Self { pieces: Pieces::new(content), next: None, buffer: Vec::new() }
    }

    /// Appends the next chunk to the buffer; false at the end.
    fn more(&mut self, chunks: &mut Chunks) -> Result<bool> {
        if self.next.is_none() {
            self.next = self.pieces.next(chunks)?;
        }
        match self.next {
            None => return Ok(false),
            Some(Piece::Hole(_)) => return Err(damaged("a hole")),
            Some(Piece::Chunk { id, .. }) => chunks.read(&id, &mut self.buffer)?,
        }
        self.next = None;
        Ok(true)
    }

    /// Makes sure that the next segment is in the buffer; returns where it is, or `None` at the
    /// end.
    fn segment(&mut self, chunks: &mut Chunks) -> Result<Option<std::ops::Range<usize>>> {
        loop {
            let mut reader = crate::codec::Reader(&self.buffer);
            if let Ok(len) = reader.number::<usize>() {
                let start = self.buffer.len() - reader.0.len();
                if len > MAX_SEGMENT_BYTES {
                    return Err(damaged("a segment that is too long"));
                }
                if reader.0.len() >= len {
                    return Ok(Some(start..start + len));
                }
            } else if self.buffer.len() > 10 {
                return Err(damaged("a length that makes no sense"));
            }
            if !self.more(chunks)? {
                let whole = self.buffer.is_empty();
                return if whole { Ok(None) } else { Err(damaged("it ends early")) };
            }
        }
    }
}

fn damaged(detail: &str) -> Error {
    Error::damage(DamagedPart::Directory, detail)
}

/// Yields the nodes of a stored directory in the order of their names. After an error that is not
/// damage it can be asked again.
pub(crate) struct DirReader {
    contents: StreamReader,
    metadata: StreamReader,
    nodes: std::vec::IntoIter<Node>,
    last: Vec<u8>,
}

impl DirReader {
    pub(crate) fn new(dir: &DirRef) -> Self {
        Self {
            contents: StreamReader::new(&dir.contents),
            metadata: StreamReader::new(&dir.metadata),
            nodes: Vec::new().into_iter(),
            last: Vec::new(),
        }
    }

    pub(crate) fn next(&mut self, chunks: &mut Chunks) -> Result<Option<Node>> {
        loop {
            if let Some(node) = self.nodes.next() {
                return Ok(Some(node));
            }
            let Some(nodes) = self.segment(chunks)? else { return Ok(None) };
            // Names are in order within a segment, and must be from one to the next.
            let first = nodes.first().map(|node| node.name.as_slice());
            if first.is_some_and(|first| first <= self.last.as_slice()) {
                return Err(damaged("names are out of order"));
            }
            if let Some(last) = nodes.last() {
                self.last.clone_from(&last.name);
            }
            self.nodes = nodes.into_iter();
        }
    }

    fn segment(&mut self, chunks: &mut Chunks) -> Result<Option<Vec<Node>>> {
        let contents = self.contents.segment(chunks)?;
        let metadata = self.metadata.segment(chunks)?;
        let (contents, metadata) = match (contents, metadata) {
            (Some(contents), Some(metadata)) => (contents, metadata),
            (None, None) => return Ok(None),
            _ => return Err(damaged("its two parts do not match")),
        };
        let (one, other) = (&mut self.contents.buffer, &mut self.metadata.buffer);
        let nodes = decode(
            one.get(contents.clone()).unwrap_or_default(),
            other.get(metadata.clone()).unwrap_or_default(),
        );
        let nodes = nodes.map_err(|Malformed| damaged(""))?;
        one.drain(..contents.end);
        other.drain(..metadata.end);
        // An empty segment would let a forged directory go on for ever without a node.
        if nodes.is_empty() { Err(damaged("an empty segment")) } else { Ok(Some(nodes)) }
    }
}
