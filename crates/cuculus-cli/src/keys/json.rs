//! A value in a JSON document, by its pointer (RFC 6901). The rest of the document is skipped, not
//! kept. Knows JSON, nothing of lines.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

/// Where a value is: the names and indices that lead to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Pointer {
    typed: String,
    tokens: Vec<String>,
}

/// A value: the content of a string, or anything else as compact JSON with sorted names.
type Value<'a> = Cow<'a, [u8]>;

impl Pointer {
    /// The value in a document, if it is there and not null. An error says why the text is not a
    /// document.
    pub(super) fn find<'a>(&self, document: &'a [u8]) -> Result<Option<Value<'a>>, String> {
        let mut reader = serde_json::Deserializer::from_slice(document);
        let found = Step { tokens: &self.tokens }.deserialize(&mut reader);
        let found = found.and_then(|found| reader.end().map(|()| found));
        found.map_err(|error| format!("is not a JSON document: {error}"))
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.typed)
    }
}

impl FromStr for Pointer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "expected a JSON pointer, such as /id or /user/name".to_owned();
        let rest = text.strip_prefix('/').ok_or_else(expected)?;
        let mut tokens = Vec::new();
        for token in rest.split('/') {
            let escapes = token.match_indices('~').map(|(at, _)| token.get(at + 1..at + 2));
            if escapes.into_iter().any(|escape| !matches!(escape, Some("0" | "1"))) {
                return Err(expected());
            }
            tokens.push(token.replace("~1", "/").replace("~0", "~"));
        }
        Ok(Self { typed: text.to_owned(), tokens })
    }
}

impl TryFrom<String> for Pointer {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Pointer> for String {
    fn from(pointer: Pointer) -> Self {
        pointer.typed
    }
}

/// Reads one value: follows the tokens that are left, or takes it if none is left.
struct Step<'p> {
    tokens: &'p [String],
}

impl Step<'_> {
    fn takes(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The step below this one.
    fn next(&self) -> Self {
        Self { tokens: self.tokens.get(1..).unwrap_or_default() }
    }

    /// A value that is not text.
    fn other<'de, E>(&self, value: impl Into<serde_json::Value>) -> Result<Option<Value<'de>>, E> {
        Ok(self.takes().then(|| value.into().to_string().into_bytes().into()))
    }
}

impl<'de> DeserializeSeed<'de> for Step<'_> {
    type Value = Option<Value<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Step<'_> {
    type Value = Option<Value<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        if self.takes() {
            let whole = MapAccessDeserializer::new(map);
            return self.other(serde_json::Value::deserialize(whole)?);
        }
        let mut found = None;
        while let Some(is_next) = map.next_key_seed(NameIs(self.tokens.first()))? {
            if is_next {
                // As other readers do, the last of two members with one name.
                found = map.next_value_seed(self.next())?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Self::Value, S::Error> {
        if self.takes() {
            let whole = SeqAccessDeserializer::new(list);
            return self.other(serde_json::Value::deserialize(whole)?);
        }
        let token = self.tokens.first().map_or("", String::as_str);
        let is_index = token == "0" || !token.starts_with(['0', '+']);
        let index = token.parse::<usize>().ok().filter(|_| is_index);
        let mut found = None;
        for at in 0.. {
            if Some(at) == index {
                match list.next_element_seed(self.next())? {
                    Some(value) => found = value,
                    None => break,
                }
            } else if list.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
        }
        Ok(found)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(self.takes().then(|| text.as_bytes().into()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(self.takes().then(|| text.as_bytes().to_owned().into()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        self.other(value)
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        self.other(value)
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        self.other(value)
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        self.other(value)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Whether the name of a member is the one that is looked for.
struct NameIs<'p>(Option<&'p String>);

impl<'de> DeserializeSeed<'de> for NameIs<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<bool, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for NameIs<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<bool, E> {
        Ok(self.0.is_some_and(|wanted| wanted == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values and errors are those of the library that reads the whole document.
    #[test]
    fn values_are_those_of_the_whole_document() {
        let documents = [
            r#"{"id": 7, "user": {"name": "ada", "a/b": ["x", {"~": true}]}, "none": null}"#,
            r#"{"id": "\u0037", "id": "8", "user": [1, 2.50, -3, 18446744073709551616]}"#,
            r#"["x", {"id": {"b": 1, "a": 2}}]"#,
            r#""text""#,
            "17",
            "",
            "{",
            r#"{"id": 7} {"id": 8}"#,
            r#"{"user": {"name": "ada"}, }"#,
            r#"{"id": nul}"#,
        ];
        let pointers = [
            "/id",
            "/user/name",
            "/user/a~1b/1/~0",
            "/user/1",
            "/user/01",
            "/user/3",
            "/none",
            "/1/id",
            "/0",
            "/",
        ];
        for document in documents {
            for pointer in pointers {
                let found =
                    pointer.parse::<Pointer>().expect("a pointer").find(document.as_bytes());
                match serde_json::from_str::<serde_json::Value>(document) {
                    Err(_) => assert!(found.is_err(), "{pointer} of {document}"),
                    Ok(whole) => {
                        let expected = match whole.pointer(pointer) {
                            None | Some(serde_json::Value::Null) => None,
                            Some(serde_json::Value::String(text)) => Some(text.clone()),
                            Some(other) => Some(other.to_string()),
                        };
                        let found = found.expect("a document");
                        let expected = expected.as_ref().map(String::as_bytes);
                        assert_eq!(found.as_deref(), expected, "{pointer} of {document}");
                    }
                }
            }
        }
    }

    #[test]
    fn other_pointers_are_refused() {
        for text in ["", "id", "id/", "/~", "/~2", "/a~"] {
            assert!(text.parse::<Pointer>().is_err(), "{text}");
        }
    }
}
