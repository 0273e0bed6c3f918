//! The lines seen so far in two halves, so that two threads can look them up: the caller's and one
//! more. Reading and hashing take a third of the time and have a thread already; with the rest on
//! one other thread, that would be what everything waits for.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use anyhow::{Context, Result};
use cuculus::{KeyHash, KeyHasher};

use super::seen::Seen;

pub(super) struct Halves {
    here: Seen,
    /// The ways to the other half and back.
    to: Sender<Task>,
    from: Receiver<Task>,
    /// What went there and is back again.
    task: Option<Task>,
    /// Hashes of this half, and the answers.
    hashes: Vec<KeyHash>,
    fresh: Vec<bool>,
}

/// Hashes that go to the other thread, and what comes back.
struct Task {
    hashes: Vec<KeyHash>,
    fresh: Vec<bool>,
    /// A guess at the number of lines, before the first.
    expected: Option<usize>,
    outcome: Result<()>,
    rate: f64,
    size_in_bytes: usize,
}

const ENDED: &str = "the thread that looks lines up has ended; please report this defect";

impl Halves {
    /// Nothing seen yet. Takes no memory before the first line.
    pub(super) fn new(rate: f64) -> Result<Self> {
        let hasher = KeyHasher::random()?;
        let here = Seen::new(hasher.clone(), rate).context("--fpr")?;
        let there = Seen::new(hasher, rate)?;
        let (to, tasks) = channel();
        let (results, from) = channel();
        // It ends with the process, or when nothing can come any more.
        let work = move || work(there, &tasks, &results);
        thread::Builder::new().spawn(work).context("cannot start a thread")?;
        let task = Task {
            hashes: Vec::new(),
            fresh: Vec::new(),
            expected: None,
            outcome: Ok(()),
            rate: 0.0,
            size_in_bytes: 0,
        };
        Ok(Self { here, to, from, task: Some(task), hashes: Vec::new(), fresh: Vec::new() })
    }

    /// A guess at the number of different lines, before the first.
    pub(super) fn expect(&mut self, lines: usize) {
        let half = lines / 2 + 1;
        self.here.expect(half);
        if let Some(task) = &mut self.task {
            task.expected = Some(half);
        }
    }

    pub(super) fn hasher(&self) -> &KeyHasher {
        &self.here.hasher
    }

    /// Says of each hash whether it is seen for the first time, and notes it.
    pub(super) fn note(&mut self, hashes: &[KeyHash], fresh: &mut Vec<bool>) -> Result<()> {
        let mut task = self.task.take().context(ENDED)?;
        split(hashes, &mut self.hashes, &mut task.hashes);
        self.to.send(task).ok().context(ENDED)?;
        self.here.note(&self.hashes, &mut self.fresh)?;
        let mut task = self.from.recv().context(ENDED)?;
        std::mem::replace(&mut task.outcome, Ok(()))?;
        join(hashes, &mut self.fresh, &mut task.fresh, fresh);
        self.task = Some(task);
        Ok(())
    }

    /// The probability that a line that was not seen is taken for one that was.
    pub(super) fn rate(&self) -> f64 {
        let there = self.task.as_ref().map_or(0.0, |task| task.rate);
        (self.here.rate() + there) / 2.0
    }

    pub(super) fn size_in_bytes(&self) -> usize {
        let there = self.task.as_ref().map_or(0, |task| task.size_in_bytes);
        self.here.size_in_bytes() + there
    }
}

fn work(mut seen: Seen, tasks: &Receiver<Task>, results: &Sender<Task>) {
    while let Ok(mut task) = tasks.recv() {
        if let Some(lines) = task.expected.take() {
            seen.expect(lines);
        }
        task.outcome = seen.note(&task.hashes, &mut task.fresh);
        (task.rate, task.size_in_bytes) = (seen.rate(), seen.size_in_bytes());
        if results.send(task).is_err() {
            return;
        }
    }
}

/// Which half a hash belongs to: by a bit that a filter of fewer than 2^31 buckets and fingerprints
/// of any length makes nothing of.
#[inline(always)]
fn is_there(hash: KeyHash) -> usize {
    (hash.get() >> 32) as usize & 1
}

/// Parts hashes without a branch, which would be mispredicted every other time.
fn split(hashes: &[KeyHash], here: &mut Vec<KeyHash>, there: &mut Vec<KeyHash>) {
    let mut halves = [here, there];
    halves.iter_mut().for_each(|half| half.resize(hashes.len(), KeyHash::new(0)));
    let mut ends = [0; 2];
    for &hash in hashes {
        halves[0][ends[0]] = hash;
        halves[1][ends[1]] = hash;
        ends[is_there(hash)] += 1;
    }
    halves.iter_mut().zip(ends).for_each(|(half, end)| half.truncate(end));
}

/// The answers of both halves in the order of the hashes.
fn join(hashes: &[KeyHash], here: &mut Vec<bool>, there: &mut Vec<bool>, all: &mut Vec<bool>) {
    // So that the answer after the last can be looked at, too.
    here.push(false);
    there.push(false);
    let mut at = [0; 2];
    all.clear();
    all.extend(hashes.iter().map(|&hash| {
        let half = is_there(hash);
        let answer = [here[at[0]], there[at[1]]][half];
        at[half] += 1;
        answer
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers stay with their hashes, in whichever half those are.
    #[test]
    fn joining_inverts_splitting() {
        let hash = |i: u64| KeyHash::new(i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        for count in [0, 1, 2, 1000] {
            let hashes: Vec<KeyHash> = (0..count).map(hash).collect();
            let (mut here, mut there) = (Vec::new(), Vec::new());
            split(&hashes, &mut here, &mut there);
            assert_eq!(here.len() + there.len(), hashes.len());
            let is_even = |half: &[KeyHash]| half.iter().map(|h| h.get() % 2 == 0).collect();
            let (mut a, mut b): (Vec<bool>, Vec<bool>) = (is_even(&here), is_even(&there));
            let mut all = vec![true; 3];
            join(&hashes, &mut a, &mut b, &mut all);
            assert_eq!(all, is_even(&hashes) as Vec<bool>);
        }
    }
}
