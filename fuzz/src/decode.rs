//! Bytes that anybody may have written: loading fails, or yields a filter that keeps its promises.

use std::io::Read;

use arbitrary::Arbitrary;
use cuculus::{
    CuckooFilter, CuckooMaplet, DecodeError, ElasticFilter, Filter, Insert, Persist, Remove,
    SharedFilter,
};
use cuculus_papers::{ConsistentCuckooFilter, DynamicCuckooFilter, IndexIndependentCuckooFilter};

use crate::container::{self, Change, Kind, Parts};
use crate::judge;
use crate::parameters::{
    DynamicParameters, ElasticParameters, Keys, Parameters, RingParameters, all_of,
};

/// What is saved, and how it is changed.
pub type Input = (Saved, Changed);

/// What a saved filter is built of, besides the parameters that all have.
#[derive(Arbitrary, Debug)]
pub enum Saved {
    /// No filter: bytes that are loaded as they are.
    Bytes(#[arbitrary(with = all_of)] Vec<u8>),
    Filter,
    Maplet,
    Dynamic(DynamicParameters),
    IndexIndependent(RingParameters),
    /// The second builds another filter in the first.
    Consistent(RingParameters, RingParameters),
    Elastic {
        parameters: ElasticParameters,
        /// Keys for several segments.
        many: bool,
    },
}

/// A saved filter with matching checksums that no release may have written.
#[derive(Arbitrary, Debug)]
pub struct Changed {
    pub(crate) parameters: Parameters,
    keys: Keys,
    more_keys: Keys,
    /// Whether the number of keys is set to what the table turns out to hold.
    settle: bool,
    /// The bit that is flipped behind the checksums' back.
    damage: u16,
    #[arbitrary(with = all_of)]
    pub(crate) changes: Vec<Change>,
}

/// Every number of keys is tried, so larger tables would only be slow.
const SETTLED_SLOTS: u64 = 128;

/// Loads, and works with what was loaded. Says whether anything was; nothing if there was no file.
pub fn check((saved, changed): &Input) -> Option<bool> {
    Some(match saved {
        Saved::Bytes(bytes) => [
            load(bytes).is_some_and(|filter: CuckooFilter| work_with(filter, bytes)),
            load(bytes).is_some_and(|maplet| work_with_maplet(maplet, bytes)),
            load(bytes).is_some_and(|filter| work_with_elastic(filter, bytes)),
            load(bytes).is_some_and(|filter: DynamicCuckooFilter| work_with(filter, bytes)),
            load(bytes).is_some_and(|it: IndexIndependentCuckooFilter| work_with(it, bytes)),
            load(bytes).is_some_and(|filter: ConsistentCuckooFilter| work_with(filter, bytes)),
        ]
        .contains(&true),
        Saved::Filter => {
            let mut filter = changed.parameters.filter().build().ok()?;
            let _ = changed.keys.iter().try_for_each(|key| filter.insert(&key));
            changed.work(&filter, work_with)
        }
        Saved::Maplet => {
            let mut maplet = changed.parameters.maplet().build().ok()?;
            let mut keys = changed.keys.iter();
            let _ = keys.try_for_each(|key| maplet.insert(&key, u64::from(key % 2)));
            changed.work(&maplet, work_with_maplet)
        }
        Saved::Dynamic(parameters) => changed.work_filled(parameters.filter().build().ok()?),
        Saved::IndexIndependent(parameters) => {
            changed.work_filled(parameters.index_independent().build().ok()?)
        }
        Saved::Consistent(parameters, part) => {
            let mut filter = parameters.consistent().build().ok()?;
            let _ = filter.scale_out_with(&part.index_independent());
            changed.work_filled(filter)
        }
        Saved::Elastic { parameters, many } => {
            let mut filter = parameters.filter().build().ok()?;
            filter.extend(changed.keys.iter());
            filter.extend((0..1200u16).filter(|_| *many));
            changed.work(&filter, work_with_elastic)
        }
    })
}

impl Changed {
    fn work_filled<F: Loaded>(&self, mut filter: F) -> bool {
        filter.extend(&self.keys.to_vec());
        self.work(&filter, work_with)
    }

    fn work<F: Persist + Filter>(&self, saved: &F, work_with: fn(F, &[u8]) -> bool) -> bool {
        let loaded = self.load::<F>(&saved.to_bytes());
        loaded.is_some_and(|filter| work_with(filter, &self.more_keys.to_vec()))
    }

    fn load<F: Persist + Filter>(&self, saved: &[u8]) -> Option<F> {
        let mut parts = Parts::of(saved);
        assert_eq!(parts.sealed(), saved, "the layout that this target knows is the real one");
        self.check_damage::<F>(saved.to_vec());
        for change in &self.changes {
            parts.apply(change);
        }
        let slots = parts.most_slots();
        if !self.settle || slots > SETTLED_SLOTS {
            return load(&parts.sealed());
        }
        let mut fitting = (0..=slots).filter_map(|keys| load::<F>(&parts.with_keys(keys).sealed()));
        let filter = fitting.next();
        assert!(fitting.next().is_none(), "one table was loaded with two numbers of keys");
        filter
    }

