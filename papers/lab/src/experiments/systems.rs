//! Every structure of the papers, at work: what it holds, what it finds, what it forgets.

use cuculus::lab::PlacementKind;
use cuculus::{CuckooFilter, CuckooMaplet, ElasticFilter, Filter as _};
use cuculus_papers::analysis;
use cuculus_papers::baselines::{
    AdaptiveCuckooFilter, BlockedBloomFilter, BloomFilter, CountingBloomFilter, CuckooTable,
    DleftCountingBloomFilter, DynamicBloomFilter, QuotientFilter,
};
use cuculus_papers::{ConsistentCuckooFilter, DynamicCuckooFilter, IndexIndependentCuckooFilter};

use crate::experiment::{Chance, Experiment, Outcome, Settings};
use crate::keys::{absent_keys, keys};
use crate::subject::Subject;
use cuculus_page::table::{Table, number, percent};
use cuculus_page::{Claimant, Finding, Holds};

pub(super) const SYSTEMS: Experiment = Experiment {
    name: "systems",
    title: "All structures at work",
    question: "Do all structures of the papers find what they hold and forget what is removed? (CF \
               Table 1, CCF Table I and the cuckoo hash table of CF Fig. 1)",
    about: Claimant::Ours,
    chance: Chance::Seed,
    options: &[],
    once: |settings| {
        let keys = settings.pick(20_000, 200_000);
        systems(keys, settings)
    },
};

const RATE: f64 = 0.01;
/// Of a rate that a filter is made for, what chance may add.
const CHANCE: f64 = 1.1;

/// What a structure did when it was filled, searched, and half emptied.
#[derive(Debug, Default)]
struct Seen {
    bits_per_item: f64,
    rate: f64,
    /// Of the keys that are in.
    missed: usize,
    /// Of the half that should go: those that could not be removed.
    stayed: Option<usize>,
    /// Of the half that should stay: those that went too.
    lost: usize,
}

/// A structure, and where else it is on the page.
struct System {
    name: &'static str,
    figures: &'static str,
    seen: Seen,
}

struct Work {
    all: Vec<u64>,
    absent: Vec<u64>,
}

impl Work {
    fn halves(&self) -> (&[u64], &[u64]) {
        self.all.split_at(self.all.len() / 2)
    }

    fn of(&self, mut filter: Box<dyn Subject>) -> anyhow::Result<Seen> {
        let inserted = filter.insert_until_refused(&self.all);
        anyhow::ensure!(inserted == self.all.len(), "a key was refused after {inserted}");
        let mut seen = Seen {
            bits_per_item: filter.bits_per_key(),
            rate: filter.count(&self.absent) as f64 / self.absent.len() as f64,
            missed: self.all.len() - filter.count(&self.all),
            ..Seen::default()
        };
        let (old, kept) = self.halves();
        seen.stayed = filter.remove_all(old).map(|removed| old.len() - removed);
        seen.lost = kept.len() - filter.count(kept);
        Ok(seen)
    }

    fn table(&self, seed: u64) -> anyhow::Result<Seen> {
        let builder = CuckooTable::builder().capacity(self.all.len()).seed(seed);
        let mut table: CuckooTable<u64, u64> = builder.build()?;
        for &key in &self.all {
            table.insert(key, !key)?;
        }
        let missed = |table: &CuckooTable<u64, u64>, keys: &[u64]| {
            keys.iter().filter(|key| table.get(*key) != Some(&!**key)).count()
        };
        let mut seen = Seen {
            bits_per_item: table.size_in_bytes() as f64 * 8.0 / table.len() as f64,
            missed: missed(&table, &self.all),
            ..Seen::default()
        };
        let (old, kept) = self.halves();
        let removed = old.iter().filter(|key| table.remove(*key).is_some()).count();
        seen.stayed = Some(old.len() - removed);
        seen.lost = missed(&table, kept);
        let found = self.absent.iter().chain(old).filter(|key| table.contains_key(*key)).count();
        seen.rate = found as f64 / self.absent.len() as f64;
        Ok(seen)
    }

