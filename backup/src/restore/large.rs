//! A large file is restored in parts, by all workers at once. Knows how it is divided and when it is
//! complete; if a part fails, the whole file is left out.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::apply::{self, Target};
use super::write::{self, Place};
use super::{Parent, Shared};
use crate::error::{DamagedPart, Error, Result};
use crate::source::{Part, Source};
use crate::tree::{Content, Node, NodeKind, Piece};

/// Smaller files are restored by one worker each.
const LARGE: u64 = 16 << 20;
/// Lists of chunks that are a part: some megabytes, so that each place of a pack is read in order. Not
/// a number of bytes, because holes take no time.
const LISTS_PER_PART: usize = 6;

/// The content of a file that is worth dividing: its lists are listed, each with its length.
pub(super) fn content(node: &Node) -> Option<&Content> {
    match &node.kind {
        NodeKind::File { size, content } if *size >= LARGE && content.levels > 0 => Some(content),
        _ => None,
    }
}

/// A file of which parts are still to be written.
pub(super) struct LargeFile<'a> {
    shared: &'a Shared<'a>,
    /// Taken when the last part is written.
    place: Option<Place>,
    file: File,
    /// Without its content.
    node: Node,
    size: u64,
    failed: AtomicBool,
    _parent: Parent<'a>,
}

impl<'a> LargeFile<'a> {
    pub(super) fn create(
        shared: &'a Shared<'a>,
        target: &Path,
        node: Node,
        parent: Parent<'a>,
    ) -> Result<Self> {
        let size = node.size();
        let place = Place::new(target, shared.overwrite)?;
        let file = write::create(&place.path)?;
        // Nothing is written to holes.
        if let Err(error) = file.set_len(size) {
            let _ = fs::remove_file(&place.path);
            return Err(Error::at("write", target)(error));
        }
        let node = Node { kind: NodeKind::File { size, content: Content::default() }, ..node };
        let (place, failed) = (Some(place), AtomicBool::new(false));
        Ok(Self { shared, place, file, node, size, failed, _parent: parent })
    }

    /// The file will be left out. Only the first reason is reported.
    pub(super) fn fail(&self, error: &Error) {
        if !self.failed.swap(true, Ordering::AcqRel)
            && let Some(place) = &self.place
        {
            self.shared.problem(&place.target, error);
        }
    }

    fn finish(&self, place: Place) -> Result<()> {
        // The old file goes: the new one must be on the disk.
        let synced = if place.is_beside() { self.file.sync_data() } else { Ok(()) };
        synced.map_err(Error::at("write", &place.target))?;
        for problem in apply::metadata(Target::Open(&self.file), &self.node) {
            self.shared.problem(&place.target, &problem);
        }
        place.keep()?;
        self.shared.count_file(&self.node);
        Ok(())
    }
}

/// The last part is done.
impl Drop for LargeFile<'_> {
    fn drop(&mut self) {
        let Some(place) = self.place.take() else { return };
        let (target, path) = (place.target.clone(), place.path.clone());
        if self.failed.load(Ordering::Acquire) {
            // Half a file would look like a whole one.
            let _ = fs::remove_file(path);
        } else if let Err(error) = self.finish(place) {
            let _ = fs::remove_file(path);
            self.shared.problem(&target, &error);
        }
    }
}

pub(super) struct FilePart<'a> {
    file: Arc<LargeFile<'a>>,
    offset: u64,
    len: u64,
    content: Content,
}

impl FilePart<'_> {
    /// Reads and writes it; an error is reported for the file.
    pub(super) fn restore(self, source: &mut Source<'_>) {
        if self.file.failed.load(Ordering::Acquire) {
            return;
        }
        let mut at = self.offset;
        let outcome = source.read(&self.content, self.len, &mut |part| {
            match part {
                Part::Bytes(bytes) => {
                    let written = self.file.file.write_all_at(bytes, at);
                    let path = self.file.place.as_ref().map(|place| place.path.as_path());
                    written.map_err(Error::at("write", path.unwrap_or(Path::new(""))))?;
                    at = at.saturating_add(bytes.len() as u64);
                }
                Part::Hole(len) => at = at.saturating_add(len),
            }
            Ok(())
        });
        if let Err(error) = outcome {
            self.file.fail(&error);
        }
    }
}

/// Passes the parts of a file to `send`, in order.
pub(super) fn divide<'a>(
    file: &Arc<LargeFile<'a>>,
    source: &mut Source<'_>,
    content: &Content,
    send: &mut dyn FnMut(FilePart<'a>),
) -> Result<()> {
    let mut division = Division { file, source, send, offset: 0 };
    division.list(content.levels, &content.pieces)?;
    let (found, size) = (division.offset, file.size);
    if found == size {
        return Ok(());
    }
    Err(Error::damage(DamagedPart::ChunkList, format!("{found} of {size} bytes")))
}

struct Division<'d, 's, 'a> {
    file: &'d Arc<LargeFile<'a>>,
    source: &'d mut Source<'s>,
    send: &'d mut dyn FnMut(FilePart<'a>),
    /// The bytes before what is not divided yet.
    offset: u64,
}

impl Division<'_, '_, '_> {
    fn list(&mut self, levels: u8, pieces: &[Piece]) -> Result<()> {
        if levels == 1 {
            pieces.chunks(LISTS_PER_PART).for_each(|part| self.part(part));
            return Ok(());
        }
        for piece in pieces {
            match piece {
                Piece::Chunk { id, len } => {
                    let list = self.source.read_list(id, *len)?;
                    self.list(levels - 1, &list)?;
                }
                // No writer makes one here; nothing is written to it.
                Piece::Hole(len) => self.offset = self.offset.saturating_add(*len),
            }
        }
        Ok(())
    }

    fn part(&mut self, pieces: &[Piece]) {
        let len = pieces.iter().fold(0u64, |sum, piece| sum.saturating_add(piece.len()));
        let content = Content { levels: 1, pieces: pieces.to_vec() };
        let (file, offset) = (Arc::clone(self.file), self.offset);
        self.offset = offset.saturating_add(len);
        (self.send)(FilePart { file, offset, len, content });
    }
}
