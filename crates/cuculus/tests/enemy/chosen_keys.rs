//! Keys chosen to fall together, beside honest ones. They are stored or refused; either way honest
//! keys are found, at about the same cost, memory is in proportion to the keys, and the file loads.

use std::sync::Once;

use cuculus::conformance::{Random, loads_as_it_is};
use cuculus::papers::{ConsistentCuckooFilter, DynamicCuckooFilter, IndexIndependentCuckooFilter};
use cuculus::{
    CuckooFilter, CuckooMaplet, ElasticFilter, Filter, Insert, Key, KeyHasher, Persist,
    SharedFilter, lab,
};

use crate::clock::Clock;
use crate::inverse::Chooser;
use crate::number;

const SEED: u64 = 0x5eed;
/// Chosen and honest keys in the short run, and honest ones in a long one.
const CHOSEN: u64 = 5000;
const HONEST: u64 = 20_000;
const HONEST_IN_LONG: u64 = 100_000;
/// The clock of a thread may tick every four milliseconds only.
const LOOKUPS_IN_LONG: u64 = 2_000_000;
const NANOSECONDS_IN_LONG: f64 = 2e8;
/// The work of one insert, in buckets opened and entries moved.
const MOST_WORK: u64 = 16_384;

fn chosen_count() -> u64 {
    number("CUCULUS_CHOSEN_KEYS").unwrap_or(CHOSEN)
}

fn honest_count() -> u64 {
    if chosen_count() > CHOSEN { HONEST_IN_LONG } else { HONEST }
}

/// Hashes that fall together, by number. No two are equal.
type Hashes = dyn Fn(u64) -> u64;

/// What is attacked.
trait Victim: Filter + Persist {
    fn put<K: Key>(&mut self, key: &K) -> bool;
    /// Saved and loaded.
    fn reloaded(&self, name: &str) -> Self {
        loads_as_it_is(name, self)
    }
    /// Parts that every lookup has to look at.
    fn parts(&self) -> usize {
        1
    }
}

macro_rules! victim {
    ($filter:ty $(, $parts:expr)?) => {
        impl Victim for $filter {
            fn put<K: Key>(&mut self, key: &K) -> bool {
                Insert::insert(self, key).is_ok()
            }
            $(fn parts(&self) -> usize {
                $parts(self)
            })?
        }
    };
}
victim!(CuckooFilter);
victim!(ElasticFilter);
victim!(IndexIndependentCuckooFilter);
victim!(DynamicCuckooFilter, DynamicCuckooFilter::filters);
victim!(ConsistentCuckooFilter, ConsistentCuckooFilter::filters);

/// Its file is that of its snapshot, and loaded it may have more segments.
impl Victim for SharedFilter {
    fn put<K: Key>(&mut self, key: &K) -> bool {
        SharedFilter::insert(self, key).is_ok()
    }
    fn reloaded(&self, name: &str) -> Self {
        Self::from_filter(loads_as_it_is(name, &self.snapshot()), 64).expect("memory")
    }
}

impl Victim for CuckooMaplet {
    fn put<K: Key>(&mut self, key: &K) -> bool {
        self.insert(key, 251).is_ok()
    }
}

/// Nanoseconds of a lookup of an honest key, the best of several rounds. Half are there.
fn lookup_time(filter: &impl Filter) -> f64 {
    // Looked up in the environment, which takes longer than a lookup: not while time is taken.
    let honest = honest_count();
    let time = |round: u64, lookups: u64| {
        let (clock, mut found) = (Clock::start(), 0u64);
        for i in 0..lookups {
            let key = (i * 7919 + round) % honest;
            found += u64::from(filter.contains(&(2 * key + (i & 1))));
        }
        let time = clock.nanoseconds() / lookups as f64;
        assert!(found >= lookups / 2);
        time
    };
    // A lookup of several tables on rings takes two microseconds.
    let first = time(0, honest).max(NANOSECONDS_IN_LONG / LOOKUPS_IN_LONG as f64);
    let lookups = (NANOSECONDS_IN_LONG / first) as u64;
    let lookups = if chosen_count() > CHOSEN { lookups.max(honest) } else { honest };
    (0..9).map(|round| time(round, lookups)).fold(f64::INFINITY, f64::min)
}

