//! See `cuculus_fuzz::shared`.
#![cfg_attr(fuzzing, no_main)]

use cuculus_fuzz::shared;

libfuzzer_sys::fuzz_target!(|input: shared::Input| shared::check(&input));

#[cfg(not(fuzzing))]
fn main() {
    cuculus_fuzz::needs_the_fuzzer();
}
