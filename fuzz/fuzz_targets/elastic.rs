#![no_main]
//! See `cuculus_fuzz::elastic`.

libfuzzer_sys::fuzz_target!(|input: cuculus_fuzz::elastic::Input| cuculus_fuzz::elastic::check(
    &input
));
