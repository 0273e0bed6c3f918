//! The file format of elastic filters: golden files stay readable, an independent decoder reads the same entries, and absurd files are refused even where their checksums are right.

use cuculus::{
    DecodeError, ElasticFilter, ElasticFilterBuilder, Filter, FullCause, Insert, KeyHasher, Kind,
    Persist, Remove,
};
use testkit::files::{HEADER, all_are_refused, forged, golden_file};
use xxhash_rust::xxh3::xxh3_64;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/elastic");
const RATE: usize = HEADER;
const LOAD: usize = HEADER + 8;
const EXPECTED: usize = HEADER + 16;
const SPARE: usize = HEADER + 24;
const KEYS: usize = HEADER + 32;
const REFUSED: usize = HEADER + 40;
const LEVELS: usize = HEADER + 48;
const SEGMENTS: usize = HEADER + 56;

fn builder() -> ElasticFilterBuilder {
    ElasticFilter::builder().hasher(KeyHasher::xxh3(42))
}

fn build(builder: &ElasticFilterBuilder) -> ElasticFilter {
    builder.build().expect("valid")
}

fn key(number: u64) -> String {
    format!("key {number}")
}

/// The address of a key: path and home.
fn address(hash: u64) -> (u64, u16) {
    (hash & ((1 << 52) - 1), (((hash >> 48) * 768) >> 16) as u16)
}

/// A filter, and its keys as often as they are in it.
struct Golden {
    name: &'static str,
    filter: ElasticFilter,
    keys: Vec<String>,
}

/// Elastic filters: none, one and many segments, codes of several widths, plain codes, overflow,
/// counted copies, a wide segment, and groups of more than 255 slots.
fn golden() -> Vec<Golden> {
    let sip = KeyHasher::siphash(0x0123_4567_89ab_cdef_0011_2233_4455_6677);
    let simple = [
        ("elastic-empty", builder(), 0, 0),
        ("elastic-small", builder(), 100, 0),
        ("elastic-many", builder().false_positive_rate(0.001).spare_bytes(64 << 10), 9000, 100),
        ("elastic-plain", builder().expected_items(2000).target_load(0.5).hasher(sip), 1500, 20),
        ("elastic-overflow", builder().false_positive_rate(0.5).spare_bytes(0), 200_000, 190_000),
    ];
    let mut all = Vec::new();
    for (name, builder, keys, removed) in simple {
        let mut filter = build(&builder);
        filter.extend((0..keys).map(key));
        // The newest go again.
        for number in (keys - removed..keys).rev() {
            assert!(filter.remove(&key(number)));
        }
        all.push(Golden { name, filter, keys: (0..keys - removed).map(key).collect() });
    }
    let filled = |name, builder: &ElasticFilterBuilder, keys: Vec<String>| {
        let mut filter = build(builder);
        filter.extend(&keys);
        assert_eq!(filter.refused(), 0, "{name}");
        Golden { name, filter, keys }
    };
    let copies = |number: u64| [1, 2, 3, 4, 9, 300][number as usize % 6];
    let keys = (0..600).flat_map(|number| vec![key(number); copies(number)]).collect();
    all.push(filled("elastic-copies", &builder(), keys));
    // Keys that share a few homes.
    let hasher = build(&builder()).hasher().clone();
    let crowded = |most: u16, count| -> Vec<String> {
        let is_low = |key: &String| address(hasher.hash(key).get()).1 < most;
        (0..).map(key).filter(is_low).take(count).collect()
    };
    all.push(filled("elastic-wide", &builder(), crowded(96, 500)));
    all.push(filled("elastic-large-groups", &builder(), crowded(16, 400)));
    all
}

/// An entry in a file: what is known of a key, and the copies of it.
#[derive(Debug)]
struct Entry {
    home: u16,
    path: u64,
    bits: u32,
    copies: u64,
}

/// What a file holds.
struct Decoded {
    keys: u64,
    levels: Vec<Vec<Entry>>,
    wide: usize,
    large: usize,
    plain: usize,
    counted: usize,
}

