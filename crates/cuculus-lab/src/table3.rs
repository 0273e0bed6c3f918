//! Table 3 of the Cuckoo Filter paper: what 192 MB hold, at which error, and how fast they fill.

use std::time::Duration;

use clap::Args;
use cuculus::{CuckooFilter, Filter, Insert, KeyHash};

use crate::clock::{mops, timed};
use crate::keys::WorkKey;
use crate::table::{Table, number, percent};
use crate::verdict::{self, Verdict};

/// How large.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The paper's size: 2^25 buckets, 192 MB a filter.
    #[arg(long)]
    pub full: bool,
    /// Two to this power times fewer buckets than the paper.
    #[arg(long, default_value_t = 5, conflicts_with = "full", value_parser = clap::value_parser!(u32).range(0..=15))]
    pub scale: u32,
    /// The seed of the keys.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

const PAPER_LOG2_BUCKETS: u32 = 25;
const SLOTS: u32 = 4;
/// Twelve bits.
const BYTES_PER_ENTRY: f64 = 1.5;
/// Enough that chance moves a rate of 0.19 % by less than a hundredth of it.
const ABSENT_KEYS: u64 = 1 << 24;
const GROUP: u64 = 1024;
/// What is asked for where the paper stops at the first refusal.
const PLANNED_LOAD: f64 = 0.95;

/// A row of the paper.
struct Kind {
    name: &'static str,
    semi_sorted: bool,
    /// A semi-sorted bucket saves four bits, one a slot: the same table for both.
    bits: u32,
    paper_items: f64,
    paper_bits: f64,
    paper_rate: f64,
    paper_mops: f64,
}

const KINDS: [Kind; 2] = [
    Kind {
        name: "CF",
        semi_sorted: false,
        bits: 12,
        paper_items: 127.78e6,
        paper_bits: 12.60,
        paper_rate: 0.0019,
        paper_mops: 5.00,
    },
    Kind {
        name: "ss-CF",
        semi_sorted: true,
        bits: 13,
        paper_items: 128.04e6,
        paper_bits: 12.58,
        paper_rate: 0.0009,
        paper_mops: 3.13,
    },
];

/// What was measured.
struct Measured {
    items: usize,
    bits_per_item: f64,
    rate: f64,
    mops: f64,
}

/// Fills the filters and prints the paper's figures beside ours.
///
/// # Errors
/// If there is not enough memory.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let scale = if options.full { 0 } else { options.scale };
    let buckets = 1u64 << (PAPER_LOG2_BUCKETS - scale);
    let filters = Filters { buckets, seed: options.seed };
    let all = (buckets * u64::from(SLOTS)) as f64;
    let planned = (all * PLANNED_LOAD) as u64;
    println!(
        "2^{} buckets of four entries, {} MiB; the paper's numbers of items scaled to that\n",
        PAPER_LOG2_BUCKETS - scale,
        all * BYTES_PER_ENTRY / f64::from(1 << 20),
    );
    let head = ["filter", "items (M)", "paper", "bits/item", "paper", "FPR %", "paper"];
    let speed = ["build Mops", "in batches", "paper"];
    let mut table = Table::new(head.into_iter().chain(speed));
    let mut verdicts = Vec::new();
    for kind in &KINDS {
        eprintln!("{} to the first refusal", kind.name);
        let full = filters.to_first_refusal(kind)?;
        table.row(cells(kind, "first refusal", scale, &full, None));
        eprintln!("{} to 95 %", kind.name);
        let at_load = filters.to_count(kind, planned)?;
        let batched = filters.to_count_in_batches(kind, planned)?;
        table.row(cells(kind, "95 %", scale, &at_load, Some(batched)));
        verdicts.extend(judge(kind, &at_load));
    }
    println!("{table}\n{}", verdict::table(&verdicts));
    Ok(())
}

fn cells(
    kind: &Kind,
    stop: &str,
    scale: u32,
    ours: &Measured,
    batched: Option<f64>,
) -> Vec<String> {
    vec![
        format!("{}, {stop}", kind.name),
        number(Some(ours.items as f64 / 1e6), 3),
        number(Some(kind.paper_items / f64::from(1 << scale) / 1e6), 3),
        number(Some(ours.bits_per_item), 2),
        number(Some(kind.paper_bits), 2),
        percent(ours.rate, 4),
        percent(kind.paper_rate, 2),
        number(Some(ours.mops), 2),
        number(batched, 2),
        number(Some(kind.paper_mops), 2),
    ]
}

