//! The file format: old files stay readable, bytes stay the same, and absurd ones are refused
//! even where their checksums are right.

use cuculus::lab::{Instructions, PlacementKind, Search};
use cuculus::{
    CuckooFilter, CuckooMaplet, DecodeError, Filter, Insert, KeyHasher, Kind, Persist, Remove,
};
use testkit::files::{HEADER, all_are_refused, forged, golden_file};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/v1");

/// The filters of the golden files: the same operations must give the same bytes for ever.
fn golden_filters() -> Vec<(&'static str, CuckooFilter)> {
    let builder = || CuckooFilter::builder().hasher(KeyHasher::xxh3(42));
    let sip = KeyHasher::siphash(0x0123_4567_89ab_cdef_0011_2233_4455_6677);
    let simplified = builder().placement(PlacementKind::Simplified);
    let chunked = builder().placement(PlacementKind::Chunked);
    let filters = [
        ("cuckoo-empty", builder().capacity(0)),
        ("cuckoo-default", builder().capacity(100)),
        ("cuckoo-13-bits", builder().buckets(27).fingerprint_bits(13)),
        ("cuckoo-wide", builder().buckets(9).fingerprint_bits(29).slots_per_bucket(8)),
        ("cuckoo-semi-sorted", builder().capacity(100).fingerprint_bits(13).semi_sorted(true)),
        ("cuckoo-xor", builder().capacity(100).placement(PlacementKind::Xor).hasher(sip)),
        ("cuckoo-simplified-walk", simplified.capacity(90).search(Search::RandomWalk)),
        ("cuckoo-fold-xxh3", builder().capacity(100).hasher(KeyHasher::fold_xxh3(42))),
        ("cuckoo-chunked", chunked.buckets(3 << 12).fingerprint_bits(4).slots_per_bucket(2)),
    ];
    let mut built = Vec::new();
    for (name, builder) in filters {
        let mut filter = builder.build().expect("valid");
        if name != "cuckoo-empty" {
            filter.extend((0..filter.slots() as u64 + 5).map(|key| format!("key {key}")));
            assert!(filter.remove("key 3"));
        }
        built.push((name, filter));
    }
    built
}

fn golden_maplet() -> CuckooMaplet {
    let builder = CuckooMaplet::builder().capacity(50).value_bits(21).hasher(KeyHasher::xxh3(42));
    let mut maplet = builder.build().expect("valid");
    for key in 0..50u64 {
        maplet.insert(&key, key * 40_000).expect("fits");
    }
    maplet
}

#[test]
fn golden_files_are_read_and_written_as_ever() {
    for (name, filter) in golden_filters() {
        let file = golden_file(GOLDEN, name, &filter.to_bytes());
        assert!(file == filter.to_bytes(), "{name}: bytes have changed");
        let read = CuckooFilter::from_bytes(&file).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!((read.len(), read.hasher()), (filter.len(), filter.hasher()));
    }
    let file = golden_file(GOLDEN, "maplet", &golden_maplet().to_bytes());
    assert!(file == golden_maplet().to_bytes(), "maplet: bytes have changed");
    let read = CuckooMaplet::from_bytes(&file).expect("golden");
    assert!((0..50u64).all(|key| read.values(&key).any(|value| value == key * 40_000)));
}

/// Every file in the folder is one that the test above reads.
#[test]
fn no_golden_file_is_forgotten() {
    let mut names: Vec<String> = golden_filters().iter().map(|(name, _)| (*name).into()).collect();
    names.push("maplet".into());
    for entry in std::fs::read_dir(GOLDEN).expect("the golden files") {
        let path = entry.expect("readable").path();
        let stem = path.file_stem().and_then(|s| s.to_str()).expect("a name").to_owned();
        // Those of elastic filters have a test of their own (format_elastic.rs).
        let is_read = names.contains(&stem) || stem.starts_with("elastic-");
        assert!(is_read, "{stem} is not read by any test");
    }
}

#[test]
fn versions_that_nobody_wrote_are_refused() {
    for (name, filter) in golden_filters() {
        let bytes = filter.to_bytes();
        assert_eq!(Kind::of_prefix(&bytes).expect(name), Kind::Cuckoo);
        for version in [0, 2, 255u8] {
            let mut bytes = bytes.clone();
            bytes[8] = version;
            for kind in 1..=6u8 {
                bytes[10] = kind;
                let error = Kind::of_prefix(&bytes).expect_err(name);
                let is_version = matches!(error, DecodeError::Version { got, newest: 1 } if got == u16::from(version));
                assert!(is_version, "{name}: {error}");
            }
            assert!(matches!(CuckooFilter::from_bytes(&bytes), Err(DecodeError::Version { .. })));
        }
    }
}

