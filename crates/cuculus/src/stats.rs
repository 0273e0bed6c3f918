//! What the figures of all filters have in common: the fields, the division by the keys, and the
//! printed table. Knows numbers and how they are printed, nothing of any filter.

use core::fmt;

/// All memory, divided by the keys held; infinite for an empty filter.
pub fn bits_per_key(size_in_bytes: usize, len: usize) -> f64 {
    size_in_bytes as f64 * 8.0 / len as f64
}

/// A share of the whole, as it is printed.
pub fn percent(share: f64, digits: usize) -> String {
    format!("{:.digits$} %", 100.0 * share)
}

/// The figures that every filter has.
pub struct Common {
    pub len: usize,
    pub slots: usize,
    pub utilization: f64,
    pub size_in_bytes: usize,
    pub rate: f64,
    pub refused: u64,
}

impl Common {
    /// Prints a line for each figure; those of one filter alone stand before the memory.
    pub fn print(
        &self,
        f: &mut fmt::Formatter<'_>,
        own: impl IntoIterator<Item = (&'static str, String)>,
    ) -> fmt::Result {
        let &Self { len, slots, size_in_bytes, refused, .. } = self;
        write!(f, "{:<22}{len}", "keys")?;
        let mut row = |name: &str, value: &str| write!(f, "\n{name:<22}{value}");
        row("slots", &format!("{slots} ({} used)", percent(self.utilization, 2)))?;
        for (name, value) in own {
            row(name, &value)?;
        }
        let per_key = bits_per_key(size_in_bytes, len);
        let per_key = if len > 0 { format!(", {per_key:.2} bits per key") } else { String::new() };
        row("memory", &format!("{size_in_bytes} bytes{per_key}"))?;
        row("false positive rate", &percent(self.rate, 4))?;
        if refused > 0 {
            row("refused keys", &refused.to_string())?;
        }
        Ok(())
    }
}

/// Defines the figures of a filter: the fields that all have, and those of its own, each with the
/// expression that computes it. The type prints as a table; `own_rows` gives the lines between
/// "slots" and "memory".
#[cfg_attr(feature = "lab", macro_export)]
#[doc(hidden)]
macro_rules! stats {
    (
        $(#[$attribute:meta])*
        $stats:ident of $filter:ident: $type:ty {
            $(
                $(#[$own_attribute:meta])*
                $own:ident: $own_type:ty = $value:expr,
            )*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub struct $stats {
            /// The keys held.
            pub len: usize,
            /// The slots that exist.
            pub slots: usize,
            /// The share of the slots in use.
            pub utilization: f64,
            /// All memory held.
            pub size_in_bytes: usize,
            /// The false positive rate to expect now.
            pub expected_false_positive_rate: f64,
            /// The keys that [`Extend`] could not store.
            pub refused: u64,
            $(
                $(#[$own_attribute])*
                pub $own: $own_type,
            )*
        }

        impl $stats {
            pub(super) fn of($filter: &$type) -> Self {
                use $crate::Filter as _;
                Self {
                    len: $filter.len(),
                    slots: $filter.slots(),
                    utilization: $filter.utilization(),
                    size_in_bytes: $filter.size_in_bytes(),
                    expected_false_positive_rate: $filter.expected_false_positive_rate(),
                    refused: $filter.refused(),
                    $($own: $value,)*
                }
            }

            /// All memory, divided by the keys held; infinite for an empty filter.
            #[must_use]
            pub fn bits_per_key(&self) -> f64 {
                $crate::stats::bits_per_key(self.size_in_bytes, self.len)
            }
        }

        impl core::fmt::Display for $stats {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                let common = $crate::stats::Common {
                    len: self.len,
                    slots: self.slots,
                    utilization: self.utilization,
                    size_in_bytes: self.size_in_bytes,
                    rate: self.expected_false_positive_rate,
                    refused: self.refused,
                };
                common.print(f, self.own_rows())
            }
        }
    };
}
pub(crate) use stats;
