//! See `cuculus_fuzz::maplet`.
#![cfg_attr(fuzzing, no_main)]

use cuculus_fuzz::maplet;

libfuzzer_sys::fuzz_target!(|input: maplet::Input| maplet::check(&input));

#[cfg(not(fuzzing))]
fn main() {
    cuculus_fuzz::needs_the_fuzzer();
}
