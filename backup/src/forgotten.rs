//! Which snapshots were removed on purpose. Knows the records that `forget` leaves: only who has
//! the key can write one, so a snapshot that is gone without a record was removed by somebody else.

use std::collections::HashSet;

use crate::codec::{Decoded, Reader, Writer};
use crate::error::{Result, if_there};
use crate::id::Name;
use crate::seal::Keys;
use crate::sealed;
use crate::store::{ObjectKind, Store};

/// More records than this are merged by the next prune.
const MAX_RECORDS: usize = 32;
/// Listings while others merge all the time.
const MAX_LISTINGS: u32 = 10;

/// Records that these snapshots are about to be removed.
pub(crate) fn record(store: &dyn Store, keys: &Keys, snapshots: &[Name]) -> Result<()> {
    if snapshots.is_empty() {
        return Ok(());
    }
    let mut writer = Writer::default();
    writer.names(snapshots);
    sealed::save(store, keys, (ObjectKind::Forgotten, &Name::random()?), &writer.0)
}

fn decode(reader: &mut Reader<'_>) -> Decoded<Vec<Name>> {
    reader.names()
}

/// All snapshots that were removed on purpose. A record that is gone since the listing was merged
/// into one that the listing may not have: it begins again.
///
/// # Errors
/// If a record cannot be read.
pub(crate) fn all(store: &dyn Store, keys: &Keys) -> Result<HashSet<Name>> {
    let mut tries = 0;
    loop {
        let mut names = HashSet::new();
        let mut is_complete = true;
        for record in store.names(ObjectKind::Forgotten)? {
            let of = (ObjectKind::Forgotten, &record);
            let some = if_there(sealed::load(store, keys, of, decode))?;
            is_complete &= some.is_some();
            names.extend(some.into_iter().flatten());
        }
        tries += 1;
        if is_complete || tries >= MAX_LISTINGS {
            return Ok(names);
        }
    }
}

/// Writes one record in place of many.
pub(crate) fn merge(store: &dyn Store, keys: &Keys) -> Result<()> {
    let records = store.names(ObjectKind::Forgotten)?;
    if records.len() <= MAX_RECORDS {
        return Ok(());
    }
    let mut names: Vec<Name> = all(store, keys)?.into_iter().collect();
    names.sort_unstable();
    record(store, keys, &names)?;
    store.remove_all(ObjectKind::Forgotten, &records, &|| Ok(()))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Mutex;

    use super::*;
    use crate::seal::Master;
    use crate::store::local::LocalStore;
    use crate::store::{Draft, GoOn, Object};

    /// A store in which somebody else does something after the next listing.
    struct Meanwhile<'a> {
        store: &'a LocalStore,
        what: Mutex<Cell<Option<&'a (dyn Fn() + Sync)>>>,
    }

    impl Store for Meanwhile<'_> {
        fn draft(&self, kind: ObjectKind, name: &Name) -> Result<Box<dyn Draft>> {
            self.store.draft(kind, name)
        }

        fn list(&self, kind: ObjectKind) -> Result<Vec<(Name, u64)>> {
            let listed = self.store.list(kind);
            if let Some(what) = self.what.lock().expect("nobody panics").take() {
                what();
            }
            listed
        }

        fn open(&self, kind: ObjectKind, name: &Name) -> Result<Box<dyn Object>> {
            self.store.open(kind, name)
        }

        fn remove_all(&self, kind: ObjectKind, names: &[Name], go_on: GoOn<'_>) -> Result<()> {
            self.store.remove_all(kind, names, go_on)
        }
    }

    #[test]
    fn records_that_are_merged_after_the_listing_are_not_missed() {
        let (_directory, store) = LocalStore::temporary();
        let keys = Keys::new(&Master([1; 32]), true);
        let snapshots: Vec<Name> = (0..=MAX_RECORDS as u8).map(|one| Name([one; 16])).collect();
        for snapshot in &snapshots {
            record(&store, &keys, &[*snapshot]).expect("a record");
        }
        let merge = || merge(&store, &keys).expect("merged");
        let what = Mutex::new(Cell::new(Some(&merge as &(dyn Fn() + Sync))));
        let found = all(&Meanwhile { store: &store, what }, &keys).expect("records");
        assert_eq!(store.list(ObjectKind::Forgotten).expect("a list").len(), 1);
        assert_eq!(found, snapshots.into_iter().collect());
    }
}
