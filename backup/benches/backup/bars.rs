//! Five ways to find out whether a chunk is stored, with equal memory: the index alone, with the
//! filters of its runs, with the locality cache, with both; and an LSM engine with its own Bloom filters. The
//! program counts the reads of our index, the operating system those of the engine.

use std::fs;
use std::path::{Path, PathBuf};

use cuculus_backup::{
    BackupOptions, ChunkId, FilterMode, LookupOptions, Lookups, Parameters, Repository,
};
use serde::Serialize;

use crate::Failure;

/// See `LookupOptions::cached_chunks`.
const CACHED_CHUNK: usize = 104;
/// Bits per key of the engine's filters, which are in memory and not in its cache.
#[cfg(bench_fjall)]
const ENGINE_FILTER_BITS: u64 = 10;

#[derive(Serialize)]
pub(crate) struct Report {
    versions: Vec<String>,
    logical_bytes: u64,
    chunks: u64,
    lookups: u64,
    memory_bytes: usize,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: &'static str,
    filter_bytes: u64,
    cache_bytes: u64,
    reads: u64,
    reads_per_1000: f64,
    lookups: Option<Lookups>,
}

/// Also returns every look-up of each backup.
pub(crate) fn run(versions: &Path, memory: usize) -> Result<(Report, Trace), Failure> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(versions)? {
        paths.push(entry?.path());
    }
    paths.retain(|path| path.is_dir());
    paths.sort_by_key(|path| numbers(path));
    let names = paths.iter().filter_map(|path| path.file_name());
    let mut report = Report {
        versions: names.map(|name| name.to_string_lossy().into_owned()).collect(),
        logical_bytes: 0,
        chunks: 0,
        lookups: 0,
        memory_bytes: memory,
        rows: Vec::new(),
    };
    // The size of the filters is known only after a first run.
    let filters_only = ours("filters", FilterMode::Normal, 0, &paths, &mut report)?;
    let filters = usize::try_from(filters_only.0.filter_bytes)?;
    let rest = memory.saturating_sub(filters) / CACHED_CHUNK;
    let (alone, trace) = ours("index alone", FilterMode::AlwaysMaybe, 0, &paths, &mut report)?;
    report.rows.push(alone);
    report.rows.push(filters_only.0);
    let all = memory / CACHED_CHUNK;
    let (cache, _) = ours("cache", FilterMode::AlwaysMaybe, all, &paths, &mut report)?;
    let (both, _) = ours("filters and cache", FilterMode::Normal, rest, &paths, &mut report)?;
    report.rows.extend([cache, both]);
    report.rows.extend(engine(&trace, memory, report.chunks)?);
    Ok((report, trace))
}

/// Sorts 9.10 after 9.9.
fn numbers(path: &Path) -> Vec<u64> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

pub(crate) type Trace = Vec<Vec<ChunkId>>;

fn ours(
    name: &'static str,
    filters: FilterMode,
    cached_chunks: usize,
    paths: &[PathBuf],
    report: &mut Report,
) -> Result<(Row, Trace), Failure> {
    let dir = tempfile::tempdir()?;
    let repo = dir.path().join("repo");
    Repository::create(&repo, &Parameters::default(), None)?;
    let repository = Repository::open(&repo, None)?;
    let (mut reads, mut lookups, mut filter_bytes) = (0, Lookups::default(), 0);
    let mut trace = Vec::new();
    report.logical_bytes = 0;
    for path in paths {
        let lookup =
            LookupOptions { filters, cached_chunks, trace: filters == FilterMode::AlwaysMaybe };
        let options = BackupOptions { paths: vec![path.clone()], lookup, ..Default::default() };
        let done = repository.backup(&options, &())?;
        report.logical_bytes += done.bytes;
        let counts = done.lookups;
        reads += counts.index_reads + counts.footer_reads;
        lookups.total += counts.total;
        lookups.from_cache += counts.from_cache;
        lookups.from_filters += counts.from_filters;
        lookups.from_index += counts.from_index;
        lookups.false_positives += counts.false_positives;
        lookups.index_reads += counts.index_reads;
        lookups.footer_reads += counts.footer_reads;
        filter_bytes = done.filter_bytes;
        trace.push(done.trace);
    }
    report.chunks = repository.stats()?.chunks;
    report.lookups = lookups.total;
    let row = Row {
        name,
        filter_bytes,
        cache_bytes: (cached_chunks * CACHED_CHUNK) as u64,
        reads,
        reads_per_1000: 1000.0 * reads as f64 / lookups.total.max(1) as f64,
        lookups: Some(lookups),
    };
    Ok((row, trace))
}

/// The same look-ups in fjall, which asks its own Bloom filters first. What a backup adds is
/// written at its end and fsynced before the next begins.
#[cfg(bench_fjall)]
fn engine(trace: &Trace, memory: usize, chunks: u64) -> Result<Option<Row>, Failure> {
    use fjall::{Config, PartitionCreateOptions, PersistMode};

    let dir = tempfile::tempdir()?;
    let filters = chunks * ENGINE_FILTER_BITS / 8;
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
            if index.get(id.as_bytes())?.is_none() {
                new.push(*id);
            }
        }
        reads += read_calls()? - before;
        for id in &new {
            index.insert(id.as_bytes(), [0; 17])?;
        }
        index.rotate_memtable_and_wait()?;
        keyspace.persist(PersistMode::SyncAll)?;
    }
    let reads_per_1000 = 1000.0 * reads as f64 / f64::from(total.max(1));
    let (filter_bytes, cache_bytes) = (filters, cache);
    Ok(Some(Row { name: "fjall", filter_bytes, cache_bytes, reads, reads_per_1000, lookups: None }))
}

#[cfg(not(bench_fjall))]
fn engine(_: &Trace, _: usize, _: u64) -> Result<Option<Row>, Failure> {
    Ok(None)
}

/// Read calls of this process so far, as the operating system counts them.
#[cfg(bench_fjall)]
fn read_calls() -> Result<u64, Failure> {
    let text = fs::read_to_string("/proc/self/io")?;
    let line = text.lines().find_map(|line| line.strip_prefix("syscr: "));
    Ok(line.ok_or("the system does not count reads")?.trim().parse()?)
}

impl Report {
    pub(crate) fn print(&self) {
        println!(
            "{} versions, {:.2} GB, {} chunks, {} look-ups, {} KiB for filters and cache",
            self.versions.len(),
            self.logical_bytes as f64 / 1e9,
            self.chunks,
            self.lookups,
            self.memory_bytes / 1024
        );
        println!("versions: {}", self.versions.join(" "));
        println!(
            "{:<18} {:>12} {:>12} {:>10} {:>12}",
            "", "filters KiB", "cache KiB", "reads", "per 1000"
        );
        for row in &self.rows {
            println!(
                "{:<18} {:>12} {:>12} {:>10} {:>12.2}",
                row.name,
                row.filter_bytes / 1024,
                row.cache_bytes / 1024,
                row.reads,
                row.reads_per_1000
            );
        }
    }
}
