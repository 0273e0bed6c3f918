//! The bytes of values.

use cuculus_valkey::value::{Header, Loading, Parameters, Stored, Value};

const PARAMETERS: Parameters = Parameters {
    capacity: 5000,
    bucket_size: 3,
    max_iterations: 7,
    expansion: 2,
    rate: 0.01,
    seed: 0x0102_0304_0506_0708,
};

const HEADER: &str = "435543554c5553018813000003070002007b14ae47e17a843f0807060504030201\
                      e8030000000000008e0b0000000000002c58a6c5c5d87860";
const DIGEST: u64 = 13101771194104350783;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn filter() -> Stored {
    let mut stored = Stored::new(PARAMETERS).expect("valid parameters");
    for item in 0..3000u32 {
        stored.add(stored.hash(&item.to_le_bytes())).expect("room for all");
    }
    for item in 2000..3000u32 {
        assert!(stored.delete(stored.hash(&item.to_le_bytes())));
    }
    stored
}

fn body(value: &Value) -> Vec<u8> {
    let mut body = Vec::new();
    value.write_body(&mut body).expect("writing to a vector does not fail");
    body
}

/// The header and, by its checksum, every byte of the filter are the same on every platform and in
/// every compatible release.
#[test]
fn the_bytes_of_a_filter_do_not_change() {
    let value = Value::Ready(filter());
    assert_eq!(hex(&value.header().to_bytes()), HEADER);
    assert_eq!(digest(&body(&value)), DIGEST);
}

fn digest(bytes: &[u8]) -> u64 {
    cuculus::KeyHasher::xxh3(0).hash(bytes).get()
}

#[test]
fn a_header_is_what_was_written() {
    let header = Value::Ready(filter()).header();
    assert_eq!((header.parameters, header.deleted), (PARAMETERS, 1000));
    let bytes = header.to_bytes();
    assert_eq!(Header::from_bytes(&bytes), Some(header));
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        assert_eq!(Header::from_bytes(&changed), None, "byte {at}");
        assert_eq!(Header::from_bytes(&bytes[..at]), None, "{at} bytes");
    }
}

/// A header with a valid checksum but a field out of range is refused.
#[test]
fn parameters_out_of_range_are_refused() {
    let header = Value::Ready(filter()).header();
    for parameters in [
        Parameters { capacity: 5, ..PARAMETERS },
        Parameters { capacity: (1 << 30) + 1, ..PARAMETERS },
        Parameters { bucket_size: 0, ..PARAMETERS },
        Parameters { max_iterations: 0, ..PARAMETERS },
        Parameters { expansion: 32_769, ..PARAMETERS },
        Parameters { rate: 0.0, ..PARAMETERS },
        Parameters { rate: f64::NAN, ..PARAMETERS },
        Parameters { rate: 1.0, ..PARAMETERS },
    ] {
        let changed = Header { parameters, ..header };
        assert_eq!(Header::from_bytes(&changed.to_bytes()), None, "{parameters:?}");
        assert!(Stored::new(parameters).is_err());
    }
    // Without bytes the filter follows in sections.
    let sections = Header { body_len: 0, ..header };
    assert_eq!(Header::from_bytes(&sections.to_bytes()), Some(sections));
}

/// A filter that does not match its header is refused with the last chunk, and the chunks before it
/// stay.
#[test]
fn a_filter_under_another_header_is_refused() {
    let value = Value::Ready(filter());
    let (header, body) = (value.header(), body(&value));
    for parameters in [
        Parameters { seed: 1, ..PARAMETERS },
        Parameters { rate: 0.02, ..PARAMETERS },
        Parameters { expansion: 0, ..PARAMETERS },
    ] {
        let mut loading = Loading::new(Header { parameters, ..header });
        let (first, last) = body.split_at(100);
        assert!(matches!(loading.take(100, first), Ok(None)));
        assert!(loading.take(body.len() as u64, last).is_err(), "{parameters:?}");
        assert_eq!(loading.received(), first);
    }
    let mut loading = Loading::new(header);
    assert!(matches!(loading.take(body.len() as u64, &body), Ok(Some(_))));
}

/// `CF.INSERT` adds many items at once, and replicas may get them in other groups.
#[test]
fn adding_many_is_adding_one_by_one() {
    for (expansion, only_if_absent) in [(2, false), (2, true), (0, false)] {
        let new = || Stored::new(Parameters { expansion, ..PARAMETERS }).expect("valid parameters");
        let (mut many, mut single, mut added) = (new(), new(), Vec::new());
        // Every third item comes again, some of them at once.
        let items: Vec<u64> = (0..20_000).map(|i| if i % 3 == 0 { i / 30 } else { i }).collect();
        for group in items.chunks(37) {
            let hashes: Vec<_> = group.iter().map(|item| many.hash(&item.to_le_bytes())).collect();
            if only_if_absent {
                many.add_absent(&hashes, &mut added);
            } else {
                added.clear();
                added.resize(many.add_all(&hashes), true);
            }
            assert_eq!(added.len(), if expansion == 0 { 0 } else { hashes.len() });
            for (&hash, &added) in hashes.iter().zip(&added) {
                assert_eq!(added, !only_if_absent || !single.contains(hash));
                if added {
                    single.add(hash).expect("room for all");
                }
            }
        }
        assert_eq!(body(&Value::Ready(many)), body(&Value::Ready(single)), "{only_if_absent}");
    }
}
