//! See `cuculus_fuzz::decode`.
#![cfg_attr(fuzzing, no_main)]

use cuculus_fuzz::decode;

libfuzzer_sys::fuzz_target!(|input: decode::Input| {
    decode::check(&input);
});

#[cfg(not(fuzzing))]
fn main() {
    cuculus_fuzz::needs_the_fuzzer();
}