/// Of a cuckoo filter.
const PARAMETERS: usize = 40;

/// Each field of the header and of the parameters with values that nobody writes.
#[test]
fn absurd_values_with_right_checksums_are_refused() {
    let builder = CuckooFilter::builder().buckets(10).fingerprint_bits(12).seed(1);
    let mut filter = builder.build().expect("valid");
    filter.extend(0..30u64);
    let bytes = filter.to_bytes();
    let cases: &[(&str, usize, &[u8])] = &[
        ("magic", 0, b"\x89CUCULUT"),
        ("version 0", 8, &[0, 0]),
        ("version 2", 8, &[2, 0]),
        ("kind 0", 10, &[0, 0]),
        ("kind of a maplet", 10, &[2, 0]),
        ("kind 65535", 10, &[255, 255]),
        ("hash 0", 12, &[0]),
        ("hash 4", 12, &[4]),
        ("reserved", 13, &[1]),
        ("a seed of more than 64 bits", 24, &[1]),
        ("fewer parameters", 32, &[39]),
        ("more parameters", 32, &[41]),
        ("endless parameters", 32, &[255; 8]),
        ("shorter payload", 40, &[59]),
        ("endless payload", 40, &[255; 8]),
        ("3-bit fingerprints", 48, &[3]),
        ("33-bit fingerprints", 48, &[33]),
        ("other fingerprints", 48, &[13]),
        ("no slots", 49, &[0]),
        ("nine slots", 49, &[9]),
        ("layout 2", 50, &[2]),
        ("another layout", 50, &[1]),
        ("placement 4", 51, &[4]),
        ("xor of ten buckets", 51, &[1]),
        ("chunks of ten buckets", 51, &[3]),
        ("search 3", 52, &[3]),
        ("reserved", 53, &[1]),
        ("endless kicks", 56, &[255; 4]),
        ("no buckets", 60, &[0; 4]),
        ("endless buckets", 60, &[255; 4]),
        ("one bucket more", 60, &[11]),
        ("no keys", 64, &[0]),
        ("one key more", 64, &[31]),
        ("endless keys", 64, &[255; 8]),
        ("a key in the table more", 96, &[0, 0, 0, 0, 0, 0]),
    ];
    let cases: Vec<_> = cases.iter().map(|&(what, at, value)| (what, at, value, "")).collect();
    all_are_refused::<CuckooFilter>(&bytes, &cases);
}

/// A file may promise that no more refusals can be counted; the count then stays where it is.
#[test]
fn counting_refusals_does_not_overflow() {
    let bytes = CuckooFilter::builder().buckets(1).seed(1).build().expect("valid").to_bytes();
    let forged = forged(&bytes, |bytes| bytes[80..88].fill(255));
    let mut filter = CuckooFilter::from_bytes(&forged).expect("a count like any other");
    filter.extend([7u64; 5]);
    assert_eq!((filter.len(), filter.refused()), (4, u64::MAX));
}

/// Buckets of a semi-sorted table that no insert can produce, and bits after the last bucket.
#[test]
fn impossible_buckets_are_refused() {
    let builder = CuckooFilter::builder().buckets(5).fingerprint_bits(8).semi_sorted(true).seed(1);
    let mut filter = builder.build().expect("valid");
    filter.extend(0..12u64);
    let bytes = filter.to_bytes();
    assert!(CuckooFilter::from_bytes(&forged(&bytes, |_| {})).is_ok());
    let payload = HEADER + PARAMETERS + 8;
    // Code 4095 of the first bucket: only 3,876 have a meaning.
    let damaged = forged(&bytes, |bytes| {
        bytes[payload] = 0xff;
        bytes[payload + 1] |= 0x0f;
    });
    assert!(matches!(CuckooFilter::from_bytes(&damaged), Err(DecodeError::Invalid { .. })));
    // The upper half of the last byte lies after the last of five buckets of 28 bits.
    let last = bytes.len() - 9;
    let damaged = forged(&bytes, |bytes| bytes[last] |= 0x80);
    assert!(matches!(CuckooFilter::from_bytes(&damaged), Err(DecodeError::Invalid { .. })));
}

