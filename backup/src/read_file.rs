//! One file of a snapshot as a stream, and paths that match a pattern. Changes nothing.

use std::io::Write;
use std::path::Path;

use globset::GlobBuilder;

use crate::error::{Error, Result};
use crate::inspect::{ListEntry, listed};
use crate::repository::Repository;
use crate::snapshot::Snapshot;
use crate::source::{Part, Source};
use crate::tree::{self, NodeKind};

/// Zeros written for holes at once.
static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

impl Repository {
    /// Writes the bytes of one file of a snapshot to `out`.
    ///
    /// # Errors
    /// If there is no such file, something is damaged (what was written until then is right), or
    /// `out` cannot be written.
    pub fn dump(&self, snapshot: &Snapshot, path: &Path, out: &mut dyn Write) -> Result<u64> {
        let mut source = Source::new(self)?;
        let missing = || Error::PathNotFound { path: path.to_owned(), snapshot: snapshot.name };
        let bytes = path.as_os_str().as_encoded_bytes();
        let node = tree::resolve(&mut source.chunks, &snapshot.root, bytes)?.ok_or_else(missing)?;
        let NodeKind::File { size, content } = &node.kind else {
            return Err(Error::NotAFile { path: path.to_owned() });
        };
        let failed = |error| Error::io("cannot write to standard output")(error);
        source.read(content, *size, &mut |part| match part {
            Part::Bytes(bytes) => out.write_all(bytes).map_err(failed),
            Part::Hole(mut len) => {
                while len > 0 {
                    let some = usize::try_from(len).unwrap_or(usize::MAX).min(ZEROS.len());
                    out.write_all(&ZEROS[..some]).map_err(failed)?;
                    len -= some as u64;
                }
                Ok(())
            }
        })?;
        out.flush().map_err(failed)?;
        Ok(*size)
    }

    /// Passes every path of a snapshot that matches a pattern to `each`: a pattern without a slash
    /// matches names, one with a slash whole paths.
    ///
    /// # Errors
    /// If a pattern is not valid, a tree cannot be read, or `each` fails.
    pub fn find_paths(
        &self,
        snapshot: &Snapshot,
        patterns: &[String],
        each: &mut dyn FnMut(&ListEntry) -> Result<()>,
    ) -> Result<()> {
        let mut globs = Vec::new();
        for pattern in patterns {
            let glob = GlobBuilder::new(pattern).literal_separator(true).build();
            let glob = glob.map_err(|error| Error::InvalidPattern {
                pattern: pattern.clone(),
                reason: error.kind().to_string(),
            })?;
            globs.push((glob.compile_matcher(), pattern.contains('/')));
        }
        let mut chunks = self.chunks()?;
        tree::list(&mut chunks, &snapshot.root, &mut |path, node| {
            let found = globs.iter().any(|(glob, whole)| {
                let bytes = if *whole { path } else { &node.name };
                glob.is_match(Path::new(std::ffi::OsStr::new(&*String::from_utf8_lossy(bytes))))
            });
            if found { each(&listed(path, node)) } else { Ok(()) }
        })
    }
}
