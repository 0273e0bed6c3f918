#![no_main]
//! See `cuculus_fuzz::decode`.

libfuzzer_sys::fuzz_target!(|input: cuculus_fuzz::decode::Input| cuculus_fuzz::decode::check(
    &input
));
