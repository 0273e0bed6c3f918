//! A filter in use: the elastic one, or a fixed one where growth was forbidden.

use core::fmt;
use core::ptr::NonNull;
use std::alloc::Layout;
use std::io::{self, Read, Write};

use cuculus::{
    BuildError, CuckooFilter, DecodeError, ElasticFilter, Filter, Full, Insert, KeyHash, KeyHasher,
    Persist, Remove, analysis,
};

use super::pieces::Count;
use super::{Header, Parameters};

/// The slots of a bucket of a fixed filter, whatever was asked for: rarely beaten.
const FIXED_SLOTS: u32 = 4;
/// How full an elastic filter is kept. Less than the library's default, for a twelfth more memory:
/// items are added and deleted in two thirds of the time, which counts more where one thread
/// serves everybody.
const LOAD: f64 = 0.84;
/// Elastic filters shrink by themselves; up to this many items a last few bytes can be had by
/// writing all entries anew within a millisecond.
const SHRUNK_AT_ONCE: usize = 1 << 15;

/// A filter with what it was asked for.
#[derive(Clone, Debug)]
pub struct Stored {
    parameters: Parameters,
    deleted: u64,
    filter: Held,
}

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all are of the larger one")]
enum Held {
    Elastic(ElasticFilter),
    // In a box, or it would be the larger one.
    Fixed(Box<CuckooFilter>),
}

/// Runs the same words on either filter.
macro_rules! with {
    ($held:expr, $filter:ident => $body:expr) => {
        match $held {
            Held::Elastic($filter) => $body,
            Held::Fixed($filter) => $body,
        }
    };
}

/// A filter cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateError {
    /// A parameter is out of its range.
    Invalid,
    /// There is no memory for it.
    OutOfMemory,
}

