//! See `cuculus_fuzz::valkey`.
#![cfg_attr(fuzzing, no_main)]

use cuculus_fuzz::valkey;

libfuzzer_sys::fuzz_target!(|input: valkey::Input| valkey::check(&input));

#[cfg(not(fuzzing))]
fn main() {
    cuculus_fuzz::needs_the_fuzzer();
}
