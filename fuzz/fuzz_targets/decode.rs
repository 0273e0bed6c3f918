//! See `cuculus_fuzz::decode`.
#![cfg_attr(fuzzing, no_main)]

cuculus_fuzz::target!(decode);
