//! Which snapshots a command is about. Knows hosts, tags and paths; nothing of trees.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::repository::Repository;
use crate::snapshot::{self, Snapshot};

/// Chooses snapshots; the default chooses all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotFilter {
    /// One of these hosts, if there are any.
    pub hosts: Vec<String>,
    /// All tags of one of these lists, if there are any.
    pub tags: Vec<Vec<String>>,
    /// All of these paths were backed up.
    pub paths: Vec<PathBuf>,
}

impl SnapshotFilter {
    /// Whether a snapshot is chosen.
    pub(crate) fn matches(&self, snapshot: &Snapshot) -> bool {
        let has_tags = |tags: &Vec<String>| tags.iter().all(|tag| snapshot.tags.contains(tag));
        let has_path = |path: &PathBuf| {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            snapshot.paths.iter().any(|saved| saved == path.as_os_str().as_bytes())
        };
        (self.hosts.is_empty() || self.hosts.contains(&snapshot.host))
            && (self.tags.is_empty() || self.tags.iter().any(has_tags))
            && self.paths.iter().all(has_path)
    }
}

impl Repository {
    /// The snapshots that a filter chooses, oldest first.
    ///
    /// # Errors
    /// If one cannot be read.
    pub fn snapshots_where(&self, filter: &SnapshotFilter) -> Result<Vec<Snapshot>> {
        let mut snapshots = self.snapshots()?;
        snapshots.retain(|snapshot| filter.matches(snapshot));
        Ok(snapshots)
    }

    /// The snapshot whose name begins with `word`, or for `latest` the newest that the filter
    /// chooses.
    ///
    /// # Errors
    /// If no snapshot matches, or several do.
    pub fn snapshot_where(&self, word: &str, filter: &SnapshotFilter) -> Result<Snapshot> {
        let mut snapshots = self.snapshots()?;
        if word == snapshot::LATEST {
            let any = !snapshots.is_empty();
            snapshots.retain(|snapshot| filter.matches(snapshot));
            let newest = snapshots.pop();
            return newest.ok_or(if any { Error::NoMatchingSnapshot } else { Error::NoSnapshots });
        }
        snapshot::choose(&snapshots, word).cloned()
    }
}