impl Decoded {
    /// The copies of a key, and of those that look the same.
    fn count(&self, hash: u64) -> usize {
        let (path, home) = address(hash);
        let is_match = |entry: &&Entry| {
            entry.home == home && (entry.path ^ path) & ((1 << entry.bits) - 1) == 0
        };
        self.levels.iter().flatten().filter(is_match).map(|entry| entry.copies as usize).sum()
    }
}

/// Bits of a file, from any bit on.
fn bits(bytes: &[u8], at: usize, width: usize) -> u64 {
    (0..width).map(|i| u64::from(bytes[(at + i) / 8] >> ((at + i) % 8) & 1) << i).sum()
}

/// Reads a file as FORMAT.md describes it, with nothing of the library's code.
fn decode(file: &[u8]) -> Decoded {
    let u16_at = |at: usize| usize::from(u16::from_le_bytes([file[at], file[at + 1]]));
    let u64_at = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().expect("eight bytes"));
    assert_eq!(&file[..12], b"\x89CUCULUS\x01\x00\x03\x00");
    let levels = u64_at(LEVELS) as usize;
    assert_eq!(u64_at(32) as usize, 56 + 8 * levels);
    let mut at = SEGMENTS + 8 * levels + 8;
    let mut decoded =
        Decoded { keys: u64_at(KEYS), levels: Vec::new(), wide: 0, large: 0, plain: 0, counted: 0 };
    for level in 0..levels {
        let segments = u64_at(SEGMENTS + 8 * level);
        let mut entries = Vec::new();
        for index in 0..segments {
            let whole = segments.ilog2();
            let is_deeper = index < segments - (1 << whole) || index >= 1 << whole;
            let depth = whole + u32::from(is_deeper);
            let (width, is_plain) = (usize::from(file[at] & 127), file[at] >> 7 == 1);
            let (is_large, is_wide) = (file[at + 1] & 1 == 1, file[at + 1] & 2 == 2);
            let counted = u16_at(at + 4);
            decoded.plain += usize::from(is_plain);
            decoded.large += usize::from(is_large);
            decoded.wide += usize::from(is_wide);
            decoded.counted += counted;
            at += 8;
            let size = if is_large { 2 } else { 1 };
            let sizes: Vec<usize> = (0..48)
                .map(
                    |group| if is_large { u16_at(at + 2 * group) } else { file[at + group].into() },
                )
                .collect();
            at += 48 * size;
            let slots: usize = sizes.iter().sum();
            let len = (48 * 16 + slots * (width + 1)).div_ceil(8);
            let groups = &file[at..at + len];
            at += len;
            let more: Vec<(u64, u64)> = (0..counted)
                .map(|i| (u64_at(at + 12 * i), bits(&file[at + 12 * i + 8..], 0, 32)))
                .collect();
            at += 12 * counted;
            let mut bit = 0;
            for (group, &size) in sizes.iter().enumerate() {
                for (home, run) in group_runs(groups, bit, size, width) {
                    assert!(run.is_sorted(), "codes are not in order");
                    let home = (16 * group + home) as u16;
                    let mut rest = &run[..];
                    while let Some(&code) = rest.first() {
                        let equal = rest.iter().take_while(|&&other| other == code).count();
                        rest = &rest[equal..];
                        // The highest zero ends the extension.
                        let length = if is_plain {
                            width
                        } else {
                            (0..width).rev().find(|&bit| code >> bit & 1 == 0).expect("an end")
                        };
                        let extension = code & ((1 << length) - 1);
                        let key = u64::from(home) << 40 | code;
                        let more = more.iter().find(|counted| counted.0 == key);
                        assert!(equal <= 3 && (more.is_none() || equal == 3));
                        entries.push(Entry {
                            home,
                            path: index | extension << depth,
                            bits: depth + length as u32,
                            copies: equal as u64 + more.map_or(0, |counted| counted.1),
                        });
                    }
                }
                bit += 16 + size * (width + 1);
            }
        }
        decoded.levels.push(entries);
    }
    assert_eq!(at + 8, file.len());
    decoded
}

