//! The lower limit for commands on lines on one thread: reads files with the reader of the command-line
//! tool, hashes every line, and prints the number of lines and the sum of the hashes. `cargo xtask
//! bench-cli` compares with it.

#[allow(dead_code, unused_imports, reason = "uses a part of the module")]
#[path = "../src/keys/mod.rs"]
mod keys;

use std::path::PathBuf;

use anyhow::Result;
use cuculus::KeyHasher;
use keys::{Block, Form, Inputs, Keyless, Reader};

fn main() -> Result<()> {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let mut reader = Reader::new(Inputs::new(&files)?, b'\n');
    let hasher = KeyHasher::xxh3(1);
    let mut block = Block::default();
    let (mut lines, mut sum) = (0, 0u64);
    while reader.read(&mut block)? {
        // As text, every line is a key.
        let _ = Form::default().hash(&hasher, Keyless::Refuse, &mut block);
        lines += block.len();
        sum = block.hashes.iter().fold(sum, |sum, hash| sum.wrapping_add(hash.get()));
    }
    println!("{lines} {sum:016x}");
    Ok(())
}
