//! A filter copied in sections while it changes: every key that is there all the time is in the copy.

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

fn bytes_of(filter: &ElasticFilter) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).expect("writing to a vector does not fail");
    bytes
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
        let bytes = bytes_of(&copy);
        let again = ElasticFilter::read_from(bytes.as_slice()).expect("what is held can be loaded");
        assert_eq!(bytes_of(&again), bytes);
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