    /// A flipped bit is found, wherever it is.
    fn check_damage<F: Persist>(&self, mut saved: Vec<u8>) {
        let at = usize::from(self.damage / 8) % saved.len();
        saved[at] ^= 1 << (self.damage % 8);
        assert!(F::from_bytes(&saved).is_err(), "a damaged file was loaded");
    }
}

/// Loads from a slice and from a reader, which must agree, and saves again what was loaded.
fn load<F: Persist + Filter>(bytes: &[u8]) -> Option<F> {
    let loaded = F::from_bytes(bytes);
    let mut trickle = Trickle(bytes);
    let read = F::read_from(&mut trickle);
    if let Err(DecodeError::TrailingBytes { extra }) = loaded {
        assert_eq!(extra, trickle.0.len() as u64);
        assert!(read.is_ok());
        return None;
    }
    match (loaded, read) {
        (Ok(filter), Ok(read)) => {
            let (again, len) = (filter.to_bytes(), bytes.len());
            let is_elastic = matches!(Kind::of(bytes), Kind::Elastic);
            // (The block of a segment is made as large as a filter would have made it, if a file says
            // otherwise; all that is in it stays.)
            let entries = container::without_shapes;
            let is_same = again == bytes || is_elastic && entries(&again) == entries(bytes);
            assert!(is_same, "bytes were loaded that would not be written");
            assert!(read.to_bytes() == again);
            judge::saved(&filter);
            // (Copies in an elastic filter are counted, and have no slots.)
            assert!(filter.len() <= filter.slots() || is_elastic);
            // Memory for what was there, and not for what was promised.
            let most = match Kind::of(bytes) {
                // A segment has at least 18 bytes in a file, and some dozens in memory.
                Kind::Elastic => 6 * len,
                // A filter of a list has some hundred bytes beside its slots, and at least one byte
                // in a file; but there are no more than 4,096.
                Kind::Dynamic => len + 512 * len.min(4096),
                // A bucket has at least four bytes in a file, and up to 64 nodes of six bytes in
                // memory.
                Kind::IndexIndependent | Kind::Consistent => 120 * len,
                Kind::Other => len,
            };
            let size = filter.size_in_bytes();
            assert!(size <= most + 1024, "{size} for {len} bytes of kind {}", bytes[10]);
            Some(filter)
        }
        (Err(error), Err(same)) => {
            assert_eq!(error.to_string(), same.to_string());
            None
        }
        (loaded, read) => {
            panic!("the slice says {:?} and the reader {:?}", loaded.map(|_| ()), read.map(|_| ()))
        }
    }
}

/// A reader that hands out a few bytes at a time.
struct Trickle<'a>(&'a [u8]);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let few = buffer.len().min(7);
        self.0.read(&mut buffer[..few])
    }
}

/// A refusal may take some thousand kicks if the file says so; two are enough.
const REFUSALS: usize = 2;

/// The length of a filter, and how often it counts a key.
type Counted = (usize, usize);

/// What is particular to a kind of filter.
trait Loaded: Insert + Remove + Persist + for<'a> Extend<&'a u8> {
    /// Whether a key may count so after it was taken, that counted so before.
    fn may_count(before: Counted, after: Counted) -> bool {
        after == (before.0 + 1, before.1 + 1)
    }

    /// What can be done to this kind only, which keeps all keys.
    fn rearranged(self) -> Self;
}

/// Works with a filter that was loaded, whatever is in it.
fn work_with<F: Loaded>(mut filter: F, keys: &[u8]) -> bool {
    // What is refused is refused again, and counted, whatever number the file began with.
    let again = |filter: &mut F, key: &u8| filter.extend([key]);
    let inserted = insert_all(&mut filter, keys, F::may_count, again);
    let len = filter.len();
    judge::saved(&filter);
    let filter = filter.rearranged();
    assert_eq!(filter.len(), len);
    judge::saved(&filter);
    assert!((0.0..=1.0).contains(&filter.expected_false_positive_rate()));
    empty(filter, &inserted, keys);
    true
}

impl Loaded for CuckooFilter {
    fn rearranged(self) -> Self {
        assert!(!self.stats().to_string().is_empty());
        self
    }
}

impl Loaded for IndexIndependentCuckooFilter {
    fn rearranged(mut self) -> Self {
        let (bytes, buckets) = (self.to_bytes(), self.buckets());
        match self.add_bucket() {
            Ok(added) => assert_eq!(self.buckets(), buckets + added),
            Err(_) => assert!(self.to_bytes() == bytes, "a refusal changed the filter"),
        }
        let bytes = self.to_bytes();
        let removed = self.remove_bucket();
        assert!(removed || self.to_bytes() == bytes, "a refusal changed the filter");
        assert!(!self.stats().to_string().is_empty());
        self
    }
}

impl Loaded for ConsistentCuckooFilter {
    fn rearranged(mut self) -> Self {
        let filters = self.filters();
        let added = self.scale_up(2).unwrap_or(0);
        assert!(added == 0 || added >= 2);
        self.scale_down();
        let before = filters + usize::from(self.scale_out().is_ok());
        let gone = self.compact();
        assert_eq!(self.filters() + gone, before);
        assert!(!self.stats().to_string().is_empty());
        self
    }
}

