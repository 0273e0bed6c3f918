//! Filters through serde: a text format, a byte string, and bytes that no filter wrote.

use cuculus::{CuckooFilter, CuckooMaplet, ElasticFilter, Insert, Persist};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde::de::value::{BytesDeserializer, Error};

fn filled<F: Insert>(mut filter: F) -> F {
    (0..500u64).for_each(|key| filter.insert(&key).expect("room"));
    filter
}

/// The same filter comes back, byte for byte; a byte that was changed or cut off does not.
fn round_trips<F: Persist + Serialize + DeserializeOwned>(filter: &F) {
    let bytes = filter.to_bytes();
    let json = serde_json::to_string(filter).expect("no format refuses bytes");
    let from_json: F = serde_json::from_str(&json).expect("just written");
    assert_eq!(from_json.to_bytes(), bytes);

    let read = |bytes: &[u8]| F::deserialize(BytesDeserializer::<Error>::new(bytes));
    assert_eq!(read(&bytes).expect("a saved filter").to_bytes(), bytes);
    for at in (0..bytes.len()).step_by(7) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        assert!(read(&damaged).is_err(), "byte {at} of {}", bytes.len());
    }
    assert!(read(&bytes[..bytes.len() - 1]).is_err());
}

#[test]
fn every_filter_round_trips_and_refuses_damage() {
    round_trips(&filled(ElasticFilter::builder().seed(1).build().expect("valid")));
    round_trips(&filled(CuckooFilter::builder().capacity(600).seed(1).build().expect("valid")));
    let mut maplet = CuckooMaplet::builder().capacity(600).seed(1).build().expect("valid");
    (0..500u64).for_each(|key| maplet.insert(&key, key).expect("room"));
    round_trips(&maplet);
}

/// The error says what is wrong, also inside of a larger document.
#[test]
fn what_is_no_filter_is_refused_with_its_reason() {
    let refused = |json: &str| {
        serde_json::from_str::<Vec<CuckooFilter>>(json).expect_err("no filter").to_string()
    };
    assert!(refused("[[1, 2, 3]]").contains("filter"), "{}", refused("[[1, 2, 3]]"));
    assert!(refused("[\"text\"]").contains("filter"));
    assert!(refused("[[256]]").contains("256"));
    assert!(refused("[null]").contains("the bytes of a saved filter"));

    let elastic = ElasticFilter::builder().seed(1).build().expect("valid");
    let json = serde_json::to_string(&elastic).expect("bytes");
    assert!(serde_json::from_str::<CuckooFilter>(&json).is_err(), "another kind of filter");
}
