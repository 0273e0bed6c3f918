#![no_main]
//! See `cuculus_fuzz::dynamic`.

libfuzzer_sys::fuzz_target!(|input: cuculus_fuzz::dynamic::Input| cuculus_fuzz::dynamic::check(
    &input
));
