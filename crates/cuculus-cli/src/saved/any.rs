//! A filter of any kind, as files hold them: loading, saving, and which operations each kind has.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};

use anyhow::{Result, anyhow};
use cuculus::{
    CuckooFilter, CuckooMaplet, DecodeError, ElasticFilter, Filter, Insert, Kind, Note, Persist,
    Remove,
};

use super::note::FileNote;

/// Size of the write buffer in bytes.
const WRITE_BUFFER: usize = 1 << 20;

pub(crate) enum AnyFilter {
    Cuckoo(CuckooFilter),
    Maplet(CuckooMaplet),
    Elastic(ElasticFilter),
}

/// Binds the filter, whatever its type.
macro_rules! with_filter {
    ($any:expr, $filter:ident => $body:expr) => {
        match $any {
            AnyFilter::Cuckoo($filter) => $body,
            AnyFilter::Maplet($filter) => $body,
            AnyFilter::Elastic($filter) => $body,
        }
    };
}

const HOLDS_VALUES: &str = "a cuckoo maplet has a value with each key and cannot be changed by this tool; use the \
                            library";

/// Binds a filter that inserts and removes keys; a maplet needs a value with each.
macro_rules! with_set {
    ($any:expr, $filter:ident => $body:expr) => {
        match $any {
            AnyFilter::Cuckoo($filter) => Ok($body),
            AnyFilter::Maplet(_) => Err(anyhow!(HOLDS_VALUES)),
            AnyFilter::Elastic($filter) => Ok($body),
        }
    };
}

impl AnyFilter {
    /// Reads a filter and its note, if it has one; other bytes after its end are an error.
    pub(crate) fn read_from(mut reader: impl Read) -> Result<(Self, Option<Note>), DecodeError> {
        let mut prefix = Vec::with_capacity(Kind::PREFIX);
        reader.by_ref().take(Kind::PREFIX as u64).read_to_end(&mut prefix)?;
        let kind = Kind::of_prefix(&prefix)?;
        let mut whole = prefix.chain(&mut reader);
        let filter = match kind {
            Kind::Cuckoo => Self::Cuckoo(Persist::read_from(&mut whole)?),
            Kind::Maplet => Self::Maplet(Persist::read_from(&mut whole)?),
            Kind::Elastic => Self::Elastic(Persist::read_from(&mut whole)?),
            // A kind that the library knows but this program does not.
            other => return Err(DecodeError::Kind { got: other as u16, expected: 3 }),
        };
        let note = Note::read_from(&mut whole)?;
        match io::copy(&mut whole, &mut io::sink())? {
            0 => Ok((filter, note)),
            extra => Err(DecodeError::TrailingBytes { extra }),
        }
    }

    /// Writes the filter, and the note if there is something to note.
    pub(super) fn write_to(&self, file: &mut File, note: &FileNote) -> io::Result<()> {
        // An elastic filter writes thousands of small parts.
        let mut writer = BufWriter::with_capacity(WRITE_BUFFER, file);
        with_filter!(self, filter => filter.write_to(&mut writer))?;
        if *note != FileNote::default() {
            Note::new(note.to_bytes()).write_to(&mut writer)?;
        }
        writer.flush()
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Cuckoo(_) => Kind::Cuckoo,
            Self::Maplet(_) => Kind::Maplet,
            Self::Elastic(_) => Kind::Elastic,
        }
    }

    pub(crate) fn as_filter(&self) -> &dyn Filter {
        with_filter!(self, filter => filter)
    }

    /// The filter as one that inserts keys, if it can.
    pub(crate) fn as_insert(&mut self) -> Result<&mut dyn Insert> {
        with_set!(self, filter => filter)
    }

    /// The filter as one that removes keys, if it can.
    pub(crate) fn as_remove(&mut self) -> Result<&mut dyn Remove> {
        with_set!(self, filter => filter)
    }
}

/// The name of a kind.
pub(crate) fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Cuckoo => "cuckoo filter",
        Kind::Maplet => "cuckoo maplet",
        Kind::Elastic => "elastic filter",
        _ => "filter of a newer kind",
    }
}
