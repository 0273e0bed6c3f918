//! Counts and removal: a filter holds each key as often as it was inserted.

use cuculus::{ElasticFilter, Filter, Insert, Remove};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut sessions = ElasticFilter::builder().false_positive_rate(0.001).build()?;

    // Two devices of one user, one of another.
    sessions.insert("alice")?;
    sessions.insert("alice")?;
    sessions.insert("bob")?;
    assert!(sessions.count("alice") >= 2, "a count is never too low");

    // A key is gone after as many removals as there were inserts.
    assert!(sessions.remove("alice"));
    assert!(sessions.contains("alice"));
    assert!(sessions.remove("alice") && sessions.remove("bob"));
    assert!(sessions.is_empty());

    // Many keys come and go: the memory follows.
    for session in 0..200_000u64 {
        sessions.insert(&session)?;
    }
    let large = sessions.size_in_bytes();
    for session in 1_000..200_000u64 {
        // Only remove what was inserted: removing another key can hit an entry that looks alike.
        assert!(sessions.remove(&session));
    }
    sessions.shrink_to_fit();
    let small = sessions.size_in_bytes();
    assert!(small < large / 20);
    assert!((0..1_000u64).all(|session| sessions.contains(&session)));
    println!("200,000 sessions: {large} bytes; 1,000 left: {small} bytes");
    println!("{}", sessions.stats());
    Ok(())
}
