//! The options of a filter, in any order, and the numbers in them. Knows their ranges and the
//! messages that clients expect.

use crate::server::{Call, Refusal, settings};
use crate::value::{MAX_CAPACITY, Parameters};

const BUCKET_SIZE: u8 = 2;
const MAX_ITERATIONS: u16 = 20;
const EXPANSION: u16 = 1;

/// The options that a client gave. The settings fill in the others.
#[derive(Default)]
pub(super) struct Options {
    pub(super) capacity: Option<i64>,
    bucket_size: Option<u8>,
    max_iterations: Option<u16>,
    expansion: Option<u16>,
    rate: Option<f64>,
    seed: Option<u64>,
}

impl Options {
    /// Reads the option at `position` and its value. False if it is not an option of filters.
    pub(super) fn take(&mut self, call: &Call<'_>, position: usize) -> Result<bool, Refusal> {
        let word = call.argument(position)?.to_ascii_uppercase();
        let value = call.get(position + 1).unwrap_or_default();
        match word.as_slice() {
            b"BUCKETSIZE" => self.bucket_size = Some(in_range("BUCKETSIZE", value, 1, 255)?),
            b"MAXITERATIONS" => {
                self.max_iterations = Some(in_range("MAXITERATIONS", value, 1, 65_535)?);
            }
            b"EXPANSION" => self.expansion = Some(in_range("EXPANSION", value, 0, 32_768)?),
            b"ERROR" => self.rate = Some(rate(value)?),
            b"SEED" => self.seed = Some(parse(value).ok_or("Couldn't parse SEED")?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The capacity, if it is in its range. `least_capacity` is how the error message writes the lower
    /// limit.
    pub(super) fn capacity(&self, least_capacity: &str) -> Result<u32, Refusal> {
        let least = 2 * u32::from(self.bucket_size.unwrap_or(BUCKET_SIZE));
        match self.capacity {
            None => Ok(settings().capacity.max(least)),
            Some(capacity) => u32::try_from(capacity)
                .ok()
                .filter(|capacity| (least..=MAX_CAPACITY).contains(capacity))
                .ok_or_else(|| {
                    let range = format!("[{least_capacity}, {MAX_CAPACITY}]");
                    format!("Capacity must be in the range {range}").into()
                }),
        }
    }

    /// All parameters, with defaults for what is not given. Asks the operating system for a seed, so call
    /// it only for a new filter.
    pub(super) fn resolve(&self, least_capacity: &str) -> Result<Parameters, Refusal> {
        Ok(Parameters {
            capacity: self.capacity(least_capacity)?,
            bucket_size: self.bucket_size.unwrap_or(BUCKET_SIZE),
            max_iterations: self.max_iterations.unwrap_or(MAX_ITERATIONS),
            expansion: self.expansion.unwrap_or(EXPANSION),
            rate: self.rate.unwrap_or(settings().rate),
            seed: match self.seed {
                Some(seed) => seed,
                None => getrandom::u64()
                    .map_err(|_| "ERR the operating system returned no random seed")?,
            },
        })
    }
}

/// Parses a number.
pub(super) fn parse<T: core::str::FromStr>(text: &[u8]) -> Option<T> {
    str::from_utf8(text).ok()?.parse().ok()
}

fn in_range<T: TryFrom<i64>>(name: &str, text: &[u8], least: i64, most: i64) -> Result<T, Refusal> {
    let number: i64 = parse(text).ok_or_else(|| Refusal::from(format!("Couldn't parse {name}")))?;
    Some(number)
        .filter(|number| (least..=most).contains(number))
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| format!("{name}: value must be in the range [{least}, {most}]").into())
}

fn rate(text: &[u8]) -> Result<f64, Refusal> {
    let rate: f64 = parse(text).ok_or("Couldn't parse ERROR")?;
    if Parameters::is_rate(rate) {
        Ok(rate)
    } else {
        Err("ERROR: value must be in the range [0.00001, 1)".into())
    }
}
