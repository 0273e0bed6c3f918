//! The input of the benchmark: files of random-looking lines of 24 bytes, the same in every run.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// How many lines are repeated.
#[derive(Clone, Copy)]
pub(super) enum Share {
    Distinct,
    /// Every other line repeats an earlier one, chosen uniformly.
    Half,
}

impl Share {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Distinct => "all different",
            Self::Half => "half of them repeated",
        }
    }

    /// The number of the line at this position.
    fn line(self, at: u64) -> u64 {
        match self {
            Self::Distinct => at,
            Self::Half if at.is_multiple_of(2) => at / 2,
            Self::Half => scramble(at) % (at / 2 + 1),
        }
    }
}

pub(super) fn write(path: &Path, lines: u64, share: Share) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    for at in 0..lines {
        let first = scramble(share.line(at));
        let second = scramble(first) >> 32;
        writeln!(out, "{first:016x}{second:08x}")?;
    }
    out.flush()
}

/// The output function of SplitMix64: different for different numbers.
pub(crate) fn scramble(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}
