//! Forged files in great numbers: saved filters, changed behind their checksums in a few places, which
//! are then repaired. Most are refused; with what is loaded the `decode` target works.

use std::fmt;

use arbitrary::Unstructured;
use cuculus::conformance::Random;

use crate::decode::{self, Changed, Input, Saved};
use crate::judge::{self, Worst};

/// What a file claims to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Packed,
    SemiSorted,
    Maplet,
    Elastic,
    Dynamic,
    IndexIndependent,
    Consistent,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Packed,
        Self::SemiSorted,
        Self::Maplet,
        Self::Elastic,
        Self::Dynamic,
        Self::IndexIndependent,
        Self::Consistent,
    ];

    /// A file of this kind, from random bytes.
    fn input(self, random: &mut Unstructured<'_>) -> arbitrary::Result<Input> {
        let saved = match self {
            Self::Packed | Self::SemiSorted => Saved::Filter,
            Self::Maplet => Saved::Maplet,
            Self::Elastic => {
                Saved::Elastic { parameters: random.arbitrary()?, many: random.ratio(1u8, 16u8)? }
            }
            Self::Dynamic => Saved::Dynamic(random.arbitrary()?),
            Self::IndexIndependent => Saved::IndexIndependent(random.arbitrary()?),
            Self::Consistent => Saved::Consistent(random.arbitrary()?, random.arbitrary()?),
        };
        let mut changed: Changed = random.arbitrary()?;
        if matches!(saved, Saved::Filter) {
            changed.parameters.set_layout(self == Self::SemiSorted);
        }
        Ok((saved, changed))
    }
}

/// What became of forged files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Loaded, and worked with.
    pub accepted: u64,
    /// Not loaded.
    pub refused: u64,
    /// The worst of all operations on what was loaded.
    pub worst: Worst,
}

/// A row of a table, after the name of the kind. (A broken law panics, so there is no column for it.)
impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { accepted, refused, worst } = self;
        let Worst { work, bytes, loads } = worst;
        write!(f, "{accepted} | {refused} | {work} | {bytes} | {loads}")
    }
}

/// Makes and judges this many files. A broken law panics.
pub fn run(kind: Kind, files: u64, seed: u64) -> Figures {
    let mut random = Random::new(seed);
    let mut figures = Figures::default();
    judge::take_worst();
    let mut bytes = [0; 256];
    while figures.accepted + figures.refused < files {
        for word in bytes.as_chunks_mut().0 {
            *word = random.bits().to_le_bytes();
        }
        let Ok(mut input) = kind.input(&mut Unstructured::new(&bytes)) else { continue };
        // A file with many changes is refused for the first one.
        input.1.changes.truncate(random.below(4));
        match decode::check(&input) {
            Some(true) => figures.accepted += 1,
            Some(false) => figures.refused += 1,
            None => {}
        }
    }
    figures.worst = judge::take_worst();
    figures
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// `cargo xtask promises` sets the number of files of each kind; a kind can be named.
    #[test]
    fn forged_files_are_refused_or_keep_every_promise() {
        let files = std::env::var("CUCULUS_FORGED_FILES").ok();
        let files = files.and_then(|number| number.parse().ok()).unwrap_or(600);
        let only = std::env::var("CUCULUS_FORGED_KIND").ok();
        let is_chosen = |kind: &Kind| only.as_ref().is_none_or(|only| format!("{kind:?}") == *only);
        println!(
            "\n| kind | loaded | refused | most work for one key | most bytes | saved and loaded | seconds \
             |\n|---|---|---|---|---|---|---|"
        );
        for kind in Kind::ALL.into_iter().filter(is_chosen) {
            let start = Instant::now();
            let figures = run(kind, files, 1);
            println!("| {kind:?} | {figures} | {:.0} |", start.elapsed().as_secs_f64());
            assert!(figures.accepted > files / 50 && figures.refused > files / 50, "{figures}");
        }
    }
}
