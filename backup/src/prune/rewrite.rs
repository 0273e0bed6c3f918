//! Moves what is in use from some packs to others. A group that is wholly in use is copied as it
//! is, since its seal does not depend on the pack; of other groups, the chunks in use are
//! compressed again.

use crate::error::{Error, Result};
use crate::id::{ChunkId, Name};
use crate::index::Index;
use crate::pack::{self, Decompressor, FooterGroup, PackInfo, SealedGroup, SealedGroups};
use crate::progress::Progress;
use crate::repository::Repository;
use crate::sink::{ChunkKind, Purpose, Sink};
use crate::store::ObjectKind;

use super::live::{Live, Offsets, Usage};

/// Chunks whose locations are held in memory together: about 8 MiB. Each batch reads the index
/// once.
const BATCH_SIZE: usize = 1 << 20;
const READ_SIZE: u64 = 512 << 10;
/// Bytes between two groups that are read with them: less work than another read, and another message
/// to the thread that writes.
const MAX_GAP: u64 = 64 << 10;

impl Repository {
    pub(super) fn rewrite(
        &self,
        index: &Index,
        live: &Live,
        packs: &[(Name, Usage)],
        progress: &dyn Progress,
    ) -> Result<Sink> {
        progress.phase("rewriting packs", Some(packs.len() as u64));
        let mut sink = self.sink(Purpose::MovedChunks)?;
        let mut open = Decompressor::new(&self.parameters)?;
        let mut rest = packs;
        while !rest.is_empty() {
            let mut chunks = 0;
            let fits = |(_, usage): &&(Name, Usage)| {
                let first = chunks == 0;
                chunks += usage.chunks;
                first || chunks <= BATCH_SIZE
            };
            let count = rest.iter().take_while(fits).count();
            let (batch, later) = rest.split_at(count);
            let names: Vec<Name> = batch.iter().map(|(pack, _)| *pack).collect();
            let places = live.places(index, &names)?;
            for pack in &names {
                let kind = if live.has_trees(pack) { ChunkKind::Tree } else { ChunkKind::Data };
                if let Some(live) = places.get(pack) {
                    self.move_groups(pack, index.pack(pack), live, kind, &mut sink, &mut open)?;
                }
                progress.advance(1);
            }
            rest = later;
        }
        sink.finish()?;
        Ok(sink)
    }

    fn move_groups(
        &self,
        pack: &Name,
        info: Option<&PackInfo>,
        live: &Offsets,
        kind: ChunkKind,
        sink: &mut Sink,
        open: &mut Decompressor,
    ) -> Result<()> {
        let (footer, _) = pack::read_footer(&*self.store, &self.keys, pack, info)?;
        let object = self.store.open(ObjectKind::Pack, pack)?;
        let damaged = |offset: u32| {
            let detail = format!("the group at offset {offset}");
            Error::damaged(ObjectKind::Pack, pack).with_detail(detail)
        };
        let groups = footer.groups.into_iter().filter_map(|group| Kept::of(group, live));
        let mut groups = groups.peekable();
        let mut stretch = Vec::new();
        while let Some(first) = groups.next() {
            let start = u64::from(first.group.offset);
            let mut end = first.end();
            stretch.push(first);
            while let Some(next) = groups.next_if(|next| {
                let gap = u64::from(next.group.offset).checked_sub(end);
                gap.is_some_and(|gap| gap <= MAX_GAP) && next.end() - start <= READ_SIZE
            }) {
                end = next.end();
                stretch.push(next);
            }
            let bytes = object.read_at(start, end - start)?;
            let mut whole = Vec::new();
            for Kept { group: FooterGroup { offset, len, chunks }, kept } in stretch.drain(..) {
                let at = (u64::from(offset) - start) as usize;
                let sealed = bytes.get(at..at + len as usize).ok_or_else(|| damaged(offset))?;
                if kept.len() == chunks.len() {
                    if !pack::is_sound(&self.keys, sealed) {
                        return Err(damaged(offset));
                    }
                    whole.push(SealedGroup { start: at, len, chunks });
                    continue;
                }
                let opened = open.open(&self.keys, sealed.to_vec()).map_err(|_| damaged(offset))?;
                for (id, at, len) in kept {
                    let chunk = opened.get(at..at.saturating_add(len));
                    let chunk = chunk.filter(|chunk| self.keys.chunk_id(chunk) == id);
                    sink.put(kind, id, chunk.ok_or_else(|| damaged(offset))?)?;
                }
                // Groups of different files stay apart.
                sink.end_stream(kind);
            }
            if !whole.is_empty() {
                sink.put_sealed(kind, SealedGroups { bytes, groups: whole })?;
            }
        }
        Ok(())
    }
}

struct Kept {
    group: FooterGroup,
    /// Each of them with its offset in the group and its length.
    kept: Vec<(ChunkId, usize, usize)>,
}

impl Kept {
    fn of(group: FooterGroup, live: &Offsets) -> Option<Self> {
        let mut next = 0u32;
        let mut kept = Vec::new();
        for &(id, len) in &group.chunks {
            if live.binary_search(&(group.offset, next)).is_ok() {
                kept.push((id, next as usize, len as usize));
            }
            next = next.saturating_add(len);
        }
        (!kept.is_empty()).then_some(Self { group, kept })
    }

    fn end(&self) -> u64 {
        u64::from(self.group.offset) + u64::from(self.group.len)
    }
}
