//! See `cuculus_fuzz::elastic`.
#![cfg_attr(fuzzing, no_main)]

use cuculus_fuzz::elastic;

libfuzzer_sys::fuzz_target!(|input: elastic::Input| elastic::check(&input));

#[cfg(not(fuzzing))]
fn main() {
    cuculus_fuzz::needs_the_fuzzer();
}
