//! See `cuculus_fuzz::backup`.
#![cfg_attr(fuzzing, no_main)]

use cuculus_fuzz::backup;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| backup::check(bytes));

#[cfg(not(fuzzing))]
fn main() {
    cuculus_fuzz::needs_the_fuzzer();
}
