//! Filters of other languages, from a shared library that the user names. `peer.h` in this crate says
//! what such a library exports; this is the same in Rust. Knows nothing of particular filters.
#![allow(unsafe_code, reason = "calls into a shared library")]

use std::ffi::{CStr, c_char, c_void};
use std::path::Path;
use std::ptr::NonNull;
use std::slice;

use anyhow::{Context, ensure};
use libloading::Library;

use crate::candidate::Candidate;
use crate::subject::Subject;

/// `struct cuculus_peer`.
#[repr(C)]
struct Peer {
    name: *const c_char,
    make: Option<unsafe extern "C" fn(usize, f64) -> *mut c_void>,
    drop: Option<unsafe extern "C" fn(*mut c_void)>,
    bytes: Option<unsafe extern "C" fn(*const c_void) -> usize>,
    insert: Option<Change>,
    count: Option<unsafe extern "C" fn(*const c_void, *const u64, usize) -> usize>,
    remove: Option<Change>,
}

type Change = unsafe extern "C" fn(*mut c_void, *const u64, usize) -> usize;
type Peers = unsafe extern "C" fn(*mut usize) -> *const Peer;

#[derive(Clone, Copy)]
struct Functions {
    make: unsafe extern "C" fn(usize, f64) -> *mut c_void,
    drop: unsafe extern "C" fn(*mut c_void),
    bytes: unsafe extern "C" fn(*const c_void) -> usize,
    insert: Change,
    count: unsafe extern "C" fn(*const c_void, *const u64, usize) -> usize,
    remove: Change,
}

impl Peer {
    fn functions(&self) -> Option<Functions> {
        let Self { make, drop, bytes, insert, count, remove, .. } = *self;
        Some(Functions {
            make: make?,
            drop: drop?,
            bytes: bytes?,
            insert: insert?,
            count: count?,
            remove: remove?,
        })
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Foreign {
    name: &'static str,
    functions: Functions,
}

/// Loads a library and lists its filters. It is never unloaded.
///
/// The user vouches for the library by naming it, as for a program that he runs: what it exports is
/// called as `peer.h` says, and code in it can do anything.
pub(crate) fn load(path: &Path) -> anyhow::Result<Vec<Foreign>> {
    // A path without a slash would be looked for among the system's libraries.
    let path = path.canonicalize().with_context(|| format!("cannot open {}", path.display()))?;
    // SAFETY: its initialisers run, and its function is called, as the user asked.
    let peers: &'static [Peer] = unsafe {
        let library = Library::new(&path).with_context(|| {
            format!("cannot load {}; it must be a shared library", path.display())
        })?;
        let peers = *library.get::<Peers>(b"cuculus_peers").with_context(|| {
            format!("{} does not export what papers/lab/peer.h says", path.display())
        })?;
        std::mem::forget(library);
        let mut count = 0;
        let list = peers(&raw mut count);
        ensure!(!list.is_null() && count > 0, "{} has no filters", path.display());
        slice::from_raw_parts(list, count)
    };
    let foreign = |peer: &'static Peer| {
        ensure!(!peer.name.is_null(), "a filter of {} has no name", path.display());
        // SAFETY: a text that stays where it is, as `peer.h` says.
        let name = unsafe { CStr::from_ptr(peer.name) }.to_str()?;
        let functions = peer.functions();
        let functions = functions.with_context(|| format!("{name}: a function is missing"))?;
        Ok(Foreign { name, functions })
    };
    peers.iter().map(foreign).collect()
}

impl Foreign {
    pub(crate) fn keeps(self, rate: f64) -> bool {
        self.make(1, rate).is_some()
    }

    fn make(self, keys: usize, rate: f64) -> Option<Made> {
        // SAFETY: as `peer.h` says.
        let filter = unsafe { (self.functions.make)(keys, rate) };
        Some(Made { functions: self.functions, filter: NonNull::new(filter)? })
    }

    pub(crate) fn candidate(self) -> Candidate {
        Candidate::new(self.name, "C++", move |plan| {
            self.make(plan.most, plan.rate).context("the library makes no such filter")
        })
    }
}

struct Made {
    functions: Functions,
    filter: NonNull<c_void>,
}

impl Drop for Made {
    fn drop(&mut self) {
        // SAFETY: made by the same library, and dropped once.
        unsafe { (self.functions.drop)(self.filter.as_ptr()) }
    }
}

impl Subject for Made {
    fn insert(&mut self, key: &u64) -> bool {
        // SAFETY: one key, and a filter that nobody else uses.
        unsafe { (self.functions.insert)(self.filter.as_ptr(), key, 1) == 1 }
    }

    fn contains(&self, key: &u64) -> bool {
        // SAFETY: one key, and a filter that nobody changes.
        unsafe { (self.functions.count)(self.filter.as_ptr(), key, 1) == 1 }
    }

