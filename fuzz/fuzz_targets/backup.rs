//! See `cuculus_fuzz::backup`.
#![cfg_attr(fuzzing, no_main)]

cuculus_fuzz::target!(backup);
