//! Filters as serde values: the container bytes of FORMAT.md, as one byte string. Knows nothing of
//! what is in them; the container checks every byte that comes in.

use core::fmt;
use core::marker::PhantomData;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{CuckooFilter, CuckooMaplet, ElasticFilter, Persist, SharedFilter};

/// The most bytes that are allocated because a sequence says how long it is.
const TRUSTED_LENGTH: usize = 4096;

struct ContainerBytes<F>(PhantomData<F>);

impl<'de, F: Persist> Visitor<'de> for ContainerBytes<F> {
    type Value = F;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of a saved filter")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<F, E> {
        F::from_bytes(bytes).map_err(E::custom)
    }

    /// Formats without byte strings, such as JSON, have a sequence of numbers.
    fn visit_seq<S: SeqAccess<'de>>(self, mut sequence: S) -> Result<F, S::Error> {
        let announced = sequence.size_hint().unwrap_or(0);
        let mut bytes = Vec::with_capacity(announced.min(TRUSTED_LENGTH));
        while let Some(byte) = sequence.next_element()? {
            bytes.push(byte);
        }
        self.visit_bytes(&bytes)
    }
}

macro_rules! serde_as_container {
    ($($filter:ty),*) => {$(
        /// As the bytes of [`Persist::to_bytes`].
        impl Serialize for $filter {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_bytes(&self.to_bytes())
            }
        }

        /// Checked as by [`Persist::from_bytes`].
        impl<'de> Deserialize<'de> for $filter {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_bytes(ContainerBytes(PhantomData))
            }
        }
    )*};
}
serde_as_container!(ElasticFilter, SharedFilter, CuckooFilter, CuckooMaplet);
