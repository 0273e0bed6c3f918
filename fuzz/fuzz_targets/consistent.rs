#![no_main]
//! See `cuculus_fuzz::consistent`.

libfuzzer_sys::fuzz_target!(|input: cuculus_fuzz::consistent::Input| {
    cuculus_fuzz::consistent::check(&input)
});
