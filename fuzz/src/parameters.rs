//! What the targets draw from the fuzzer's bytes: keys, and builders' parameters, within their range
//! and outside it, but never of a size that is only slow: tables are small or impossible, searches
//! short or refused.

use arbitrary::{Arbitrary, Result, Unstructured};
use cuculus::lab::{Instructions, PlacementKind, Search};
use cuculus::{
    CuckooFilter, CuckooFilterBuilder, CuckooMaplet, CuckooMapletBuilder, ElasticFilter,
    ElasticFilterBuilder, KeyHasher,
};
use cuculus_papers::{
    ConsistentCuckooFilter, ConsistentCuckooFilterBuilder, DynamicCuckooFilter,
    DynamicCuckooFilterBuilder, Extension, IndexIndependentCuckooFilter,
    IndexIndependentCuckooFilterBuilder, Resizing,
};

/// A builder with those words that were said: builders share their words, not a trait.
macro_rules! given {
    ($builder:expr; $($word:ident: $value:expr),*) => {{
        let builder = $builder;
        $(let builder = match $value {
            Some(value) => builder.$word(value),
            None => builder,
        };)*
        builder
    }};
}

#[derive(Arbitrary, Clone, Debug)]
pub struct Parameters {
    capacity: Option<Size>,
    buckets: Option<Size>,
    rate: Option<Rate>,
    fingerprint_bits: Option<u8>,
    slots_per_bucket: Option<u8>,
    semi_sorted: bool,
    #[arbitrary(with = placement)]
    placement: PlacementKind,
    #[arbitrary(with = search)]
    search: Search,
    max_kicks: Kicks,
    #[arbitrary(with = instructions)]
    instructions: Instructions,
    #[arbitrary(with = hasher)]
    hasher: KeyHasher,
    value_bits: Option<u8>,
}

/// A size whose highest values mean an impossible one.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Size(u16);

/// Parts of 2^16, and some values that are no rates.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Rate(u16);

/// Mostly a limit that is soon reached; also none, and one above the most that is allowed.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Kicks(u16);

/// A function that draws one of several values.
macro_rules! one_of {
    ($($name:ident: $type:ty = $values:expr;)*) => {
        $(fn $name(random: &mut Unstructured<'_>) -> Result<$type> {
            random.choose(&$values).copied()
        })*
    };
}

one_of! {
    placement: PlacementKind = [
        PlacementKind::AnySize,
        PlacementKind::Xor,
        PlacementKind::Simplified,
        PlacementKind::Chunked,
    ];
    search: Search = [Search::BreadthFirst, Search::RandomWalk];
    instructions: Instructions = [Instructions::Detected, Instructions::Baseline];
    extension: Extension = [Extension::Active, Extension::Passive];
    resizing: Resizing = [
        Resizing::Adaptive,
        Resizing::Buckets,
        Resizing::Filters,
        Resizing::FiltersActiveOnly,
        Resizing::Manual,
    ];
}

fn hasher(random: &mut Unstructured<'_>) -> Result<KeyHasher> {
    Ok(match random.int_in_range(0..=2)? {
        0 => KeyHasher::fold_xxh3(random.arbitrary()?),
        1 => KeyHasher::xxh3(random.arbitrary()?),
        _ => KeyHasher::siphash(random.arbitrary()?),
    })
}

/// From here on a number stands for something out of range.
const WILD: u16 = 0xff00;

impl Size {
    fn get(self) -> u64 {
        match self.0 {
            // More than 2^32 buckets of eight.
            wild @ WILD.. => u64::MAX >> (wild % 16),
            small @ ..0x8000 => u64::from(small % 32),
            size => u64::from(size % 512),
        }
    }
}

impl Rate {
    fn get(self) -> f64 {
        const NO_RATES: [f64; 6] = [-0.5, 1.0, f64::NAN, f64::INFINITY, 1e-12, f64::MIN_POSITIVE];
        match self.0 {
            wild @ WILD.. => NO_RATES[usize::from(wild) % NO_RATES.len()],
            share => f64::from(share) / 65536.0,
        }
    }
}

