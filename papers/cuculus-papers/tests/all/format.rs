//! The file format: old files stay readable, bytes stay the same, and absurd ones are refused
//! even where their checksums are right.

use cuculus::lab::{PlacementKind, Search};
use cuculus::{DecodeError, Filter, FullCause, Insert, KeyHasher, Persist, Remove};
use cuculus_papers::{
    ConsistentCuckooFilter, DynamicCuckooFilter, Extension, IndexIndependentCuckooFilter, Resizing,
};
use testkit::files::{HEADER, all_are_refused, forged, golden_file};
use xxhash_rust::xxh3::xxh3_64;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/v1");

/// Index-independent filters: empty, full, with buckets added, with buckets removed.
fn golden_index_independent() -> Vec<(&'static str, IndexIndependentCuckooFilter)> {
    let builder = || IndexIndependentCuckooFilter::builder().hasher(KeyHasher::xxh3(42));
    let sip = KeyHasher::siphash(0x0123_4567_89ab_cdef_0011_2233_4455_6677);
    let walk = builder().buckets(60).fingerprint_bits(30).slots_per_bucket(3);
    let walk = walk.candidates(4).virtual_nodes(2).search(Search::RandomWalk).max_kicks(77);
    let filters = [
        ("index-independent-empty", builder().capacity(0), 0, 0),
        ("index-independent-full", builder().buckets(25).fingerprint_bits(13), 105, 0),
        ("index-independent-grown", builder().capacity(100).hasher(sip), 100, 40),
        ("index-independent-shrunk", walk, 100, -25),
    ];
    let mut built = Vec::new();
    for (name, builder, keys, buckets) in filters {
        let mut filter = builder.build().expect("valid");
        filter.extend((0..keys).map(|key| format!("key {key}")));
        assert_eq!(filter.remove("key 99"), keys == 100, "{name}");
        let was = filter.buckets();
        for _ in 0..buckets {
            filter.add_bucket().expect("room");
        }
        (buckets..0).for_each(|_| assert!(filter.remove_bucket()));
        assert!((filter.buckets() > was) == (buckets > 0), "{name}");
        assert!((filter.buckets() < was) == (buckets < 0), "{name}");
        built.push((name, filter));
    }
    built
}

/// Consistent filters: empty, grown and shrunk by buckets, many filters, filters that are not alike.
fn golden_consistent() -> Vec<(&'static str, ConsistentCuckooFilter)> {
    // The kicks are said, so that their default may change.
    let builder = || ConsistentCuckooFilter::builder().buckets_per_filter(8).max_kicks(500);
    let builder = || builder().hasher(KeyHasher::xxh3(42));
    let sip = KeyHasher::siphash(0x0123_4567_89ab_cdef_0011_2233_4455_6677);
    let paper = builder().slots_per_bucket(3).fingerprint_bits(30).resizing(Resizing::Buckets);
    let filters = [
        ("consistent-empty", builder(), 0, 0),
        ("consistent-grown", paper.clone(), 150, 0),
        ("consistent-shrunk", paper, 200, 120),
        ("consistent-adaptive", builder().hasher(sip).sparse_below(2), 400, 40),
        ("consistent-filters", builder().resizing(Resizing::Filters).max_filters(9), 200, 3),
        (
            "consistent-parts",
            builder().resizing(Resizing::Manual).search(Search::RandomWalk),
            30,
            2,
        ),
    ];
    let mut built = Vec::new();
    for (name, builder, keys, removed) in filters {
        let mut filter = builder.build().expect("valid");
        if name == "consistent-parts" {
            let other = IndexIndependentCuckooFilter::builder().buckets(5).slots_per_bucket(7);
            let other = other.candidates(16).virtual_nodes(3).max_kicks(9);
            filter.scale_out_with(&other).expect("a second");
            filter.scale_out().expect("a third");
        }
        filter.extend((0..keys).map(|key| format!("key {key}")));
        assert_eq!(filter.refused(), 0, "{name}");
        // The newest go again.
        for key in (keys - removed..keys).rev() {
            assert!(filter.remove(&format!("key {key}")));
        }
        built.push((name, filter));
    }
    let filters = |at: usize| built[at].1.filters();
    assert!(filters(1) == 1 && filters(2) == 1 && filters(3) > 1 && filters(4) > 4);
    assert_eq!(filters(5), 3);
    built
}

