//! The names of one directory, sorted. A directory may have millions: one buffer holds them all, and
//! a name costs four bytes besides its own.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

#[derive(Default)]
pub(super) struct Names {
    /// Every name with a zero byte after it, which no name contains.
    bytes: Vec<u8>,
    starts: Vec<u32>,
    /// Names beyond four gigabytes of names.
    rest: Vec<Vec<u8>>,
}

impl Names {
    pub(super) fn push(&mut self, name: &OsStr) {
        match u32::try_from(self.bytes.len()) {
            Ok(start) => {
                self.starts.push(start);
                self.bytes.extend_from_slice(name.as_bytes());
                self.bytes.push(0);
            }
            Err(_) => self.rest.push(name.as_bytes().to_vec()),
        }
    }

    pub(super) fn sort(&mut self) {
        let bytes = &self.bytes;
        self.starts.sort_unstable_by(|a, b| at(bytes, *a).cmp(at(bytes, *b)));
        self.rest.sort_unstable();
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &OsStr> {
        let mut rest = self.rest.iter().map(Vec::as_slice).peekable();
        let mut starts = self.starts.iter().map(|start| at(&self.bytes, *start)).peekable();
        std::iter::from_fn(move || match (starts.peek(), rest.peek()) {
            (Some(one), Some(other)) if other < one => rest.next(),
            (Some(_), _) => starts.next(),
            (None, _) => rest.next(),
        })
        .map(OsStr::from_bytes)
    }
}

fn at(bytes: &[u8], start: u32) -> &[u8] {
    let rest = bytes.get(start as usize..).unwrap_or_default();
    rest.split(|&byte| byte == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_in_order() {
        let mut names = Names::default();
        for name in ["b", "", "abc", "ab", "\u{fc}", "a b", "B"] {
            names.push(OsStr::new(name));
        }
        names.rest = ["aa", "zz"].map(|name| name.as_bytes().to_vec()).to_vec();
        names.sort();
        let sorted: Vec<&OsStr> = names.iter().collect();
        assert_eq!(sorted, ["", "B", "a b", "aa", "ab", "abc", "b", "zz", "\u{fc}"]);
    }
}
