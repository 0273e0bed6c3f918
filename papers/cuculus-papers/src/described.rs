//! What filters say of themselves in the same words.

/// `Filter`, by an expression for each of its answers.
macro_rules! filter {
    (
        $filter:ident, |$this:ident, $hash:ident|
        contains: $contains:expr; count: $count:expr; len: $len:expr; slots: $slots:expr;
        $(utilization: $utilization:expr;)? heap_bytes: $bytes:expr; rate: $rate:expr;
    ) => {
        impl Filter for $filter {
            #[inline]
            fn hasher(&self) -> &KeyHasher {
                &self.hasher
            }

            #[inline]
            fn contains_hash(&self, $hash: KeyHash) -> bool {
                let $this = self;
                $contains
            }

            fn count_hash(&self, $hash: KeyHash) -> usize {
                let $this = self;
                $count
            }

            fn len(&self) -> usize {
                let $this = self;
                $len
            }

            fn slots(&self) -> usize {
                let $this = self;
                $slots
            }

            $(fn utilization(&self) -> f64 {
                let $this = self;
                $utilization
            })?

            fn size_in_bytes(&self) -> usize {
                let $this = self;
                size_of::<Self>() + $bytes
            }

            fn expected_false_positive_rate(&self) -> f64 {
                let $this = self;
                $rate
            }
        }
    };
}
pub(crate) use filter;

/// `Debug`: length, slots, hash function, and some values instead of megabytes of bits.
macro_rules! debug {
    ($filter:ident, |$this:ident| $($name:ident: $value:expr),*) => {
        impl core::fmt::Debug for $filter {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                let $this = self;
                f.debug_struct(stringify!($filter))
                    .field("len", &cuculus::Filter::len(self))
                    .field("slots", &cuculus::Filter::slots(self))
                    $(.field(stringify!($name), &$value))*
                    .field("hasher", &self.hasher)
                    .finish_non_exhaustive()
            }
        }
    };
}
pub(crate) use debug;

/// Its builder, the keys that `Extend` could not store, its figures, and some values for `Debug`.
macro_rules! described {
    (
        $filter:ident, $builder:ident, $stats:ident, $(#[$doc:meta])* builder;
        |$this:ident| $($name:ident: $value:expr),*
    ) => {
        impl $filter {
            $(#[$doc])*
            pub fn builder() -> $builder {
                $builder::default()
            }

            /// Keys that [`Extend`] could not store since the filter was built or cleared. They are
            /// not in the filter.
            #[must_use]
            pub fn refused(&self) -> u64 {
                self.refused
            }

            /// The current figures of the filter, to read or to print.
            #[must_use]
            pub fn stats(&self) -> $stats {
                $stats::of(self)
            }
        }

        cuculus::lab::extend_counting_refused!($filter);
        $crate::described::debug!($filter, |$this| $($name: $value),*);
    };
}
pub(crate) use described;