/// Dynamic cuckoo filters: one filter and many, both ways to extend the list, with all switches, and
/// one that was compacted so that an early filter is current.
fn golden_dynamic() -> Vec<(&'static str, DynamicCuckooFilter)> {
    let builder = || DynamicCuckooFilter::builder().hasher(KeyHasher::xxh3(42));
    let sip = KeyHasher::siphash(0x0123_4567_89ab_cdef_0011_2233_4455_6677);
    let paper = builder().buckets_per_filter(16).fingerprint_bits(12).reuse_holes(false);
    let paper = paper.extension(Extension::Passive).capacity_per_filter(60);
    let paper = paper.placement(PlacementKind::Xor).search(Search::RandomWalk);
    // The sizes are given: how they are planned may change.
    let sized = |capacity, buckets, bits| {
        builder().capacity(capacity).buckets_per_filter(buckets).fingerprint_bits(bits)
    };
    let distinct = builder().buckets_per_filter(9).fingerprint_bits(29).slots_per_bucket(7);
    let filters = [
        ("dynamic-empty", sized(100, 2, 16), 0, 0),
        ("dynamic-default", sized(500, 18, 13), 500, 20),
        ("dynamic-paper", paper, 400, 250),
        ("dynamic-distinct", distinct.filter_duplicates(true).max_kicks(3).hasher(sip), 300, 20),
    ];
    let mut built = Vec::new();
    for (name, builder, keys, removed) in filters {
        let mut filter = builder.build().expect("valid");
        let compacted = name == "dynamic-paper";
        let early = || (0..30u64).filter(|_| compacted);
        filter.extend(early());
        filter.extend((0..keys).map(|key| format!("key {key}")));
        // The newest go again, and some of the oldest.
        for key in (keys - removed..keys).rev() {
            assert!(filter.remove(&format!("key {key}")));
        }
        early().for_each(|key| assert!(filter.remove(&key)));
        assert!(!compacted || filter.compact() > 0);
        built.push((name, filter));
    }
    let stats = |name| built.iter().find(|entry| entry.0 == name).expect("above").1.stats();
    assert!(stats("dynamic-empty").filters == 1 && stats("dynamic-default").filters > 3);
    let paper = stats("dynamic-paper");
    assert!(paper.freed > 0 && paper.current > 0, "{paper:?}");
    built
}

/// A golden file is read, and written as it is; the first keys are in it. With a bit changed, cut or
/// longer it is refused.
fn check_golden<F: Persist + Filter>(name: &str, filter: &F, keys: usize) -> F {
    let file = golden_file(GOLDEN, name, &filter.to_bytes());
    assert!(file == filter.to_bytes(), "{name}: bytes have changed");
    let read = F::from_bytes(&file).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!((read.len(), read.hasher()), (filter.len(), filter.hasher()));
    assert!((0..keys).all(|key| read.contains(&format!("key {key}"))), "{name}");
    for at in (0..file.len()).step_by(file.len() / 3000 + 1) {
        let mut damaged = file.clone();
        damaged[at] ^= 1 << (at % 8);
        assert!(F::from_bytes(&damaged).is_err(), "{name}: byte {at}");
        assert!(F::from_bytes(&file[..at]).is_err(), "{name}: cut at {at}");
    }
    let longer = F::from_bytes(&[&file[..], &[0]].concat()).map(|_| ());
    assert!(matches!(longer, Err(DecodeError::TrailingBytes { extra: 1 })), "{name}");
    read
}

#[test]
fn golden_files_are_read_and_written_as_ever() {
    for (name, filter) in golden_index_independent() {
        // Of the full one the last are refused.
        check_golden(name, &filter, filter.len().min(80));
    }
    for (name, filter) in golden_consistent() {
        check_golden(name, &filter, filter.len());
    }
    for (name, filter) in golden_dynamic() {
        let read = check_golden(name, &filter, filter.len());
        assert_eq!(read.stats(), filter.stats(), "{name}");
    }
}

