//! See `cuculus_fuzz::shared`.
#![cfg_attr(fuzzing, no_main)]

cuculus_fuzz::target!(shared);
