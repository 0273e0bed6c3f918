//! See `cuculus_fuzz::elastic`.
#![cfg_attr(fuzzing, no_main)]

cuculus_fuzz::target!(elastic);
