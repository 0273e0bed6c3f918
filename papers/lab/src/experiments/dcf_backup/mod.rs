//! A file backup with a digest of the chunks in memory: Figs. 18 to 20 of the Dynamic Cuckoo Filter
//! paper, on versions of a real source tree.

mod versions;

use std::collections::{HashMap, VecDeque};

use cuculus::{Filter, Insert, Remove};
use cuculus_papers::baselines::{DynamicBloomFilter, Removal};

use super::dcf_list::{FILTERS, RATE, buckets_for, paper_list};
use crate::prelude::*;
use versions::Versions;

pub(super) const BACKUP: Experiment = Experiment::paper(
    ("dcf-backup", "A backup with a chunk digest"),
    "How much memory does a digest of the stored chunks take, and how many reads of the index does \
     it save, while versions of a source tree are stored and old chunks are dropped? (DCF Figs. \
     18-20)",
    Chance::OwnSeeds,
    run,
);

/// The paper drops chunks at versions 20, 80, 100 and 170 of 180: half of those of the 20 before.
const DROPS: [usize; 4] = [20, 80, 100, 170];
const PAPER_VERSIONS: usize = 180;
/// What the paper saves: memory against a DBF, and reads against no digest.
const LESS_MEMORY: f64 = 0.75;
const FEWER_READS: f64 = 0.625;
/// Chunks that are stored side by side, and how many of such groups the cache holds.
const GROUP: usize = 256;
const CACHED: usize = 16;
const PROBES: u64 = 100_000;
const SEEDS: u64 = 5;

#[derive(Clone, Copy, Default)]
struct Step {
    cuckoo_bytes: f64,
    bloom_bytes: f64,
    /// Reads of the index with the digest, and without.
    reads: f64,
    reads_without: f64,
    chunks: f64,
}

#[derive(Default)]
struct Course {
    steps: Vec<Step>,
    /// Memory before and after each time that chunks were dropped.
    drops: Vec<[usize; 2]>,
    cuckoo_rate: f64,
    bloom_rate: f64,
    lost: usize,
    given_up: usize,
}

/// The exact index with its cache: groups of chunks that lie side by side are read together.
#[derive(Default)]
struct Index {
    groups: HashMap<u64, usize>,
    stored: usize,
    cache: VecDeque<usize>,
}

impl Index {
    /// Whether a chunk is stored, and whether the index had to be read for that.
    fn look(&mut self, chunk: u64) -> (bool, bool) {
        let Some(&group) = self.groups.get(&chunk) else { return (false, true) };
        if self.cache.contains(&group) {
            return (true, false);
        }
        self.cache.push_back(group);
        if self.cache.len() > CACHED {
            self.cache.pop_front();
        }
        (true, true)
    }

    fn store(&mut self, chunk: u64) {
        self.groups.insert(chunk, self.stored / GROUP);
        self.stored += 1;
    }
}

