//! Copies snapshots from another repository. Files are cut again, because every repository cuts at
//! other places.

use std::collections::HashMap;
use std::io::{self, Read};

use crate::backup::{Copying, SaveError};
use crate::error::{Error, Result};
use crate::id::Name;
use crate::progress::Progress;
use crate::repository::Repository;
use crate::snapshot::Snapshot;
use crate::source::Source;
use crate::tree::{Content, DirReader, DirRef, Node, NodeKind, Piece, Pieces};

/// What a copy did.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct CopyReport {
    /// The snapshots copied: the name in the other repository, and the name here.
    pub copied: Vec<(Name, Name)>,
    /// Snapshots that were copied before.
    pub present: Vec<Name>,
    /// Size of the new chunks.
    pub new_bytes: u64,
    /// Bytes added to the repository for them.
    pub stored_bytes: u64,
}

impl Repository {
    /// Copies snapshots of another repository into this one. A snapshot with the same time, host,
    /// paths and tags is here already, and is left as it is.
    ///
    /// # Errors
    /// If something of a snapshot cannot be read, or this repository cannot be written; snapshots
    /// that were copied until then stay.
    pub fn copy_from(
        &self,
        other: &Repository,
        snapshots: &[Snapshot],
        progress: &dyn Progress,
    ) -> Result<CopyReport> {
        let key = |s: &Snapshot| (s.time, s.host.clone(), s.paths.clone(), s.tags.clone());
        let here: Vec<_> = self.snapshots()?.iter().map(key).collect();
        let mut report = CopyReport::default();
        for snapshot in snapshots {
            if here.contains(&key(snapshot)) {
                report.present.push(snapshot.name);
                continue;
            }
            progress.phase("copying", Some(snapshot.bytes));
            let mut copy = Copy {
                source: Source::new(other)?,
                out: self.begin_copy(progress)?,
                links: HashMap::new(),
                progress,
            };
            let root = copy.dir(&snapshot.root)?;
            let snapshot_here = Snapshot { name: Name::random()?, root, ..snapshot.clone() };
            let (new, stored) = copy.out.commit(self, &snapshot_here)?;
            (report.new_bytes, report.stored_bytes) =
                (report.new_bytes + new, report.stored_bytes + stored);
            report.copied.push((snapshot.name, snapshot_here.name));
        }
        Ok(report)
    }
}

struct Copy<'a> {
    source: Source<'a>,
    out: Copying,
    /// Files with several hard links that were copied already.
    links: HashMap<(u64, u64), NodeKind>,
    progress: &'a dyn Progress,
}

impl Copy<'_> {
    fn dir(&mut self, dir: &DirRef) -> Result<DirRef> {
        let mut nodes = DirReader::new(dir);
        let mut copied = self.out.tree.dir_writer();
        while let Some(node) = self.source.next_node(&mut nodes)? {
            let kind = match &node.kind {
                NodeKind::Dir(below) => NodeKind::Dir(self.dir(below)?),
                NodeKind::File { size, content } => self.file(&node, *size, content)?,
                other => other.clone(),
            };
            self.out.tree.add_node(&mut copied, Node { kind, ..node })?;
        }
        self.out.tree.end_dir(copied)
    }

    fn file(&mut self, node: &Node, size: u64, content: &Content) -> Result<NodeKind> {
        if let Some(copied) = node.meta.link.and_then(|link| self.links.get(&link)) {
            return Ok(copied.clone());
        }
        let mut bytes = FileBytes {
            source: &mut self.source,
            pieces: Pieces::new(content),
            buffer: Vec::new(),
            position: 0,
            total: 0,
            hole: None,
            failed: None,
        };
        let saved = self.out.tree.save_file(|file| {
            loop {
                file.bytes(&mut bytes)?;
                match bytes.hole.take() {
                    Some(len) => file.hole(len)?,
                    None => return Ok(bytes.total),
                }
            }
        });
        let (total, failed) = (bytes.total, bytes.failed.take());
        let content = match (saved, failed) {
            (_, Some(error)) | (Err(SaveError::Repository(error)), None) => return Err(error),
            (Err(SaveError::File(error)), None) => return Err(Error::io("cannot copy")(error)),
            (Ok((_, content)), None) => content,
        };
        if total != size {
            let detail = format!("{total} of {size} bytes");
            return Err(Error::damage(crate::error::DamagedPart::ChunkList, detail));
        }
        self.progress.advance(size);
        let kind = NodeKind::File { size, content };
        if let Some(link) = node.meta.link {
            self.links.insert(link, kind.clone());
        }
        Ok(kind)
    }
}

/// The bytes of a stored file, up to the next hole.
struct FileBytes<'a, 'b> {
    source: &'a mut Source<'b>,
    pieces: Pieces,
    buffer: Vec<u8>,
    position: usize,
    total: u64,
    /// The hole at which the stream has stopped.
    hole: Option<u64>,
    failed: Option<Error>,
}

impl FileBytes<'_, '_> {
    fn fill(&mut self) -> Result<()> {
        while self.position == self.buffer.len() && self.hole.is_none() {
            match self.source.next_piece(&mut self.pieces)? {
                None => return Ok(()),
                Some(Piece::Hole(len)) => {
                    self.total = self.total.saturating_add(len);
                    self.hole = Some(len);
                }
                Some(Piece::Chunk { id, .. }) => {
                    self.buffer.clear();
                    self.position = 0;
                    self.source.read_chunk(&id, &mut self.buffer)?;
                    self.total = self.total.saturating_add(self.buffer.len() as u64);
                }
            }
        }
        Ok(())
    }
}

impl Read for FileBytes<'_, '_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if let Err(error) = self.fill() {
            self.failed = Some(error);
            return Err(io::Error::other("the other repository cannot be read"));
        }
        let read = self.buffer.get(self.position..).unwrap_or_default().read(out)?;
        self.position += read;
        Ok(read)
    }
}
