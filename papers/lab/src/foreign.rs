//! Filters of other languages, from a shared library that the user names. `peer.h` in this crate says
//! what such a library exports; this is the same in Rust. Knows nothing of particular filters.
#![allow(unsafe_code, reason = "calls into a shared library")]

use std::ffi::{CStr, c_char, c_void};
use std::path::Path;
use std::ptr::{self, NonNull};
use std::slice;

use anyhow::{Context, ensure};
use libloading::Library;

use crate::candidate::Candidate;
use crate::subject::Subject;

/// `struct cuculus_peer`.
#[repr(C)]
struct Peer {
    name: *const c_char,
    make: unsafe extern "C" fn(usize, f64) -> *mut c_void,
    drop: unsafe extern "C" fn(*mut c_void),
    bytes: unsafe extern "C" fn(*const c_void) -> usize,
    insert: Change,
    count: unsafe extern "C" fn(*const c_void, *const u64, usize) -> usize,
    remove: Change,
}

type Change = unsafe extern "C" fn(*mut c_void, *const u64, usize) -> usize;
/// A peer before it is known that nothing of it is missing.
type Unchecked = [*const c_void; 7];
const _: () = assert!(size_of::<Unchecked>() == size_of::<Peer>());
type Peers = unsafe extern "C" fn(*mut usize) -> *const Unchecked;

#[derive(Clone, Copy)]
pub(crate) struct Foreign {
    name: &'static str,
    peer: &'static Peer,
}

/// Loads a library and lists its filters. It is never unloaded.
///
/// The user vouches for the library by naming it, as for a program that he runs: what it exports is
/// called as `peer.h` says, and code in it can do anything.
pub(crate) fn load(path: &Path) -> anyhow::Result<Vec<Foreign>> {
    // A path without a slash would be looked for among the system's libraries.
    let path = path.canonicalize().with_context(|| format!("cannot open {}", path.display()))?;
    // SAFETY: its initialisers run, and its function is called, as the user asked.
    let peers: &'static [Unchecked] = unsafe {
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
    peers.iter().map(|peer| Foreign::of(peer).with_context(|| path.display().to_string())).collect()
}

impl Foreign {
    fn of(peer: &'static Unchecked) -> anyhow::Result<Self> {
        ensure!(!peer.contains(&ptr::null()), "a filter lacks its name or a function");
        // SAFETY: of the same layout, and no function is null.
        let peer = unsafe { &*peer.as_ptr().cast::<Peer>() };
        // SAFETY: a text that stays where it is, as `peer.h` says.
        let name = unsafe { CStr::from_ptr(peer.name) }.to_str()?;
        Ok(Self { name, peer })
    }

    pub(crate) fn keeps(self, rate: f64) -> bool {
        self.make(1, rate).is_some()
    }

    fn make(self, keys: usize, rate: f64) -> Option<Made> {
        // SAFETY: as `peer.h` says.
        let filter = unsafe { (self.peer.make)(keys, rate) };
        Some(Made { peer: self.peer, filter: NonNull::new(filter)? })
    }

    pub(crate) fn candidate(self) -> Candidate {
        Candidate::new(self.name, "C++", move |plan| {
            self.make(plan.most, plan.rate).context("the library makes no such filter")
        })
    }
}

struct Made {
    peer: &'static Peer,
    filter: NonNull<c_void>,
}

impl Drop for Made {
    fn drop(&mut self) {
        // SAFETY: made by the same library, and dropped once.
        unsafe { (self.peer.drop)(self.filter.as_ptr()) }
    }
}

impl Made {
    #[inline(always)]
    fn change(&mut self, change: Change, keys: &[u64]) -> usize {
        // SAFETY: the keys of a list, and a filter that nobody else uses.
        unsafe { change(self.filter.as_ptr(), keys.as_ptr(), keys.len()) }
    }
}

impl Subject for Made {
    fn insert(&mut self, key: &u64) -> bool {
        self.change(self.peer.insert, slice::from_ref(key)) == 1
    }

    fn contains(&self, key: &u64) -> bool {
        self.count(slice::from_ref(key)) == 1
    }

    fn remove(&mut self, key: &u64) -> Option<bool> {
        Some(self.change(self.peer.remove, slice::from_ref(key)) == 1)
    }

    fn insert_all(&mut self, keys: &[u64]) -> Vec<u64> {
        let (mut at, mut refused) = (0, Vec::new());
        while at < keys.len() {
            let rest = &keys[at..];
            at += self.change(self.peer.insert, rest).min(rest.len());
            refused.extend(keys.get(at));
            at += 1;
        }
        refused
    }

    fn count(&self, keys: &[u64]) -> usize {
        // SAFETY: the keys of a list, and a filter that nobody changes.
        unsafe { (self.peer.count)(self.filter.as_ptr(), keys.as_ptr(), keys.len()) }
    }

    fn remove_all(&mut self, keys: &[u64]) -> Option<usize> {
        Some(self.change(self.peer.remove, keys))
    }

    fn foreign_bytes(&self) -> usize {
        // SAFETY: a filter that nobody changes.
        unsafe { (self.peer.bytes)(self.filter.as_ptr()) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

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

    fn peer() -> Unchecked {
        [
            c"set".as_ptr().cast(),
            make as *const c_void,
            drop_set as *const c_void,
            bytes as *const c_void,
            insert as *const c_void,
            count as *const c_void,
            remove as *const c_void,
        ]
    }

    #[test]
    fn keys_reach_the_library_and_answers_come_back() {
        let foreign = Foreign::of(Box::leak(Box::new(peer()))).unwrap();
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
        for missing in 0..7 {
            let hole = Box::leak(Box::new(peer()));
            hole[missing] = ptr::null();
            assert!(Foreign::of(hole).is_err());
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = load(file.path()).err().unwrap();
        assert!(error.to_string().contains("must be a shared library"), "{error:#}");
        assert!(load(Path::new("nowhere.so")).is_err());
    }
}
