//! The inputs of a command: files or standard input, in order, and their total size. Knows nothing
//! of lines.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use cuculus_file::shown;

use super::packed::{self, Packing};

/// The inputs of a command: files, or standard input.
#[derive(Clone)]
pub(crate) struct Inputs {
    paths: Vec<PathBuf>,
    /// The total size in bytes, if all are regular files that are not compressed.
    pub(crate) size: Option<u64>,
}

impl Inputs {
    /// These files, or standard input if there are none; `-` is standard input too. A missing file
    /// is an error here, before any work is done.
    pub(crate) fn new(files: &[PathBuf]) -> Result<Self> {
        let paths = if files.is_empty() { vec![PathBuf::from("-")] } else { files.to_vec() };
        let mut size = Some(0u64);
        for path in &paths {
            let metadata = if is_standard_input(path) {
                standard_input_metadata()
            } else {
                Some(fs::metadata(path).with_context(|| cannot_read(path))?)
            };
            if metadata.as_ref().is_some_and(fs::Metadata::is_dir) {
                bail!("{}: it is a directory; name files", cannot_read(path));
            }
            let bytes = metadata.filter(fs::Metadata::is_file).map(|metadata| metadata.len());
            let is_plain = is_standard_input(path)
                || bytes.is_none()
                || packing_of(path).with_context(|| cannot_read(path))? == Packing::Plain;
            let bytes = bytes.filter(|_| is_plain);
            size = size.zip(bytes).map(|(sum, bytes)| sum.saturating_add(bytes));
        }
        Ok(Self { paths, size })
    }

    pub(super) fn len(&self) -> usize {
        self.paths.len()
    }

    /// The name of an input in error messages.
    fn name(&self, input: usize) -> String {
        match self.paths.get(input) {
            Some(path) if !is_standard_input(path) => shown(path),
            _ => "standard input".to_owned(),
        }
    }

    pub(super) fn open(&self, input: usize) -> Result<Input> {
        let name: Arc<str> = self.name(input).into();
        let (reader, is_regular): (Box<dyn Read + Send>, bool) = match self.paths.get(input) {
            Some(path) if !is_standard_input(path) => {
                let file = File::open(path).with_context(|| cannot_read(path))?;
                let is_regular = file.metadata().is_ok_and(|metadata| metadata.is_file());
                (Box::new(file), is_regular)
            }
            _ => {
                let metadata = standard_input_metadata();
                (standard_input(), metadata.is_some_and(|metadata| metadata.is_file()))
            }
        };
        let (_, reader) =
            packed::unpacked(reader).with_context(|| format!("cannot read {name}"))?;
        Ok(Input { name, reader, is_regular })
    }
}

/// How a regular file is packed.
pub(crate) fn packing_of(path: &Path) -> io::Result<Packing> {
    Ok(packed::unpacked(File::open(path)?)?.0)
}

/// An input that is open.
pub(super) struct Input {
    pub(super) name: Arc<str>,
    pub(super) reader: Box<dyn Read + Send>,
    /// Whether it is a regular file, so that waiting for a full block delays nothing.
    pub(super) is_regular: bool,
}

impl Input {
    /// Leaves out bytes; returns how many there were.
    pub(super) fn skip(&mut self, bytes: u64) -> io::Result<u64> {
        io::copy(&mut self.reader.by_ref().take(bytes), &mut io::sink())
    }
}

fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn cannot_read(path: &Path) -> String {
    format!("cannot read {}", shown(path))
}

/// Standard input as a file: reads are large, and the buffer of `Stdin` would copy them.
#[cfg(unix)]
fn standard_input_file() -> Option<File> {
    use std::os::fd::AsFd;
    io::stdin().as_fd().try_clone_to_owned().ok().map(File::from)
}

#[cfg(not(unix))]
fn standard_input_file() -> Option<File> {
    None
}

fn standard_input() -> Box<dyn Read + Send> {
    match standard_input_file() {
        Some(file) => Box::new(file),
        None => Box::new(io::stdin()),
    }
}

fn standard_input_metadata() -> Option<fs::Metadata> {
    standard_input_file()?.metadata().ok()
}