/// The codes of the homes of a group with `len` codes.
fn group_runs(bytes: &[u8], at: usize, len: usize, width: usize) -> Vec<(usize, Vec<u64>)> {
    let header: Vec<u64> = (0..16 + len).map(|i| bits(bytes, at + i, 1)).collect();
    assert_eq!((header.iter().sum::<u64>(), header.last()), (16, Some(&1)));
    let mut codes = (0..len).map(|i| bits(bytes, at + 16 + len + i * width, width));
    // Each one ends a home, and each zero before it is a code.
    let homes = header.split_inclusive(|&bit| bit == 1).enumerate();
    homes.map(|(home, bits)| (home, codes.by_ref().take(bits.len() - 1).collect())).collect()
}

/// The decoder above finds the same copies of every key, of those that are there and of others.
#[test]
fn an_independent_decoder_reads_the_same_entries() {
    for Golden { name, filter, keys } in golden() {
        let decoded = decode(&filter.to_bytes());
        let copies: u64 = decoded.levels.iter().flatten().map(|entry| entry.copies).sum();
        assert_eq!((decoded.keys, copies), (keys.len() as u64, keys.len() as u64), "{name}");
        let others: Vec<String> = (1 << 40..(1 << 40) + 300).map(key).collect();
        let step = keys.len() / 700 + 1;
        for key in keys.iter().step_by(step).chain(&others) {
            let count = decoded.count(filter.hasher().hash(key).get());
            assert_eq!(filter.count(key), count, "{name}: {key}");
        }
        match name {
            "elastic-many" => assert!(filter.stats().segments > 8),
            "elastic-plain" => assert!(decoded.plain > 0),
            "elastic-overflow" => assert!(decoded.levels.len() > 1),
            "elastic-copies" => assert!(decoded.counted > 100 && decoded.wide > 0),
            "elastic-wide" => assert!(decoded.wide > 0 && decoded.large == 0),
            "elastic-large-groups" => assert!(decoded.large > 0),
            _ => assert!(decoded.levels.len() == 1 && decoded.wide == 0),
        }
    }
}

/// Golden files are read, and written as they are.
#[test]
fn golden_files_are_read_and_written_as_ever() {
    for Golden { name, filter, keys } in golden() {
        let file = golden_file(GOLDEN, name, &filter.to_bytes());
        assert_eq!(Kind::of_prefix(&file).expect(name), Kind::Elastic);
        let mut read = ElasticFilter::from_bytes(&file).unwrap_or_else(|e| panic!("{name}: {e}"));
        // When segments are rewritten, and how long their entries are, is not part of the format.
        assert!(file == read.to_bytes(), "{name}: bytes have changed");
        assert_eq!((read.len(), read.hasher()), (keys.len(), filter.hasher()), "{name}");
        assert!(keys.iter().all(|key| read.contains(key)), "{name}");
        assert!(keys.iter().all(|key| read.remove(key)), "{name}");
        assert!(read.is_empty(), "{name}");
    }
    let names: Vec<&str> = golden().iter().map(|golden| golden.name).collect();
    for entry in std::fs::read_dir(GOLDEN).expect("the golden files") {
        let path = entry.expect("readable").path();
        let stem = path.file_stem().and_then(|s| s.to_str()).expect("a name");
        assert!(names.contains(&stem), "{stem} is not read by any test");
    }
}

/// What is absurd, where, and what stands there.
type Case<'a> = (&'a str, usize, &'a [u8]);

