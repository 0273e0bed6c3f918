//! How often each word came: every copy of a key is counted, and removed one by one.

use cuculus::{ElasticFilter, Filter, Insert, Remove};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = "the cuckoo lays its egg in the nest of the reed warbler";
    let mut words = ElasticFilter::builder().false_positive_rate(0.001).build()?;
    for word in text.split(' ') {
        words.insert(word)?;
    }
    // A count is never too small. It is too large if another key looks the same.
    for word in ["the", "cuckoo", "eagle"] {
        println!("{word}: {}", words.count(word));
    }
    assert!(words.remove("the"));
    assert!(words.count("the") >= 2);
    Ok(())
}