/// Bytes are no filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// They are damaged, or of something else.
    Invalid,
    /// They are a filter, but not the one of which the header speaks.
    OtherFilter,
    /// There are more or fewer than the header says.
    OtherLength,
    /// There is no memory for it.
    OutOfMemory,
    /// They could not be read.
    Io,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Invalid => "the bytes are damaged or no filter",
            Self::OtherFilter => "the filter is not the one that its header describes",
            Self::OtherLength => "the filter is longer or shorter than its header says",
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
    /// [`CreateError`]; nothing was allocated then.
    pub fn new(parameters: Parameters) -> Result<Self, CreateError> {
        if !parameters.are_valid() {
            return Err(CreateError::Invalid);
        }
        let filter = if parameters.is_fixed() {
            fixed(&parameters).map(|filter| Held::Fixed(filter.into()))
        } else {
            elastic(&parameters).map(Held::Elastic)
        };
        match filter {
            Ok(filter) => Ok(Self { parameters, deleted: 0, filter }),
            Err(BuildError::OutOfMemory { .. }) => Err(CreateError::OutOfMemory),
            Err(_) => Err(CreateError::Invalid),
        }
    }

    /// The bytes that a filter takes from the beginning, nearly: a fixed one is as large when it
    /// is empty as when it is full.
    #[must_use]
    pub fn first_bytes(parameters: &Parameters) -> u64 {
        if !parameters.is_fixed() {
            return 0;
        }
        let bits = analysis::fingerprint_bits(parameters.rate, FIXED_SLOTS);
        let buckets = analysis::buckets_for(u64::from(parameters.capacity), FIXED_SLOTS);
        buckets * u64::from(FIXED_SLOTS) * u64::from(bits) / 8
    }

    /// What the filter was asked for.
    #[must_use]
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The items deleted so far.
    #[must_use]
    pub fn deleted(&self) -> u64 {
        self.deleted
    }

    /// The hash of an item.
    #[inline]
    #[must_use]
    pub fn hash(&self, item: &[u8]) -> KeyHash {
        // The seed is at hand here, and with it the choice of the function is made.
        KeyHasher::xxh3(self.parameters.seed).hash(item)
    }

    /// Asks for the memory that an operation on this hash will read, and does not wait for it.
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

    /// The same for many items.
    pub fn contains_each(&self, hashes: &[KeyHash], there: &mut Vec<bool>) {
        with!(&self.filter, filter => filter.contains_batch(hashes, there));
    }

    /// How often an item may have been added.
    #[must_use]
    pub fn count(&self, hash: KeyHash) -> usize {
        with!(&self.filter, filter => filter.count_hash(hash))
    }

    /// Adds an item.
    ///
    /// # Errors
    /// [`Full`] says why not; nothing has changed then.
    #[inline]
    pub fn add(&mut self, hash: KeyHash) -> Result<(), Full> {
        with!(&mut self.filter, filter => filter.insert_hash(hash))
    }

    /// Deletes an item once, and says whether it was there.
    #[inline]
    pub fn delete(&mut self, hash: KeyHash) -> bool {
        let was_there = with!(&mut self.filter, filter => filter.remove_hash(hash));
        self.deleted = self.deleted.saturating_add(u64::from(was_there));
        was_there
    }

    /// The items held.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        with!(&self.filter, filter => filter.len())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The places for items that exist now.
    #[must_use]
    pub fn slots(&self) -> usize {
        with!(&self.filter, filter => filter.slots())
    }

    /// All memory held. Takes a while in a large filter: a step for every 64 KiB.
    #[must_use]
    pub fn size_in_bytes(&self) -> usize {
        let beside = match &self.filter {
            Held::Elastic(filter) => filter.size_in_bytes() - size_of::<ElasticFilter>(),
            Held::Fixed(filter) => filter.size_in_bytes(),
        };
        size_of::<Self>() + beside
    }

    /// The false positive rate to expect now.
    #[must_use]
    pub fn expected_rate(&self) -> f64 {
        with!(&self.filter, filter => filter.expected_false_positive_rate())
    }

    /// Gives back what little memory an elastic filter keeps beyond its need, if that is a matter
    /// of a millisecond, and says whether it was tried.
    pub fn compact(&mut self) -> bool {
        match &mut self.filter {
            Held::Elastic(filter) if filter.len() <= SHRUNK_AT_ONCE => {
                filter.shrink_to_fit();
                true
            }
            _ => false,
        }
    }

    /// Lets the server move the memory of an elastic filter. A fixed one has one piece, which is
    /// too large to lie between others.
    ///
    /// # Safety
    /// As for [`ElasticFilter::relocate`].
    #[allow(unsafe_code, reason = "the caller answers for the memory that it moves")]
    pub unsafe fn relocate(
        &mut self,
        relocate: &mut dyn FnMut(NonNull<u8>, Layout) -> Option<NonNull<u8>>,
    ) {
        if let Held::Elastic(filter) = &mut self.filter {
            // SAFETY: the caller's.
            unsafe { filter.relocate(relocate) };
        }
    }

    /// Lines of figures to look at.
    #[must_use]
    pub fn figures(&self) -> String {
        match &self.filter {
            Held::Elastic(filter) => filter.stats().to_string(),
            Held::Fixed(filter) => filter.stats().to_string(),
        }
    }

    pub(super) fn header(&self) -> Header {
        let Self { parameters, deleted, .. } = *self;
        Header { parameters, deleted, body_len: self.body_len() }
    }

    pub(super) fn body_len(&self) -> u64 {
        let mut count = Count::default();
        // A writer that counts has no errors.
        let _ = self.write_body(&mut count);
        count.0
    }

    pub(super) fn write_body<W: Write>(&self, writer: W) -> io::Result<()> {
        with!(&self.filter, filter => filter.write_to(writer))
    }

    pub(super) fn read<R: Read>(header: Header, body: &mut R) -> Result<Self, LoadError> {
        let Header { parameters, deleted, .. } = header;
        let filter = if parameters.is_fixed() {
            Held::Fixed(CuckooFilter::read_from(body)?.into())
        } else {
            let filter = ElasticFilter::read_from(body)?;
            if filter.false_positive_rate() != parameters.rate {
                return Err(LoadError::OtherFilter);
            }
            Held::Elastic(filter)
        };
        let seed = KeyHasher::xxh3(parameters.seed);
        if *with!(&filter, filter => filter.hasher()) != seed {
            return Err(LoadError::OtherFilter);
        }
        Ok(Self { parameters, deleted, filter })
    }
}

fn fixed(parameters: &Parameters) -> Result<CuckooFilter, BuildError> {
    CuckooFilter::builder()
        .capacity(parameters.capacity as usize)
        .false_positive_rate(parameters.rate)
        .slots_per_bucket(FIXED_SLOTS)
        .seed(parameters.seed)
        .build()
}

fn elastic(parameters: &Parameters) -> Result<ElasticFilter, BuildError> {
    ElasticFilter::builder()
        .false_positive_rate(parameters.rate)
        .expected_items(parameters.expected_items())
        .target_load(LOAD)
        .seed(parameters.seed)
        .build()
}