fn are_refused(bytes: &[u8], cases: &[Case<'_>]) {
    let cases: Vec<_> = cases.iter().map(|&(what, at, value)| (what, at, value, "")).collect();
    all_are_refused::<ElasticFilter>(bytes, &cases);
}

fn number(value: f64) -> [u8; 8] {
    value.to_bits().to_le_bytes()
}

fn whole(value: u64) -> [u8; 8] {
    value.to_le_bytes()
}

/// Each field with values that nobody writes.
#[test]
fn absurd_files_are_refused() {
    const SEGMENT: usize = SEGMENTS + 8 + 8;
    const SIZES: usize = SEGMENT + 8;
    let mut filter = build(&builder());
    filter.extend(0..30u64);
    let bytes = filter.to_bytes();
    let width = bytes[SEGMENT];
    let used = (0..48).find(|&group| bytes[SIZES + group] > 0).expect("a key");
    let after = (used + 1..48).find(|&group| bytes[SIZES + group] > 0).expect("another");
    let headers = SIZES + 48;
    let cases: &[Case<'_>] = &[
        ("version 0", 8, &[0, 0]),
        ("version 2", 8, &[2, 0]),
        ("kind of a cuckoo filter", 10, &[1, 0]),
        ("fewer parameters", 32, &[63]),
        ("a level more than counted", 32, &[72]),
        ("shorter payload", 40, &[9, 0]),
        ("endless payload", 40, &[255; 8]),
        ("a rate that is no number", RATE, &number(f64::NAN)),
        ("no rate", RATE, &number(0.0)),
        ("a rate of one", RATE, &number(1.0)),
        ("an infinite rate", RATE, &number(f64::INFINITY)),
        ("a tiny rate", RATE, &number(1e-300)),
        ("a negative rate", RATE, &number(-0.01)),
        ("a load that is no number", LOAD, &number(f64::NAN)),
        ("no load", LOAD, &number(0.0)),
        ("a load of one", LOAD, &number(1.0)),
        ("endless keys expected", EXPECTED, &[255; 8]),
        ("too many bytes to spare", SPARE, &whole((1 << 40) + 1)),
        ("no keys", KEYS, &whole(0)),
        ("one key more", KEYS, &whole(31)),
        ("endless keys", KEYS, &[255; 8]),
        ("no levels", LEVELS, &whole(0)),
        ("two levels", LEVELS, &whole(2)),
        ("17 levels", LEVELS, &whole(17)),
        ("endless levels", LEVELS, &[255; 8]),
        ("no segments", SEGMENTS, &whole(0)),
        ("two segments", SEGMENTS, &whole(2)),
        ("2^52 segments", SEGMENTS, &whole(1 << 52)),
        ("endless segments", SEGMENTS, &[255; 8]),
        ("no width", SEGMENT, &[0]),
        ("no width of plain codes", SEGMENT, &[128]),
        ("41-bit codes", SEGMENT, &[41]),
        ("127-bit codes", SEGMENT, &[127]),
        ("a bit less", SEGMENT, &[width - 1]),
        ("a bit more", SEGMENT, &[width + 1]),
        ("large groups that are not", SEGMENT + 1, &[1]),
        ("flag 8", SEGMENT + 1, &[8]),
        ("flag 128", SEGMENT + 1, &[128]),
        ("a counted code that is not there", SEGMENT + 4, &[1, 0]),
        ("endless counted codes", SEGMENT + 4, &[255, 255]),
        ("a group without its slot", SIZES + used, &[bytes[SIZES + used] - 1]),
        ("a group with a slot more", SIZES + used, &[bytes[SIZES + used] + 1]),
        ("groups of 255 slots", SIZES, &[255; 48]),
        ("headers of zeros", headers, &[0; 8]),
        ("headers of ones", headers, &[255; 8]),
        ("codes of ones", bytes.len() - 8 - 12, &[255; 12]),
    ];
    are_refused(&bytes, cases);
    let crowded = forged(&bytes, |bytes| bytes[SIZES..SIZES + 48].fill(255));
    let error = ElasticFilter::from_bytes(&crowded).expect_err("too many slots").to_string();
    assert!(error.contains("12240") && error.contains("at most 2040"), "{error}");
    // A slot that belongs to the next group.
    let moved = forged(&bytes, |bytes| {
        bytes[SIZES + used] -= 1;
        bytes[SIZES + after] += 1;
    });
    assert!(ElasticFilter::from_bytes(&moved).is_err());
    // Bits after the last group: an odd number of slots of an odd width.
    let mut filter = build(&builder());
    while decode(&filter.to_bytes()).keys == 0
        || (usize::from(filter.to_bytes()[SEGMENT]) * filter.len()).is_multiple_of(8)
    {
        filter.insert(&filter.len()).expect("fits");
    }
    let bytes = filter.to_bytes();
    let last = bytes.len() - 9;
    are_refused(&bytes, &[("bits after the last group", last, &[bytes[last] | 128])]);
}

/// What a file says of a block in memory has no effect on what is in it.
#[test]
fn sizes_of_blocks_in_a_file_are_kept_or_corrected() {
    const SEGMENT: usize = SEGMENTS + 8 + 8;
    let mut filter = build(&builder());
    filter.extend(0..500u64);
    let bytes = filter.to_bytes();
    for (at, value) in [(2, [0, 0]), (2, [255, 255]), (2, [1, 0]), (6, [0, 0]), (6, [255, 255])] {
        let changed =
            forged(&bytes, |bytes| bytes[SEGMENT + at..SEGMENT + at + 2].copy_from_slice(&value));
        let mut read = match ElasticFilter::from_bytes(&changed) {
            Ok(read) => read,
            Err(error) => {
                assert!(matches!(error, DecodeError::Invalid { .. }), "{error}");
                continue;
            }
        };
        assert!(read.size_in_bytes() < 3 * filter.size_in_bytes(), "{}", read.stats());
        assert!((0..500u64).all(|key| read.contains(&key)));
        let again = read.to_bytes();
        assert!(ElasticFilter::from_bytes(&again).expect("own bytes").to_bytes() == again);
        read.extend(500..3000u64);
        assert!((0..3000u64).all(|key| read.remove(&key)));
        assert!(read.is_empty());
    }
}

/// Counted copies that nobody counts.
#[test]
fn absurd_counted_copies_are_refused() {
    let mut filter = build(&builder());
    filter.extend([7u64; 10]);
    filter.extend([8u64; 20]);
    let bytes = filter.to_bytes();
    let first = bytes.len() - 8 - 24;
    let (home, second) = (first + 5, first + 12);
    let swapped = [&bytes[second..second + 12], &bytes[first..second]].concat();
    let cases: &[Case<'_>] = &[
        ("no copies", first + 8, &[0; 4]),
        ("one copy more", first + 8, &[bytes[first + 8] + 1]),
        ("another home", home, &[bytes[home] ^ 1]),
        ("home 768", home, &[0, 3]),
        ("home 65,535 and more", home, &[255; 3]),
        ("bits above the home", first + 7, &[1]),
        ("bits above the last home", second + 7, &[0x80]),
        ("another code", first, &[bytes[first] ^ 1]),
        ("in another order", first, &swapped),
        ("the same twice", second, &bytes[first..first + 8]),
    ];
    are_refused(&bytes, cases);
}

/// A filter remembers its refusals in a file, and counts on from there. A key is refused when it
/// has been counted 2^32 times.
#[test]
fn refusals_are_saved_and_do_not_overflow() {
    let mut filter = build(&builder());
    filter.extend([7u64; 10]);
    let bytes = filter.to_bytes();
    let more = bytes.len() - 12;
    let most = u64::from(u32::MAX);
    let bytes = forged(&bytes, |bytes| {
        bytes[more..more + 4].fill(255);
        bytes[KEYS..KEYS + 8].copy_from_slice(&whole(most + 3));
    });
    let mut filter = ElasticFilter::from_bytes(&bytes).expect("as many as can be");
    // As far as `usize` counts, which may have 32 bits; files have the whole number.
    let counted = |copies: u64| usize::try_from(copies).unwrap_or(usize::MAX);
    assert_eq!((filter.len(), filter.count(&7u64)), (counted(most + 3), counted(most + 3)));
    let full = filter.insert(&7u64).expect_err("one more");
    assert_eq!(full.cause, FullCause::EqualEntries { held: u32::MAX as usize });
    assert!(filter.to_bytes() == bytes);
    filter.extend([7u64; 2]);
    let mut again = ElasticFilter::from_bytes(&filter.to_bytes()).expect("own bytes");
    again.extend([7u64]);
    assert_eq!((filter.refused(), again.refused()), (2, 3));
    assert!(filter.remove(&7u64));
    filter.insert(&7u64).expect("room for one");
    filter.extend(8..2000u64);
    assert_eq!(filter.len(), counted(most + 3 + 1992));
    let forged = forged(&bytes, |bytes| bytes[REFUSED..REFUSED + 8].fill(255));
    let mut most = ElasticFilter::from_bytes(&forged).expect("a count like any other");
    most.extend([7u64; 2]);
    assert_eq!(most.refused(), u64::MAX);
}

/// A small file can say that a key is there as often as can be counted.
#[test]
fn copies_that_are_only_counted_need_no_room_in_a_merge() {
    let mut filter = build(&builder());
    filter.extend([7u64; 10]);
    let bytes = filter.to_bytes();
    let more = bytes.len() - 12;
    let many = forged(&bytes, |bytes| {
        bytes[more..more + 4].copy_from_slice(&9_999_997u32.to_le_bytes());
        bytes[KEYS..KEYS + 8].copy_from_slice(&whole(10_000_000));
    });
    let many = ElasticFilter::from_bytes(&many).expect("many copies");
    for mut into in [build(&builder()), filter] {
        let before = into.len();
        into.merge(&many).expect("room");
        assert_eq!(into.count(&7u64), before + 10_000_000);
        assert!(into.size_in_bytes() < 10_000, "{} bytes", into.size_in_bytes());
    }
}

/// Codes of any value at the end of a file are refused, or are what a key makes: read, and written
/// again as they were.
#[test]
fn codes_are_refused_or_written_as_they_were() {
    for Golden { name, filter, .. } in golden() {
        let bytes = filter.to_bytes();
        if filter.is_empty() {
            continue;
        }
        let payload = HEADER + usize::from(u16::from_le_bytes([bytes[32], bytes[33]])) + 8;
        let last = bytes.len() - 9;
        let (mut refused, mut random) = (0, 88_172_645_463_325_252_u64);
        for i in 0..600 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            // Eight bytes near the end, or a bit anywhere.
            let changed = forged(&bytes, |bytes| {
                if i < 256 {
                    bytes[last - 7..=last].fill(i as u8);
                } else {
                    bytes[payload + (random >> 8) as usize % (last - payload)] ^= 1 << (random % 8);
                }
            });
            match ElasticFilter::from_bytes(&changed) {
                Ok(mut read) => {
                    let again = read.to_bytes();
                    let read_again = ElasticFilter::from_bytes(&again).expect("own bytes");
                    assert!(read_again.to_bytes() == again, "{name}: {i}");
                    assert_eq!(again.len(), changed.len(), "{name}: {i}");
                    // Whatever it is, it is a filter.
                    read.extend(0..100u64);
                    assert!(read.refused() > 0 || (0..100u64).all(|key| read.contains(&key)));
                }
                Err(error) => {
                    assert!(matches!(error, DecodeError::Invalid { .. }), "{error}");
                    refused += 1;
                }
            }
        }
        assert!(refused > 0, "{name}: a lost key was not noticed");
    }
}