fn course(versions: &Versions, seed: u64) -> anyhow::Result<Course> {
    let mut distinct: Vec<u64> = versions.concat();
    distinct.sort_unstable();
    distinct.dedup();
    let most = distinct.len();
    let each = most.div_ceil(FILTERS);
    let mut cuckoo = paper_list(most, FILTERS, buckets_for(each)).seed(seed).build()?;
    let bloom = DynamicBloomFilter::builder().capacity(most).capacity_per_filter(each);
    let mut bloom = bloom.false_positive_rate(RATE).seed(seed).build()?;
    let (mut index, mut without) = (Index::default(), Index::default());
    let mut random = fastrand::Rng::with_seed(seed);
    let mut recent: Vec<Vec<u64>> = Vec::new();
    let mut course = Course::default();
    let scaled = |version: usize| version * versions.len() / PAPER_VERSIONS;
    for (at, chunks) in versions.iter().enumerate() {
        let mut step = Step { chunks: chunks.len() as f64, ..Step::default() };
        let mut new = Vec::new();
        for &chunk in chunks {
            // Without a digest every chunk that the cache does not know is looked up.
            let (known, read) = without.look(chunk);
            step.reads_without += f64::from(u8::from(read));
            if !known {
                without.store(chunk);
            }
            let is_stored = if cuckoo.contains(&chunk) {
                let (known, read) = index.look(chunk);
                step.reads += f64::from(u8::from(read));
                known
            } else {
                course.lost += usize::from(index.groups.contains_key(&chunk));
                false
            };
            if !is_stored {
                cuckoo.insert(&chunk)?;
                bloom.insert(&chunk)?;
                index.store(chunk);
                new.push(chunk);
            }
        }
        recent.push(new);
        if DROPS.iter().any(|&version| scaled(version) == at && at > 0) {
            let span = scaled(DROPS[0]).max(1);
            let before = cuckoo.size_in_bytes();
            for old in recent.iter_mut().rev().take(span + 1) {
                let (dropped, kept): (Vec<u64>, Vec<u64>) = old.iter().partition(|_| random.bool());
                for chunk in dropped {
                    course.lost += usize::from(!cuckoo.remove(&chunk));
                    let removal = bloom.try_remove(&chunk);
                    course.given_up += usize::from(removal != Removal::Removed);
                    index.groups.remove(&chunk);
                    without.groups.remove(&chunk);
                }
                *old = kept;
            }
            while cuckoo.compact_as_printed() > 0 {}
            course.drops.push([before, cuckoo.size_in_bytes()]);
        }
        step.cuckoo_bytes = cuckoo.size_in_bytes() as f64;
        step.bloom_bytes = bloom.size_in_bytes() as f64;
        course.steps.push(step);
    }
    course.cuckoo_rate = rate_of_absent(seed, PROBES, |key| cuckoo.contains(key));
    course.bloom_rate = rate_of_absent(seed, PROBES, |key| bloom.contains(key));
    let stored = index.groups.keys();
    course.lost += stored.filter(|chunk| !cuckoo.contains(*chunk)).count();
    Ok(course)
}

fn run(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let directory = std::env::temp_dir().join("cuculus-lab-sources");
    match versions::fetched(settings.pick(18, 150), &directory, settings.progress) {
        Ok(versions) => {
            let courses = (0..SEEDS).map(|seed| course(&versions, settings.seed + seed));
            Ok(outcome(&versions, &courses.collect::<anyhow::Result<Vec<_>>>()?))
        }
        // No network is no reason to fail, and no verdict either.
        Err(error) => {
            let reason = format!("the versions of a source tree could not be fetched: {error:#}");
            let claims =
                ["a DCF takes 75 % less memory than a DBF", "62.5 % fewer reads of the index"];
            let untested = |claim: &str| {
                claim!("{claim}"; "nothing"; Holds::Untested).if_decided(false, &reason)
            };
            Ok(Outcome::of(claims.map(untested)))
        }
    }
}

