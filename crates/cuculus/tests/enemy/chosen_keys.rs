//! Keys chosen to fall together, beside honest ones.

use cuculus::conformance::loads_as_it_is;
use cuculus::{CuckooFilter, CuckooMaplet, ElasticFilter, KeyHasher, SharedFilter};
use testkit::attack::{
    Hashes, SEED, Victim, attack, attack_with, chosen_count, honest_count, of_one_bucket, spread,
};
use testkit::chooser::Chooser;

#[test]
fn cuckoo_filters_keep_their_promises() {
    let keys = honest_count() + chosen_count();
    let maplet =
        Victim::new(|maplet: &mut CuckooMaplet, hash| maplet.insert_hash(hash, 251).is_ok());
    for (attack_name, hashes) in of_one_bucket() {
        for semi_sorted in [false, true] {
            let builder =
                CuckooFilter::builder().capacity(keys as usize).hasher(KeyHasher::fold_xxh3(SEED));
            let builder = builder.semi_sorted(semi_sorted);
            let layout = if semi_sorted { "semi-sorted" } else { "packed" };
            let make = || builder.build().expect("valid");
            attack(&format!("cuckoo {layout}, {attack_name}"), &Victim::set(), make, &hashes);
        }
        let builder = CuckooMaplet::builder()
            .capacity(keys as usize)
            .value_bits(8)
            .hasher(KeyHasher::fold_xxh3(SEED));
        attack(
            &format!("maplet, {attack_name}"),
            &maplet,
            || builder.build().expect("valid"),
            &hashes,
        );
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
    // Its file is that of its snapshot, and loaded it may have more segments.
    let of_shared = Victim {
        reloaded: |filter: &SharedFilter, name| {
            SharedFilter::from_filter(loads_as_it_is(name, &filter.snapshot()), 64).expect("memory")
        },
        ..Victim::new(|filter: &mut SharedFilter, hash| filter.insert_hash(hash).is_ok())
    };
    for (attack_name, hashes) in attacks {
        for expected in [0, (honest_count() + chosen_count()) as usize] {
            let builder = ElasticFilter::builder()
                .expected_items(expected)
                .hasher(KeyHasher::fold_xxh3(SEED));
            let name = format!("elastic, {expected} expected, {attack_name}");
            attack(&name, &Victim::set(), || builder.build().expect("valid"), &hashes);
        }
        let shared = SharedFilter::builder().hasher(KeyHasher::fold_xxh3(SEED));
        attack(
            &format!("shared, {attack_name}"),
            &of_shared,
            || shared.build().expect("valid"),
            &hashes,
        );
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
    attack_with("elastic, integers", &Victim::set(), elastic, keys.take(INTEGERS));
    let cuckoo = CuckooFilter::builder().hasher(KeyHasher::fold_xxh3(SEED));
    let cuckoo = cuckoo.capacity(honest_count() as usize + INTEGERS);
    let cuckoo = || cuckoo.build().expect("valid");
    // Of one bucket of some thousand.
    attack_with(
        "cuckoo, integers",
        &Victim::set(),
        cuckoo,
        chooser.integers(0xffff << 48, 0).take(INTEGERS),
    );
}
