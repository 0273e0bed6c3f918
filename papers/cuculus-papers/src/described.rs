//! What every filter with a file says of itself in the same words.

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

        impl core::fmt::Debug for $filter {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                use cuculus::Filter as _;
                let $this = self;
                f.debug_struct(stringify!($filter))
                    .field("len", &self.len())
                    .field("slots", &self.slots())
                    $(.field(stringify!($name), &$value))*
                    .field("hasher", &self.hasher)
                    .finish_non_exhaustive()
            }
        }
    };
}
pub(crate) use described;
