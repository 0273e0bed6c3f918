//! Changes the tags of snapshots. A snapshot never changes: another one takes its place.

use crate::error::Result;
use crate::id::Name;
use crate::intent::{Announcement, Work};
use crate::repository::Repository;
use crate::snapshot::Snapshot;

/// What to do with the tags of a snapshot, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagChange {
    /// Replace all tags by these.
    pub set: Option<Vec<String>>,
    /// Remove these.
    pub remove: Vec<String>,
    /// Add these.
    pub add: Vec<String>,
}

impl TagChange {
    fn apply(&self, tags: &[String]) -> Vec<String> {
        let mut tags = self.set.clone().unwrap_or_else(|| tags.to_vec());
        tags.retain(|tag| !self.remove.contains(tag));
        for tag in &self.add {
            if !tags.contains(tag) {
                tags.push(tag.clone());
            }
        }
        tags
    }
}

impl Repository {
    /// Changes the tags of these snapshots; returns the new snapshots, with the names of those that
    /// they replace. One whose tags stay the same is left as it is.
    ///
    /// # Errors
    /// If a snapshot cannot be read or written. Each snapshot has then its old or its new tags.
    pub fn change_tags(
        &self,
        snapshots: &[Snapshot],
        change: &TagChange,
    ) -> Result<Vec<(Name, Snapshot)>> {
        // As a backup does: a prune that lists snapshots at this moment sees the old one or the new
        // one, or waits and looks again.
        let announcement = Announcement::new(&self.store, &self.keys, Work::Backup)?;
        let mut changed = Vec::new();
        for old in snapshots {
            let tags = change.apply(&old.tags);
            if tags == old.tags {
                continue;
            }
            // It may have been forgotten since it was listed, and its chunks pruned.
            Snapshot::load(&*self.store, &self.keys, &old.name)?;
            let new = Snapshot { name: Name::random()?, tags, ..old.clone() };
            self.commit(&new, &announcement)?;
            self.remove_snapshots(&[old.name])?;
            changed.push((old.name, new));
        }
        Ok(changed)
    }
}