    /// Of a value for each key; what other keys add to an answer is its rate.
    fn maplet(&self, seed: u64) -> anyhow::Result<Seen> {
        let builder = CuckooMaplet::builder().capacity(self.all.len()).value_bits(8);
        let mut maplet = builder.false_positive_rate(RATE).seed(seed).build()?;
        let value = |key: u64| key >> 56;
        for &key in &self.all {
            maplet.insert(&key, value(key))?;
        }
        let missed = |maplet: &CuckooMaplet, keys: &[u64]| {
            keys.iter().filter(|key| !maplet.values(*key).any(|v| v == value(**key))).count()
        };
        let found = self.absent.iter().filter(|key| maplet.values(*key).next().is_some()).count();
        let mut seen = Seen {
            bits_per_item: maplet.size_in_bytes() as f64 * 8.0 / maplet.len() as f64,
            rate: found as f64 / self.absent.len() as f64,
            missed: missed(&maplet, &self.all),
            ..Seen::default()
        };
        let (old, kept) = self.halves();
        let removed = old.iter().filter(|key| maplet.remove(*key, value(**key))).count();
        seen.stayed = Some(old.len() - removed);
        seen.lost = missed(&maplet, kept);
        Ok(seen)
    }
}

fn all(work: &Work, settings: &Settings<'_>) -> anyhow::Result<Vec<System>> {
    let (keys, seed) = (work.all.len(), settings.seed);
    let cuckoo = CuckooFilter::builder().capacity(keys).false_positive_rate(RATE).seed(seed);
    let ring_bits = analysis::fingerprint_bits_for_keys(keys as f64, RATE);
    let mut systems = Vec::new();
    let mut add = |name, figures, seen: anyhow::Result<Seen>| -> anyhow::Result<()> {
        (settings.progress)(name);
        systems.push(System { name, figures, seen: seen? });
        Ok(())
    };
    add("cuckoo hash table", "cuckoo-table", work.table(seed))?;
    add(
        "cuckoo filter (CF)",
        "cf-*",
        work.of(Box::new(cuckoo.clone().placement(PlacementKind::Xor).build()?)),
    )?;
    add("CF of any size", "cf-*, speed", work.of(Box::new(cuckoo.clone().build()?)))?;
    add(
        "semi-sorted CF (ss-CF)",
        "cf-*",
        work.of(Box::new(cuckoo.clone().semi_sorted(true).build()?)),
    )?;
    add("CF with values", "systems", work.maplet(seed))?;
    let simplified = cuckoo.placement(PlacementKind::Simplified);
    add("simplified CF (SCF)", "ccf-features", work.of(Box::new(simplified.build()?)))?;
    let builder = AdaptiveCuckooFilter::builder().capacity(keys).false_positive_rate(RATE);
    add("adaptive CF (ACF)", "acf", work.of(Box::new(builder.seed(seed).build()?)))?;
    let builder = BloomFilter::builder().capacity(keys).false_positive_rate(RATE);
    add("Bloom (BF)", "cf-*", work.of(Box::new(builder.seed(seed).build()?)))?;
    let builder = BlockedBloomFilter::builder().capacity(keys).false_positive_rate(RATE);
    add("blocked Bloom", "cf-*", work.of(Box::new(builder.seed(seed).build()?)))?;
    let builder = CountingBloomFilter::builder().capacity(keys).false_positive_rate(RATE);
    add("counting Bloom (CBF)", "cf-properties", work.of(Box::new(builder.seed(seed).build()?)))?;
    let builder = DleftCountingBloomFilter::builder().capacity(keys).false_positive_rate(RATE);
    add("d-left counting Bloom", "cf-*", work.of(Box::new(builder.seed(seed).build()?)))?;
    let builder = QuotientFilter::builder().capacity(keys).false_positive_rate(RATE);
    add("quotient filter (QF)", "cf-*", work.of(Box::new(builder.seed(seed).build()?)))?;
    let builder = DynamicBloomFilter::builder().capacity(keys).false_positive_rate(RATE);
    add("dynamic Bloom (DBF)", "dbf, dcf-times", work.of(Box::new(builder.seed(seed).build()?)))?;
    let builder = DynamicCuckooFilter::builder().capacity(keys).false_positive_rate(RATE);
    add("dynamic CF (DCF)", "dcf-*, ccf-trace", work.of(Box::new(builder.seed(seed).build()?)))?;
    let builder = IndexIndependentCuckooFilter::builder().buckets(keys as u64 * 3 / 8);
    let builder = builder.fingerprint_bits(ring_bits).seed(seed);
    add(
        "index-independent CF (I2CF)",
        "ccf-loads, ccf-rates",
        work.of(Box::new(builder.build()?)),
    )?;
    let builder = ConsistentCuckooFilter::builder().fingerprint_bits(ring_bits).seed(seed);
    add("consistent CF (CCF)", "ccf-*", work.of(Box::new(builder.build()?)))?;
    let builder = ElasticFilter::builder().false_positive_rate(RATE).seed(seed);
    add(
        "elastic",
        "cf-*, dcf-times, ccf-*, speed, growing, elastic",
        work.of(Box::new(builder.build()?)),
    )?;
    Ok(systems)
}

