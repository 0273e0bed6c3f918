//! What exists for measurements and for the tests: choices that the builders make well by
//! themselves, a prefetch for the filters of other crates, and the parts that the filters of the
//! papers are made of. Only with the feature `lab`, and no promise of stability.

pub use crate::placement::PlacementKind;
pub use crate::prefetch::prefetch;
pub use crate::relocate::Search;
pub use crate::wide::Instructions;
pub use crate::work::take_work;

#[cfg(feature = "lab")]
pub use parts::*;

/// The parts of the papers' filters, by the module that each is from.
#[cfg(feature = "lab")]
mod parts {
    #[doc(hidden)]
    pub use crate::analysis::parts as analysis;
    #[doc(hidden)]
    pub use crate::batch::{Contains, GROUP};
    #[doc(hidden)]
    pub use crate::cuckoo::builder::Plan;
    #[doc(hidden)]
    pub use crate::cuckoo::saved::SavedTable;
    #[doc(hidden)]
    pub use crate::{extend_counting_refused, table};

    #[doc(hidden)]
    pub mod builder {
        pub use crate::builder::{ACCEPTED_OVERFULL, Parameters, check_range};
        pub use crate::{lab_setters, setters};
    }
    #[doc(hidden)]
    pub mod container {
        pub use crate::container::{Fields, Incoming, Parameters, Put, write, write_pieces};
    }
    #[doc(hidden)]
    pub mod memory {
        pub use crate::memory::{collected, copied, filled, push, reserve_one, shrink, with_room};
    }
    #[doc(hidden)]
    pub mod placement {
        pub use crate::placement::{
            AnyPlacement, BucketIndex, Fingerprint, FingerprintSize, Placement, PlacementKind,
        };
    }
    #[doc(hidden)]
    pub mod relocate {
        pub use crate::relocate::{Search, Space, Stuck, make_room};
    }
    #[doc(hidden)]
    pub mod room {
        pub use crate::cuckoo::room::{Candidates, Kicks, insert_into};
    }
    #[doc(hidden)]
    pub mod wide {
        pub use crate::wide::{Instructions, run};
    }
    #[doc(hidden)]
    pub mod work {
        pub use crate::work::{add, take_work};
    }
}
