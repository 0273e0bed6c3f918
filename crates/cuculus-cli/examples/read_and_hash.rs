//! What no command on lines can be faster than on one thread: it reads files with the reader of the
//! command-line tool, hashes every line and prints how many there were and what the hashes add up
//! to. `cargo xtask bench-cli` compares with it.

#[allow(dead_code, unused_imports, reason = "a measurement of a part")]
#[path = "../src/keys/mod.rs"]
mod keys;

use std::path::PathBuf;

use anyhow::Result;
use cuculus::KeyHasher;
use keys::{Block, Form, Inputs, Reader};

fn main() -> Result<()> {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let mut reader = Reader::new(Inputs::new(&files)?, b'\n');
    let hasher = KeyHasher::xxh3(1);
    let mut block = Block::default();
    let (mut lines, mut sum) = (0, 0u64);
    while reader.read(&mut block)? {
        // Text has no line that is not a key.
        let _ = Form::Text.hash(&hasher, &mut block);
        lines += block.len();
        sum = block.hashes.iter().fold(sum, |sum, hash| sum.wrapping_add(hash.get()));
    }
    println!("{lines} {sum:016x}");
    Ok(())
}
