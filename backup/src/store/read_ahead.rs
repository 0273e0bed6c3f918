//! Sequential reads over a network. Knows that a request takes as long as transferring a megabyte, so
//! whoever reads on gets more than requested.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::error::Result;

/// Bytes fetched ahead by sequential reads.
const READ_AHEAD: u64 = 1 << 20;

/// Bytes of one object that were fetched ahead.
#[derive(Default)]
pub(super) struct ReadAhead(Mutex<Window>);

/// The bytes, and where the last read ended.
#[derive(Default)]
struct Window {
    start: u64,
    bytes: Vec<u8>,
    next: Option<u64>,
}

impl Window {
    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    fn get(&self, range: &Range<u64>) -> Option<&[u8]> {
        let from = usize::try_from(range.start.checked_sub(self.start)?).ok()?;
        let len = usize::try_from(range.end - range.start).ok()?;
        self.bytes.get(from..from.checked_add(len)?)
    }
}

impl ReadAhead {
    /// Exactly these bytes of an object of `size` bytes; `None` if it does not have them.
    pub(super) fn read(
        &self,
        size: u64,
        offset: u64,
        len: u64,
        fetch: impl FnOnce(Range<u64>) -> Result<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>> {
        let Some(end) = offset.checked_add(len).filter(|end| *end <= size) else {
            return Ok(None);
        };
        if len == 0 {
            return Ok(Some(Vec::new()));
        }
        let wanted = offset..end;
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let reads_on = window.next.replace(end) == Some(offset);
        if let Some(bytes) = window.get(&wanted) {
            let bytes = bytes.to_vec();
            // Many packs may be open, but few are read at a time.
            if window.end() == end {
                window.bytes = Vec::new();
            }
            return Ok(Some(bytes));
        }
        let ahead = if reads_on { READ_AHEAD } else { 0 };
        let range = offset..end.max((offset + ahead).min(size));
        let bytes = fetch(range.clone())?;
        if bytes.len() as u64 != range.end - range.start {
            return Ok(None);
        }
        if range != wanted {
            *window = Window { start: offset, bytes, next: Some(end) };
            return Ok(window.get(&wanted).map(<[u8]>::to_vec));
        }
        window.bytes = Vec::new();
        Ok(Some(bytes))
    }
}
