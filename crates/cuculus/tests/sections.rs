//! A filter copied in sections while it changes: every key that is there all the time is in the copy.

use cuculus::conformance::{Random, loads_as_it_is};
use cuculus::{
    ElasticFilter, ElasticFilterBuilder, Filter, Insert, KeyHash, Persist, PieceError, Remove,
    Sections,
};

fn builder(rate: f64) -> ElasticFilterBuilder {
    ElasticFilter::builder().false_positive_rate(rate).seed(3)
}

fn filled(builder: &ElasticFilterBuilder, keys: u64) -> ElasticFilter {
    let mut filter = builder.build().expect("valid parameters");
    (0..keys).for_each(|key| filter.insert(&key).expect("room for all"));
    filter
}

/// Copies a filter, with a change between any two pieces.
fn copied(
    builder: &ElasticFilterBuilder,
    set: &mut ElasticFilter,
    most: usize,
    mut change: impl FnMut(&mut ElasticFilter, u64),
) -> ElasticFilter {
    let mut copy = builder.build().expect("valid parameters");
    let (mut at, mut number) = (set.sections(), 0);
    while !at.is_done() {
        let (piece, next) = set.copy_sections(at, 256, most).expect("memory");
        assert!(next.next > at.next && next.bits == at.bits);
        copy.add_sections(at, next, &piece).expect("as in the filter");
        change(set, number);
        (at, number) = (next, number + 1);
    }
    copy
}

#[test]
fn a_filter_at_rest_is_copied_exactly_once() {
    for (rate, hint) in [(0.01, 0), (0.001, 50_000), (0.3, 0), (0.00001, 0), (0.01, 100)] {
        for keys in [0, 1, 1000, 5000, 60_000] {
            let builder = builder(rate).expected_items(hint);
            let mut set = filled(&builder, keys);
            (0..10).for_each(|_| set.insert(&7u64).expect("counted"));
            let copy = copied(&builder, &mut set, 3000, |_, _| {});
            assert_eq!(copy.len(), set.len(), "{rate} {hint} {keys}");
            assert!((0..keys).all(|key| copy.contains(&key)));
            assert_eq!(copy.count(&7u64), set.count(&7u64));
            assert!(copy.expected_false_positive_rate() <= rate);
            assert!(
                copy.size_in_bytes() < set.size_in_bytes() * 9 / 8 + 1024,
                "{rate} {hint} {keys}: {} and {}",
                copy.size_in_bytes(),
                set.size_in_bytes(),
            );
        }
    }
}

#[test]
fn keys_that_stay_are_copied_while_the_filter_grows() {
    for most in [500, 4000] {
        let builder = builder(0.001);
        let mut set = filled(&builder, 40_000);
        let mut new = 1u64 << 40;
        let copy = copied(&builder, &mut set, most, |set, _| {
            for _ in 0..1500 {
                set.insert(&new).expect("room");
                new += 1;
            }
        });
        assert!((0..40_000u64).all(|key| copy.contains(&key)));
        assert!(set.len() > 50_000, "{}", set.len());
    }
}

/// A section then becomes more than a segment takes. The segments that the copy needs for it were made at
/// once, with one of the pieces: a thousand and more.
#[test]
fn a_copy_of_a_filter_that_grows_severalfold_makes_its_segments_in_small_steps() {
    let builder = builder(0.001);
    let mut set = filled(&builder, 300_000);
    let mut copy = builder.build().expect("valid parameters");
    let (mut at, mut new, mut most) = (set.sections(), 1u64 << 40, 0);
    while !at.is_done() {
        let (piece, next) = set.copy_sections(at, 64, 4000).expect("memory");
        let before = copy.stats().segments;
        copy.add_sections(at, next, &piece).expect("as in the filter");
        most = most.max(copy.stats().segments - before);
        for _ in 0..8000 {
            set.insert(&new).expect("room");
            new += 1;
        }
        at = next;
    }
    assert!((0..300_000u64).all(|key| copy.contains(&key)));
    assert!(set.len() > 1_500_000 && most < 100, "{} keys, {most} segments", set.len());
}

