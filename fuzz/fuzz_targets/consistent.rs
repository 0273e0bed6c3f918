//! See `cuculus_fuzz::consistent`.
#![cfg_attr(fuzzing, no_main)]

cuculus_fuzz::target!(consistent);