/// A file that claims more segments than the bits of a hash can tell apart.
#[test]
fn paths_longer_than_a_hash_are_refused() {
    let mut filter = build(&builder());
    filter.extend(0..1u64);
    let head = &filter.to_bytes()[..SEGMENTS + 8];
    // 2^12 + 1: the first segment and the last have a depth of 13.
    let segments = (1u64 << 12) + 1;
    for (width, is_read) in [(39, true), (40, false)] {
        // A plain code in the first home of the first segment: a zero more in the header, and the code.
        let mut payload = vec![128 | width, 0, 4, 0, 0, 0, 1, 0, 1];
        payload.extend([0; 47]);
        let is_one = |bit: usize| (1..17).contains(&bit) || bit >= 17 + usize::from(width);
        let len = 48 * 16 + 1 + usize::from(width);
        payload.extend((0..len.div_ceil(8)).map(|byte| {
            let bits =
                (8 * byte..len.min(8 * byte + 8)).map(|bit| u8::from(is_one(bit)) << (bit % 8));
            bits.sum::<u8>()
        }));
        let empty = [&[128 | width, 0, 3, 0, 0, 0, 0, 0][..], &[0; 48], &[255; 48 * 2]].concat();
        (1..segments).for_each(|_| payload.extend(&empty));
        let read = ElasticFilter::from_bytes(&file(head, SEGMENTS, segments, &payload));
        if is_read {
            assert_eq!(read.expect("52 bits").len(), 1);
        } else {
            let error = read.expect_err("53 of 52 bits");
            assert!(matches!(error, DecodeError::Invalid { .. }), "{error}");
        }
    }
}

