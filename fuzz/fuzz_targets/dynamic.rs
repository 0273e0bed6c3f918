//! See `cuculus_fuzz::dynamic`.
#![cfg_attr(fuzzing, no_main)]

use cuculus_fuzz::dynamic;

libfuzzer_sys::fuzz_target!(|input: dynamic::Input| dynamic::check(&input));

#[cfg(not(fuzzing))]
fn main() {
    cuculus_fuzz::needs_the_fuzzer();
}
