//! The note of a file: what its keys are and how they are kept. Knows JSON, nothing of filters.

use anyhow::{Context, Result, bail};
use cuculus::Filter;
use serde::{Deserialize, Serialize};

use crate::dedup::Progress;
use crate::keys::{Encoding, Form};
use crate::lossless::Mistakes;

/// Whether a filter keeps copies of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Holds {
    /// Each key once.
    Set,
    /// A key as often as it was added.
    Multiset,
}

/// What this tool writes after a filter. A file of the library has no note.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct FileNote {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) keys: Option<Form>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) holds: Option<Holds>,
    /// At most the expected number of keys that have no entry of their own: they were left out of a set
    /// because they looked like another key.
    #[serde(default)]
    pub(crate) expected_left_out: f64,
    /// How far `dedup` has come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dedup: Option<Progress>,
}

impl FileNote {
    pub(crate) fn new(keys: Form, holds: Holds) -> Self {
        Self { keys: Some(keys), holds: Some(holds), ..Self::default() }
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        serde_json::from_slice(bytes).context(
            "its note was not written by this tool, or by a newer version; use the library",
        )
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Notes that some new keys were added to a set, and how many others were left out on average, at most:
    /// the rate was not higher before. In whatever pieces they came.
    pub(crate) fn leave_out(&mut self, added: u64, filter: &dyn Filter) {
        if self.is_set() {
            let mut mistakes = Mistakes::default();
            mistakes.add(added, filter.expected_false_positive_rate());
            self.expected_left_out += mistakes.0;
        }
    }

    /// Whether a key that is contained is not added again. Copies are the safe choice if nobody has
    /// said: a copy too many makes no key disappear.
    pub(crate) fn is_set(&self) -> bool {
        self.holds == Some(Holds::Set)
    }

    /// How lines become keys, if they may be written like this.
    pub(crate) fn form(&self, asked: Encoding) -> Result<Form> {
        match &self.keys {
            None => Ok(Form::of(asked)),
            Some(form) if form.encoding == asked => Ok(form.clone()),
            Some(form) => {
                let remedy = match form.encoding {
                    Encoding::Text => "leave out --hex and --u64",
                    Encoding::Hex => "add --hex",
                    Encoding::U64 => "add --u64",
                };
                bail!("the keys of this file are {}, not {asked}; {remedy}", form.encoding)
            }
        }
    }
}
