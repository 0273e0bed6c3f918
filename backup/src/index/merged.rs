//! The entries of several runs in the order of their ids.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Entry;
use super::run::{Run, RunEntries};
use crate::error::Result;
use crate::id::ChunkId;

/// Yields each entry with the number of its run and its rank in that run.
pub(crate) struct Merged<'a> {
    sources: Vec<Source<'a>>,
    heads: BinaryHeap<Reverse<(ChunkId, usize)>>,
    started: bool,
}

struct Source<'a> {
    run: usize,
    entries: RunEntries<'a>,
    head: Option<Entry>,
    rank: u64,
}

impl<'a> Merged<'a> {
    pub(crate) fn new(runs: impl Iterator<Item = (usize, &'a Run)>) -> Self {
        let source = |(run, entries): (usize, &'a Run)| Source {
            run,
            entries: entries.entries(),
            head: None,
            rank: 0,
        };
        Self { sources: runs.map(source).collect(), heads: BinaryHeap::new(), started: false }
    }

    fn advance(&mut self, number: usize) -> Result<()> {
        let Some(source) = self.sources.get_mut(number) else { return Ok(()) };
        source.head = source.entries.next().transpose()?;
        if let Some(entry) = source.head {
            self.heads.push(Reverse((entry.id, number)));
        }
        Ok(())
    }

    fn step(&mut self) -> Result<Option<(usize, u64, Entry)>> {
        if !self.started {
            self.started = true;
            (0..self.sources.len()).try_for_each(|number| self.advance(number))?;
        }
        let Some(Reverse((_, number))) = self.heads.pop() else { return Ok(None) };
        let source = self.sources.get_mut(number);
        let Some((source, entry)) = source.and_then(|s| s.head.take().map(|head| (s, head))) else {
            return Ok(None);
        };
        let (run, rank) = (source.run, source.rank);
        source.rank += 1;
        self.advance(number)?;
        Ok(Some((run, rank, entry)))
    }
}

impl Iterator for Merged<'_> {
    type Item = Result<(usize, u64, Entry)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}