/// A file of a level with these segments.
fn file(head: &[u8], field: usize, segments: u64, payload: &[u8]) -> Vec<u8> {
    let mut file = head.to_vec();
    file[40..48].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    file[field..field + 8].copy_from_slice(&segments.to_le_bytes());
    file.extend(xxh3_64(&file).to_le_bytes());
    file.extend(payload);
    file.extend(xxh3_64(payload).to_le_bytes());
    file
}

/// Every byte of a small file, and many of a larger one.
#[test]
fn damaged_files_are_refused() {
    for Golden { name, filter, .. } in golden() {
        let bytes = filter.to_bytes();
        let step = bytes.len() / 3000 + 1;
        for at in (0..bytes.len()).step_by(step) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(ElasticFilter::from_bytes(&damaged).is_err(), "{name}: byte {at} changed");
            assert!(ElasticFilter::from_bytes(&bytes[..at]).is_err(), "{name}: cut at {at}");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(matches!(
            ElasticFilter::from_bytes(&longer),
            Err(DecodeError::TrailingBytes { extra: 1 })
        ));
    }
}

/// What is in a file, whatever the order: entries and their lengths.
fn entries(filter: &ElasticFilter) -> Vec<String> {
    let decoded = decode(&filter.to_bytes());
    decoded.levels.iter().flatten().map(|entry| format!("{entry:?}")).collect()
}

