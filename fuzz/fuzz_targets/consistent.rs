//! See `cuculus_fuzz::consistent`.
#![cfg_attr(fuzzing, no_main)]

use cuculus_fuzz::consistent;

libfuzzer_sys::fuzz_target!(|input: consistent::Input| consistent::check(&input));

#[cfg(not(fuzzing))]
fn main() {
    cuculus_fuzz::needs_the_fuzzer();
}
