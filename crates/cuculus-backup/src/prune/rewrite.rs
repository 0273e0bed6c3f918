//! What is in use in some packs, written anew to others. Knows groups: one that is in use as a
//! whole is moved as it is, since it is sealed for no place in particular; of the others the chunks
//! in use are compressed again.

use crate::error::{Error, Result};
use crate::id::Name;
use crate::index::Index;
use crate::pack::{Decompressor, Footer, FooterGroup, SealedGroup, read_footer};
use crate::repository::Repository;
use crate::sink::{Sink, Sort};
use crate::store::{Kind, Object};
use crate::watch::Watch;

use super::live::{Live, Places, Usage};

/// Chunks whose places are in memory at a time: some 8 MiB. Each time the index is read once.
const TOGETHER: usize = 1 << 20;

impl Repository {
    /// Writes what is in use in the packs to new ones, and enters it in the index.
    pub(super) fn rewrite(
        &self,
        index: &Index,
        live: &Live,
        packs: &[(Name, Usage)],
        watch: &dyn Watch,
    ) -> Result<Sink> {
        watch.phase("rewriting packs");
        watch.total(packs.len() as u64);
        let mut sink = self.sink()?;
        let mut open = Decompressor::new(&self.parameters)?;
        let mut rest = packs;
        while !rest.is_empty() {
            let mut chunks = 0;
            let fits = |(_, usage): &&(Name, Usage)| {
                let first = chunks == 0;
                chunks += usage.chunks;
                first || chunks <= TOGETHER
            };
            let count = rest.iter().take_while(fits).count();
            let (batch, later) = rest.split_at(count);
            let names: Vec<Name> = batch.iter().map(|(pack, _)| *pack).collect();
            let places = live.places(index, &names)?;
            for pack in &names {
                let sort = if live.has_trees(pack) { Sort::Tree } else { Sort::Data };
                let (footer, _) = read_footer(&*self.store, &self.keys, pack, index.pack(pack))?;
                if let Some(places) = places.get(pack) {
                    let object = self.store.open(Kind::Pack, pack)?;
                    let moved =
                        self.move_groups(&*object, footer, places, sort, &mut sink, &mut open);
                    moved.map_err(|error| match error {
                        Error::Damaged(what) => {
                            Error::damaged(format!("{} ({what})", Kind::Pack.describe(pack)))
                        }
                        other => other,
                    })?;
                }
                watch.advance(1);
            }
            rest = later;
        }
        sink.finish()?;
        Ok(sink)
    }

    fn move_groups(
        &self,
        pack: &dyn Object,
        footer: Footer,
        places: &Places,
        sort: Sort,
        sink: &mut Sink,
        open: &mut Decompressor,
    ) -> Result<()> {
        for FooterGroup { offset: start, len, chunks } in footer.groups {
            let in_use = |offset: u32| places.binary_search(&(start, offset)).is_ok();
            let mut next = 0u32;
            let mut kept = Vec::new();
            for &(id, len) in &chunks {
                if in_use(next) {
                    kept.push((id, next as usize, len as usize));
                }
                next = next.saturating_add(len);
            }
            if kept.is_empty() {
                continue;
            }
            let hurt = || Error::damaged(format!("the group at {start}"));
            let group = SealedGroup { bytes: pack.read_at(start.into(), len.into())?, chunks };
            if kept.len() == group.chunks.len() {
                if !group.is_sound(&self.keys) {
                    return Err(hurt());
                }
                sink.put_sealed(sort, group)?;
                continue;
            }
            let bytes = open.open(&self.keys, group.bytes).map_err(|_| hurt())?;
            for (id, offset, len) in kept {
                let chunk = bytes.get(offset..offset.saturating_add(len));
                let chunk = chunk.filter(|chunk| self.keys.chunk_id(chunk) == id);
                sink.put(sort, id, chunk.ok_or_else(hurt)?)?;
            }
        }
        Ok(())
    }
}
