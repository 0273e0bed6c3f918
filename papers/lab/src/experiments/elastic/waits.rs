//! How long single operations take.
//!
//! Operations are the same in every walk of a seed. So the whole way is walked twice, and the
//! shorter time of each operation is its own, the rest the machine's.

use serde::{Deserialize, Serialize};

use super::walk::{Walk, step};
use crate::pauses::{Pauses, Summary};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Waits {
    /// Of the first walk.
    pub(super) raw: Summary,
    /// Of the shorter times of two walks.
    pub(super) least: Summary,
}

pub(super) fn measure(walk: &Walk, name: &str) -> anyhow::Result<[Waits; 2]> {
    eprintln!("{name}: waits, first walk");
    let first = timed(walk)?;
    eprintln!("{name}: waits, second walk");
    let second = timed(walk)?;
    Ok([0, 1].map(|at| Waits {
        raw: first[at].summary(),
        least: first[at].least(&second[at]).summary(),
    }))
}

fn timed(walk: &Walk) -> anyhow::Result<[Pauses; 2]> {
    let mut filter = walk.empty()?;
    let mut inserts = Pauses::with_capacity(walk.insertions().len());
    for key in walk.insertions() {
        inserts.time(|| step(&mut filter, true, key));
    }
    let mut removes = Pauses::with_capacity(walk.removals().len());
    for key in walk.removals() {
        removes.time(|| step(&mut filter, false, key));
    }
    Ok([inserts, removes])
}
