//! A filter in use: an elastic filter, or a cuckoo filter of fixed size. Knows how the parameters
//! become a filter; which one it is stays in here.

use core::fmt;
use core::ptr::NonNull;
use std::alloc::Layout;
use std::io::{self, Read, Write};

use cuculus::{
    BuildError, CuckooFilter, CuckooFilterBuilder, DecodeError, ElasticFilter,
    ElasticFilterBuilder, Filter, Full, Insert, KeyHash, KeyHasher, Persist, PieceError, Remove,
    Sections, analysis,
};

use super::pieces::Count;
use super::{Header, Parameters};

/// Slots per bucket of a fixed filter. A client may give another bucket size, but it is rarely
/// better.
const FIXED_SLOTS: u32 = 4;
/// Elastic filters shrink automatically. Up to this many items, rewriting all entries frees a few
/// more bytes and takes less than a millisecond.
const COMPACT_LIMIT: usize = 1 << 15;
/// Items and sections in one chunk of SCANDUMP: together less than a millisecond here, and one or two where
/// it is loaded. With 8,192 items the longest of 12,000 loads took 6.8 ms on a busy machine.
const MOST_COPIED: usize = 4096;
const MOST_SECTIONS: u64 = 64;
/// Bits by which sections may be coarser than those that a copy would begin with now: a section is then
/// some twenty thousand items.
const MOST_COARSER: u32 = 6;
/// Items of a filter that are all looked at after the last section.
const MOST_AT_END: usize = 1 << 16;

/// A filter and its parameters.
#[derive(Clone, Debug)]
pub struct Stored {
    parameters: Parameters,
    deleted: u64,
    filter: AnyFilter,
}

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all filters are elastic")]
enum AnyFilter {
    Elastic(ElasticFilter),
    // In a box, because it would be the larger variant.
    Fixed(Box<CuckooFilter>),
}

/// Evaluates the same expression for either filter.
macro_rules! with {
    ($held:expr, $filter:ident => $body:expr) => {
        match $held {
            AnyFilter::Elastic($filter) => $body,
            AnyFilter::Fixed($filter) => $body,
        }
    };
}

/// Why a filter cannot be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateError {
    /// A parameter is out of range.
    Invalid,
    /// Memory is short.
    OutOfMemory,
}

/// Why bytes cannot be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// They are damaged, or not a filter.
    Invalid,
    /// They are a filter, but not the one that the header describes.
    WrongFilter,
    /// They are more or fewer than the header announces.
    WrongLength,
    /// Memory is short.
    OutOfMemory,
    /// They end too early.
    Io,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Invalid => "the bytes are damaged or not a filter",
            Self::WrongFilter => "the filter is not the one that its header describes",
            Self::WrongLength => "the filter is longer or shorter than its header says",
            Self::OutOfMemory => "no memory for the filter",
            Self::Io => "the bytes end too early",
        })
    }
}

impl From<DecodeError> for LoadError {
    fn from(error: DecodeError) -> Self {
        match error {
            DecodeError::OutOfMemory { .. } => Self::OutOfMemory,
            DecodeError::Io(_) => Self::Io,
            _ => Self::Invalid,
        }
    }
}

impl Stored {
    /// An empty filter.
    ///
    /// # Errors
    /// [`CreateError`]; then nothing is allocated.
    pub fn new(parameters: Parameters) -> Result<Self, CreateError> {
        if !parameters.are_valid() {
            return Err(CreateError::Invalid);
        }
        let filter = if parameters.is_fixed() {
            fixed(&parameters).build().map(|filter| AnyFilter::Fixed(filter.into()))
        } else {
            elastic(&parameters).build().map(AnyFilter::Elastic)
        };
        match filter {
            Ok(filter) => Ok(Self { parameters, deleted: 0, filter }),
            Err(BuildError::OutOfMemory { .. }) => Err(CreateError::OutOfMemory),
            Err(_) => Err(CreateError::Invalid),
        }
    }

    /// The approximate size of an empty filter, in bytes. A fixed one is as large empty as full.
    #[must_use]
    pub fn initial_bytes(parameters: &Parameters) -> u64 {
        if !parameters.is_fixed() {
            return 0;
        }
        let bits = analysis::fingerprint_bits(parameters.rate, FIXED_SLOTS);
        let buckets = analysis::buckets_for(u64::from(parameters.capacity), FIXED_SLOTS);
        buckets * u64::from(FIXED_SLOTS) * u64::from(bits) / 8
    }

    /// The parameters the filter was created with.
    #[must_use]
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The number of items deleted so far.
    #[must_use]
    pub fn deleted(&self) -> u64 {
        self.deleted
    }

    /// The hash of an item.
    #[inline]
    #[must_use]
    pub fn hash(&self, item: &[u8]) -> KeyHash {
        // Faster than the filter's own hasher, which first has to look up which function it uses.
        KeyHasher::xxh3(self.parameters.seed).hash(item)
    }

