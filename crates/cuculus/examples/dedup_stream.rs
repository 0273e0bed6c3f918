//! Prints each line of a stream the first time only, in a few bytes of memory per distinct line.
//!
//! `cargo run --example dedup_stream < access.log`; without input it uses a built-in sample.
//! At most one new line in 100,000 is taken for a line seen before, and dropped.

use std::io::{self, BufRead, IsTerminal, Write};

use cuculus::{ElasticFilter, Filter, Insert};

const SAMPLE: &str = "apple\nbanana\napple\ncherry\nbanana\n";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let stdin = io::stdin();
    let (read, printed) = if stdin.is_terminal() { sample()? } else { dedup(stdin.lock())? };
    // Nothing came in: show what would happen.
    let (read, printed) = if read == 0 { sample()? } else { (read, printed) };
    eprintln!("{read} lines, {printed} of them new");
    Ok(())
}

fn sample() -> Result<(usize, usize), Box<dyn std::error::Error>> {
    let counts = dedup(SAMPLE.as_bytes())?;
    assert_eq!(counts, (5, 3));
    Ok(counts)
}

/// The lines read, and those printed.
fn dedup(lines: impl BufRead) -> Result<(usize, usize), Box<dyn std::error::Error>> {
    let mut seen = ElasticFilter::builder().false_positive_rate(1e-5).build()?;
    let mut out = io::stdout().lock();
    let (mut read, mut printed) = (0, 0);
    for line in lines.lines() {
        let line = line?;
        read += 1;
        if !seen.contains(&line) {
            seen.insert(&line)?;
            writeln!(out, "{line}")?;
            printed += 1;
        }
    }
    Ok((read, printed))
}
