//! Keys chosen to fall together, beside honest ones. They are stored or refused; either way honest
//! keys are found, at about the same cost, memory is in proportion to the keys, and the file loads.

use std::sync::Once;

use cuculus::conformance::loads_as_it_is;
use cuculus::{Filter, Insert, Key, KeyHash, KeyHasher, Persist, lab};

use crate::chooser::Chooser;
use crate::clock::Clock;
use crate::number;

/// The seed of every filter that is attacked.
pub const SEED: u64 = 0x5eed;
/// Chosen keys in the short run.
pub const CHOSEN: u64 = 5000;
/// Honest keys in the short run, and in a long one.
const HONEST: u64 = 20_000;
const HONEST_IN_LONG: u64 = 100_000;
/// The clock of a thread may tick every four milliseconds only.
const LOOKUPS_IN_LONG: u64 = 2_000_000;
const NANOSECONDS_IN_LONG: f64 = 2e8;
/// The work of one insert, in buckets opened and entries moved.
pub const MOST_WORK: u64 = 16_384;

/// The chosen keys.
#[must_use]
pub fn chosen_count() -> u64 {
    number("CUCULUS_CHOSEN_KEYS").unwrap_or(CHOSEN)
}

/// The honest keys.
#[must_use]
pub fn honest_count() -> u64 {
    if chosen_count() > CHOSEN { HONEST_IN_LONG } else { HONEST }
}

/// Hashes that fall together, by number. No two are equal.
pub type Hashes = dyn Fn(u64) -> u64;

/// What is attacked, and how.
pub struct Victim<F> {
    /// Inserts a key, and says whether it is stored.
    pub put: fn(&mut F, KeyHash) -> bool,
    /// Saved and loaded.
    pub reloaded: fn(&F, &str) -> F,
    /// Parts that every lookup has to look at.
    pub parts: fn(&F) -> usize,
}

impl<F: Filter + Persist> Victim<F> {
    /// A filter of one part into which keys are put so.
    #[must_use]
    pub fn new(put: fn(&mut F, KeyHash) -> bool) -> Self {
        Self { put, reloaded: |filter, name| loads_as_it_is(name, filter), parts: |_| 1 }
    }

    /// A set.
    #[must_use]
    pub fn set() -> Self
    where
        F: Insert,
    {
        Self::new(|filter, hash| filter.insert_hash(hash).is_ok())
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
///
/// # Panics
/// If a promise is broken.
pub fn attack<F: Filter + Persist>(
    name: &str,
    victim: &Victim<F>,
    make: impl Fn() -> F,
    hashes: &Hashes,
) {
    let chooser = Chooser::new(SEED);
    attack_with(name, victim, make, (0..chosen_count()).map(|i| chooser.key(hashes(i))));
}

/// The keys that are looked up, and so many others that nobody has chosen.
fn honest_filter<F: Filter + Persist>(
    name: &str,
    victim: &Victim<F>,
    mut filter: F,
    more: u64,
) -> F {
    for key in (0..honest_count()).map(|key| 2 * key).chain((0..more).map(|key| 1 << 50 | key)) {
        let hash = filter.hasher().hash(&key);
        assert!((victim.put)(&mut filter, hash), "{name}: an honest key");
    }
    filter
}

/// Attacks with these keys.
///
/// # Panics
/// If a promise is broken.
pub fn attack_with<F: Filter + Persist, K: Key>(
    name: &str,
    victim: &Victim<F>,
    make: impl Fn() -> F,
    chosen: impl Iterator<Item = K>,
) {
    let mut filter = honest_filter(name, victim, make(), 0);
    assert_eq!(filter.hasher(), &KeyHasher::fold_xxh3(SEED));
    let honest = (0..honest_count()).map(|key| 2 * key);
    let (size_before, parts_before) = (filter.size_in_bytes(), (victim.parts)(&filter));
    let before = lookup_time(&filter);
    let (mut stored, mut most_work, mut tried) = (Vec::new(), 0, 0u32);
    let clock = Clock::start();
    for key in chosen {
        tried += 1;
        lab::take_work();
        let hash = filter.hasher().hash(&key);
        if (victim.put)(&mut filter, hash) {
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
    let loaded = (victim.reloaded)(&filter, name);
    assert!(honest.clone().all(|key| loaded.contains(&key)), "{name}: lost by loading");
    assert!(stored.iter().all(|key| loaded.contains(key)), "{name}: lost by loading");
    drop(loaded);
    let (size, len) = (filter.size_in_bytes(), filter.len());
    let per_key = |size: usize, keys: u64| size as f64 / keys as f64;
    let mut honest_size = per_key(size_before, honest_count());
    // Times are compared where there are enough lookups. A larger filter is slower, whoever has chosen
    // its keys: so beside one with as many honest keys. That may take more memory for each, too.
    let times = (chosen_count() > CHOSEN).then(|| {
        let same =
            honest_filter(name, victim, make(), (stored.len() as u64).min(chosen_count() * 9 / 10));
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
        (victim.parts)(&filter),
    ));
    assert!(times.is_none_or(|(_, times)| times <= 2.0), "{name}: slower lookups, {beside}");
    assert!(growth <= 3.0, "{name}: {growth:.2} times the memory per key");
    // Parts for the keys that are stored, as for honest ones.
    let most = 3 * parts_before * len / honest_count() as usize + 16;
    assert!((victim.parts)(&filter) <= most, "{name}: {} parts", (victim.parts)(&filter));
}

/// Milliseconds to save a filter to memory, and to load it.
fn save_and_load<F: Persist>(filter: &F) -> [f64; 2] {
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
#[must_use]
pub fn spread(number: u64) -> u64 {
    u64::from((number as u32).wrapping_mul(0x9e37_79b1))
}

/// The same bucket, any fingerprint; and the same bucket and fingerprint.
#[must_use]
pub fn of_one_bucket() -> [(&'static str, Box<Hashes>); 2] {
    [
        ("one bucket", Box::new(spread)),
        ("one fingerprint", Box::new(|i| (i & 0xfff) << 32 | 5 << 20 | (i >> 12 & 0xf_ffff))),
    ]
}
