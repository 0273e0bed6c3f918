//! See `cuculus_fuzz::operations`.
#![cfg_attr(fuzzing, no_main)]

cuculus_fuzz::target!(operations);