fn systems(count: u64, settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let work = Work {
        all: keys(settings.seed, 0..count),
        absent: absent_keys(settings.seed, 0..20 * count),
    };
    let systems = all(&work, settings)?;
    let mut table = Table::new([
        "structure",
        "bits/item",
        "FPR %",
        "not found",
        "not removed",
        "lost with others",
        "measured in",
    ]);
    for System { name, figures, seen, .. } in &systems {
        table.row([
            (*name).to_owned(),
            number(Some(seen.bits_per_item), 1),
            percent(seen.rate, 3),
            seen.missed.to_string(),
            seen.stayed.map_or_else(|| "no deletion".to_owned(), |stayed| stayed.to_string()),
            seen.lost.to_string(),
            (*figures).to_owned(),
        ]);
    }
    Ok(Outcome {
        findings: systems.iter().map(judge).collect(),
        tables: vec![(format!("{count} keys, a rate of {RATE}, half removed again"), table)],
        notes: vec![
            "The cuckoo hash table holds whole keys and values and is exact; the adaptive filter \
             holds the keys beside its fingerprints; the filters on a ring count their ring. The \
             library's tests hold every filter to the same laws beside an exact multiset."
                .to_owned(),
        ],
        ..Outcome::default()
    })
}

fn judge(system: &System) -> Finding {
    let Seen { rate, missed, stayed, lost, .. } = system.seen;
    let right = missed == 0 && lost == 0 && rate <= RATE * CHANCE;
    let reason = match stayed {
        Some(1..) => "it gives up where several of its filters may hold the key",
        _ => "",
    };
    let (forgets, removed) = match stayed {
        Some(stayed) => (", and forgets", format!(", {stayed} not removed")),
        None => ("", String::new()),
    };
    Finding::new(
        format!("{}: finds what it holds, at most 1 % beside{forgets}", system.name),
        format!("{missed} not found, {} %{removed}, {lost} lost", percent(rate, 3)),
        match (right, stayed) {
            (true, None | Some(0)) => Holds::Yes,
            (true, _) => Holds::Partly,
            (false, _) => Holds::No,
        },
    )
    .valued(rate)
    .because(reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::QUICK;

    #[test]
    fn all_work() {
        let outcome = systems(2000, &QUICK).unwrap();
        assert_eq!(outcome.findings.len(), 17);
        for finding in &outcome.findings {
            assert!(finding.holds != Holds::No, "{finding:?}");
        }
    }

    #[test]
    fn a_lost_key_is_a_fault() {
        let system = |seen| System { name: "x", figures: "", seen };
        assert_eq!(judge(&system(Seen { stayed: Some(0), ..Seen::default() })).holds, Holds::Yes);
        assert_eq!(judge(&system(Seen::default())).holds, Holds::Yes);
        let gives_up = Seen { stayed: Some(3), ..Seen::default() };
        assert_eq!(judge(&system(gives_up)).holds, Holds::Partly);
        assert_eq!(judge(&system(Seen { missed: 1, ..Seen::default() })).holds, Holds::No);
        assert_eq!(judge(&system(Seen { rate: 0.02, ..Seen::default() })).holds, Holds::No);
    }
}
