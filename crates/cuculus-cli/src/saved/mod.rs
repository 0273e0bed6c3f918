//! Filters in files: loading a filter of any kind, and replacing a file atomically. Knows nothing of
//! keys.

mod any; // a filter of any kind
mod replace; // atomic replacement of a file
mod system; // locks and permissions

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};

pub(crate) use any::{AnyFilter, kind_name};
pub(crate) use replace::Replacement;

/// Loads a filter from a file and checks all of it.
pub(crate) fn load(path: &Path) -> Result<AnyFilter> {
    let file = File::open(path).with_context(|| replace::cannot_open(path))?;
    AnyFilter::read_from(file).with_context(|| path.display().to_string())
}
