//! The lines seen so far, for as long as the process lives: a list of filters, each as large as all
//! before together. Knows hashes and a rate, nothing of lines.
//!
//! A filter that only grows and is never saved needs none of what a cuckoo filter pays for with a
//! second wait for memory and searches for room: entries that can be told apart and removed. A split
//! block Bloom filter asks and inserts in one step, in half a line of memory. If the number of
//! lines can be guessed, the list has one filter; if not, a lookup asks a few.

use anyhow::Result;
use cuculus::{BuildError, CuckooFilter, Insert, KeyHash, KeyHasher};
use cuculus_baselines::SplitBlockBloomFilter;

/// Keys of the first filter if nothing is known, and the fewest and most if there is a guess: a
/// wrong guess must not cost memory that the lines do not need.
const FIRST: usize = 1 << 22;
const LEAST: usize = 1 << 12;
const MOST: usize = 1 << 27;
/// Hashes that are worked on together: their buckets in one filter are still in the core's cache
/// when the next filter is asked.
const PIECE: usize = 1024;
/// Of the rate this part is for the first filter; of the rest each has half of what is left.
const FIRST_SHARE: f64 = 0.75;
/// Here both kinds take about 25 bits a line.
const LOWEST_OF_BLOOM: f64 = 1e-4;

pub(super) struct Seen {
    pub(super) hasher: KeyHasher,
    /// Keys of the first filter.
    first: usize,
    /// What is left of the rate for filters to come.
    rate_left: f64,
    /// All but the last are as full as they get. The last takes `room` keys more.
    filters: Vec<Box<dyn Insert>>,
    room: usize,
    // Used again and again.
    hits: Vec<bool>,
    is_old: Vec<bool>,
    asked: Vec<KeyHash>,
    absent: Vec<bool>,
}

impl Seen {
    /// Nothing seen yet. Takes no memory before the first line.
    pub(super) fn new(hasher: KeyHasher, rate: f64) -> Result<Self, BuildError> {
        // A rate that cannot be kept is refused before anything is read.
        build(&hasher, LEAST, rate * FIRST_SHARE)?;
        Ok(Self {
            hasher,
            first: FIRST,
            rate_left: rate,
            filters: Vec::new(),
            room: 0,
            hits: Vec::new(),
            is_old: Vec::new(),
            asked: Vec::new(),
            absent: Vec::new(),
        })
    }

    /// A guess at the number of different lines, before the first.
    pub(super) fn expect(&mut self, lines: usize) {
        self.first = lines.clamp(LEAST, MOST);
    }

    /// Says of each hash whether it is seen for the first time, and notes it.
    pub(super) fn note(&mut self, hashes: &[KeyHash], fresh: &mut Vec<bool>) -> Result<()> {
        fresh.clear();
        while let Some(rest) = hashes.get(fresh.len()..).filter(|rest| !rest.is_empty()) {
            if self.room == 0 {
                self.append()?;
            }
            let piece = &rest[..rest.len().min(PIECE).min(self.room)];
            self.note_piece(piece, fresh);
        }
        Ok(())
    }

    /// The same for hashes that the last filter has room for. If it refuses one all the same, the
    /// answers end before it, and the next filter is due.
    fn note_piece(&mut self, piece: &[KeyHash], fresh: &mut Vec<bool>) {
        let Some((last, older)) = self.filters.split_last_mut() else { return };
        self.is_old.clear();
        self.is_old.resize(piece.len(), false);
        for filter in older.iter() {
            filter.contains_batch(piece, &mut self.hits);
            self.is_old.iter_mut().zip(&self.hits).for_each(|(old, hit)| *old |= hit);
        }
        let asked = if older.is_empty() {
            piece
        } else {
            let unknown = piece.iter().zip(&self.is_old).filter(|(_, is_old)| !**is_old);
            self.asked.clear();
            self.asked.extend(unknown.map(|(&hash, _)| hash));
            &self.asked
        };
        let noted = last.insert_absent_batch(asked, &mut self.absent);
        self.room -= self.absent.iter().filter(|&&absent| absent).count();
        if noted.is_err() {
            self.room = 0;
        }
        if older.is_empty() {
            fresh.extend_from_slice(&self.absent);
            return;
        }
        let mut answers = self.absent.iter();
        for &is_old in &self.is_old {
            let is_fresh = if is_old { Some(&false) } else { answers.next() };
            let Some(&is_fresh) = is_fresh else { break };
            fresh.push(is_fresh);
        }
    }

    /// Adds a filter as large as all before together.
    fn append(&mut self) -> Result<(), BuildError> {
        let (keys, share) = match self.filters.iter().map(|filter| filter.len()).sum::<usize>() {
            0 => (self.first, FIRST_SHARE),
            keys => (keys.max(LEAST), 0.5),
        };
        let rate = self.rate_left * share;
        self.filters.push(build(&self.hasher, keys, rate)?);
        self.rate_left -= rate;
        self.room = keys;
        Ok(())
    }

    /// The probability that a line that was not seen is taken for one that was.
    pub(super) fn rate(&self) -> f64 {
        self.filters.iter().map(|filter| filter.expected_false_positive_rate()).sum()
    }

    pub(super) fn size_in_bytes(&self) -> usize {
        self.filters.iter().map(|filter| filter.size_in_bytes()).sum()
    }
}

/// A filter for so many keys. For rates so low that a Bloom filter of eight bits a key would be
/// much larger it is a cuckoo filter, with room for a quarter more: to fill the last of its
/// slots takes several times as long as the others.
fn build(hasher: &KeyHasher, keys: usize, rate: f64) -> Result<Box<dyn Insert>, BuildError> {
    if rate >= LOWEST_OF_BLOOM || rate.is_nan() {
        let builder = SplitBlockBloomFilter::builder().hasher(hasher.clone());
        return Ok(Box::new(builder.capacity(keys).false_positive_rate(rate).build()?));
    }
    let builder = CuckooFilter::builder().hasher(hasher.clone());
    Ok(Box::new(builder.capacity(keys + keys / 4).false_positive_rate(rate).build()?))
}
