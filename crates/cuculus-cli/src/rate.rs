//! Rates as people write them: `0.001`, `1e-3`, `0.1%`. Keeps what was typed, for error messages.

use std::str::FromStr;

/// A rate between 0 and 1, both excluded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rate {
    value: f64,
    typed: String,
}

impl Rate {
    pub(crate) fn get(&self) -> f64 {
        self.value
    }

    /// The number as it was typed.
    pub(crate) fn typed(&self) -> &str {
        &self.typed
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = match text.strip_suffix('%') {
            Some(number) => (number.trim_end(), 0.01),
            None => (text, 1.0),
        };
        let value = number.parse::<f64>().map(|number| number * unit);
        let value = value.map_err(|_| "expected a rate such as 0.001, 1e-3 or 0.1%".to_owned())?;
        match value > 0.0 && value < 1.0 {
            true => Ok(Self { value, typed: text.to_owned() }),
            false => Err("the rate must be above 0 and below 1, such as 0.001 or 0.1%".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_numbers_or_percentages() {
        for (text, expected) in [("0.01", 0.01), ("1%", 0.01), ("1e-3", 0.001), ("0.5 %", 0.005)] {
            let got: Rate = text.parse().expect("a rate");
            assert!((got.get() - expected).abs() < 1e-15, "{got:?}");
            assert_eq!(got.typed(), text);
        }
        for text in ["0", "1", "100%", "-0.1", "NaN", "inf", "", "%", "one"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }
}
