//! Values that somebody made on purpose, with checksums that match: refused, or a filter whose
//! commands on an item stay within a bound of processor time and memory. And items that somebody
//! chose who knows the seed: what the filter accepts can be saved and loaded again.

use std::env;
use std::fmt::Debug;

use cuculus::KeyHash;
use cuculus_valkey::value::{Header, Loading, Parameters, Stored, Value, position_of, sections_at};

/// The most processor time of a command on one item, in nanoseconds.
const MOST_TIME: u64 = 200_000;
/// The most memory that one item may take beyond what the filter holds: some segments.
const MOST_MEMORY: usize = 256 << 10;

/// Processor time of this thread, in nanoseconds.
fn thread_time() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The largest costs of one command.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    nanoseconds: u64,
    bytes: usize,
}

impl Cost {
    fn of<T>(stored: &mut Stored, run: impl FnOnce(&mut Stored) -> T) -> (T, Self) {
        let before = stored.size_in_bytes();
        let start = thread_time();
        let done = run(stored);
        let nanoseconds = thread_time() - start;
        (done, Self { nanoseconds, bytes: stored.size_in_bytes().saturating_sub(before) })
    }

    fn and(self, other: Self) -> Self {
        Self {
            nanoseconds: self.nanoseconds.max(other.nanoseconds),
            bytes: self.bytes.max(other.bytes),
        }
    }

    fn is_small(self) -> bool {
        self.nanoseconds <= MOST_TIME && self.bytes <= MOST_MEMORY
    }
}

/// Numbers that only the seed decides.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) ^ mixed >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// A number of the kind that breaks things.
    fn number(&mut self) -> u64 {
        match self.below(5) {
            0 => 0,
            1 => u64::MAX >> self.below(64),
            2 => 1 << self.below(64),
            3 => self.next() % 1000,
            _ => self.next(),
        }
    }
}

fn parameters(expansion: u16, capacity: u32, rate: f64) -> Parameters {
    Parameters { capacity, bucket_size: 2, max_iterations: 20, expansion, rate, seed: 7 }
}

fn body_of(value: &Value) -> Vec<u8> {
    let mut body = Vec::new();
    value.write_body(&mut body).expect("writing to a vector does not fail");
    body
}

/// Filters of several kinds and sizes: headers and bodies.
fn examples() -> Vec<(Header, Vec<u8>)> {
    let of = |parameters: Parameters, items: u64, copies: u64| {
        let mut stored = Stored::new(parameters).expect("valid parameters");
        for item in 0..items {
            let hash = stored.hash(&item.to_le_bytes());
            (0..copies).for_each(|_| stored.add(hash).expect("room for all"));
        }
        let value = Value::Ready(stored);
        (value.header(), body_of(&value))
    };
    vec![
        of(parameters(1, 1024, 0.001), 1, 1),
        of(parameters(1, 1024, 0.001), 700, 1),
        of(parameters(1, 1024, 0.01), 2500, 1),
        of(parameters(1, 1024, 0.3), 300, 9),
        of(parameters(1, 100_000, 0.001), 1500, 1),
        of(parameters(1, 1 << 30, 0.001), 100, 1),
        of(parameters(0, 100, 0.001), 100, 1),
        of(parameters(0, 2000, 0.01), 1900, 1),
    ]
}

/// Seals a container again: its two checksums match whatever is in it.
fn seal(body: &mut [u8]) {
    const HEADER: usize = 48;
    const PARAMETERS_LEN: usize = 32;
    let sum = |bytes: &[u8]| cuculus::KeyHasher::xxh3(0).hash(bytes).get().to_le_bytes();
    let Some(field) = body.get(PARAMETERS_LEN..PARAMETERS_LEN + 8) else { return };
    let len = u64::from_le_bytes(field.try_into().expect("eight bytes")) as usize;
    let Some(first) = len.checked_add(HEADER).filter(|&at| at + 16 <= body.len()) else { return };
    let (head, rest) = body.split_at_mut(first);
    rest[..8].copy_from_slice(&sum(head));
    let end = rest.len() - 8;
    let last = sum(&rest[8..end]);
    rest[end..].copy_from_slice(&last);
}

