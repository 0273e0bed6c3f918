//! Filters in files and bytes: the library's container, the same for the tool, the module and Rust. A file
//! is replaced as a whole or not at all.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use cuculus::{DecodeError, Kind, Note, Persist};
use cuculus_file::Replacement;
use pyo3::exceptions::{PyBlockingIOError, PyFileNotFoundError, PyIsADirectoryError, PyOSError};
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

/// Replaces a file by the filter that `write` writes, and its note.
pub(crate) fn save(
    path: &Path,
    note: Option<&Note>,
    write: impl FnOnce(&mut File) -> std::io::Result<()>,
) -> PyResult<()> {
    let replaced = Replacement::begin(path).and_then(|replacement| {
        replacement.commit(|file| {
            write(file)?;
            note.map_or(Ok(()), |note| note.write_to(file))
        })
    });
    replaced.map_err(|error| not_replaced(error, path))
}

fn not_replaced(error: cuculus_file::Error, path: &Path) -> PyErr {
    let message = error.to_string();
    match error {
        cuculus_file::Error::Busy { .. } => PyBlockingIOError::new_err(message),
        cuculus_file::Error::Dangling { .. } => PyFileNotFoundError::new_err(message),
        cuculus_file::Error::NotRegular { .. } if path.is_dir() => {
            PyIsADirectoryError::new_err(message)
        }
        cuculus_file::Error::System { error, .. } => of_system(&error, message, path),
        _ => PyOSError::new_err(message),
    }
}

fn with_path(error: std::io::Error, path: &Path) -> PyErr {
    of_system(&error, error.to_string(), path)
}

/// Python chooses the class by the number: FileNotFoundError, PermissionError and so on.
fn of_system(error: &std::io::Error, message: String, path: &Path) -> PyErr {
    match error.raw_os_error() {
        Some(number) => PyOSError::new_err((number, message, path.as_os_str().to_owned())),
        None => PyOSError::new_err(message),
    }
}
