//! Filters in files: loading one of any kind, and replacing a file so that there is always a whole
//! one. Knows nothing of keys.

mod any; // a filter of any kind
mod replace; // a new file in place of the old one, or nothing
mod system; // locks and permissions, where the system has them

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};

pub(crate) use any::{AnyFilter, kind_name};
pub(crate) use replace::Replacement;

/// The filter in a file, checked in full.
pub(crate) fn load(path: &Path) -> Result<AnyFilter> {
    let file = File::open(path).with_context(|| replace::cannot_open(path))?;
    AnyFilter::read_from(file).with_context(|| path.display().to_string())
}
