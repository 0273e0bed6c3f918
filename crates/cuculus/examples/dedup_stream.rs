//! Prints each line of standard input the first time it comes: `cargo run --example dedup_stream < FILE`.

use std::io::{self, BufRead, Write};

use cuculus::{ElasticFilter, Filter, Insert};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // One new line in a million may be taken for one that was seen, and is lost.
    let mut seen = ElasticFilter::builder().false_positive_rate(1e-6).build()?;
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line?;
        if !seen.contains(&line) {
            seen.insert(&line)?;
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}
