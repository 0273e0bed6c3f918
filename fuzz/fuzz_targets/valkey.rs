//! See `cuculus_fuzz::valkey`.
#![cfg_attr(fuzzing, no_main)]

cuculus_fuzz::target!(valkey);
