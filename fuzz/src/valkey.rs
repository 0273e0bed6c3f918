//! Headers and chunks that clients and dumps may send to the Valkey module: either refused, or a
//! filter that works.

use arbitrary::Arbitrary;
use cuculus_valkey::value::{ChunkError, Header, Loading, Parameters, Stored, Value};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::container::{Change, Parts};
use crate::parameters::{Keys, all_of};

/// Arbitrary bytes, or the dump of a filter that was changed and got new checksums.
#[derive(Arbitrary, Debug)]
pub enum Input {
    Bytes {
        /// Where the header ends.
        header: u8,
        #[arbitrary(with = all_of)]
        bytes: Vec<u8>,
    },
    Shipped(Shipped),
}

#[derive(Arbitrary, Debug)]
pub struct Shipped {
    capacity: u16,
    fixed: bool,
    rate: u8,
    keys: Keys,
    more_keys: Keys,
    /// A byte of the header.
    header: Option<(u8, u8)>,
    /// The number of chunks minus one; small, since everything is checked after each.
    chunks: u8,
    /// A chunk that is also sent with a wrong position.
    again: Option<u8>,
    #[arbitrary(with = all_of)]
    changes: Vec<Change>,
}

/// Loads the bytes, and uses the filter if they are accepted.
pub fn check(input: &Input) {
    match input {
        Input::Bytes { header, bytes } => {
            let (header, body) = bytes.split_at(bytes.len().min(usize::from(*header)));
            load(header, body, 1 + body.len() / 3, None, body);
        }
        Input::Shipped(shipped) => shipped.check(),
    }
}

impl Shipped {
    fn check(&self) {
        let parameters = Parameters {
            capacity: u32::from(self.capacity % 4096),
            bucket_size: 2,
            max_iterations: 20,
            expansion: u16::from(!self.fixed),
            rate: 0.5 / f64::from(1 + u32::from(self.rate)),
            seed: 7,
        };
        let Ok(mut stored) = Stored::new(parameters) else { return };
        for key in self.keys.iter() {
            let _ = stored.add(stored.hash(&[key]));
        }
        let value = Value::Ready(stored);
        let mut body = Vec::new();
        value.write_body(&mut body).expect("writing to a vector does not fail");
        let mut parts = Parts::of(&body);
        self.changes.iter().for_each(|change| parts.apply(change));
        let body = parts.sealed();
        let header = Header { body_len: body.len() as u64, ..value.header() };
        let mut header = header.to_bytes();
        if let Some((at, byte)) = self.header {
            let end = header.len() - 8;
            header[usize::from(at) % end] = byte;
            let sum = xxh3_64_with_seed(&header[..end], 0).to_le_bytes();
            header[end..].copy_from_slice(&sum);
        }
        let chunk = 1 + body.len() / (1 + usize::from(self.chunks % 8));
        load(&header, &body, chunk, self.again, &self.more_keys.to_vec());
    }
}

/// Loads the chunks one by one.
fn load(header: &[u8], body: &[u8], chunk: usize, again: Option<u8>, keys: &[u8]) {
    let Some(header) = Header::from_bytes(header) else { return };
    assert_eq!(Header::from_bytes(&header.to_bytes()), Some(header));
    let mut loading = Loading::new(header);
    let mut end = 0;
    for (i, chunk) in body.chunks(chunk).enumerate() {
        end += chunk.len() as u64;
        if again == Some(i as u8) {
            let wrong = loading.take(end + 1, chunk);
            assert!(matches!(wrong, Err(ChunkError::Position)));
        }
        let before = loading.received().len();
        match loading.take(end, chunk) {
            Ok(None) => reload(&Value::Loading(loading.clone())),
            Ok(Some(stored)) => return work(stored, keys),
            Err(_) => {
                assert_eq!(loading.received().len(), before, "a refused chunk was kept");
                return;
            }
        }
    }
}

/// The value can be saved and loaded.
fn reload(value: &Value) {
    let mut body = Vec::new();
    value.write_body(&mut body).expect("writing to a vector does not fail");
    assert_eq!(body.len() as u64, value.body_len());
    let again = Value::read(value.header(), value.body_len(), body.as_slice());
    let again = again.expect("a value that was saved can be loaded");
    let mut same = Vec::new();
    again.write_body(&mut same).expect("writing to a vector does not fail");
    assert!(same == body && again.header() == value.header());
}

/// The loaded filter works.
fn work(mut stored: Stored, keys: &[u8]) {
    let mut added = Vec::new();
    for &key in keys {
        let (len, hash) = (stored.len(), stored.hash(&[key]));
        match stored.add(hash) {
            Ok(()) => {
                added.push(key);
                assert!(stored.contains(hash) && stored.count(hash) > 0);
                assert_eq!(stored.len(), len + 1);
            }
            Err(_) => assert_eq!(stored.len(), len),
        }
    }
    stored.compact();
    assert!(added.iter().all(|&key| stored.contains(stored.hash(&[key]))));
    let _ = (stored.figures(), stored.expected_rate(), stored.slots());
    let value = Value::Ready(stored);
    assert!(value.size_in_bytes() > 0);
    reload(&value);
    let Some(Value::Ready(mut copy)) = value.duplicate() else { return };
    for key in added {
        assert!(copy.delete(copy.hash(&[key])), "what was added can be deleted");
    }
}
