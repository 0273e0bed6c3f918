//! A filter filled until it refuses: it says why, and is byte for byte the filter that never saw
//! the refused key.

use anyhow::{Result, bail, ensure};
use cuculus::{CuckooFilter, Filter, Full, Insert, Persist};
use serde::Serialize;

use super::CONTESTANTS;
use super::keys::inserted;

/// What came out.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Refusal {
    pub(super) capacity: usize,
    pub(super) slots: usize,
    pub(super) keys: usize,
    pub(super) load: f64,
    pub(super) error: String,
    pub(super) unchanged: bool,
}

/// Small enough to take no time, large enough for a typical load.
const LARGEST: u64 = 1 << 16;

pub(super) fn stage(items: u64) -> Result<Refusal> {
    let builder = CONTESTANTS[0].builder(items.min(LARGEST));
    let mut filter = builder.build()?;
    let full = fill_to_refusal(&mut filter)?;
    // The same keys without the refused one: the same operations give the same bytes, so any
    // trace of the refusal would show.
    let mut twin = builder.build()?;
    for i in 0..full.len as u64 {
        twin.insert(&inserted(i))?;
    }
    let unchanged = twin.to_bytes() == filter.to_bytes();
    ensure!(unchanged, "a refused key changed the filter; please report this defect");
    Ok(Refusal {
        capacity: filter.capacity(),
        slots: filter.slots(),
        keys: filter.len(),
        load: filter.utilization(),
        error: full.to_string(),
        unchanged,
    })
}

fn fill_to_refusal(filter: &mut CuckooFilter) -> Result<Full> {
    for i in 0..=filter.slots() as u64 {
        if let Err(full) = filter.insert(&inserted(i)) {
            return Ok(full);
        }
    }
    bail!("a filter took more keys than it has slots; please report this defect")
}
