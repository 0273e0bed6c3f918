//! Writes a pack: groups as they come, then the footer. Knows nothing of chunks' contents.

use std::io::{self, Write};

use super::footer::{self, Footer, FooterGroup, TRAILER_MAGIC};
use super::{PackInfo, SealedGroup, SealedGroups};
use crate::error::{Error, Result};
use crate::id::Name;
use crate::seal::Keys;
use crate::store::{Draft, ObjectKind, Store};

pub(crate) const MAGIC: [u8; 8] = *b"CUCPACK1";

/// A pack of tiny files is finished with this many groups: its footer is in memory, with some hundred
/// bytes for each.
const MAX_GROUPS: usize = 32 * 1024;

/// Takes groups until it is finished. Dropped before that, it leaves nothing behind.
pub(crate) struct PackWriter {
    name: Name,
    draft: Box<dyn Draft>,
    size: u64,
    footer: Footer,
}

impl PackWriter {
    /// `is_read_soon`: whether its bytes belong in the system's cache of files.
    pub(crate) fn new(store: &dyn Store, is_read_soon: bool) -> Result<Self> {
        let name = Name::random()?;
        let mut draft = store.draft(ObjectKind::Pack, &name)?;
        if !is_read_soon {
            draft.bypass_cache();
        }
        let mut writer = Self { name, draft, size: 0, footer: Footer::default() };
        writer.write(&MAGIC)?;
        Ok(writer)
    }

    fn failed(&self, error: io::Error) -> Error {
        Error::io(format!("cannot write {}", ObjectKind::Pack.describe(&self.name)))(error)
    }

    /// Offsets and lengths have four bytes; no valid parameters lead here.
    fn too_large(&self) -> Error {
        self.failed(io::ErrorKind::FileTooLarge.into())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.draft.write_all(bytes).map_err(|error| self.failed(error))?;
        self.size += bytes.len() as u64;
        Ok(())
    }

    /// Whether it has this size, or its footer as many groups as a footer should.
    pub(crate) fn is_full(&self, size: u64) -> bool {
        self.size >= size || self.footer.groups.len() >= MAX_GROUPS
    }

    pub(crate) fn add(&mut self, sealed: SealedGroups) -> Result<()> {
        // Groups that follow each other are written at once.
        let mut written = 0..0;
        for SealedGroup { start, len, mut chunks } in sealed.groups {
            if start != written.end {
                self.write(sealed.bytes.get(written).unwrap_or_default())?;
                written = start..start;
            }
            let offset = self.size + written.len() as u64;
            let offset = u32::try_from(offset).map_err(|_| self.too_large())?;
            written.end += len as usize;
            // Most groups of small files have one chunk, and room for four.
            chunks.shrink_to_fit();
            self.footer.groups.push(FooterGroup { offset, len, chunks });
        }
        self.write(sealed.bytes.get(written).unwrap_or_default())
    }

    pub(crate) fn finish(mut self, keys: &Keys) -> Result<(PackInfo, Footer)> {
        let mut sealed = Vec::new();
        keys.seal.seal(&footer::place(&self.name), &self.footer.encode(), &mut sealed)?;
        let footer_len = u32::try_from(sealed.len()).map_err(|_| self.too_large())?;
        sealed.extend_from_slice(&footer_len.to_le_bytes());
        sealed.extend_from_slice(&TRAILER_MAGIC);
        self.write(&sealed)?;
        self.draft.keep()?;
        Ok((PackInfo { name: self.name, size: self.size, footer_len }, self.footer))
    }
}