/// Every file in the folder is one that the test above reads.
#[test]
fn no_golden_file_is_forgotten() {
    let dynamic: Vec<&str> = golden_dynamic().iter().map(|entry| entry.0).collect();
    let rings = golden_index_independent();
    let rings = rings.iter().map(|entry| entry.0);
    let names: Vec<&str> =
        rings.chain(golden_consistent().iter().map(|entry| entry.0)).chain(dynamic).collect();
    for entry in std::fs::read_dir(GOLDEN).expect("the golden files") {
        let path = entry.expect("readable").path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        assert!(names.contains(&stem), "{stem} is not read by any test");
    }
}

/// Each field of an index-independent filter with values that nobody writes.
#[test]
fn absurd_index_independent_filters_with_right_checksums_are_refused() {
    let builder = IndexIndependentCuckooFilter::builder().buckets(10).fingerprint_bits(12);
    let mut filter = builder.seed(1).build().expect("valid");
    filter.extend(0..30u64);
    let bytes = filter.to_bytes();
    const NAMES: usize = HEADER + 56 + 8;
    const SLOTS: usize = NAMES + 40;
    let whole = u64::to_le_bytes;
    let entry = bytes[SLOTS..].iter().position(|&byte| byte != 0).expect("a key") + SLOTS;
    let cases: &[(&str, usize, &[u8], &str)] = &[
        ("kind of a consistent filter", 10, &[6, 0], "kind"),
        ("fewer parameters", 32, &[55], "checksum"),
        ("more parameters", 32, &[57], "checksum"),
        ("shorter payload", 40, &whole(99), "length of the payload"),
        ("endless payload", 40, &[255; 8], "length of the payload"),
        ("3-bit fingerprints", HEADER, &[3], "fingerprint_bits"),
        ("33-bit fingerprints", HEADER, &[33], "fingerprint_bits"),
        ("other fingerprints", HEADER, &[13], "length of the payload"),
        ("no slots", HEADER + 1, &[0], "slots_per_bucket"),
        ("nine slots", HEADER + 1, &[9], "slots_per_bucket"),
        ("no candidates", HEADER + 2, &[0], "candidates"),
        ("17 candidates", HEADER + 2, &[17], "candidates"),
        ("one candidate", HEADER + 2, &[1], "entries"),
        ("no nodes", HEADER + 3, &[0], "virtual_nodes"),
        ("65 nodes", HEADER + 3, &[65], "virtual_nodes"),
        ("other nodes", HEADER + 3, &[9], "entries"),
        ("search 3", HEADER + 4, &[3], "search"),
        ("reserved", HEADER + 5, &[1], "reserved"),
        ("reserved", HEADER + 7, &[1], "reserved"),
        ("endless kicks", HEADER + 8, &[255; 4], "max_kicks"),
        ("no buckets", HEADER + 12, &[0; 4], "buckets"),
        ("endless buckets", HEADER + 12, &[255; 4], "buckets"),
        ("one bucket more", HEADER + 12, &[11], "length of the payload"),
        ("another ring", HEADER + 17, &[1], "entries"),
        ("one key more", HEADER + 24, &whole(31), "number of keys"),
        ("endless keys", HEADER + 24, &[255; 8], "number of keys"),
        ("never any bucket", HEADER + 40, &whole(0), "first number of buckets"),
        ("endless first buckets", HEADER + 40, &whole(1 << 32), "first number of buckets"),
        ("a name twice", NAMES + 4, &[0; 4], "names"),
        ("a name too large", NAMES, &(u32::MAX / 10).to_le_bytes(), "names"),
        ("two names exchanged", NAMES, &[1, 0, 0, 0, 0, 0, 0, 0], "entries"),
        ("an entry where it is not found", entry, &[bytes[entry] ^ 4], "entries"),
        ("a key in the table less", SLOTS, &[0; 60], "number of keys"),
    ];
    all_are_refused::<IndexIndependentCuckooFilter>(&bytes, cases);
    // Odd bits after the last bucket.
    let builder = IndexIndependentCuckooFilter::builder().buckets(3).fingerprint_bits(5);
    let bytes = builder.slots_per_bucket(1).seed(1).build().expect("valid").to_bytes();
    let last = bytes.len() - 9;
    all_are_refused::<IndexIndependentCuckooFilter>(
        &bytes,
        &[("bits after the last bucket", last, &[128], "zeros")],
    );
    // Numbers that mean what they say, whatever it is.
    for (at, len) in [(20, 4), (32, 8), (48, 8)] {
        let other = forged(&bytes, |bytes| bytes[HEADER + at..HEADER + at + len].fill(255));
        let mut filter = IndexIndependentCuckooFilter::from_bytes(&other).expect("a number");
        assert!(filter.to_bytes() == other);
        filter.extend([7u64; 5]);
        filter.add_bucket().expect("room");
        let again = filter.to_bytes();
        assert!(IndexIndependentCuckooFilter::from_bytes(&again).is_ok());
    }
}

