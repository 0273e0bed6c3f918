#![no_main]
//! See `cuculus_fuzz::maplet`.

libfuzzer_sys::fuzz_target!(|input: cuculus_fuzz::maplet::Input| cuculus_fuzz::maplet::check(
    &input
));