impl Kicks {
    fn get(self) -> Option<u32> {
        match self.0 {
            wild @ WILD.. => Some(u32::MAX >> (wild % 12)),
            small @ ..0xe000 => Some(u32::from(small % 32)),
            _ => None,
        }
    }
}

impl Parameters {
    /// The same with one layout or the other, and slots that both have.
    pub(crate) fn set_layout(&mut self, semi_sorted: bool) {
        self.semi_sorted = semi_sorted;
        if semi_sorted {
            self.slots_per_bucket = None;
        }
    }

    /// The capacity that a filter built of these must have, if one was named.
    pub(crate) fn capacity(&self) -> Option<usize> {
        self.capacity.map(|size| size.get() as usize)
    }

    /// Whether the size of the table follows from the capacity.
    pub(crate) fn sized_by_capacity(&self) -> bool {
        self.capacity.is_some() && self.buckets.is_none()
    }

    /// The rate that a full filter must keep, if one was named.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.rate.map(Rate::get)
    }

    fn fingerprint_bits(&self) -> Option<u32> {
        self.fingerprint_bits.map(|bits| u32::from(bits % 36))
    }

    fn slots_per_bucket(&self) -> Option<u32> {
        self.slots_per_bucket.map(|slots| match slots {
            wild @ 0xf0.. => u32::from(wild % 10),
            slots => 1 << (slots % 4),
        })
    }

    pub(crate) fn filter(&self) -> CuckooFilterBuilder {
        let builder = CuckooFilter::builder().hasher(self.hasher.clone()).search(self.search);
        let builder = builder.semi_sorted(self.semi_sorted).placement(self.placement);
        given!(builder.instructions(self.instructions);
            capacity: self.capacity(),
            buckets: self.buckets.map(Size::get),
            false_positive_rate: self.rate(),
            fingerprint_bits: self.fingerprint_bits(),
            slots_per_bucket: self.slots_per_bucket(),
            max_kicks: self.max_kicks.get())
    }

    pub(crate) fn maplet(&self) -> CuckooMapletBuilder {
        given!(CuckooMaplet::builder().hasher(self.hasher.clone());
            capacity: self.capacity(),
            false_positive_rate: self.rate(),
            fingerprint_bits: self.fingerprint_bits(),
            slots_per_bucket: self.slots_per_bucket(),
            max_kicks: self.max_kicks.get(),
            value_bits: self.value_bits.map(|bits| u32::from(bits % 70)))
    }
}

/// The parameters of an elastic filter.
#[derive(Arbitrary, Clone, Debug)]
pub struct ElasticParameters {
    rate: Option<Rate>,
    /// In percent; some are too small or too large.
    load: Option<u8>,
    expected: Option<Size>,
    spare: Option<Size>,
    #[arbitrary(with = instructions)]
    instructions: Instructions,
    #[arbitrary(with = hasher)]
    hasher: KeyHasher,
}

impl ElasticParameters {
    pub(crate) fn filter(&self) -> ElasticFilterBuilder {
        let builder = ElasticFilter::builder().hasher(self.hasher.clone());
        given!(builder.instructions(self.instructions);
            false_positive_rate: self.rate.map(Rate::get),
            target_load: self.load.map(|load| 0.48 + f64::from(load % 52) / 100.0),
            expected_items: self.expected.map(|size| size.get() as usize),
            spare_bytes: self.spare.map(|size| size.get().saturating_mul(16)))
    }
}

/// The parameters of an index-independent filter, and those of a consistent one.
#[derive(Arbitrary, Clone, Debug)]
pub struct RingParameters {
    fingerprint_bits: Option<u8>,
    slots_per_bucket: Option<u8>,
    candidates: Option<u8>,
    virtual_nodes: Option<u8>,
    buckets: Buckets,
    #[arbitrary(with = search)]
    search: Search,
    max_kicks: Kicks,
    #[arbitrary(with = resizing)]
    resizing: Resizing,
    max_filters: Option<u8>,
    sparse_below: Option<u8>,
    #[arbitrary(with = hasher)]
    hasher: KeyHasher,
}

/// Few, since each of them has nodes; the highest value means an impossible number.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Buckets(u8);