    /// Prefetches the memory that an operation on this hash reads.
    #[inline]
    pub fn prefetch(&self, hash: KeyHash) {
        with!(&self.filter, filter => filter.prefetch_hash(hash));
    }

    /// Whether an item may have been added.
    #[inline]
    #[must_use]
    pub fn contains(&self, hash: KeyHash) -> bool {
        with!(&self.filter, filter => filter.contains_hash(hash))
    }

    /// Whether each of these items may have been added.
    pub fn contains_each(&self, hashes: &[KeyHash], there: &mut Vec<bool>) {
        with!(&self.filter, filter => filter.contains_batch(hashes, there));
    }

    /// How often an item was added; false positives can make it more.
    #[must_use]
    pub fn count(&self, hash: KeyHash) -> usize {
        with!(&self.filter, filter => filter.count_hash(hash))
    }

    /// Whether a filter of fixed size holds all the items that it was made for. It might find
    /// room for a few more, with long searches.
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        match &self.filter {
            AnyFilter::Elastic(_) => false,
            AnyFilter::Fixed(filter) => filter.len() >= self.parameters.capacity as usize,
        }
    }

    /// Adds an item, even if the filter [is full](Self::is_full) and still finds room.
    ///
    /// # Errors
    /// [`Full`], with the cause; then nothing has changed.
    #[inline]
    pub fn add(&mut self, hash: KeyHash) -> Result<(), Full> {
        with!(&mut self.filter, filter => filter.insert_hash(hash))
    }

    /// Adds items in turn and returns their number; stops before the first that is refused. The filter is as
    /// after adding them one by one. A filter of fixed size, which may be full after any item, takes none.
    pub fn add_all(&mut self, hashes: &[KeyHash]) -> usize {
        match &mut self.filter {
            AnyFilter::Elastic(filter) => {
                filter.insert_batch(hashes).map_or_else(|full| full.inserted, |()| hashes.len())
            }
            AnyFilter::Fixed(_) => 0,
        }
    }

    /// Like [`Self::add_all`], for the items that are absent; says which were.
    pub fn add_absent(&mut self, hashes: &[KeyHash], absent: &mut Vec<bool>) {
        absent.clear();
        if let AnyFilter::Elastic(filter) = &mut self.filter {
            // Those before the refused one have their answers.
            let _ = filter.insert_absent_batch(hashes, absent);
        }
    }

    /// Deletes one occurrence of an item. False if there is none.
    #[inline]
    pub fn delete(&mut self, hash: KeyHash) -> bool {
        let was_present = with!(&mut self.filter, filter => filter.remove_hash(hash));
        self.deleted = self.deleted.saturating_add(u64::from(was_present));
        was_present
    }

    /// The number of items held.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        with!(&self.filter, filter => filter.len())
    }

    /// Whether there are no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of slots for items that exist now.
    #[must_use]
    pub fn slots(&self) -> usize {
        with!(&self.filter, filter => filter.slots())
    }

    /// The memory held, in bytes. Takes one step per 64 KiB of it.
    #[must_use]
    pub fn size_in_bytes(&self) -> usize {
        let beside = match &self.filter {
            AnyFilter::Elastic(filter) => filter.size_in_bytes() - size_of::<ElasticFilter>(),
            AnyFilter::Fixed(filter) => filter.size_in_bytes(),
        };
        size_of::<Self>() + beside
    }

    /// The false positive rate expected at the current number of items.
    #[must_use]
    pub fn expected_rate(&self) -> f64 {
        with!(&self.filter, filter => filter.expected_false_positive_rate())
    }

    /// Makes an elastic filter as small as its rate allows, unless that would take more than a millisecond.
    /// False if it did nothing.
    pub fn compact(&mut self) -> bool {
        match &mut self.filter {
            AnyFilter::Elastic(filter) if filter.len() <= COMPACT_LIMIT => {
                filter.shrink_to_fit();
                true
            }
            _ => false,
        }
    }

    /// Lets the server move the memory of an elastic filter. A fixed filter is one large block, which
    /// does not fragment.
    ///
    /// # Safety
    /// As for [`ElasticFilter::relocate`].
    #[allow(unsafe_code, reason = "the caller is responsible for the memory that it moves")]
    pub unsafe fn relocate(
        &mut self,
        relocate: &mut dyn FnMut(NonNull<u8>, Layout) -> Option<NonNull<u8>>,
    ) {
        if let AnyFilter::Elastic(filter) = &mut self.filter {
            // SAFETY: the caller keeps the contract of this function, which is the same.
            unsafe { filter.relocate(relocate) };
        }
    }

    /// Statistics as text, in several lines.
    #[must_use]
    pub fn figures(&self) -> String {
        match &self.filter {
            AnyFilter::Elastic(filter) => filter.stats().to_string(),
            AnyFilter::Fixed(filter) => filter.stats().to_string(),
        }
    }

    pub(super) fn header(&self) -> Header {
        Header { body_len: self.body_len(), ..self.header_of_sections() }
    }

    /// The header of a copy in sections. Unlike the other it does not count the bytes of the filter, which
    /// takes as long as saving it.
    #[must_use]
    pub fn header_of_sections(&self) -> Header {
        let Self { parameters, deleted, .. } = *self;
        Header { parameters, deleted, body_len: 0 }
    }

    /// How to copy the filter in sections; `None` for a filter of fixed size, which has none.
    #[must_use]
    pub fn sections(&self) -> Option<Sections> {
        match &self.filter {
            AnyFilter::Elastic(filter) => Some(filter.sections()),
            AnyFilter::Fixed(_) => None,
        }
    }

    /// Whether sections are small enough to be copied one after the other. They are not if the size of the
    /// filter has changed by a large factor since the copy began, or if nobody began it: a position is
    /// the word of a client.
    #[must_use]
    pub fn are_small(&self, at: Sections) -> bool {
        match &self.filter {
            AnyFilter::Elastic(filter) => {
                let now = filter.sections();
                now.bits <= at.bits.saturating_add(MOST_COARSER)
                    && !(at.bits > now.bits && ends_with_many(filter, at))
            }
            AnyFilter::Fixed(_) => false,
        }
    }

    /// The next sections, and how to go on; `None` if memory is short, there are no sections, or they
    /// are not small.
    #[must_use]
    pub fn copy_sections(&self, from: Sections) -> Option<(Vec<u8>, Sections)> {
        match &self.filter {
            _ if !self.are_small(from) => None,
            AnyFilter::Elastic(filter) => {
                filter.copy_sections(from, MOST_SECTIONS, MOST_COPIED).ok()
            }
            AnyFilter::Fixed(_) => None,
        }
    }

    /// Adds what [`copy_sections`](Self::copy_sections) returned.
    pub(super) fn add_sections(
        &mut self,
        from: Sections,
        to: Sections,
        piece: &[u8],
    ) -> Result<(), PieceError> {
        match &mut self.filter {
            AnyFilter::Elastic(filter) => filter.add_sections(from, to, piece),
            AnyFilter::Fixed(_) => Err(PieceError::Invalid),
        }
    }

    pub(super) fn with_deleted(self, deleted: u64) -> Self {
        Self { deleted, ..self }
    }

    pub(super) fn body_len(&self) -> u64 {
        let mut count = Count::default();
        // Counting cannot fail.
        let _ = self.write_body(&mut count);
        count.0
    }

    pub(super) fn write_body<W: Write>(&self, writer: W) -> io::Result<()> {
        with!(&self.filter, filter => filter.write_to(writer))
    }

    pub(super) fn read<R: Read>(header: Header, body: &mut R) -> Result<Self, LoadError> {
        let Header { parameters, deleted, .. } = header;
        // A filter that this module would not have made may take as much time and memory per item
        // as its parameters say.
        let (filter, is_ours) = if parameters.is_fixed() {
            let filter = CuckooFilter::read_from(body)?;
            let is_ours = fixed(&parameters).describes(&filter);
            (AnyFilter::Fixed(filter.into()), is_ours)
        } else {
            let filter = ElasticFilter::read_from(body)?;
            let is_ours = elastic(&parameters).describes(&filter);
            (AnyFilter::Elastic(filter), is_ours)
        };
        if is_ours { Ok(Self { parameters, deleted, filter }) } else { Err(LoadError::WrongFilter) }
    }
}

/// Whether the next sections may be the last, after which come all entries that know too few bits to be in
/// a section, and finding them takes long. There are none unless the filter has shrunk since the copy
/// began.
fn ends_with_many(filter: &ElasticFilter, at: Sections) -> bool {
    Sections { next: at.next.saturating_add(MOST_SECTIONS), ..at }.is_done()
        && filter.len() > MOST_AT_END
        && filter.stats().entry_lengths.first().is_some_and(|&(shortest, _)| shortest < at.bits)
}

fn fixed(parameters: &Parameters) -> CuckooFilterBuilder {
    CuckooFilter::builder()
        .capacity(parameters.capacity as usize)
        .false_positive_rate(parameters.rate)
        .slots_per_bucket(FIXED_SLOTS)
        .hasher(KeyHasher::xxh3(parameters.seed))
}

fn elastic(parameters: &Parameters) -> ElasticFilterBuilder {
    ElasticFilter::builder()
        .false_positive_rate(parameters.rate)
        .expected_items(parameters.expected_items())
        .hasher(KeyHasher::xxh3(parameters.seed))
}