/// One or a few changes.
fn change(chance: &mut Chance, body: &mut [u8]) {
    for _ in 0..[1, 1, 1, 2, 5][chance.below(5)] {
        // Half of them in the parameters, which promise the most.
        let most = if chance.below(2) == 0 { body.len().min(160) } else { body.len() };
        let at = chance.below(most);
        match chance.below(3) {
            0 => body[at] ^= 1 << chance.below(8),
            1 => body[at] = [0, 1, 0x7f, 0x80, 0xff][chance.below(5)],
            _ => {
                // A whole number, mostly where numbers are.
                let at = if chance.below(4) == 0 { at } else { at / 8 * 8 };
                let number = chance.number().to_le_bytes();
                let width = [1, 2, 4, 8][chance.below(4)];
                body[at..].iter_mut().zip(&number[..width]).for_each(|(to, &from)| *to = from);
            }
        }
    }
    seal(body);
}

fn load(header: Header, body: &[u8]) -> Option<Stored> {
    let header = Header { body_len: body.len() as u64, ..header };
    let mut loading = Loading::new(header);
    loading.take(body.len() as u64, body).ok()?
}

/// Adds an item as a client can.
fn add(stored: &mut Stored, hash: KeyHash) -> bool {
    !stored.is_full() && stored.add(hash).is_ok()
}

/// The most that a command on one item costs.
fn worst_of(stored: &mut Stored, chance: &mut Chance) -> Cost {
    let mut worst = Cost::default();
    for round in 0..60 {
        let hash = match round % 3 {
            0 => stored.hash(&(round as u64).to_le_bytes()),
            1 => KeyHash::new(chance.number()),
            _ => KeyHash::new(chance.next()),
        };
        worst = worst
            .and(Cost::of(stored, |stored| stored.contains(hash)).1)
            .and(Cost::of(stored, |stored| stored.count(hash)).1)
            .and(Cost::of(stored, |stored| add(stored, hash)).1)
            .and(Cost::of(stored, |stored| stored.delete(hash)).1);
    }
    worst
}

/// What is measured once may be another program's doing; what is measured three times is not.
fn confirmed(mut measure: impl FnMut() -> Cost) -> Cost {
    let mut least = measure();
    for _ in 0..4 {
        if least.is_small() {
            break;
        }
        let again = measure();
        least.nanoseconds = least.nanoseconds.min(again.nanoseconds);
        least.bytes = least.bytes.min(again.bytes);
    }
    least
}

/// `CUCULUS_PAYLOADS` sets another number of payloads.
#[test]
fn no_accepted_payload_makes_a_command_expensive() {
    let payloads: u64 =
        env::var("CUCULUS_PAYLOADS").ok().and_then(|number| number.parse().ok()).unwrap_or(10_000);
    let examples = examples();
    let (mut accepted, mut worst) = (0u64, Cost::default());
    for seed in 0..payloads {
        let mut chance = Chance(seed);
        let (header, whole) = &examples[chance.below(examples.len())];
        let mut body = whole.clone();
        change(&mut chance, &mut body);
        if load(*header, &body).is_none() {
            continue;
        }
        accepted += 1;
        let cost = confirmed(|| {
            let mut stored = load(*header, &body).expect("accepted before");
            worst_of(&mut stored, &mut Chance(seed))
        });
        assert!(cost.is_small(), "payload {seed}: {cost:?}");
        worst = worst.and(cost);
    }
    println!("{payloads} payloads, {accepted} accepted, worst command {worst:?}");
    assert!(accepted * 50 > payloads, "a test that accepts nothing proves nothing: {accepted}");
}

/// The payloads that did it: a filter that its file gives many kicks, and a hint of 8 * 10^10 items.
#[test]
fn limits_of_others_are_refused() {
    const PARAMETERS: usize = 48;
    let put = |body: &mut Vec<u8>, at: usize, bytes: &[u8]| {
        body[PARAMETERS + at..][..bytes.len()].copy_from_slice(bytes);
        seal(body);
    };
    let examples = examples();
    let (header, body) = &examples[6];
    let mut same = body.clone();
    put(&mut same, 8, &500u32.to_le_bytes());
    assert!(load(*header, &same).is_some(), "500 kicks are ours");
    let mut kicks = body.clone();
    put(&mut kicks, 8, &65_535u32.to_le_bytes());
    assert!(load(*header, &kicks).is_none());
    for (example, word, number) in [(0, 2, 80_000_000_000u64), (0, 3, 1 << 30), (4, 2, 0)] {
        let (header, body) = &examples[example];
        let mut changed = body.clone();
        put(&mut changed, 8 * word, &number.to_le_bytes());
        assert!(load(*header, &changed).is_none(), "word {word} of example {example}");
    }
}

