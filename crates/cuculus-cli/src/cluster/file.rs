//! The parts of a set in one file (FORMAT.md, "Sets in parts"). Knows the bytes; nothing of clusters.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use cuculus::{ElasticFilter, Kind, Partition, Persist};

use super::set::Parameters;
use crate::keys::shown;
use crate::saved::{Replacement, not_a_pipe};

const VERSION: u16 = 1;

/// A file that is being written, beside its final name until it is whole.
pub(super) struct Writing(Replacement);

impl Writing {
    pub(super) fn begin(path: &Path, force: bool) -> Result<Self> {
        Ok(Self(Replacement::of_new(path, force)?))
    }

    /// What comes before the parts.
    pub(super) fn header(&mut self, parameters: &Parameters) -> Result<()> {
        let mut header = Partition::MAGIC.to_vec();
        header.extend(VERSION.to_le_bytes());
        header.extend((parameters.bits as u16).to_le_bytes());
        header.extend(parameters.capacity.to_le_bytes());
        header.extend(parameters.rate.to_bits().to_le_bytes());
        header.extend(parameters.seed.to_le_bytes());
        self.0.append(&header)
    }

    pub(super) fn part(&mut self, filter: &ElasticFilter) -> Result<()> {
        let mut bytes = Vec::new();
        filter.write_to(&mut bytes)?;
        self.0.append(&(bytes.len() as u64).to_le_bytes())?;
        self.0.append(&bytes)
    }

    pub(super) fn end(self) -> Result<()> {
        self.0.commit(|_| Ok(()))
    }
}

/// A file that is being read, part by part.
pub(super) struct Reading {
    pub(super) parameters: Parameters,
    file: BufReader<File>,
    left: usize,
}

impl Reading {
    pub(super) fn open(path: &Path) -> Result<Self> {
        not_a_pipe(path)?;
        let file = File::open(path).with_context(|| format!("cannot read {}", shown(path)))?;
        let mut file = BufReader::with_capacity(1 << 20, file);
        let mut header = [0; 32];
        file.read_exact(&mut header).with_context(|| format!("{} is too short", shown(path)))?;
        if header[..8] != Partition::MAGIC {
            let found = if header[..8] == Kind::MAGIC {
                "a filter"
            } else {
                "a file with unrecognised magic bytes"
            };
            bail!(
                "{} is {found}, not a set in parts; `cuculus cluster build` makes one of lines",
                shown(path)
            );
        }
        let short = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
        let long = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&header[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        ensure!(short(8) == VERSION, "{} is of version {}; update cuculus", shown(path), short(8));
        let capacity = (long(8) >> 32) as u32;
        let (rate, seed) = (f64::from_bits(long(16)), long(24));
        let parameters = Parameters { bits: short(10).into(), rate, capacity, seed };
        let left = parameters.partition()?.parts();
        Ok(Self { parameters, file, left })
    }

    /// The next part and its bytes; `None` after the last.
    pub(super) fn part(&mut self) -> Result<Option<Vec<u8>>> {
        let Some(left) = self.left.checked_sub(1) else {
            ensure!(self.file.read(&mut [0])? == 0, "there are bytes after the last part");
            return Ok(None);
        };
        self.left = left;
        let mut len = [0; 8];
        self.file.read_exact(&mut len).context("the file ends too early")?;
        let (len, mut bytes) = (u64::from_le_bytes(len), Vec::new());
        self.file.by_ref().take(len).read_to_end(&mut bytes)?;
        ensure!(bytes.len() as u64 == len, "the file ends too early");
        let mut rest = bytes.as_slice();
        let filter = ElasticFilter::read_from(&mut rest).context("a part is damaged")?;
        ensure!(rest.is_empty(), "there are bytes after a part");
        let is_described = self.parameters.builder().describes(&filter);
        ensure!(is_described, "a part is not of the set that the file describes");
        Ok(Some(bytes))
    }
}
