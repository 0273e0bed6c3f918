//! A backup of what another repository holds: the writing half of a copy. Knows how a backup begins
//! and ends; nothing of where the bytes come from.

use super::saver::Saver;
use super::writing::TreeWriter;
use crate::error::Result;
use crate::intent::{Announcement, Work};
use crate::lookup::LookupSettings;
use crate::progress::Progress;
use crate::repository::Repository;
use crate::sink::Purpose;
use crate::snapshot::Snapshot;

pub(crate) struct Copying {
    announcement: Announcement,
    pub(crate) tree: TreeWriter,
}

impl Repository {
    pub(crate) fn begin_copy(&self, progress: &dyn Progress) -> Result<Copying> {
        let announcement = Announcement::new(&self.store, &self.keys, Work::Backup)?;
        let (lookup, _) = self.begin_lookups(&LookupSettings::default(), progress)?;
        let saver = Saver::new(lookup, Some(self.sink(Purpose::NewChunks)?), &self.parameters);
        Ok(Copying { announcement, tree: TreeWriter::new(self, saver) })
    }
}

impl Copying {
    /// Ends as a backup does; returns the size of new chunks, and what was written for them.
    pub(crate) fn commit(self, repository: &Repository, snapshot: &Snapshot) -> Result<(u64, u64)> {
        let new = self.tree.saver.new_bytes;
        let (mut lookup, written) = self.tree.saver.finish()?;
        repository.confirm_packs(&written.packs)?;
        repository.commit(snapshot, &self.announcement)?;
        drop(self.announcement);
        repository.merge_runs(&mut lookup.index)?;
        Ok((new, written.bytes))
    }
}
