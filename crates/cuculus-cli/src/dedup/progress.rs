//! How far a run has come, as the note of the state keeps it. Knows names and numbers, nothing of
//! filters.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::ngrams::Ngrams;
use crate::keys::shown;

/// A run of `dedup`, from its beginning to here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Progress {
    pub(super) inputs: Vec<Input>,
    pub(super) out: PathBuf,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ngrams: Option<Ngrams>,
    pub(super) is_done: bool,
    pub(super) at: Place,
    pub(super) totals: Totals,
}

/// An input, and its size when the run began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Input {
    pub(super) path: PathBuf,
    bytes: u64,
}

/// What is read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) input: usize,
    /// Bytes of the input, unpacked.
    pub(super) position: u64,
    pub(super) lines: u64,
    /// Bytes of its output, packed.
    pub(super) written: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Totals {
    pub(super) read: u64,
    pub(super) kept: u64,
    pub(super) without_key: u64,
    pub(super) bytes: u64,
    pub(super) mistakes: f64,
}

impl Progress {
    /// A run that begins.
    pub(super) fn new(paths: &[PathBuf], out: &Path, ngrams: Option<Ngrams>) -> Result<Self> {
        let mut inputs: Vec<Input> = Vec::new();
        for path in paths {
            let name = || format!("cannot read {}", shown(path));
            ensure!(
                path.as_os_str() != "-",
                "dedup reads files, which it can read again; name files"
            );
            let metadata = fs::metadata(path).with_context(name)?;
            ensure!(metadata.is_file(), "{}: it is not a regular file; name files", name());
            let same = inputs.iter().find(|other| other.path.file_name() == path.file_name());
            if let Some(other) = same {
                let (path, other) = (shown(path), shown(&other.path));
                anyhow::bail!("{path} and {other} would have the same output; rename one");
            }
            let path = std::path::absolute(path).with_context(name)?;
            inputs.push(Input { path, bytes: metadata.len() });
        }
        let out = std::path::absolute(out).context("cannot find the current directory")?;
        Ok(Self { inputs, out, ngrams, ..Self::default() })
    }

    /// Whether another run has the same inputs and output.
    pub(super) fn is_same_run(&self, other: &Self) -> bool {
        (&self.inputs, &self.out) == (&other.inputs, &other.out)
    }

    /// The file that the documents of an input are copied to.
    pub(super) fn output(&self, input: usize) -> PathBuf {
        let name = self.inputs.get(input).and_then(|input| input.path.file_name());
        self.out.join(name.unwrap_or_default())
    }
}
