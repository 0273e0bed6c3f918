//! Filters in files and bytes: the library's container, the same for the tool, the module and Rust. A file
//! is replaced as a whole or not at all.

use std::fs::{self, File};
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

use cuculus::{DecodeError, Kind, Note, Persist};
use pyo3::exceptions::PyFileNotFoundError;
use pyo3::prelude::*;

use crate::errors;

/// Loads a filter, and the note of the program that wrote it.
pub(crate) fn load<F: Persist>(path: &Path, wanted: Kind) -> PyResult<(F, Option<Note>)> {
    let file = File::open(path).map_err(|error| with_path(error, path))?;
    let mut reader = BufReader::with_capacity(1 << 20, file);
    read(&mut reader, wanted).map_err(|error| match error {
        DecodeError::Io(error) => with_path(error, path),
        error => errors::decode(error),
    })
}

pub(crate) fn from_bytes<F: Persist>(
    mut bytes: &[u8],
    wanted: Kind,
) -> PyResult<(F, Option<Note>)> {
    read(&mut bytes, wanted).map_err(errors::decode)
}

fn read<F: Persist>(
    reader: &mut impl Read,
    wanted: Kind,
) -> Result<(F, Option<Note>), DecodeError> {
    let mut prefix = Vec::new();
    reader.by_ref().take(Kind::PREFIX as u64).read_to_end(&mut prefix)?;
    let found = Kind::of_prefix(&prefix)?;
    if found != wanted {
        let (got, expected) = (found as u16, wanted as u16);
        return Err(DecodeError::Kind { got, expected });
    }
    let filter = F::read_from((&prefix[..]).chain(reader.by_ref()))?;
    let note = Note::read_from(reader.by_ref())?;
    let extra = std::io::copy(reader, &mut std::io::sink())?;
    if extra > 0 {
        return Err(DecodeError::TrailingBytes { extra });
    }
    Ok((filter, note))
}

/// Writes a file beside the old one, fsyncs it, and gives it the name.
pub(crate) fn save(
    path: &Path,
    note: Option<&Note>,
    write: impl FnOnce(&mut File) -> std::io::Result<()>,
) -> PyResult<()> {
    let path = &target(path);
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let replaced = || -> std::io::Result<()> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".cuculus-");
        // As `open` makes files, not for this user alone.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = builder.tempfile_in(directory)?;
        write(file.as_file_mut())?;
        if let Some(note) = note {
            note.write_to(file.as_file_mut())?;
        }
        file.as_file_mut().flush()?;
        if let Ok(old) = fs::metadata(path) {
            file.as_file().set_permissions(old.permissions())?;
        }
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        #[cfg(unix)]
        File::open(directory)?.sync_all()?;
        Ok(())
    };
    replaced().map_err(|error| with_path(error, path))
}

/// Where a link leads: the file is replaced, not the link.
fn target(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn with_path(error: std::io::Error, path: &Path) -> PyErr {
    match error.raw_os_error() {
        // Python chooses the class by the number: FileNotFoundError, PermissionError and so on.
        Some(number) => pyo3::exceptions::PyOSError::new_err((
            number,
            error.to_string(),
            path.as_os_str().to_owned(),
        )),
        None if error.kind() == std::io::ErrorKind::NotFound => {
            PyFileNotFoundError::new_err(format!("{}: {error}", path.display()))
        }
        None => error.into(),
    }
}