impl Buckets {
    fn get(self) -> u64 {
        match self.0 {
            255 => u64::MAX,
            few => u64::from(few % 40),
        }
    }
}

impl RingParameters {
    // Numbers are mostly in range; one beyond either end too.

    pub(crate) fn index_independent(&self) -> IndexIndependentCuckooFilterBuilder {
        let builder = IndexIndependentCuckooFilter::builder().hasher(self.hasher.clone());
        let bits = self.fingerprint_bits.map(|bits| 3 + u32::from(bits % 31));
        given!(builder.buckets(self.buckets.get()).search(self.search);
            fingerprint_bits: bits.or(Some(20)),
            slots_per_bucket: self.slots_per_bucket.map(|slots| u32::from(slots % 10)),
            candidates: self.candidates.map(|candidates| u32::from(candidates % 18)),
            virtual_nodes: self.virtual_nodes.map(|nodes| u32::from(nodes % 66)),
            max_kicks: self.max_kicks.get())
    }

    pub(crate) fn consistent(&self) -> ConsistentCuckooFilterBuilder {
        let builder = ConsistentCuckooFilter::builder().hasher(self.hasher.clone());
        let builder = builder.resizing(self.resizing);
        given!(builder.buckets_per_filter(self.buckets.get()).search(self.search);
            fingerprint_bits: self.fingerprint_bits.map(|bits| 3 + u32::from(bits % 31)),
            slots_per_bucket: self.slots_per_bucket.map(|slots| u32::from(slots % 10)),
            candidates: self.candidates.map(|candidates| u32::from(candidates % 18)),
            virtual_nodes: self.virtual_nodes.map(|nodes| u32::from(nodes % 66)),
            max_filters: self.max_filters.map(|filters| u32::from(filters % 20)),
            sparse_below: self.sparse_below.map(|sparse| u32::from(sparse % 10)),
            max_kicks: self.max_kicks.get())
    }
}

/// The parameters of a dynamic cuckoo filter: those of a cuckoo filter, and of the list.
#[derive(Arbitrary, Clone, Debug)]
pub struct DynamicParameters {
    each: Parameters,
    capacity_per_filter: Option<u8>,
    #[arbitrary(with = extension)]
    extension: Extension,
    forward_only: bool,
    pub(crate) filter_duplicates: bool,
}

impl DynamicParameters {
    /// The most equal entries of a key that are stored before a list is not made longer for it.
    pub(crate) fn most_copies(&self) -> usize {
        2 * self.each.slots_per_bucket().unwrap_or(4) as usize
    }

    pub(crate) fn filter(&self) -> DynamicCuckooFilterBuilder {
        let each = &self.each;
        let builder = DynamicCuckooFilter::builder()
            .hasher(each.hasher.clone())
            .placement(each.placement)
            .search(each.search)
            .extension(self.extension)
            .reuse_holes(!self.forward_only)
            .filter_duplicates(self.filter_duplicates);
        given!(builder.instructions(each.instructions);
            capacity: each.capacity(),
            buckets_per_filter: each.buckets.map(Size::get),
            false_positive_rate: each.rate(),
            fingerprint_bits: each.fingerprint_bits(),
            slots_per_bucket: each.slots_per_bucket(),
            capacity_per_filter: self.capacity_per_filter.map(usize::from),
            max_kicks: each.max_kicks.get())
    }
}

/// A list of keys that costs the fuzzer three bytes. Keys are few, so that they repeat and
/// collide.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct Keys {
    first: u8,
    step: u8,
    count: u8,
}

impl Keys {
    pub(crate) fn iter(self) -> impl Iterator<Item = u8> {
        (0..self.count).map(move |i| self.first.wrapping_add(i.wrapping_mul(self.step)))
    }

    pub(crate) fn to_vec(self) -> Vec<u8> {
        self.iter().collect()
    }
}

/// As many as the input has bytes for. (The vectors that `arbitrary` derives end after each
/// element with a probability of one half.)
pub(crate) fn all_of<'a, T: Arbitrary<'a>>(input: &mut Unstructured<'a>) -> Result<Vec<T>> {
    let mut all = Vec::new();
    while !input.is_empty() {
        all.push(input.arbitrary()?);
    }
    Ok(all)
}