fn judge(kind: &Kind, at_load: &Measured) -> Vec<Verdict> {
    let rate = |limit| {
        let claim = format!("{} at 95 %: false positives in %", kind.name);
        Verdict::at_most(claim, Some(100.0 * at_load.rate), limit)
    };
    if kind.semi_sorted {
        return vec![rate(0.10)];
    }
    let bits = format!("{} at 95 %: bits per item", kind.name);
    vec![rate(0.19), Verdict::at_most(bits, Some(at_load.bits_per_item), 12.65)]
}

struct Filters {
    buckets: u64,
    seed: u64,
}

impl Filters {
    fn empty(&self, kind: &Kind) -> anyhow::Result<CuckooFilter> {
        let builder = CuckooFilter::builder()
            .buckets(self.buckets)
            .slots_per_bucket(SLOTS)
            .fingerprint_bits(kind.bits)
            .semi_sorted(kind.semi_sorted)
            .seed(self.seed);
        Ok(builder.build()?)
    }

    fn to_first_refusal(&self, kind: &Kind) -> anyhow::Result<Measured> {
        let mut filter = self.empty(kind)?;
        let (time, ()) = timed(|| {
            let mut keys = (0..).map(|number| u64::nth(self.seed, number));
            while keys.next().is_some_and(|key| filter.insert(&key).is_ok()) {}
        });
        Ok(self.measured(&filter, time))
    }

    fn to_count(&self, kind: &Kind, count: u64) -> anyhow::Result<Measured> {
        let mut filter = self.empty(kind)?;
        let (time, inserted) =
            timed(|| (0..count).try_for_each(|number| filter.insert(&u64::nth(self.seed, number))));
        inserted?;
        Ok(self.measured(&filter, time))
    }

    fn to_count_in_batches(&self, kind: &Kind, count: u64) -> anyhow::Result<f64> {
        let mut filter = self.empty(kind)?;
        let mut hashes = Vec::with_capacity(GROUP as usize);
        let (time, inserted) = timed(|| {
            (0..count).step_by(GROUP as usize).try_for_each(|start| {
                let numbers = start..count.min(start + GROUP);
                let keys = numbers.map(|number| u64::nth(self.seed, number));
                hash_all(&filter, keys, &mut hashes);
                filter.insert_batch(&hashes)
            })
        });
        inserted?;
        Ok(mops(filter.len(), time))
    }

    fn measured(&self, filter: &CuckooFilter, time: Duration) -> Measured {
        let mut hashes = Vec::with_capacity(GROUP as usize);
        let mut hits = Vec::with_capacity(GROUP as usize);
        let mut found = 0;
        for start in (0..ABSENT_KEYS).step_by(GROUP as usize) {
            let keys = (start..start + GROUP).map(|number| u64::absent(self.seed, number));
            hash_all(filter, keys, &mut hashes);
            filter.contains_batch(&hashes, &mut hits);
            found += hits.iter().filter(|&&hit| hit).count();
        }
        Measured {
            items: filter.len(),
            bits_per_item: filter.size_in_bytes() as f64 * 8.0 / filter.len() as f64,
            rate: found as f64 / ABSENT_KEYS as f64,
            mops: mops(filter.len(), time),
        }
    }
}

fn hash_all(filter: &CuckooFilter, keys: impl Iterator<Item = u64>, hashes: &mut Vec<KeyHash>) {
    let hasher = filter.hasher();
    hashes.clear();
    hashes.extend(keys.map(|key| hasher.hash(&key)));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 12-bit entries and semi-sorted 13-bit ones fill the same table.
    #[test]
    fn both_kinds_have_the_same_size() {
        let filters = Filters { buckets: 1 << 10, seed: 1 };
        let bytes = KINDS.map(|kind| filters.empty(&kind).unwrap().size_in_bytes());
        assert_eq!(bytes[0], bytes[1]);
    }

    #[test]
    fn verdicts_follow_the_numbers() {
        let at = |rate, bits_per_item| Measured { items: 1, bits_per_item, rate, mops: 1.0 };
        let words = |kind, at| -> Vec<_> { judge(kind, &at).iter().map(Verdict::word).collect() };
        assert_eq!(words(&KINDS[0], at(0.00189, 12.64)), ["PASS", "PASS"]);
        assert_eq!(words(&KINDS[0], at(0.00191, 12.66)), ["MISS", "MISS"]);
        assert_eq!(words(&KINDS[1], at(0.00099, 99.0)), ["PASS"]);
        assert_eq!(words(&KINDS[1], at(0.00101, 1.0)), ["MISS"]);
    }
}