/// Within the number of keys that was expected, a filter that only grew has the same entries in the
/// same order, whatever the order of the keys; only the sizes and slopes of blocks may differ.
/// Without that hint, entries of the same key may have different lengths.
#[test]
fn entries_do_not_depend_on_the_order_of_expected_keys() {
    for (rate, expected) in [(0.01, 20_000), (0.05, 5000), (0.001, 3000)] {
        for count in [1u64, 30, 500, 700, 1000, 3000, expected] {
            let fill = |keys: &mut dyn Iterator<Item = u64>| {
                let builder = builder().false_positive_rate(rate).expected_items(expected as usize);
                let mut filter = build(&builder);
                keys.take(expected as usize).for_each(|key| filter.insert(&key).expect("fits"));
                filter
            };
            let (up, down) = (fill(&mut (0..count)), fill(&mut (0..count).rev()));
            assert_eq!(entries(&up), entries(&down), "rate {rate}, {count} of {expected}");
            assert_eq!(up.len(), down.len());
            if count <= 500 {
                assert!(up.to_bytes() == down.to_bytes(), "rate {rate}, {count} of {expected}");
            }
        }
    }
}

/// When copies are no longer counted their memory is given back, and what was saved has the same
/// future.
#[test]
fn memory_of_counted_copies_is_given_back() {
    let mut filter = build(&builder());
    let never_copied = {
        let mut filter = build(&builder());
        (0..600u64).for_each(|key| (0..3).for_each(|_| filter.insert(&key).expect("fits")));
        filter.size_in_bytes()
    };
    for copy in 0..2 {
        (0..600u64).for_each(|key| (0..4 - copy).for_each(|_| filter.insert(&key).expect("fits")));
        (0..600u64).for_each(|key| assert!(filter.remove(&key)));
        let mut again = ElasticFilter::from_bytes(&filter.to_bytes()).expect("own bytes");
        assert!(again.to_bytes() == filter.to_bytes(), "bytes differ after loading");
        let size = filter.size_in_bytes();
        assert!(size < never_copied * 5 / 4 + 1024, "{size} bytes, {never_copied} without copies");
        for filter in [&mut filter, &mut again] {
            (0..600u64).for_each(|key| while filter.remove(&key) {});
            assert!(filter.is_empty());
        }
        assert!(again.to_bytes() == filter.to_bytes(), "another future after loading");
    }
}
