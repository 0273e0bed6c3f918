//! One binary for all tests, so that it is linked once.

use testkit::Heap;

mod baselines_build;
mod baselines_removal;
mod chosen_keys;
mod common;
mod conformance;
mod consistent;
mod dynamic;
mod failing_memory;
mod format;
mod index_independent;
mod loaded_memory;
mod memory;
mod reproductions;

#[global_allocator]
static ALLOCATOR: Heap = Heap;
