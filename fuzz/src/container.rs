//! A saved filter, taken apart, changed and sealed again with checksums that match, so that what
//! is wrong with it is found by the checks behind them. Knows the layout of FORMAT.md.

use arbitrary::Arbitrary;
use xxhash_rust::xxh3::xxh3_64;

const HEADER: usize = 48;
const PARAMETERS_LEN: usize = 32;
const PAYLOAD_LEN: usize = 40;
/// The kind of filter, in the header.
const KIND: usize = 10;
/// Where the parameters hold the number of keys.
const KEYS: usize = 16;
/// Where those of an elastic filter hold the segments of each level.
const ELASTIC_SEGMENTS: usize = 56;

/// What a file says that it holds.
pub(crate) enum Kind {
    Elastic,
    /// A list of filters.
    Dynamic,
    /// Tables on rings.
    IndexIndependent,
    Consistent,
    Other,
}

impl Kind {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        match bytes.get(KIND) {
            Some(3) => Self::Elastic,
            Some(4) => Self::Dynamic,
            Some(5) => Self::IndexIndependent,
            Some(6) => Self::Consistent,
            _ => Self::Other,
        }
    }

    /// Where the parameters hold the number of keys.
    fn keys_at(&self) -> usize {
        match self {
            Self::Elastic => 32,
            Self::IndexIndependent => 24,
            Self::Consistent => 64,
            Self::Dynamic | Self::Other => KEYS,
        }
    }
}

/// The bytes of an elastic filter without what they say of its memory: the units of each
/// segment's block, and how bases are kept. Loading may correct these.
pub(crate) fn without_shapes(bytes: &[u8]) -> Vec<u8> {
    const GROUPS: usize = 48;
    const WIDE: u8 = 2;
    let mut bytes = bytes[..bytes.len() - 8].to_vec();
    let parameters = number(&bytes[PARAMETERS_LEN..], 8);
    let counts = &bytes[HEADER + ELASTIC_SEGMENTS..HEADER + parameters];
    let segments: usize = counts.chunks(8).map(|count| number(count, 8)).sum();
    let mut at = HEADER + parameters + 8;
    for _ in 0..segments {
        let head = &mut bytes[at..];
        let (width, counted) = (usize::from(head[0] & 0x7f), number(&head[4..], 2));
        let size = 1 + usize::from(head[1] & 1);
        head[1] &= !WIDE;
        head[2..4].fill(0);
        head[6..8].fill(0);
        let slots: usize = head[8..8 + size * GROUPS].chunks(size).map(|it| number(it, size)).sum();
        at += 8 + size * GROUPS + (GROUPS * 16 + slots * (width + 1)).div_ceil(8) + 12 * counted;
    }
    assert_eq!(at, bytes.len(), "all segments");
    bytes
}

fn number(bytes: &[u8], len: usize) -> usize {
    bytes[..len].iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte))
}

/// The parts of a saved filter, without the checksums.
#[derive(Clone)]
pub(crate) struct Parts {
    header: [u8; HEADER],
    parameters: Vec<u8>,
    payload: Vec<u8>,
}

/// The fields of the parameters, as offset and length.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Field {
    FingerprintBits,
    SlotsPerBucket,
    Layout,
    Placement,
    Search,
    MaxKicks,
    Buckets,
    Keys,
    Capacity,
    /// The refused keys of a filter, the length of a maplet's values.
    Last,
    /// One of the numbers of an elastic filter or of a list.
    Word(u8),
}

impl Field {
    fn place(self) -> (usize, usize) {
        match self {
            Self::FingerprintBits => (0, 1),
            Self::SlotsPerBucket => (1, 1),
            Self::Layout => (2, 1),
            Self::Placement => (3, 1),
            Self::Search => (4, 1),
            Self::MaxKicks => (8, 4),
            Self::Buckets => (12, 4),
            Self::Keys => (KEYS, 8),
            Self::Capacity => (24, 8),
            Self::Last => (32, 8),
            Self::Word(number) => (usize::from(number) * 8, 8),
        }
    }
}

/// Numbers near the ends of their range are the likeliest to be mistaken.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Number {
    NearZero(u8),
    NearMax(u8),
    Any(u64),
}

impl Number {
    fn get(self) -> u64 {
        match self {
            Self::NearZero(n) => u64::from(n),
            Self::NearMax(n) => u64::MAX - u64::from(n),
            Self::Any(n) => n,
        }
    }
}

/// One thing done to a saved filter. Positions are taken modulo what is there.
#[derive(Arbitrary, Clone, Debug)]
pub enum Change {
    Header { at: u8, value: u8 },
    Parameter { field: Field, value: Number },
    ParameterByte { at: u8, value: u8 },
    ParametersLen { len: u8 },
    Payload { at: u16, value: u8 },
    PayloadLen { len: u16, fill: u8 },
}

impl Parts {
    /// Takes apart what the library wrote.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let header: [u8; HEADER] = bytes[..HEADER].try_into().expect("a whole header");
        let len = |at: usize| number(&header[at..], 8);
        let (parameters, payload) = (len(PARAMETERS_LEN), len(PAYLOAD_LEN));
        let rest = &bytes[HEADER..];
        assert_eq!(rest.len(), parameters + 8 + payload + 8, "the length of a saved filter");
        Self {
            header,
            parameters: rest[..parameters].to_vec(),
            payload: rest[parameters + 8..][..payload].to_vec(),
        }
    }

    pub(crate) fn apply(&mut self, change: &Change) {
        match *change {
            Change::Header { at, value } => set(&mut self.header, usize::from(at), &[value]),
            Change::Parameter { field, value } => {
                let (at, len) = field.place();
                set(&mut self.parameters, at, &value.get().to_le_bytes()[..len]);
            }
            Change::ParameterByte { at, value } => {
                set(&mut self.parameters, usize::from(at), &[value]);
            }
            Change::ParametersLen { len } => {
                self.parameters.resize(usize::from(len), 0);
                set(&mut self.header, PARAMETERS_LEN, &u64::from(len).to_le_bytes());
            }
            Change::Payload { at, value } => set(&mut self.payload, usize::from(at), &[value]),
            Change::PayloadLen { len, fill } => {
                self.payload.resize(usize::from(len), fill);
                set(&mut self.header, PAYLOAD_LEN, &u64::from(len).to_le_bytes());
            }
        }
    }

    /// The same filter, with another number of keys in its header.
    pub(crate) fn with_keys(&self, keys: u64) -> Self {
        let mut parts = self.clone();
        set(&mut parts.parameters, Kind::of(&self.header).keys_at(), &keys.to_le_bytes());
        parts
    }

    /// An upper bound of the slots that the payload can hold.
    pub(crate) fn most_slots(&self) -> u64 {
        // No entry is shorter than four bits.
        self.payload.len() as u64 * 2
    }

    /// The bytes of a file, with checksums that match.
    pub(crate) fn sealed(&self) -> Vec<u8> {
        let mut bytes = self.header.to_vec();
        bytes.extend_from_slice(&self.parameters);
        bytes.extend_from_slice(&xxh3_64(&bytes).to_le_bytes());
        bytes.extend_from_slice(&self.payload);
        bytes.extend_from_slice(&xxh3_64(&self.payload).to_le_bytes());
        bytes
    }
}

fn set(bytes: &mut [u8], at: usize, value: &[u8]) {
    let at = at.checked_rem(bytes.len()).unwrap_or(0);
    for (byte, &value) in bytes.iter_mut().skip(at).zip(value) {
        *byte = value;
    }
}
