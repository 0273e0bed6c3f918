//! An allow list: built once, saved to a file, loaded by another process, and asked.

use std::fs::{self, File};

use cuculus::{CuckooFilter, Filter, Insert, Persist};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::temp_dir().join(format!("allow-list-{}.cuculus", std::process::id()));

    // The number of entries is known, so a filter of fixed size is the smallest.
    let mut allowed =
        CuckooFilter::builder().capacity(10_000).false_positive_rate(0.0001).build()?;
    for user in 0..10_000u32 {
        allowed.insert(&format!("user-{user}"))?;
    }
    allowed.write_to(File::create(&path)?)?;
    println!("saved {} bytes for {} names", fs::metadata(&path)?.len(), allowed.len());

    // The file carries the hash function and its seed; damage is an error, not a wrong answer.
    let loaded = CuckooFilter::read_from(File::open(&path)?)?;
    assert!((0..10_000u32).all(|user| loaded.contains(&format!("user-{user}"))));
    // About one name in ten thousand that is not on the list passes: confirm a "yes" elsewhere.
    let passed = (0..10_000u32).filter(|guest| loaded.contains(&format!("guest-{guest}"))).count();
    assert!(passed < 20, "{passed} of 10,000 guests");
    println!("{passed} of 10,000 other names pass by mistake");

    let mut damaged = fs::read(&path)?;
    damaged[100] ^= 1;
    let error = CuckooFilter::from_bytes(&damaged).expect_err("a checksum fails");
    println!("a damaged file: {error}");
    fs::remove_file(&path)?;
    Ok(())
}