/// Each field of a consistent filter with values that nobody writes.
#[test]
fn absurd_consistent_filters_with_right_checksums_are_refused() {
    let builder = ConsistentCuckooFilter::builder().buckets_per_filter(10).fingerprint_bits(12);
    let mut filter = builder.seed(1).max_filters(3).build().expect("valid");
    filter.scale_out().expect("a second");
    filter.extend(0..60u64);
    let bytes = filter.to_bytes();
    const POLICY: usize = HEADER + 32;
    const PARTS: usize = HEADER + 88 + 8;
    const NAMES: usize = PARTS + 64;
    const SECOND: usize = PARTS + 32;
    let whole = u64::to_le_bytes;
    let filters = |count: u64| [whole(60), whole(0), whole(count)].concat();
    let cases: &[(&str, usize, &[u8], &str)] = &[
        ("kind of an index-independent filter", 10, &[5, 0], "kind"),
        ("fewer parameters", 32, &[87], "checksum"),
        ("shorter payload", 40, &whole(263), "checksum"),
        ("endless payload", 40, &[255; 8], "no memory"),
        ("3-bit fingerprints", HEADER, &[3], "fingerprint_bits"),
        ("other fingerprints", HEADER, &[13], "fingerprint bits"),
        ("nine slots", HEADER + 1, &[9], "slots_per_bucket"),
        ("17 candidates", HEADER + 2, &[17], "candidates"),
        ("no nodes", HEADER + 3, &[0], "virtual_nodes"),
        ("search 3", HEADER + 4, &[3], "search"),
        ("reserved", HEADER + 6, &[1], "reserved"),
        ("endless kicks", HEADER + 8, &[255; 4], "max_kicks"),
        ("no buckets", HEADER + 12, &[0; 4], "buckets"),
        ("too many buckets", HEADER + 12, &[1, 0, 16, 0], "buckets of a new filter"),
        ("a new filter's salt", HEADER + 16, &[1], "of a new filter"),
        ("a new filter's next name", HEADER + 20, &[1], "of a new filter"),
        ("a new filter's keys", HEADER + 24, &[1], "of a new filter"),
        ("resizing 5", POLICY, &[5], "resizing"),
        ("five of four are sparse", POLICY + 1, &[5], "sparse_below"),
        ("reserved", POLICY + 2, &[1], "reserved"),
        ("reserved", POLICY + 7, &[1], "reserved"),
        ("no filters allowed", POLICY + 8, &[0; 4], "max_filters"),
        ("1,025 filters allowed", POLICY + 8, &[1, 4, 0, 0], "max_filters"),
        ("more filters than allowed", POLICY + 8, &[1, 0, 0, 0], "number of filters"),
        ("one key more", POLICY + 32, &whole(61), "number of keys"),
        ("no filter", POLICY + 32, &filters(0), "number of filters"),
        ("one filter", POLICY + 32, &filters(1), "names"),
        ("three filters", POLICY + 32, &filters(3), "is"),
        ("endless filters", POLICY + 32, &filters(u64::MAX), "number of filters"),
        ("a filter of other fingerprints", SECOND, &[13], "fingerprint bits"),
        ("a filter of no slots", SECOND + 1, &[0], "slots_per_bucket"),
        ("a filter of no candidates", SECOND + 2, &[0], "candidates"),
        ("a filter of no nodes", SECOND + 3, &[0], "virtual_nodes"),
        ("a filter of search 3", SECOND + 4, &[3], "search"),
        ("a filter of endless kicks", SECOND + 8, &[255; 4], "max_kicks"),
        ("a filter without buckets", SECOND + 12, &[0; 4], "buckets"),
        ("a filter with a bucket more", SECOND + 12, &[11], "length of the payload"),
        ("a filter with a bucket less", SECOND + 12, &[9], "is"),
        ("endless buckets", SECOND + 12, &[255; 4], "buckets"),
        ("another ring", SECOND + 17, &[1], "entries"),
        ("a filter with a key more", SECOND + 24, &[bytes[SECOND + 24] + 1], "number of keys"),
        ("a name twice", NAMES + 4, &[0; 4], "names"),
        ("a key in the table less", NAMES + 40, &[0; 60], "number of keys"),
    ];
    all_are_refused::<ConsistentCuckooFilter>(&bytes, cases);
    // What has happened before may have been anything, and has an end.
    for (at, len) in [(12, 4), (16, 4), (20, 4), (24, 8), (40, 8)] {
        let other = forged(&bytes, |bytes| bytes[POLICY + at..POLICY + at + len].fill(255));
        let mut filter = ConsistentCuckooFilter::from_bytes(&other).expect("a number");
        assert!(filter.to_bytes() == other);
        filter.extend(60..200u64);
        filter.extend([7u64; 50]);
        assert!((0..200u64).all(|key| filter.contains(&key)));
        assert!((0..200u64).all(|key| filter.remove(&key)));
        assert!(ConsistentCuckooFilter::from_bytes(&filter.to_bytes()).is_ok());
    }
}

