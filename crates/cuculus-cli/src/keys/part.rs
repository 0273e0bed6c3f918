//! The part of a line that is its key: all of it, some of its fields, or a value in a JSON document.
//! Knows bytes, nothing of hashes.

use std::borrow::Cow;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::json::Pointer;

/// Which part of a line is the key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Part {
    #[default]
    Line,
    /// Fields between delimiters, as `cut -f`.
    Fields { fields: Fields, delimiter: char },
    /// A value in a JSON document.
    Json(Pointer),
}

impl Part {
    /// The key of a line, `None` for a JSON document without such a value, or why the line is no document.
    pub(super) fn of<'a>(&self, line: &'a [u8]) -> Result<Option<Cow<'a, [u8]>>, String> {
        match self {
            Self::Line => Ok(Some(line.into())),
            Self::Fields { fields, delimiter } => Ok(Some(fields.of(line, *delimiter))),
            Self::Json(pointer) => pointer.find(line),
        }
    }
}

/// A list of fields as `cut` takes it: `2`, `1,3`, `2-4`, `3-`, `-2`. Counted from 1; printed in the
/// order of the line, each once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Fields {
    typed: String,
    /// First and last, sorted.
    ranges: Vec<(usize, usize)>,
}

impl Fields {
    fn contains(&self, field: usize) -> bool {
        self.ranges.iter().any(|&(first, last)| (first..=last).contains(&field))
    }

    /// The chosen fields, with delimiters between them. A line without a delimiter is all key, as
    /// with `cut`.
    fn of<'a>(&self, line: &'a [u8], delimiter: char) -> Cow<'a, [u8]> {
        let mut buffer = [0; 4];
        let delimiter = delimiter.encode_utf8(&mut buffer).as_bytes();
        let mut ends = memchr::memmem::find_iter(line, delimiter).peekable();
        if ends.peek().is_none() {
            return line.into();
        }
        let ends = ends.chain([line.len()]);
        let mut start = 0;
        let mut chosen: Option<Cow<'a, [u8]>> = None;
        for (number, end) in (1..).zip(ends) {
            let field = line.get(start..end).unwrap_or_default();
            start = end + delimiter.len();
            if !self.contains(number) {
                continue;
            }
            chosen = Some(match chosen {
                None => field.into(),
                Some(before) => [&before, delimiter, field].concat().into(),
            });
        }
        chosen.unwrap_or_default()
    }
}

impl FromStr for Fields {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "expected fields counted from 1, such as 2, 1,3 or 2-4".to_owned();
        let number = |text: &str| {
            let number = text.parse::<usize>().ok().filter(|&number| number > 0);
            number.filter(|_| text.bytes().all(|byte| byte.is_ascii_digit())).ok_or_else(expected)
        };
        let mut ranges = Vec::new();
        for item in text.split(',') {
            let range = match item.split_once('-') {
                None => (number(item)?, number(item)?),
                Some(("", "")) => return Err(expected()),
                Some((first, "")) => (number(first)?, usize::MAX),
                Some(("", last)) => (1, number(last)?),
                Some((first, last)) => (number(first)?, number(last)?),
            };
            if range.0 > range.1 {
                return Err(expected());
            }
            ranges.push(range);
        }
        ranges.sort_unstable();
        Ok(Self { typed: text.to_owned(), ranges })
    }
}

impl TryFrom<String> for Fields {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Fields> for String {
    fn from(fields: Fields) -> Self {
        fields.typed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_cut() {
        for (list, line, key) in [
            ("2", "a:b:c", "b"),
            ("1,3", "a:b:c", "a:c"),
            ("3,1,1", "a:b:c", "a:c"),
            ("2-", "a:b:c", "b:c"),
            ("-2", "a:b:c", "a:b"),
            ("1-2,2-3", "a:b:c", "a:b:c"),
            ("4", "a:b:c", ""),
            ("2", "a::c", ""),
            ("2", "no delimiter", "no delimiter"),
            ("1", ":b", ""),
            ("2", "a:", ""),
        ] {
            let fields: Fields = list.parse().expect("a list");
            assert_eq!(fields.of(line.as_bytes(), ':'), key.as_bytes(), "{list} of {line}");
        }
        let wide: Fields = "2".parse().expect("a list");
        assert_eq!(wide.of("a→b→c".as_bytes(), '→'), &b"b"[..]);
    }

    #[test]
    fn other_lists_are_refused() {
        for list in ["", "0", "a", "1,", "-", "3-1", "+1", "1--2", "1 2"] {
            assert!(list.parse::<Fields>().is_err(), "{list}");
        }
    }
}
