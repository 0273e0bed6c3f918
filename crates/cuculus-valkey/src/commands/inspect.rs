//! INFO and DEBUG: describe a filter.

use core::ffi::CStr;

use super::required;
use crate::server::{Call, Command, Description, Key, KeyUse, Refusal, settings};

pub(crate) struct Info;
pub(crate) struct Debug;

impl Command for Info {
    const DESCRIPTION: Description = Description {
        name: "INFO",
        flags: c"readonly fast",
        summary: c"Returns the number of items, the memory and the parameters of a filter",
        complexity: c"O(1)",
        arity: 2,
        key: KeyUse::Read,
        arguments: &[],
    };

    fn run(call: &Call<'_>) -> Result<(), Refusal> {
        let key = Key::read(call)?;
        let stored = required(key.value())?;
        let parameters = stored.parameters();
        let (size, len) = (stored.size_in_bytes(), stored.len());
        // Clients depend on these names and their order.
        let usual: [(&CStr, usize); 8] = [
            (c"Size", size),
            (c"Number of buckets", stored.slots().div_ceil(usize::from(parameters.bucket_size))),
            (c"Number of filters", 1),
            (c"Number of items inserted", len),
            (c"Number of items deleted", stored.deleted() as usize),
            (c"Bucket size", usize::from(parameters.bucket_size)),
            (c"Expansion rate", usize::from(parameters.expansion)),
            (c"Max iterations", usize::from(parameters.max_iterations)),
        ];
        let bits = if len == 0 { 0.0 } else { 8.0 * size as f64 / len as f64 };
        let more: [(&CStr, f64); 3] = [
            (c"False positive rate", parameters.rate),
            (c"Expected false positive rate", stored.expected_rate()),
            (c"Bits per item", bits),
        ];
        let more = if settings().more_info { &more[..] } else { &[] };
        call.reply_map(usual.len() + more.len());
        for (name, number) in usual {
            call.reply_simple(name);
            call.reply_integer(number as i64);
        }
        for &(name, number) in more {
            call.reply_simple(name);
            call.reply_double(number);
        }
        Ok(())
    }
}

impl Command for Debug {
    const DESCRIPTION: Description = Description {
        name: "DEBUG",
        flags: c"readonly",
        summary: c"Describes a filter as text",
        complexity: c"O(n) for a filter of n bytes",
        arity: 2,
        key: KeyUse::Read,
        arguments: &[],
    };

    fn run(call: &Call<'_>) -> Result<(), Refusal> {
        let key = Key::read(call)?;
        let figures = required(key.value())?.figures();
        call.reply_bytes(figures.as_bytes());
        Ok(())
    }
}
