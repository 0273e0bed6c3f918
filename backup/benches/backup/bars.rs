//! Five ways to find out whether a chunk is stored, with equal memory: the index alone, with the
//! filters of its runs, with the locality cache, with both; and an LSM engine with its own Bloom filters. The
//! program counts the reads of our index, the operating system those of the engine.

use std::fs;
use std::path::{Path, PathBuf};

use cuculus_backup::{BackupOptions, ChunkId, Parameters, Repository, lab};

use crate::Failure;

/// What the locality cache takes per chunk.
const CACHED_CHUNK: usize = 104;
/// Bits per key of the engine's filters, which are in memory and not in its cache.
#[cfg(bench_fjall)]
const ENGINE_FILTER_BITS: u64 = 10;

struct Row {
    name: &'static str,
    filter_bytes: u64,
    cache_bytes: u64,
    reads: u64,
    lookups: u64,
}

/// Prints the comparison; returns every look-up of each backup.
pub(crate) fn run(versions: &Path, memory: usize) -> Result<Trace, Failure> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(versions)? {
        paths.push(entry?.path());
    }
    paths.retain(|path| path.is_dir());
    paths.sort_by_key(|path| numbers(path));
    // The size of the filters is known only after a first run.
    let (filters_only, _) = ours("filters", true, 0, &paths)?;
    let filters = usize::try_from(filters_only.filter_bytes)?;
    let rest = memory.saturating_sub(filters) / CACHED_CHUNK;
    let (alone, trace) = ours("index alone", false, 0, &paths)?;
    let (cache, _) = ours("cache", false, memory / CACHED_CHUNK, &paths)?;
    let (both, _) = ours("filters and cache", true, rest, &paths)?;
    let mut rows = vec![alone, filters_only, cache, both];
    rows.extend(engine(&trace, memory)?);
    println!("## reads\n");
    println!("| looked up in | filters, KiB | cache, KiB | reads | per 1,000 look-ups |");
    println!("|---|---|---|---|---|");
    for Row { name, filter_bytes, cache_bytes, reads, lookups } in rows {
        let (filters, cache) = (filter_bytes / 1024, cache_bytes / 1024);
        let share = 1000.0 * reads as f64 / lookups.max(1) as f64;
        println!("| {name} | {filters} | {cache} | {reads} | {share:.0} |");
    }
    println!("\n{} versions; {} KiB of memory.\n", paths.len(), memory / 1024);
    Ok(trace)
}

/// Sorts 9.10 after 9.9.
fn numbers(path: &Path) -> Vec<u64> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

pub(crate) type Trace = Vec<Vec<ChunkId>>;

fn ours(
    name: &'static str,
    filters: bool,
    cached_chunks: usize,
    paths: &[PathBuf],
) -> Result<(Row, Trace), Failure> {
    let dir = tempfile::tempdir()?;
    let repo = dir.path().join("repo");
    Repository::create(&repo, &Parameters::default(), None)?;
    let repository = Repository::open(&repo, None)?;
    let cache_bytes = (cached_chunks * CACHED_CHUNK) as u64;
    let mut row = Row { name, filter_bytes: 0, cache_bytes, reads: 0, lookups: 0 };
    let mut trace = Vec::new();
    for path in paths {
        let options = BackupOptions { paths: vec![path.clone()], ..Default::default() };
        let (done, looked_up) = lab::backup(&repository, &options, filters, cached_chunks)?;
        row.reads += done.lookups.index_reads + done.lookups.footer_reads;
        row.lookups += done.lookups.total;
        row.filter_bytes = done.filter_bytes;
        trace.push(looked_up);
    }
    Ok((row, trace))
}

/// These look-ups in fjall, which asks its own Bloom filters first. What a backup adds is
/// written at its end and fsynced before the next begins.
#[cfg(bench_fjall)]
fn engine(trace: &Trace, memory: usize) -> Result<Option<Row>, Failure> {
    use std::collections::HashSet;

    use fjall::{Config, PartitionCreateOptions, PersistMode};

    let dir = tempfile::tempdir()?;
    let chunks: HashSet<&ChunkId> = trace.iter().flatten().collect();
    let filters = chunks.len() as u64 * ENGINE_FILTER_BITS / 8;
    let cache = (memory as u64).saturating_sub(filters);
    let mut reads = 0;
    let mut total = 0;
    for questions in trace {
        let keyspace = Config::new(dir.path()).cache_size(cache).open()?;
        let options = PartitionCreateOptions::default();
        let index = keyspace.open_partition("chunks", options)?;
        let mut new = Vec::new();
        let before = read_calls()?;
        for id in questions {
            total += 1;
            if index.get(lab::bytes(id))?.is_none() {
                new.push(*id);
            }
        }
        reads += read_calls()? - before;
        for id in &new {
            index.insert(lab::bytes(id), [0; 17])?;
        }
        index.rotate_memtable_and_wait()?;
        keyspace.persist(PersistMode::SyncAll)?;
    }
    let (filter_bytes, cache_bytes) = (filters, cache);
    Ok(Some(Row { name: "fjall", filter_bytes, cache_bytes, reads, lookups: total }))
}

#[cfg(not(bench_fjall))]
fn engine(_: &Trace, _: usize) -> Result<Option<Row>, Failure> {
    Ok(None)
}

/// Read calls of this process so far, as the operating system counts them.
#[cfg(bench_fjall)]
fn read_calls() -> Result<u64, Failure> {
    let text = fs::read_to_string("/proc/self/io")?;
    let line = text.lines().find_map(|line| line.strip_prefix("syscr: "));
    Ok(line.ok_or("the system does not count reads")?.trim().parse()?)
}
