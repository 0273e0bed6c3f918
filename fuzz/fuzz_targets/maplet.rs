//! See `cuculus_fuzz::maplet`.
#![cfg_attr(fuzzing, no_main)]

cuculus_fuzz::target!(maplet);