#[test]
fn keys_that_stay_are_copied_while_the_filter_shrinks_and_changes() {
    let builder = builder(0.001);
    let mut set = filled(&builder, 60_000);
    let mut gone = 2000u64;
    let copy = copied(&builder, &mut set, 2000, |set, number| {
        for _ in 0..8000 {
            if gone < 60_000 {
                assert!(set.remove(&gone));
                gone += 1;
            }
        }
        (0..50).for_each(|key| set.insert(&(number << 32 | key)).expect("room"));
    });
    assert!(set.len() < 5000, "{}", set.len());
    assert!((0..2000u64).all(|key| copy.contains(&key)));
    // And what the copy has can be removed, as from any filter.
    let mut copy = copy;
    assert!((0..2000u64).all(|key| copy.remove(&key)));
}

/// An entry of an old key may know too little for a section: it comes with the last piece.
#[test]
fn keys_kept_apart_are_copied() {
    let builder = builder(0.2).spare_bytes(0);
    let mut set = filled(&builder, 300_000);
    let copy = copied(&builder, &mut set, 10_000, |_, _| {});
    assert_eq!(copy.len(), set.len());
    assert!((0..300_000u64).all(|key| copy.contains(&key)));
}

#[test]
fn a_refused_piece_leaves_the_keys_that_were_there() {
    let ours = builder(0.001);
    let mut set = filled(&ours, 3000);
    // Keys of one home and one segment: too many of them crowd it.
    let mut refused = false;
    for crowd in 0..4u64 {
        let mut chosen = ours.build().expect("valid parameters");
        for key in 0..1000 {
            let hash = KeyHash::new(77 << 48 | (1000 * crowd + key) << 12);
            chosen.insert_hash(hash).expect("room");
        }
        let from = chosen.sections();
        let (piece, to) = chosen.copy_sections(from, u64::MAX, usize::MAX).expect("memory");
        assert!(to.is_done());
        let len = set.len();
        match set.add_sections(from, to, &piece) {
            Ok(()) => assert_eq!(set.len(), len + 1000),
            Err(PieceError::Full(_) | PieceError::Rate) => {
                refused = true;
                assert_eq!(set.len(), len);
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(refused, "a test that is never refused proves nothing");
    assert!((0..3000u64).all(|key| set.contains(&key)));
    assert!((0..3000u64).all(|key| set.remove(&key)));
}

#[test]
fn damaged_pieces_are_refused_or_taken_and_break_nothing() {
    let ours = builder(0.01);
    let mut set = filled(&ours, 2000);
    (0..9).for_each(|_| set.insert(&7u64).expect("counted"));
    let from = set.sections();
    let (piece, to) = set.copy_sections(from, 256, 500).expect("memory");
    let mut random = 1u64;
    let mut taken = 0;
    for case in 0..5000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let mut damaged = piece.clone();
        let at = (random >> 33) as usize % damaged.len();
        match case % 3 {
            0 => damaged[at] ^= 1 << (random >> 20 & 7),
            1 => damaged[at] = (random >> 20) as u8,
            _ => damaged.truncate(at),
        }
        let mut copy = filled(&ours, 300);
        let accepted = copy.add_sections(from, to, &damaged).is_ok();
        taken += usize::from(accepted);
        assert!(accepted || copy.len() == 300);
        assert!((0..300u64).all(|key| copy.contains(&key)));
        let bytes = copy.to_bytes();
        let again = ElasticFilter::read_from(bytes.as_slice()).expect("what is held can be loaded");
        assert_eq!(again.to_bytes(), bytes);
    }
    assert!(taken > 100, "{taken}");
    for (from, to) in [
        (from, Sections { bits: to.bits + 1, ..to }),
        (to, from),
        (Sections { bits: 99, next: 0 }, Sections { bits: 99, next: 1 }),
    ] {
        assert_eq!(set.add_sections(from, to, &piece), Err(PieceError::Invalid));
    }
}

/// Segments that are split while pieces arrive do not keep the width of their first codes.
#[test]
fn a_copy_takes_little_more_memory() {
    for (hint, most) in [(210_000, 8192), (0, 8192), (210_000, 1000)] {
        let builder = builder(0.001).expected_items(hint);
        let mut set = filled(&builder, 200_000);
        let copy = copied(&builder, &mut set, most, |_, _| {});
        let (ours, theirs) = (copy.size_in_bytes(), set.size_in_bytes());
        assert!(ours < theirs * 6 / 5, "{hint} {most}: {ours} and {theirs}");
    }
}

/// All that a piece says of a key.
#[derive(Clone, Copy, Debug)]
struct Entry {
    home: u16,
    path: u64,
    bits: u32,
    copies: u64,
}

/// All of a filter as one section.
const ALL: [Sections; 2] = [Sections { bits: 0, next: 0 }, Sections { bits: 0, next: 1 }];

fn put_number(piece: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        piece.push(number as u8 | 0x80);
        number >>= 7;
    }
    piece.push(number as u8);
}

/// The piece with these entries, whoever has written them.
fn piece_of(entries: &[Entry]) -> Vec<u8> {
    let mut piece = Vec::new();
    put_number(&mut piece, entries.len() as u64);
    for &Entry { home, path, bits, copies } in entries {
        piece.push(255);
        piece.extend_from_slice(&home.to_le_bytes());
        piece.push(bits as u8 | 64);
        let kept = path & ((1 << bits) - 1);
        piece.extend_from_slice(&kept.to_le_bytes()[..bits.div_ceil(8) as usize]);
        put_number(&mut piece, copies);
    }
    // None without a section.
    piece.push(0);
    piece
}

/// The entries of a filter.
fn entries_of(filter: &ElasticFilter) -> Vec<Entry> {
    let (piece, to) = filter.copy_sections(ALL[0], 1, usize::MAX).expect("memory");
    assert_eq!(to, ALL[1]);
    let mut rest = &piece[..];
    let mut byte = || {
        let (&first, others) = rest.split_first().expect("a whole piece");
        rest = others;
        first
    };
    let number = |byte: &mut dyn FnMut() -> u8| {
        let mut number = 0;
        for shift in (0..63).step_by(7) {
            let next = byte();
            number |= u64::from(next & 0x7f) << shift;
            if next < 0x80 {
                break;
            }
        }
        number
    };
    let mut home = 0;
    let mut entries = Vec::new();
    for _ in 0..number(&mut byte) {
        home = match byte() {
            255 => u16::from(byte()) | u16::from(byte()) << 8,
            distance => home + u16::from(distance),
        };
        let tag = byte();
        let bits = u32::from(tag & 63);
        let path = (0..bits.div_ceil(8)).fold(0, |path, at| path | u64::from(byte()) << (8 * at));
        let copies = if tag & 64 == 0 { 1 } else { number(&mut byte) };
        entries.push(Entry { home, path, bits, copies });
    }
    entries
}

/// More copies than can be counted, of an entry that is longer than any that is held: some of them
/// stayed.
#[test]
fn copies_that_are_refused_leave_none() {
    for (bits, copies) in [(52, 1 << 40), (52, u64::from(u32::MAX) + 5), (20, 1 << 40)] {
        let mut set = filled(&builder(0.01), 1000);
        let entry = Entry { home: 5, path: 77, bits, copies };
        let added = set.add_sections(ALL[0], ALL[1], &piece_of(&[entry]));
        assert!(matches!(added, Err(PieceError::Full(_))), "{added:?}");
        assert_eq!(set.len(), 1000, "{bits} bits, {copies} copies");
    }
}

/// A piece is refused after an entry that begins like one that was there: that one was taken out in its
/// place.
#[test]
fn what_is_taken_back_is_what_came() {
    let mut set = filled(&builder(0.01), 2000);
    let before = set.expected_false_positive_rate();
    let is_long = |entry: &&Entry| entry.path >> (entry.bits - 1) == 0;
    let chosen: Vec<Entry> = entries_of(&set).iter().filter(is_long).copied().collect();
    assert!(chosen.len() > 800, "{}", chosen.len());
    let shorter = |entry: &Entry| Entry { bits: entry.bits - 1, copies: 3, ..*entry };
    let too_many = Entry { home: 5, path: 77, bits: 20, copies: 1 << 40 };
    let mut forged: Vec<Entry> = chosen.iter().map(shorter).take(50).collect();
    forged.push(too_many);
    let added = set.add_sections(ALL[0], ALL[1], &piece_of(&forged));
    assert!(matches!(added, Err(PieceError::Full(_))), "{added:?}");
    assert_eq!(set.len(), 2000);
    assert!((0..2000u64).all(|key| set.contains(&key)));
    let after = set.expected_false_positive_rate();
    assert!(after <= before, "{after} after {before}");
}

/// Pieces that somebody has written: whatever they hold, they are taken or leave what was there, and
/// the filter can be saved and loaded.
#[test]
fn forged_pieces_are_taken_or_leave_what_was_there() {
    let cases = std::env::var("CUCULUS_FORGED_PIECES").ok().and_then(|text| text.parse().ok());
    let mut random = Random::new(11);
    let (mut taken, mut refused) = (0, [0; 2]);
    for case in 0..cases.unwrap_or(400u64) {
        let rate = [0.3, 0.01, 0.001, 0.00001][random.below(4)];
        let keys = [0, 10, 1000, 1900, 8000][random.below(5)];
        let hint = [0, 0, keys as usize, 100][random.below(4)];
        let ours = builder(rate).expected_items(hint).spare_bytes(0);
        let mut set = filled(&ours, keys);
        let own = entries_of(&set);
        let count = [1, 5, 100, 2500][random.below(4)];
        let (one_home, one_path) = (random.below(3) == 0, random.below(3) == 0);
        let shortest = random.below(53) as u32;
        let forged: Vec<Entry> = (0..count)
            .map(|_| {
                let copies = match random.below(40) {
                    0 => random.bits() >> random.below(64),
                    1 => u64::from(u32::MAX) + random.below(9) as u64,
                    at => [1, 1, 1, 2, 9][at % 5],
                };
                let copies = (copies & (u64::MAX >> 1)).max(1);
                if !own.is_empty() && random.below(2) == 0 {
                    let entry = own[random.below(own.len())];
                    let less = [0, 1, 5, entry.bits][random.below(4)].min(entry.bits);
                    return Entry { bits: entry.bits - less, copies, ..entry };
                }
                let home = if one_home { 7 } else { random.below(768) as u16 };
                let path = if one_path { random.bits() << 40 } else { random.bits() };
                let bits = shortest + random.below(53 - shortest as usize) as u32;
                Entry { home, path, bits, copies }
            })
            .collect();
        let (len, size) = (set.len(), set.size_in_bytes());
        let added = set.add_sections(ALL[0], ALL[1], &piece_of(&forged));
        let brought: u64 = forged.iter().map(|entry| entry.copies).fold(0, u64::saturating_add);
        match added {
            Ok(()) => {
                taken += 1;
                assert_eq!(set.len() as u64, len as u64 + brought, "case {case}");
            }
            Err(error) => {
                assert_ne!(error, PieceError::Invalid, "case {case}");
                refused[usize::from(error == PieceError::Rate)] += 1;
                assert_eq!(set.len(), len, "case {case}: {error}");
            }
        }
        assert!((0..keys).all(|key| set.contains(&key)), "case {case}: a key is lost");
        let most = 3 * size + 100 * count + 8192;
        assert!(set.size_in_bytes() <= most, "case {case}: {} of {most}", set.size_in_bytes());
        loads_as_it_is(&format!("case {case}"), &set);
        if added.is_err() {
            assert!((0..keys).all(|key| set.remove(&key)), "case {case}: a key cannot be removed");
            assert!(set.is_empty());
        }
    }
    assert!(taken > 0 && refused.iter().all(|&refused| refused > 0), "{taken} {refused:?}");
    println!("{taken} taken, {refused:?} refused");
}