fn outcome(versions: &Versions, courses: &[Course]) -> Outcome {
    let first = &courses[0];
    let sum = |course: &Course, of: fn(&Step) -> f64| course.steps.iter().map(of).sum::<f64>();
    let saved = |course: &Course| {
        1.0 - sum(course, |step| step.cuckoo_bytes) / sum(course, |step| step.bloom_bytes)
    };
    let fewer = |course: &Course| {
        1.0 - sum(course, |step| step.reads) / sum(course, |step| step.reads_without)
    };
    let over_seeds = |of: &dyn Fn(&Course) -> Finding| {
        Finding::over_seeds(&courses.iter().map(of).collect::<Vec<_>>())
    };
    let memory = over_seeds(&|course| {
        let (saved, same_rate) = (saved(course), course.cuckoo_rate <= course.bloom_rate * 1.1);
        claim!("the digest takes 75 % less memory as a DCF than as a DBF (holds from 70 % at no \
             higher rate, in part if less at all)";
            "{} % less; {} % and {} % false positives", percent(saved, 0),
            percent(course.cuckoo_rate, 2), percent(course.bloom_rate, 2);
            Holds::graded(saved >= LESS_MEMORY - 0.05 && same_rate, saved > 0.0) => saved;
            "the buckets of a cuckoo filter are a power of two: with this number of chunks many of \
             them stay empty")
    });
    let reads = over_seeds(&|course| {
        let fewer = fewer(course);
        claim!("the digest saves 62.5 % of the reads of the index (within 10 points; in part if it \
             saves any)";
            "{} %", percent(fewer, 1);
            Holds::graded((fewer - FEWER_READS).abs() <= 0.1, fewer > 0.0) => fewer;
            "what it saves are the looks for chunks that are new: how many there are depends on \
             the versions, and what is left on the cache")
    });
    let shrinks = over_seeds(&|course| {
        let shrunk = course.drops.iter().filter(|[before, after]| after < before).count();
        claim!("memory is given back whenever old chunks are dropped";
            "{shrunk} of {} times", course.drops.len();
            Holds::in_cases(shrunk, course.drops.len()) => shrunk as f64;
            "half of the chunks of a few versions are less than a filter of the list")
    });
    let lost = courses.iter().map(|course| course.lost).sum();
    let x = || Axis::linear("version");
    let line = |of: fn(&Step) -> f64| -> Vec<(f64, f64)> {
        (1..).map(f64::from).zip(first.steps.iter().map(of)).collect()
    };
    let numbered: Vec<(usize, &Step)> = (1..).zip(&first.steps).collect();
    let table = table!(&numbered, |(at, step)| {
        "version": at.to_string();
        "chunks": number(step.chunks, 0);
        "DCF bytes": number(step.cuckoo_bytes, 0);
        "DBF bytes": number(step.bloom_bytes, 0);
        "reads": number(step.reads, 0);
        "without digest": number(step.reads_without, 0);
    });
    Outcome::of([memory, reads, shrinks].into_iter().flatten().chain([
        Finding::never("no chunk that is stored is taken for new", lost).of(Claimant::Ours),
    ]))
    .plot(
        Plot::new("memory of the digest (Fig. 19)", x(), Axis::from_zero("kilobytes"))
            .line("DCF", line(|step| step.cuckoo_bytes / 1e3))
            .line("DBF", line(|step| step.bloom_bytes / 1e3))
            .dashed(
                "the paper: a quarter of the DBF",
                line(|step| (1.0 - LESS_MEMORY) * step.bloom_bytes / 1e3),
            ),
    )
    .plot(
        Plot::new("reads of the index (Fig. 20)", x(), Axis::from_zero("reads"))
            .line("DCF as digest", line(|step| step.reads))
            .line("no digest", line(|step| step.reads_without))
            .dashed(
                "the paper: 62.5 % fewer than that",
                line(|step| (1.0 - FEWER_READS) * step.reads_without),
            ),
    )
    .table("one seed, version by version", table)
    .note(format!(
        "{} versions of a package's source tree, fetched from the registry, in chunks of 2 KiB \
             on average; {} chunks in all. At the same shares of the versions as in the paper half \
             of the chunks of the versions before are dropped, chosen at random, and the list is \
             compacted as printed. A DBF gave up {} of its removals. Groups of {GROUP} chunks lie \
             side by side, and the cache holds {CACHED} groups.",
        versions.len(),
        versions.iter().map(Vec::len).sum::<usize>(),
        first.given_up
    ))
    .wrong(lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_saves_reads_and_loses_no_chunk() {
        let versions = versions::synthetic(36, 2000);
        let courses: Vec<Course> = (0..2).map(|seed| course(&versions, seed).unwrap()).collect();
        let outcome = outcome(&versions, &courses);
        assert_eq!((outcome.wrong_answers, outcome.findings.len()), (0, 4));
        assert!(outcome.findings[0].value > Some(0.5), "{:?}", outcome.findings[0]);
        assert!(outcome.findings[1].holds != Holds::No, "{:?}", outcome.findings[1]);
        assert_eq!(courses[0].drops.len(), 4);
        let index_reads: f64 = courses[0].steps.iter().map(|step| step.reads).sum();
        assert!(index_reads > 0.0);
    }
}
