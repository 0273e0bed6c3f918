//! One elastic filter of all chunk ids, a digest, compared with a filter in each run of the index, on
//! the same look-ups. The look-ups come from real backups; the runs are merged as the index merges
//! them.

use std::collections::HashSet;
use std::time::Duration;

use cuculus::{ElasticFilter, Filter, Insert, KeyHasher};
use cuculus_backup::ChunkId;
use cuculus_backup::lab::{self, RunFilter};
use rustix::time::{ClockId, clock_gettime};

use crate::Failure;

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

/// Prints blocks read for chunks that are new and for chunks that are stored, and the processor time of
/// the thread per id that is added and per look-up.
pub(crate) fn run(trace: &[Vec<ChunkId>]) -> Result<(), Failure> {
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
            questions.iter().map(|id| digest.contains(lab::bytes(id))).collect();
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
            digest.insert(lab::bytes(id))?;
        }
        digest_build += cpu() - start;
        let mut sorted: Vec<ChunkId> = new.iter().copied().collect();
        sorted.sort_unstable();
        stored.extend(new);
        let start = cpu();
        built += add(&mut runs, sorted) as u64;
        run_build += cpu() - start;
    }
    if let Some(lost) = stored.iter().find(|id| !runs.iter().any(|run| run.filter.may_have(id))) {
        return Err(format!("the filters of the runs lost {lost}").into());
    }
    println!("## filters\n");
    println!(
        "| what is asked | bits per chunk | reads for new chunks | reads for stored chunks | ns to add a \
         chunk | ns to ask |\n|---|---|---|---|---|---|"
    );
    let ids = stored.len().max(1) as u64;
    let row = |name,
               bytes: u64,
               reads: [u64; 2],
               (build, added): (Duration, u64),
               ask: Duration| {
        let bits = 8.0 * bytes as f64 / ids as f64;
        let per = |time: Duration, count: u64| time.as_nanos() as f64 / count.max(1) as f64;
        let (build, ask) = (per(build, added), per(ask, asked));
        println!("| {name} | {bits:.1} | {} | {} | {build:.0} | {ask:.0} |", reads[0], reads[1]);
    };
    let (bytes, build) = (digest.size_in_bytes() as u64, (digest_build, ids));
    row("digest (elastic filter)", bytes, reads[0], build, digest_ask);
    // With the sorting of the merges, which the index does anyway.
    let bytes = runs.iter().map(|run| run.filter.size_in_bytes()).sum();
    row("filter in each run", bytes, reads[1], (run_build, built), run_ask);
    println!("\n{asked} look-ups of {ids} chunks, without the cache.\n");
    Ok(())
}