/// Adds chosen items until some are refused or all are there, and loads what was saved.
fn survives(what: impl Debug, parameters: Parameters, hashes: &[u64]) -> Cost {
    let mut stored = Stored::new(parameters).expect("valid parameters");
    let (mut worst, mut accepted) = (Cost::default(), Vec::new());
    for &hash in hashes {
        let hash = KeyHash::new(hash);
        let (added, cost) = Cost::of(&mut stored, |stored| add(stored, hash));
        worst = worst.and(cost);
        if added {
            accepted.push(hash);
        }
    }
    assert!(accepted.iter().all(|&hash| stored.contains(hash)), "{what:?}");
    let value = Value::Ready(stored);
    let body = body_of(&value);
    let Some(mut again) = load(value.header(), &body) else { panic!("{what:?}: not loaded again") };
    assert_eq!(body_of(&Value::Ready(again.clone())), body, "{what:?}");
    for &hash in &accepted {
        let (deleted, cost) = Cost::of(&mut again, |again| again.delete(hash));
        assert!(deleted, "{what:?}: what was added can be deleted");
        worst = worst.and(cost);
    }
    assert_eq!(again.len(), 0, "{what:?}");
    worst
}

#[test]
fn chosen_items_never_make_a_dump_that_cannot_be_loaded() {
    let ours = [
        parameters(1, 1024, 0.001),
        parameters(1, 1024, 0.3),
        parameters(1, 100_000, 0.001),
        parameters(1, 1024, 0.00001),
        parameters(0, 3000, 0.001),
    ];
    for parameters in ours {
        for seed in 0..2u64 {
            // The bits that all chosen items share: some of the highest and some of the lowest.
            for (high, low) in
                [(16, 0), (12, 0), (0, 16), (0, 8), (16, 8), (10, 10), (16, 40), (6, 3)]
            {
                for many in [700, 2500] {
                    let mut chance = Chance(seed);
                    let free = (u64::MAX >> high) & !((1 << low) - 1);
                    let common = chance.next() & !free;
                    let hashes: Vec<u64> =
                        (0..many).map(|_| common | chance.next() & free).collect();
                    let what = (parameters, seed, high, low, many);
                    let cost = confirmed(|| survives(what, parameters, &hashes));
                    assert!(cost.is_small(), "{what:?}: {cost:?}");
                }
            }
        }
    }
}

/// A client may ask for any position: half of a filter came in one reply.
#[test]
fn no_position_of_a_dump_asks_for_much() {
    const MOST_BYTES: usize = 1 << 18;
    let mut stored = Stored::new(parameters(1, 1024, 0.001)).expect("valid parameters");
    for item in 0..300_000u64 {
        let hash = stored.hash(&item.to_le_bytes());
        stored.add(hash).expect("room for all");
    }
    let own = stored.sections().expect("elastic");
    let mut copied = 0;
    for bits in 0..45u64 {
        for next in [0, 1, (1 << bits) - 1] {
            let at = sections_at(1 + (bits << 40 | next));
            let Some((piece, _)) = stored.copy_sections(at) else { continue };
            assert!(piece.len() <= MOST_BYTES, "{} bytes at {at:?}", piece.len());
            copied += 1;
        }
    }
    assert!(copied > 50, "{copied}");
    // What it says itself is copied to the end, also by clients that began when it was smaller.
    for bits in [own.bits, own.bits - 4] {
        let mut at = cuculus::Sections { bits, next: 0 };
        while !at.is_done() {
            let (_, next) = stored.copy_sections(at).expect("small sections");
            assert!(next.next > at.next && sections_at(position_of(next)) == next);
            at = next;
        }
    }
}
