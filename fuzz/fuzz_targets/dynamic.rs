//! See `cuculus_fuzz::dynamic`.
#![cfg_attr(fuzzing, no_main)]

cuculus_fuzz::target!(dynamic);