/// Attacks with keys of which only the hashes are chosen.
fn attack<F: Victim>(name: &str, make: impl Fn() -> F, hashes: &Hashes) {
    let chooser = Chooser::new(SEED);
    attack_with(name, make, (0..chosen_count()).map(|i| chooser.key(hashes(i))));
}

/// The keys that are looked up, and so many others that nobody has chosen.
fn honest_filter<F: Victim>(name: &str, mut filter: F, more: u64) -> F {
    for key in (0..honest_count()).map(|key| 2 * key).chain((0..more).map(|key| 1 << 50 | key)) {
        assert!(filter.put(&key), "{name}: an honest key");
    }
    filter
}

fn attack_with<F: Victim, K: Key>(
    name: &str,
    make: impl Fn() -> F,
    chosen: impl Iterator<Item = K>,
) {
    let mut filter = honest_filter(name, make(), 0);
    assert_eq!(filter.hasher(), &KeyHasher::fold_xxh3(SEED));
    let honest = (0..honest_count()).map(|key| 2 * key);
    let (size_before, parts_before) = (filter.size_in_bytes(), filter.parts());
    let before = lookup_time(&filter);
    let (mut stored, mut most_work, mut tried) = (Vec::new(), 0, 0u32);
    let clock = Clock::start();
    for key in chosen {
        tried += 1;
        lab::take_work();
        if filter.put(&key) {
            stored.push(key);
        }
        most_work = most_work.max(lab::take_work());
    }
    let insert = clock.nanoseconds() / 1000.0 / f64::from(tried);
    let after = lookup_time(&filter);
    assert!(most_work <= MOST_WORK, "{name}: {most_work} for one key");
    assert!(honest.clone().all(|key| filter.contains(&key)), "{name}: an honest key is lost");
    assert!(stored.iter().all(|key| filter.contains(key)), "{name}: a chosen key is lost");
    let [save, load] = save_and_load(&filter);
    let loaded = filter.reloaded(name);
    assert!(honest.clone().all(|key| loaded.contains(&key)), "{name}: lost by loading");
    assert!(stored.iter().all(|key| loaded.contains(key)), "{name}: lost by loading");
    drop(loaded);
    let (size, len) = (filter.size_in_bytes(), filter.len());
    let per_key = |size: usize, keys: u64| size as f64 / keys as f64;
    let mut honest_size = per_key(size_before, honest_count());
    // Times are compared where there are enough lookups. A larger filter is slower, whoever has chosen
    // its keys: so beside one with as many honest keys. That may take more memory for each, too.
    let times = (chosen_count() > CHOSEN).then(|| {
        let same = honest_filter(name, make(), (stored.len() as u64).min(chosen_count() * 9 / 10));
        let of_honest = lookup_time(&same);
        honest_size = honest_size.max(per_key(same.size_in_bytes(), same.len() as u64));
        (of_honest, after / of_honest.max(before))
    });
    let growth = per_key(size, len as u64) / honest_size;
    let beside = times.map_or("–".into(), |(of_honest, times)| {
        format!("{before:.0}, {after:.0}, {of_honest:.0} ns: {times:.2}")
    });
    print_row(&format!(
        "| {name} | {} of {tried} | {most_work} | {insert:.1} µs | {beside} | {save:.1}, {load:.1} ms | \
         {:.1}: {growth:.2} | {} |",
        stored.len(),
        per_key(size, len as u64),
        filter.parts(),
    ));
    assert!(times.is_none_or(|(_, times)| times <= 2.0), "{name}: slower lookups, {beside}");
    assert!(growth <= 3.0, "{name}: {growth:.2} times the memory per key");
    // Parts for the keys that are stored, as for honest ones.
    let most = 3 * parts_before * len / honest_count() as usize + 16;
    assert!(filter.parts() <= most, "{name}: {} parts", filter.parts());
}

/// Milliseconds to save a filter to memory, and to load it.
fn save_and_load<F: Victim>(filter: &F) -> [f64; 2] {
    let clock = Clock::start();
    let bytes = filter.to_bytes();
    let save = clock.nanoseconds();
    let clock = Clock::start();
    assert!(F::from_bytes(&bytes).is_ok(), "its own bytes");
    [save, clock.nanoseconds()].map(|nanoseconds| nanoseconds / 1e6)
}

