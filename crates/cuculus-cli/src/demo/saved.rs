//! A filter in a file: written, read again, and found to be the same.

use std::fs::File;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use cuculus::{CuckooFilter, Filter, Persist};
use serde::Serialize;

use super::keys::inserted;
use crate::progress::Progress;

/// What came out.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Saved {
    pub(super) keys: usize,
    pub(super) file_bytes: u64,
    pub(super) write_seconds: f64,
    pub(super) read_seconds: f64,
    pub(super) same_bytes: bool,
    pub(super) false_negatives: u64,
}

/// The keys that are looked up again, for the progress display.
pub(super) fn units(items: u64) -> u64 {
    items / 2
}

/// Saves the half-emptied filter in a temporary directory, which is gone afterwards.
pub(super) fn stage(filter: &CuckooFilter, items: u64, progress: &Progress) -> Result<Saved> {
    progress.part("saving and loading".into());
    let directory = tempfile::tempdir()
        .context("cannot make a temporary directory; set TMPDIR to one that can be written")?;
    let path = directory.path().join("demo.cuculus");
    let at = || format!("cannot save and load {}", path.display());

    let start = Instant::now();
    let mut file = File::create(&path).with_context(at)?;
    filter.write_to(&mut file).with_context(at)?;
    let write_seconds = start.elapsed().as_secs_f64();

    let start = Instant::now();
    let loaded = CuckooFilter::read_from(File::open(&path).with_context(at)?).with_context(at)?;
    let read_seconds = start.elapsed().as_secs_f64();

    let same_bytes = loaded.to_bytes() == filter.to_bytes();
    let rest = (0..items / 2).map(|i| inserted(2 * i + 1));
    let false_negatives = rest.filter(|key| !loaded.contains(key)).count() as u64;
    progress.advance(units(items));
    ensure!(
        same_bytes && false_negatives == 0,
        "a filter was not the same after saving and loading; please report this defect"
    );
    let file_bytes = path.metadata().with_context(at)?.len();
    let keys = loaded.len();
    Ok(Saved { keys, file_bytes, write_seconds, read_seconds, same_bytes, false_negatives })
}
