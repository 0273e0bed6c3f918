#![no_main]
//! See `cuculus_fuzz::operations`.

libfuzzer_sys::fuzz_target!(|input: cuculus_fuzz::operations::Input| {
    cuculus_fuzz::operations::check(&input)
});