/// Where the fields of a dynamic cuckoo filter are that a cuckoo filter has not.
const EXTENSION: usize = HEADER + 32;
const CAPACITY_PER_FILTER: usize = HEADER + 40;
const FILTERS: usize = HEADER + 48;
const CURRENT: usize = HEADER + 56;
const APPENDED: usize = HEADER + 64;
const DYNAMIC_PAYLOAD: usize = HEADER + 80 + 8;

/// Each field of a dynamic cuckoo filter with values that nobody writes.
#[test]
fn absurd_dynamic_filters_with_right_checksums_are_refused() {
    let builder = DynamicCuckooFilter::builder().buckets_per_filter(5).fingerprint_bits(11);
    let mut filter = builder.seed(1).build().expect("valid");
    filter.extend(0..50u64);
    assert!(filter.filters() == 3 && filter.len() == 50, "{}", filter.stats());
    let bytes = filter.to_bytes();
    assert!(DynamicCuckooFilter::from_bytes(&forged(&bytes, |_| {})).is_ok());
    let whole = u64::to_le_bytes;
    // 28 bytes per filter: five buckets of four slots of 11 bits, and four bits.
    let first_end = DYNAMIC_PAYLOAD + 27;
    let cases: &[(&str, usize, &[u8])] = &[
        ("kind of a cuckoo filter", 10, &[1, 0]),
        ("fewer parameters", 32, &[79]),
        ("more parameters", 32, &[81]),
        ("shorter payload", 40, &[83]),
        ("endless payload", 40, &[255; 8]),
        ("3-bit fingerprints", 48, &[3]),
        ("33-bit fingerprints", 48, &[33]),
        ("other fingerprints", 48, &[13]),
        ("no slots", 49, &[0]),
        ("nine slots", 49, &[9]),
        ("semi-sorted buckets", 50, &[1]),
        ("layout 2", 50, &[2]),
        ("placement 3", 51, &[3]),
        ("xor of five buckets", 51, &[1]),
        ("search 3", 52, &[3]),
        ("reserved", 53, &[1]),
        ("endless kicks", 56, &[255; 4]),
        ("no buckets", 60, &[0; 4]),
        ("endless buckets", 60, &[255; 4]),
        ("one bucket more", 60, &[6]),
        ("no keys", 64, &whole(0)),
        ("one key more", 64, &whole(51)),
        ("endless keys", 64, &[255; 8]),
        ("extension 2", EXTENSION, &[2]),
        ("holes used twice", EXTENSION + 1, &[2]),
        ("duplicates filtered twice", EXTENSION + 2, &[2]),
        ("reserved", EXTENSION + 3, &[1]),
        ("reserved", EXTENSION + 7, &[1]),
        ("filters of no keys", CAPACITY_PER_FILTER, &whole(0)),
        ("filters of more keys than slots", CAPACITY_PER_FILTER, &whole(21)),
        ("filters of endless keys", CAPACITY_PER_FILTER, &[255; 8]),
        ("no filters", FILTERS, &whole(0)),
        ("one filter fewer", FILTERS, &whole(2)),
        ("one filter more", FILTERS, &whole(4)),
        ("65,537 filters", FILTERS, &whole(65_537)),
        ("endless filters", FILTERS, &[255; 8]),
        ("a current filter after the last", CURRENT, &whole(3)),
        ("an endless current filter", CURRENT, &[255; 8]),
        ("fewer filters appended than there are", APPENDED, &whole(1)),
        ("bits after the last bucket of a filter", first_end, &[bytes[first_end] | 0x80]),
        ("entries missing", DYNAMIC_PAYLOAD, &[0; 20]),
    ];
    for (what, at, value) in cases {
        let damaged = forged(&bytes, |bytes| bytes[*at..*at + value.len()].copy_from_slice(value));
        let error = DynamicCuckooFilter::from_bytes(&damaged).err();
        let text = error.unwrap_or_else(|| panic!("{what} was accepted")).to_string();
        assert!(!text.contains('\n') && text.len() > 15, "{what}: {text}");
    }
    // Counters may be at their end, and stay there.
    let most = forged(&bytes, |bytes| bytes[APPENDED..APPENDED + 16].fill(255));
    let mut most = DynamicCuckooFilter::from_bytes(&most).expect("counts like any other");
    most.extend(50..500u64);
    most.extend([7u64; 200]);
    assert!(most.filters() > 3 && most.refused() == u64::MAX);
    assert_eq!(most.stats().appended, u64::MAX);
    assert!(DynamicCuckooFilter::from_bytes(&most.to_bytes()).is_ok());
}