#[test]
fn the_complaint_fits_the_bytes() {
    let bytes = CuckooFilter::builder().capacity(10).seed(1).build().expect("valid").to_bytes();
    let error = |bytes: &[u8]| CuckooFilter::from_bytes(bytes).expect_err("damaged");
    assert!(matches!(error(b"some text that is no filter"), DecodeError::NotAFilter));
    assert!(matches!(error(b"\x89CUCPART and its parts"), DecodeError::SetInParts));
    assert!(matches!(error(b"\x89CUCPAR"), DecodeError::NotAFilter));
    assert!(matches!(error(&[]), DecodeError::Truncated { .. }));
    assert!(matches!(error(&bytes[..20]), DecodeError::Truncated { .. }));
    assert!(matches!(error(&bytes[..bytes.len() - 1]), DecodeError::Truncated { .. }));
    assert!(matches!(CuckooMaplet::from_bytes(&bytes), Err(DecodeError::Kind { .. })));
    let mut damaged = bytes.clone();
    damaged[70] ^= 1;
    assert!(matches!(error(&damaged), DecodeError::Checksum { part: "header" }));
    let mut damaged = bytes.clone();
    damaged[100] ^= 1;
    assert!(matches!(error(&damaged), DecodeError::Checksum { part: "payload" }));
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is gone"))
        }
    }
    let error = CuckooFilter::read_from(Broken).expect_err("broken");
    assert!(error.to_string().contains("the disk is gone"));
}

/// A keyed hash function takes a way of its own through a batch of keys.
#[test]
fn batches_of_keys_agree_for_all_hash_functions() {
    for hasher in [KeyHasher::fold_xxh3(5), KeyHasher::xxh3(5), KeyHasher::siphash(5)] {
        let builder = CuckooFilter::builder().capacity(1000).hasher(hasher);
        let mut filter = builder.build().expect("valid");
        let keys: Vec<String> = (0..1000).map(|key| format!("key {key}")).collect();
        filter.extend(&keys[..500]);
        let mut hits = Vec::new();
        filter.contains_keys(&keys, &mut hits);
        let one_by_one: Vec<bool> = keys.iter().map(|key| filter.contains(key)).collect();
        assert_eq!(hits, one_by_one);
        assert!(hits[..500].iter().all(|&hit| hit) && hits[500..].iter().any(|&hit| !hit));
    }
}

/// The same operations with and without wider instructions: the same bytes and answers.
#[test]
fn plain_and_wide_paths_agree_byte_for_byte() {
    let sorted = [5, 13, 17, 32].map(|bits| (bits, 4, true));
    let packed =
        [(4, 1), (7, 2), (8, 8), (31, 2), (32, 8)].map(|(bits, slots)| (bits, slots, false));
    let of_four = [10, 12, 13, 16, 20, 32].map(|bits| (bits, 4, false));
    for (bits, slots, semi_sorted) in sorted.into_iter().chain(packed).chain(of_four) {
        for placement in PlacementKind::ALL {
            let run = |instructions| {
                let builder = CuckooFilter::builder().buckets(1024).fingerprint_bits(bits);
                let builder = builder.slots_per_bucket(slots).semi_sorted(semi_sorted).seed(3);
                let mut filter =
                    builder.placement(placement).instructions(instructions).build().expect("valid");
                let keys = filter.slots() as u64 * 9 / 10;
                let hashes: Vec<_> = (0..2 * keys).map(|key| filter.hasher().hash(&key)).collect();
                // A batch that stops early continues behind the refused key.
                let mut rest = &hashes[..keys as usize];
                while let Err(full) = filter.insert_batch(rest) {
                    rest = &rest[full.inserted + 1..];
                }
                let mut hits = Vec::new();
                filter.contains_batch(&hashes, &mut hits);
                let one_by_one = hashes.iter().map(|&hash| filter.contains_hash(hash));
                assert!(one_by_one.eq(hits.iter().copied()), "f={bits} b={slots} {placement:?}");
                let (full, mut removed) = (filter.to_bytes(), Vec::new());
                filter.remove_batch(&hashes[..keys as usize / 2], &mut removed);
                (full, hits, removed, filter.to_bytes())
            };
            let (plain, wide) = (run(Instructions::Baseline), run(Instructions::Detected));
            assert!(plain == wide, "f={bits} b={slots} {placement:?}");
        }
    }
}
