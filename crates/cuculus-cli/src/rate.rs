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

/// A number or a percentage.
fn number(text: &str) -> Option<f64> {
    match text.strip_suffix('%') {
        Some(number) => number.trim_end().parse::<f64>().ok().map(|number| number / 100.0),
        None => text.parse().ok(),
    }
}

/// A share above 0, up to all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Share(f64);

impl Share {
    pub(crate) fn get(self) -> f64 {
        self.0
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let share = number(text).filter(|&share| share > 0.0 && share <= 1.0);
        share.map(Self).ok_or_else(|| "expected a share up to 1, such as 0.8 or 80%".to_owned())
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let value = number(text);
        let value =
            value.ok_or_else(|| "expected a rate such as 0.001, 1e-3 or 0.1%".to_owned())?;
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
        assert_eq!("100%".parse(), Ok(Share(1.0)));
        assert_eq!("0.8".parse(), Ok(Share(0.8)));
        for text in ["0", "1.01", "101%", "NaN", "most"] {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
        for text in ["0", "1", "100%", "-0.1", "NaN", "inf", "", "%", "one"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }
}
