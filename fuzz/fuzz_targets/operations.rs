//! See `cuculus_fuzz::operations`.
#![cfg_attr(fuzzing, no_main)]

use cuculus_fuzz::operations;

libfuzzer_sys::fuzz_target!(|input: operations::Input| operations::check(&input));

#[cfg(not(fuzzing))]
fn main() {
    cuculus_fuzz::needs_the_fuzzer();
}
