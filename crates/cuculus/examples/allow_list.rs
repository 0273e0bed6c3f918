//! A list of users that changes while it is in use, is saved, and is loaded again.

use cuculus::{ElasticFilter, Filter, Insert, Persist, Remove};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut allowed = ElasticFilter::builder().false_positive_rate(0.0001).build()?;
    for user in ["ada", "bob", "eve"] {
        allowed.insert(user)?;
    }
    // Only remove what was inserted.
    assert!(allowed.remove("eve"));

    let bytes = allowed.to_bytes();
    let loaded = ElasticFilter::from_bytes(&bytes)?;
    for user in ["ada", "bob", "eve", "mallory"] {
        let answer = if loaded.contains(user) { "probably" } else { "certainly not" };
        println!("{user}: {answer} on the list");
    }
    println!("{} users in {} bytes", loaded.len(), bytes.len());
    Ok(())
}