    fn remove(&mut self, key: &u64) -> Option<bool> {
        // SAFETY: as for `insert`.
        Some(unsafe { (self.functions.remove)(self.filter.as_ptr(), key, 1) == 1 })
    }

    fn insert_all(&mut self, keys: &[u64]) -> Vec<u64> {
        let (mut at, mut refused) = (0, Vec::new());
        while at < keys.len() {
            let rest = &keys[at..];
            // SAFETY: as for `insert`, with the keys of a list.
            let taken =
                unsafe { (self.functions.insert)(self.filter.as_ptr(), rest.as_ptr(), rest.len()) };
            at += taken.min(rest.len());
            refused.extend(keys.get(at));
            at += 1;
        }
        refused
    }

    fn count(&self, keys: &[u64]) -> usize {
        // SAFETY: as for `contains`, with the keys of a list.
        unsafe { (self.functions.count)(self.filter.as_ptr(), keys.as_ptr(), keys.len()) }
    }

    fn remove_all(&mut self, keys: &[u64]) -> Option<usize> {
        let filter = self.filter.as_ptr();
        // SAFETY: as for `insert_all`.
        Some(unsafe { (self.functions.remove)(filter, keys.as_ptr(), keys.len()) })
    }

    fn foreign_bytes(&self) -> usize {
        // SAFETY: as for `contains`.
        unsafe { (self.functions.bytes)(self.filter.as_ptr()) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::ptr;

    use super::*;

    unsafe extern "C" fn make(keys: usize, rate: f64) -> *mut c_void {
        let set: HashSet<u64> = HashSet::with_capacity(keys);
        if rate < 0.001 { ptr::null_mut() } else { Box::into_raw(Box::new(set)).cast() }
    }

    unsafe extern "C" fn drop_set(set: *mut c_void) {
        // SAFETY: made above.
        drop(unsafe { Box::from_raw(set.cast::<HashSet<u64>>()) });
    }

    unsafe extern "C" fn bytes(_: *const c_void) -> usize {
        1000
    }

    /// A set that refuses every tenth number.
    unsafe extern "C" fn insert(set: *mut c_void, keys: *const u64, count: usize) -> usize {
        // SAFETY: made above, with keys of the caller.
        let (set, keys) =
            unsafe { (&mut *set.cast::<HashSet<u64>>(), slice::from_raw_parts(keys, count)) };
        let taken = keys.iter().take_while(|&key| !key.is_multiple_of(10) && set.insert(*key));
        taken.count()
    }

    unsafe extern "C" fn count(set: *const c_void, keys: *const u64, count: usize) -> usize {
        // SAFETY: as above.
        let (set, keys) =
            unsafe { (&*set.cast::<HashSet<u64>>(), slice::from_raw_parts(keys, count)) };
        keys.iter().filter(|key| set.contains(key)).count()
    }

    unsafe extern "C" fn remove(set: *mut c_void, keys: *const u64, count: usize) -> usize {
        // SAFETY: as above.
        let (set, keys) =
            unsafe { (&mut *set.cast::<HashSet<u64>>(), slice::from_raw_parts(keys, count)) };
        keys.iter().filter(|key| set.remove(key)).count()
    }

    fn peer() -> Peer {
        Peer {
            name: c"set".as_ptr(),
            make: Some(make),
            drop: Some(drop_set),
            bytes: Some(bytes),
            insert: Some(insert),
            count: Some(count),
            remove: Some(remove),
        }
    }

    #[test]
    fn keys_reach_the_library_and_answers_come_back() {
        let functions = peer().functions().unwrap();
        let foreign = Foreign { name: "set", functions };
        assert!(foreign.keeps(0.01) && !foreign.keeps(0.0001));
        let candidate = foreign.candidate();
        let keys: Vec<u64> = (1..100).collect();
        let mut built = candidate.build(&keys, 0.01).unwrap();
        assert_eq!(built.refused, (10..100).step_by(10).collect::<Vec<u64>>());
        assert!(built.bytes >= 1000);
        assert_eq!(built.filter.count(&keys), 90);
        assert!(built.filter.contains(&1) && !built.filter.contains(&10));
        assert_eq!(built.filter.remove_all(&[1, 2, 10]), Some(2));
        assert_eq!(built.filter.remove(&3), Some(true));
        assert_eq!(built.filter.count(&keys), 87);
        assert!(candidate.build(&keys, 0.0001).is_err());
    }

    #[test]
    fn a_list_with_a_hole_and_a_file_that_is_no_library_are_refused() {
        assert!(Peer { remove: None, ..peer() }.functions().is_none());
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = load(file.path()).err().unwrap();
        assert!(error.to_string().contains("must be a shared library"), "{error:#}");
        assert!(load(Path::new("nowhere.so")).is_err());
    }
}
