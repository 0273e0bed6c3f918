//! What exists for measurements and for the tests: choices that the builders make well by
//! themselves, and a prefetch for the filters of other crates. Only with the feature `lab`, and
//! no promise of stability.

pub use crate::placement::PlacementKind;
pub use crate::prefetch::prefetch;
pub use crate::relocate::Search;
pub use crate::wide::Instructions;
pub use crate::work::take_work;