/// Each list of filters has an end: one of 4,096 full ones refuses the next key, and is what it was.
#[test]
fn the_longest_list_refuses_one_more_filter() {
    let builder = DynamicCuckooFilter::builder().buckets_per_filter(1).fingerprint_bits(32);
    let small = builder.slots_per_bucket(1).seed(1).build().expect("valid").to_bytes();
    let filters = 4096u64;
    let mut file = small[..HEADER + 80].to_vec();
    file[40..48].copy_from_slice(&(4 * filters).to_le_bytes());
    file[64..72].copy_from_slice(&filters.to_le_bytes());
    file[FILTERS..FILTERS + 8].copy_from_slice(&filters.to_le_bytes());
    file[APPENDED..APPENDED + 8].copy_from_slice(&filters.to_le_bytes());
    file.extend(xxh3_64(&file).to_le_bytes());
    let payload: Vec<u8> = (1..=filters as u32).flat_map(u32::to_le_bytes).collect();
    file.extend(&payload);
    file.extend(xxh3_64(&payload).to_le_bytes());
    let mut filter = DynamicCuckooFilter::from_bytes(&file).expect("4,096 filters");
    assert_eq!((filter.len(), filter.filters()), (4096, 4096));
    let full = filter.insert("one more").expect_err("the longest list");
    assert!(matches!(full.cause, FullCause::NoRoom { .. }), "{full}");
    assert!(filter.to_bytes() == file);
}