/// A row of the one table of all attacks, whichever comes first.
fn print_row(row: &str) {
    static HEADER: Once = Once::new();
    HEADER.call_once(|| {
        println!(
            "\n| attack | stored | most work for one key | per key | lookups before, after, with as \
             many honest keys | save, load | bytes per key: times before | parts |\n\
             |---|---|---|---|---|---|---|---|"
        );
    });
    println!("{row}");
}

/// Spreads numbers over 32 bits, each once.
fn spread(number: u64) -> u64 {
    u64::from((number as u32).wrapping_mul(0x9e37_79b1))
}

/// The same bucket, any fingerprint; and the same bucket and fingerprint.
fn of_one_bucket() -> [(&'static str, Box<Hashes>); 2] {
    [
        ("one bucket", Box::new(spread)),
        ("one fingerprint", Box::new(|i| (i & 0xfff) << 32 | 5 << 20 | (i >> 12 & 0xf_ffff))),
    ]
}

#[test]
fn cuckoo_filters_keep_their_promises() {
    let keys = honest_count() + chosen_count();
    for (attack_name, hashes) in of_one_bucket() {
        for semi_sorted in [false, true] {
            let builder =
                CuckooFilter::builder().capacity(keys as usize).hasher(KeyHasher::fold_xxh3(SEED));
            let builder = builder.semi_sorted(semi_sorted);
            let layout = if semi_sorted { "semi-sorted" } else { "packed" };
            let make = || builder.build().expect("valid");
            attack(&format!("cuckoo {layout}, {attack_name}"), make, &hashes);
        }
        let builder = CuckooMaplet::builder()
            .capacity(keys as usize)
            .value_bits(8)
            .hasher(KeyHasher::fold_xxh3(SEED));
        attack(&format!("maplet, {attack_name}"), || builder.build().expect("valid"), &hashes);
    }
}

/// The low 48 bits are the path, from its lowest bit on, and the high 16 the home.
#[test]
fn elastic_filters_keep_their_promises() {
    let attacks: [(&str, Box<Hashes>); 5] = [
        // Every split leaves them together, 2^15 · 85 of them.
        ("one home, one path", Box::new(|i| (i & 0x7fff) << 33 | (i >> 15 & 63) << 48 | 7)),
        ("one home, any path", Box::new(|i| spread(i) | (i & 63) << 48)),
        ("any home, one path", Box::new(|i| (i & 0xffff) << 48 | (i >> 16 & 0xff) << 40 | 5)),
        ("one group", Box::new(|i| spread(i) | (i % 1365) << 48)),
        // Like the second, but home by home, so that the first segments fill.
        ("home by home", Box::new(|i| (i % 700) << 4 | (i / 700 * 85 % 65_536) << 48)),
    ];
    for (attack_name, hashes) in attacks {
        for expected in [0, (honest_count() + chosen_count()) as usize] {
            let builder = ElasticFilter::builder()
                .expected_items(expected)
                .hasher(KeyHasher::fold_xxh3(SEED));
            let name = format!("elastic, {expected} expected, {attack_name}");
            attack(&name, || builder.build().expect("valid"), &hashes);
        }
        let shared = SharedFilter::builder().hasher(KeyHasher::fold_xxh3(SEED));
        attack(&format!("shared, {attack_name}"), || shared.build().expect("valid"), &hashes);
    }
}

/// Integers have to be searched for: some hundred thousand trials for each of these.
#[test]
fn chosen_integers_are_like_other_chosen_keys() {
    const INTEGERS: usize = 1000;
    let chooser = Chooser::new(SEED);
    let elastic = ElasticFilter::builder().hasher(KeyHasher::fold_xxh3(SEED));
    let elastic = || elastic.build().expect("valid");
    // Of a group of homes, and of one path as far as it is read.
    let keys = chooser.integers(0xfc00 << 48 | 0xfff, 5);
    attack_with("elastic, integers", elastic, keys.take(INTEGERS));
    let cuckoo = CuckooFilter::builder().hasher(KeyHasher::fold_xxh3(SEED));
    let cuckoo = cuckoo.capacity(honest_count() as usize + INTEGERS);
    let cuckoo = || cuckoo.build().expect("valid");
    // Of one bucket of some thousand.
    attack_with("cuckoo, integers", cuckoo, chooser.integers(0xffff << 48, 0).take(INTEGERS));
}

#[test]
fn dynamic_filters_keep_their_promises() {
    for (attack_name, hashes) in of_one_bucket() {
        for reuse_holes in [false, true] {
            let builder = DynamicCuckooFilter::builder()
                .capacity(2 * honest_count() as usize)
                .hasher(KeyHasher::fold_xxh3(SEED));
            let builder = builder.reuse_holes(reuse_holes);
            let make = || builder.build().expect("valid");
            attack(&format!("dynamic, {reuse_holes}, {attack_name}"), make, &hashes);
        }
    }
}

/// FORMAT.md, tables on a ring: point `i` of a fingerprint.
fn point(fingerprint: u32, i: u64) -> u32 {
    let y = (i << 32 | u64::from(fingerprint)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let y = (y ^ (y >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let y = (y ^ (y >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((y ^ (y >> 31)) >> 32) as u32
}

/// Hashes of fingerprints of which some points are in a part of the ring.
fn near(points: u64, part: u32, random: &mut Random) -> Box<Hashes> {
    let is_near = |&fingerprint: &u32| (0..points).all(|i| point(fingerprint, i) < u32::MAX / part);
    let count = chosen_count() as usize;
    let near: Vec<u32> = (1..u32::MAX).filter(is_near).take(count).collect();
    let high: Vec<u64> = (0..count).map(|_| random.bits() << 32).collect();
    Box::new(move |i| u64::from(near[i as usize % near.len()]) | high[i as usize])
}

#[test]
fn filters_on_rings_keep_their_promises() {
    let mut random = Random::new(1);
    let attacks: [(&str, Box<Hashes>); 3] = [
        ("one part of the ring", near(2, 64, &mut random)),
        ("one small part of the ring", near(1, 4096, &mut random)),
        ("one fingerprint", Box::new(|i| i << 32 | 77)),
    ];
    for (attack_name, hashes) in attacks {
        let keys = (honest_count() + chosen_count()) as usize;
        let builder = IndexIndependentCuckooFilter::builder()
            .fingerprint_bits(32)
            .hasher(KeyHasher::fold_xxh3(SEED));
        let builder = builder.buckets(keys as u64 * 2 / 7);
        let make = || builder.build().expect("valid");
        attack(&format!("index-independent, {attack_name}"), make, &hashes);
        // As many filters for any number of keys: with 500 buckets each, a million keys make 500 of
        // them, and every lookup looks at all.
        let builder = ConsistentCuckooFilter::builder()
            .buckets_per_filter((keys as u64 / 50).max(500))
            .hasher(KeyHasher::fold_xxh3(SEED));
        let make = || builder.build().expect("valid");
        attack(&format!("consistent, {attack_name}"), make, &hashes);
    }
}

/// Every entry that lost its place to a new bucket was searched a place for, and each search cleared notes of
/// 65,536 buckets: 11,370 for one key here, and 35,788 with a million chosen keys.
#[test]
fn large_rings_grow_with_little_work() {
    const MOST: u64 = MOST_WORK / 2;
    let hashes = near(2, 64, &mut Random::new(2));
    let builder = ConsistentCuckooFilter::builder().buckets_per_filter(66_000);
    let mut filter = builder.hasher(KeyHasher::fold_xxh3(SEED)).build().expect("valid");
    let mut most_work = 0;
    let mut put = |key: &dyn Fn(&mut ConsistentCuckooFilter) -> bool| {
        lab::take_work();
        assert!(key(&mut filter));
        most_work = most_work.max(lab::take_work());
    };
    (0..290_000u64).for_each(|key| put(&|filter| filter.put(&key)));
    let chooser = Chooser::new(SEED);
    (0..CHOSEN).for_each(|i| put(&|filter| filter.put(&chooser.key(hashes(i)))));
    assert!(most_work <= MOST, "{most_work} for one key");
    assert!(filter.utilization() > 0.9);
}
