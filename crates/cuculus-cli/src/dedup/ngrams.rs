//! Documents that are nearly the same: the share of their n-grams that were seen before. Knows words
//! and hashes, nothing of files.

use std::borrow::Cow;
use std::ops::ControlFlow;

use anyhow::{Result, anyhow};
use cuculus::{Insert, KeyHash, KeyHasher, Remove};
use serde::{Deserialize, Serialize};

use crate::input::Lines;
use crate::keys::{Block, Form, Keyless, Unreadable, error_in_line};

/// How documents are compared.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ngrams {
    /// Words in a row.
    pub(super) words: usize,
    /// A document is a repetition if this share of its n-grams was seen before.
    pub(super) threshold: f64,
}

/// The n-grams of the documents of a block.
#[derive(Default)]
pub(super) struct Grams {
    hashes: Vec<KeyHash>,
    /// Where those of each document end.
    ends: Vec<usize>,
}

impl Grams {
    /// Each document's; none of a document without a key.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[KeyHash]> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| self.hashes.get(start..end).unwrap_or_default())
    }
}

impl Ngrams {
    /// Finds the n-grams of all documents of a block.
    pub(super) fn of_block(
        self,
        form: &Form,
        hasher: &KeyHasher,
        block: &mut Block,
        grams: &mut Grams,
    ) -> Result<()> {
        grams.hashes.clear();
        grams.ends.clear();
        let mut keyless = std::mem::take(&mut block.keyless);
        keyless.clear();
        let mut words = Vec::new();
        for line in 0..block.len() {
            let key = form.key_of(block.line(line));
            match key.map_err(|why| error_in_line(block, &Unreadable { line, why }))? {
                None => keyless.push(line as u32),
                Some(key) => self.of_text(&key, hasher, &mut words, &mut grams.hashes),
            }
            grams.ends.push(grams.hashes.len());
        }
        block.keyless = keyless;
        Ok(())
    }

    /// Adds the n-grams of a text, each once. Words are letters and digits in a row, in lower case.
    /// A text of fewer words has one n-gram, of all its words.
    fn of_text(
        self,
        text: &[u8],
        hasher: &KeyHasher,
        words: &mut Vec<u8>,
        grams: &mut Vec<KeyHash>,
    ) {
        const HASH: usize = size_of::<u64>();
        words.clear();
        let text = String::from_utf8_lossy(text);
        for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            let is_lower =
                word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
            let word: Cow<'_, str> =
                if is_lower { word.into() } else { word.to_lowercase().into() };
            words.extend_from_slice(&hasher.hash(&*word).get().to_le_bytes());
        }
        let start = grams.len();
        let len = (self.words * HASH).min(words.len());
        let mut from = 0;
        loop {
            grams.push(hasher.hash(words.get(from..from + len).unwrap_or_default()));
            from += HASH;
            if from + len > words.len() || len == 0 {
                break;
            }
        }
        let mut rest = grams.split_off(start);
        rest.sort_unstable();
        rest.dedup();
        grams.append(&mut rest);
    }

    /// Whether a document is new; if so, its n-grams are inserted.
    pub(super) fn insert_new(
        self,
        grams: &[KeyHash],
        set: &mut dyn Insert,
        hits: &mut Vec<bool>,
    ) -> Result<bool> {
        set.contains_batch(grams, hits);
        let seen = hits.iter().filter(|&&hit| hit).count();
        if seen as f64 >= self.threshold * grams.len() as f64 {
            return Ok(false);
        }
        // Copies are counted, so that a document can be removed without harm to others.
        set.insert_batch(grams).map_err(|full| anyhow!("{full}"))?;
        Ok(true)
    }

    /// Removes documents, each with all its n-grams or not at all; returns how many were read and
    /// how many removed.
    pub(crate) fn remove_all(
        self,
        lines: &Lines,
        form: &Form,
        set: &mut dyn Remove,
    ) -> Result<(u64, u64)> {
        let (mut read, mut removed, mut grams) = (0, 0, Grams::default());
        let hasher = set.hasher().clone();
        lines.source(Form::default(), Keyless::Note, &hasher, false)?.each_block(|block| {
            let mut copy = block.clone();
            self.of_block(form, &hasher, &mut copy, &mut grams)?;
            for document in grams.iter() {
                read += 1;
                if !document.is_empty() && document.iter().all(|&gram| set.contains_hash(gram)) {
                    for &gram in document {
                        set.remove_hash(gram);
                    }
                    removed += 1;
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok((read, removed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grams(text: &str, words: usize) -> Vec<KeyHash> {
        let (mut buffer, mut grams) = (Vec::new(), Vec::new());
        let ngrams = Ngrams { words, threshold: 0.8 };
        ngrams.of_text(text.as_bytes(), &KeyHasher::xxh3(1), &mut buffer, &mut grams);
        grams
    }

    #[test]
    fn ngrams_are_words_in_a_row() {
        assert_eq!(grams("a b c d", 2).len(), 3);
        assert_eq!(grams("a b a b a b", 2).len(), 2, "each once");
        assert_eq!(grams("A, b.  C!", 2), grams("a b c", 2), "no case, no punctuation");
        assert_ne!(grams("ab c", 2), grams("a bc", 2));
        assert_eq!(grams("a b", 13), grams("a b", 2), "a short text is one n-gram");
        assert_ne!(grams("a b", 13), grams("a b c", 13));
        assert_eq!(grams("", 13).len(), 1, "so is an empty one");
        assert_eq!(grams("ÄRGER", 1), grams("ärger", 1));
    }
}
