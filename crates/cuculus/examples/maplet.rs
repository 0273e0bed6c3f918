//! Which of several servers has a key: a small value with each key.

use cuculus::CuckooMaplet;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut places = CuckooMaplet::builder().capacity(10_000).value_bits(4).build()?;
    for user in 0..10_000u64 {
        places.insert(&user, user % 16)?;
    }
    // The value of the key is among them; rarely the value of another key is too.
    let servers: Vec<u64> = places.values(&4711u64).collect();
    println!("user 4711 is on server {servers:?}");
    assert!(servers.contains(&(4711 % 16)));

    // A user moves: key and value must match what was inserted.
    assert!(places.remove(&4711u64, 4711 % 16));
    places.insert(&4711u64, 3)?;
    assert!(places.values(&4711u64).any(|server| server == 3));
    Ok(())
}
