//! Numbers of keys as people write them: `1000000`, `1_000_000`, `1,000,000`, `1M`, `1e6`.

use std::str::FromStr;

use clap::builder::TypedValueParser;

use crate::text::thousands;

/// A number of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count(u64);

impl Count {
    pub(crate) fn get(self) -> u64 {
        self.0
    }
}

const EXPECTED: &str = "expected a whole number such as 1000000, 1_000_000, 1M or 1e6";

const TOO_LARGE: &str = "the largest number is 18446744073709551615";

impl FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let plain: String = text.chars().filter(|c| !matches!(c, '_' | ',')).collect();
        let (digits, zeros) = match plain.char_indices().next_back() {
            Some((at, unit)) if unit.is_ascii_alphabetic() => {
                let zeros = match unit.to_ascii_lowercase() {
                    'k' => 3,
                    'm' => 6,
                    'g' | 'b' => 9,
                    _ => return Err(EXPECTED.to_owned()),
                };
                (plain.get(..at).unwrap_or_default(), zeros)
            }
            _ => (plain.as_str(), 0),
        };
        let (digits, exponent) = match digits.split_once(['e', 'E']) {
            Some((digits, exponent)) => {
                let exponent: u32 = exponent.parse().map_err(|_| EXPECTED.to_owned())?;
                (digits, exponent)
            }
            None => (digits, 0),
        };
        scaled(digits, zeros + exponent.min(1000)).map(Self).map_err(str::to_owned)
    }
}

/// A decimal number times a power of ten, if the result is a whole number.
fn scaled(digits: &str, zeros: u32) -> Result<u64, &'static str> {
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let part = part.trim_end_matches('0');
    let only_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !only_digits(whole) || !only_digits(part) || whole.is_empty() {
        return Err(EXPECTED);
    }
    let places = u32::try_from(part.len()).map_err(|_| EXPECTED)?;
    let zeros = zeros.checked_sub(places).ok_or(EXPECTED)?;
    let number: u64 = format!("{whole}{part}").parse().map_err(|_| TOO_LARGE)?;
    if number == 0 {
        return Ok(0);
    }
    10u64.checked_pow(zeros).and_then(|power| number.checked_mul(power)).ok_or(TOO_LARGE)
}

/// For an argument that takes a number from `least` to `most`.
pub(crate) fn between(least: u64, most: u64) -> impl TypedValueParser<Value = Count> {
    clap::builder::StringValueParser::new().try_map(move |text| {
        let count: Count = text.parse()?;
        match count.get() {
            got if (least..=most).contains(&got) => Ok(count),
            _ => Err(format!("expected a number from {} to {}", thousands(least), thousands(most))),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_write_them() {
        for (text, number) in [
            ("0", 0),
            ("1000000", 1_000_000),
            ("1_000_000", 1_000_000),
            ("1,000,000", 1_000_000),
            ("1M", 1_000_000),
            ("1m", 1_000_000),
            ("1.5M", 1_500_000),
            ("2k", 2000),
            ("3G", 3_000_000_000),
            ("1e6", 1_000_000),
            ("1.25E6", 1_250_000),
            ("1.0", 1),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(text.parse(), Ok(Count(number)), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        let texts =
            "|M|e6|.5M|-1|1.5|1e-3|1e99|1x|1MM|18446744073709551616|1 000|ten|1e|0x10|١|1é|NaN|inf";
        for text in texts.split('|').chain(["1e4294967296"]) {
            assert!(text.parse::<Count>().is_err(), "{text}");
        }
    }
}