impl Loaded for DynamicCuckooFilter {
    /// A key that seems to be there may be taken and not stored.
    fn may_count(before: Counted, after: Counted) -> bool {
        after == (before.0 + 1, before.1 + 1) || after == before && after.1 > 0
    }

    fn rearranged(mut self) -> Self {
        let filters = self.filters();
        let freed = self.compact() + self.shrink_to_fit();
        assert_eq!(self.filters() + freed, filters);
        assert!(!self.stats().to_string().is_empty());
        self
    }
}

impl Loaded for ElasticFilter {
    /// More where entries of others were shortened.
    fn may_count(before: Counted, after: Counted) -> bool {
        after.0 == before.0 + 1 && after.1 > 0
    }

    fn rearranged(mut self) -> Self {
        let len = self.len();
        self.shrink_to_fit();
        assert_eq!(self.len(), len);
        let other = judge::saved(&self);
        if self.merge(&other).is_ok() {
            assert_eq!(self.len(), 2 * len);
            judge::saved(&self);
            return other;
        }
        assert!(!self.stats().to_string().is_empty());
        self
    }
}

/// Removes what was inserted, and clears the rest.
fn empty<F: Insert + Remove + Persist>(mut filter: F, inserted: &[&u8], keys: &[u8]) {
    for key in inserted {
        let len = filter.len();
        assert!(filter.contains(key));
        assert!(judge::operation(&mut filter, |filter| filter.remove(key)));
        assert_eq!(filter.len(), len - 1);
    }
    judge::operation(&mut filter, F::clear);
    assert!(filter.is_empty() && keys.iter().all(|key| !filter.contains(key)));
    judge::saved(&filter);
}

/// Inserts keys until some are refused, and says which went in. What is done `again` with a key that
/// was refused changes nothing either.
fn insert_all<'a, F: Insert>(
    filter: &mut F,
    keys: &'a [u8],
    may_count: fn(Counted, Counted) -> bool,
    again: impl Fn(&mut F, &u8),
) -> Vec<&'a u8> {
    let (mut inserted, mut refused) = (Vec::new(), 0);
    for key in keys {
        let before = (filter.len(), filter.count(key));
        assert_eq!(filter.contains(key), before.1 > 0);
        let outcome = judge::operation(filter, |filter| filter.insert(key));
        let after = (filter.len(), filter.count(key));
        match outcome {
            Ok(()) => {
                assert!(may_count(before, after), "{before:?}, then {after:?}");
                inserted.extend((after.0 > before.0).then_some(key));
            }
            Err(full) => {
                assert_eq!((full.len, after), (before.0, before));
                again(filter, key);
                assert_eq!(filter.len(), before.0);
                refused += 1;
            }
        }
        if refused == REFUSALS {
            break;
        }
    }
    inserted
}

/// The keys of an elastic filter in parts, and back.
fn share(filter: &ElasticFilter, keys: &[u8]) {
    for parts in [1, 8] {
        let mut shared = SharedFilter::from_filter(filter.clone(), parts).expect("memory");
        assert_eq!(shared.len(), filter.len());
        assert!(keys.iter().all(|key| shared.count(key) >= filter.count(key)));
        let may_count =
            |before: Counted, after: Counted| after.0 == before.0 + 1 && after.1 > before.1;
        let inserted = insert_all(&mut shared, keys, may_count, |_, _| ());
        let snapshot = shared.snapshot();
        judge::saved(&snapshot);
        assert!(snapshot.len() == filter.len() + inserted.len());
        assert!(inserted.iter().all(|&key| snapshot.contains(key) && shared.remove(key)));
        assert_eq!(shared.len(), filter.len());
    }
}

fn work_with_elastic(filter: ElasticFilter, keys: &[u8]) -> bool {
    share(&filter, keys);
    work_with(filter, keys)
}

fn work_with_maplet(mut maplet: CuckooMaplet, keys: &[u8]) -> bool {
    let mut inserted = Vec::new();
    let mut refusals = 0;
    for key in keys {
        let (len, count) = (maplet.len(), maplet.count(key));
        assert_eq!((maplet.contains(key), maplet.values(key).count()), (count > 0, count));
        match judge::operation(&mut maplet, |maplet| maplet.insert(key, 1)) {
            Ok(()) => {
                inserted.push(key);
                assert_eq!((maplet.len(), maplet.count(key)), (len + 1, count + 1));
                assert!(maplet.values(key).any(|value| value == 1));
            }
            Err(_) => {
                assert_eq!((maplet.len(), maplet.count(key)), (len, count));
                refusals += 1;
            }
        }
        if refusals == REFUSALS {
            break;
        }
    }
    judge::saved(&maplet);
    for key in inserted {
        assert!(maplet.contains(key) && maplet.remove(key, 1));
    }
    maplet.clear();
    assert!(maplet.is_empty() && keys.iter().all(|key| !maplet.contains(key)));
    judge::saved(&maplet);
    true
}
