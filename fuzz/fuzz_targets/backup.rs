#![no_main]
//! See `cuculus_fuzz::backup`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cuculus_fuzz::backup::check(bytes));
