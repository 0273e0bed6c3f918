//! One elastic filter of all chunk ids, a digest, compared with a filter in each run of the index, on
//! the same look-ups. The look-ups come from real backups; the runs are merged as the index merges
//! them.

use std::collections::HashSet;
use std::time::Duration;

use cuculus::{ElasticFilter, Filter, Insert, KeyHasher};
use cuculus_backup::{ChunkId, RunFilter};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::Failure;

#[derive(Serialize)]
pub(crate) struct Row {
    name: &'static str,
    bytes: usize,
    bits_per_id: f64,
    /// Blocks of the index read for chunks that are new, and for chunks that are stored.
    reads_new: u64,
    reads_stored: u64,
    /// Thread CPU time to build and to ask, in nanoseconds per id and per look-up.
    build_ns: f64,
    ask_ns: f64,
}

fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// A run: its sorted ids, and their filter.
struct Run {
    ids: Vec<ChunkId>,
    filter: RunFilter,
}

/// Adds a run, and merges small ones as the index does after each backup; returns the ids written.
fn add(runs: &mut Vec<Run>, ids: Vec<ChunkId>) -> usize {
    let mut written = ids.len();
    runs.push(Run { filter: RunFilter::of(&ids), ids });
    runs.sort_by_key(|run| run.ids.len());
    let mut sum = 0;
    let small = runs.iter().take_while(|run| {
        let small = run.ids.len() <= sum * 2 || sum == 0;
        sum += run.ids.len();
        small
    });
    let small = small.count();
    if small >= 4 {
        let mut ids: Vec<ChunkId> = runs.drain(..small).flat_map(|run| run.ids).collect();
        ids.sort_unstable();
        written += ids.len();
        runs.push(Run { filter: RunFilter::of(&ids), ids });
    }
    // The largest run is searched first.
    runs.sort_by_key(|run| std::cmp::Reverse(run.ids.len()));
    written
}

pub(crate) fn run(trace: &[Vec<ChunkId>]) -> Result<Vec<Row>, Failure> {
    let hasher = KeyHasher::siphash(7);
    let mut digest = ElasticFilter::builder().false_positive_rate(0.01).hasher(hasher).build()?;
    let mut runs: Vec<Run> = Vec::new();
    let mut stored: HashSet<ChunkId> = HashSet::new();
    let [mut digest_build, mut digest_ask, mut run_build, mut run_ask] = [Duration::ZERO; 4];
    let (mut asked, mut built) = (0u64, 0u64);
    let mut reads = [[0u64; 2]; 2];
    for questions in trace {
        let start = cpu();
        let in_digest: Vec<bool> =
            questions.iter().map(|id| digest.contains(id.as_bytes())).collect();
        digest_ask += cpu() - start;
        let start = cpu();
        let in_runs: Vec<u32> = questions
            .iter()
            .map(|id| {
                let maybe = runs.iter().enumerate().filter(|(_, run)| run.filter.may_have(id));
                maybe.fold(0, |bits, (number, _)| bits | 1 << number.min(31))
            })
            .collect();
        run_ask += cpu() - start;
        let mut new: HashSet<ChunkId> = HashSet::new();
        asked += questions.len() as u64;
        for ((id, in_digest), in_runs) in questions.iter().zip(in_digest).zip(in_runs) {
            if new.contains(id) {
                continue;
            }
            let is_stored = usize::from(stored.contains(id));
            // Blocks read until the chunk is found, if only these runs are searched.
            let mut search = |which: usize, searched: &dyn Fn(usize) -> bool| {
                for (_, run) in runs.iter().enumerate().filter(|(number, _)| searched(*number)) {
                    reads[which][is_stored] += 1;
                    if run.ids.binary_search(id).is_ok() {
                        return;
                    }
                }
            };
            search(0, &|_| in_digest);
            search(1, &|number| in_runs >> number.min(31) & 1 == 1);
            if is_stored == 0 {
                new.insert(*id);
            }
        }
        if new.is_empty() {
            continue;
        }
        let start = cpu();
        for id in &new {
            digest.insert(id.as_bytes())?;
        }
        digest_build += cpu() - start;
        let mut sorted: Vec<ChunkId> = new.iter().copied().collect();
        sorted.sort_unstable();
        stored.extend(new);
        let start = cpu();
        built += add(&mut runs, sorted) as u64;
        run_build += cpu() - start;
    }
    let ids = stored.len().max(1);
    let row = |name, bytes: usize, reads: [u64; 2], build_ns: f64, ask: Duration| Row {
        name,
        bytes,
        bits_per_id: 8.0 * bytes as f64 / ids as f64,
        reads_new: reads[0],
        reads_stored: reads[1],
        build_ns,
        ask_ns: ask.as_nanos() as f64 / asked.max(1) as f64,
    };
    let lost = stored.iter().filter(|id| !runs.iter().any(|run| run.filter.may_have(id)));
    let lost = lost.count();
    if lost > 0 {
        return Err(format!("the filters of the runs lost {lost} ids").into());
    }
    // With the sorting of the merges, which the index does anyway.
    let per_id = run_build.as_nanos() as f64 / built.max(1) as f64;
    let run_bytes = runs.iter().map(|run| run.filter.size_in_bytes() as usize).sum();
    Ok(vec![
        row(
            "digest (elastic)",
            digest.size_in_bytes(),
            reads[0],
            digest_build.as_nanos() as f64 / ids as f64,
            digest_ask,
        ),
        row("filter in each run", run_bytes, reads[1], per_id, run_ask),
    ])
}

pub(crate) fn print(rows: &[Row]) {
    println!(
        "{:<20} {:>10} {:>10} {:>12} {:>12} {:>10} {:>10}",
        "", "KiB", "bits/id", "reads, new", "reads, old", "build ns", "ask ns"
    );
    for row in rows {
        println!(
            "{:<20} {:>10} {:>10.1} {:>12} {:>12} {:>10.1} {:>10.1}",
            row.name,
            row.bytes / 1024,
            row.bits_per_id,
            row.reads_new,
            row.reads_stored,
            row.build_ns,
            row.ask_ns
        );
    }
}
