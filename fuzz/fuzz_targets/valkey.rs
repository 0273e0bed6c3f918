#![no_main]
//! See `cuculus_fuzz::valkey`.

libfuzzer_sys::fuzz_target!(|input: cuculus_fuzz::valkey::Input| cuculus_fuzz::valkey::check(
    &input
));
