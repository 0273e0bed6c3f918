//! Where an axis is labelled, and how numbers are written there.

use super::plot::{Axis, Scale};

/// The range of an axis, and the values on it that are labelled.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ticks {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) at: Vec<f64>,
    pub(super) scale: Scale,
}

impl Ticks {
    /// For these values, about `wanted` ticks.
    pub(super) fn of(axis: &Axis, values: impl Iterator<Item = f64>, wanted: usize) -> Self {
        let values = values.filter(|&value| axis.shows(value));
        let values = values.map(|value| axis.least.map_or(value, |least| value.max(least)));
        let (mut low, mut high) = values
            .fold((f64::INFINITY, f64::NEG_INFINITY), |range, value| {
                (range.0.min(value), range.1.max(value))
            });
        if low > high {
            (low, high) = (1.0, 10.0); // nothing to show
        }
        match axis.scale {
            Scale::Linear => {
                if axis.from_zero {
                    (low, high) = (low.min(0.0), high.max(0.0));
                }
                low = axis.least.unwrap_or(low);
                linear(low, high, wanted)
            }
            Scale::Logarithmic => logarithmic(low, high, wanted),
        }
    }

    /// How far along the axis a value is, from 0 to 1. What lies before the axis is at its edge.
    pub(super) fn share(&self, value: f64) -> f64 {
        let value = value.max(self.low);
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Logarithmic => (value / self.low).ln() / (self.high / self.low).ln(),
        }
    }
}

impl Ticks {
    /// How a tick is labelled. Powers of two have many digits, of which three are enough.
    pub(super) fn label(&self, value: f64) -> String {
        let digits = value.abs().log10().floor();
        if self.scale == Scale::Linear || !(4.0..15.0).contains(&digits) {
            return short(value);
        }
        let unit = 10f64.powf(digits - 2.0);
        short((value / unit).round() * unit)
    }
}

/// Ticks at multiples of 1, 2 or 5 times a power of ten, and a range that ends at such.
fn linear(low: f64, high: f64, wanted: usize) -> Ticks {
    let span = if high > low { high - low } else { high.abs().max(1.0) };
    let rough = span / wanted.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = step.into_iter().find(|&step| step >= rough).unwrap_or(10.0 * power);
    let first = (low / step).floor();
    let last = (high / step).ceil().max(first + 1.0);
    let at = (0..=(last - first) as usize).map(|i| (first + i as f64) * step).collect();
    Ticks { low: first * step, high: last * step, at, scale: Scale::Linear }
}

/// Ticks at powers of ten, or of two if there is less than a decade and a half.
fn logarithmic(low: f64, high: f64, wanted: usize) -> Ticks {
    let base: f64 = if high / low < 30.0 { 2.0 } else { 10.0 };
    let first = (low.ln() / base.ln() + 1e-9).floor();
    let last = (high.ln() / base.ln() - 1e-9).ceil().max(first + 1.0);
    let count = (last - first) as usize;
    let every = count.div_ceil(wanted.max(1)).max(1);
    let at = (0..=count).step_by(every).map(|i| base.powf(first + i as f64)).collect();
    Ticks { low: base.powf(first), high: base.powf(last), at, scale: Scale::Logarithmic }
}

/// A number in few characters: 12, 0.05, 3.2 k, 16 M, 1e-6.
pub(super) fn short(value: f64) -> String {
    let size = value.abs();
    let plain = |number: f64| {
        let text = format!("{number:.3}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        if text == "-0" { "0".to_owned() } else { text.to_owned() }
    };
    match size {
        0.0 => "0".to_owned(),
        1e15.. => format!("{value:.0e}"),
        1e9.. => format!("{} G", plain(value / 1e9)),
        1e6.. => format!("{} M", plain(value / 1e6)),
        1e4.. => format!("{} k", plain(value / 1e3)),
        1e-3.. => plain(value),
        _ => format!("{value:.0e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_ticks_are_round_and_cover_the_values() {
        let ticks = Ticks::of(&Axis::linear(""), [0.873, 0.991].into_iter(), 5);
        assert_eq!(
            ticks.at.iter().map(|&t| short(t)).collect::<Vec<_>>().join(" "),
            "0.85 0.9 0.95 1"
        );
        assert!(ticks.low <= 0.873 && ticks.high >= 0.991);
        assert_eq!((ticks.share(ticks.low), ticks.share(ticks.high)), (0.0, 1.0));
        let ticks = Ticks::of(&Axis::from("", 0.8), [0.2, 0.99].into_iter(), 5);
        assert_eq!((short(ticks.low), short(ticks.high)), ("0.8".into(), "1".into()));
        assert_eq!(ticks.share(0.3), 0.0);
        let ticks = Ticks::of(&Axis::from_zero(""), [37.0, 91.0].into_iter(), 5);
        assert_eq!((ticks.low, ticks.high), (0.0, 100.0));
    }

    #[test]
    fn logarithmic_ticks_are_powers() {
        let ticks = Ticks::of(&Axis::logarithmic(""), [1000.0, 16e6, -1.0, 0.0].into_iter(), 6);
        assert_eq!((ticks.low.round(), ticks.high.round()), (1000.0, 1e8));
        assert!((ticks.share(1e5) - 0.4).abs() < 1e-9);
        let few = Ticks::of(&Axis::logarithmic(""), [4.0, 32.0].into_iter(), 6);
        assert_eq!(few.at.iter().map(|t| t.round()).collect::<Vec<_>>(), [4.0, 8.0, 16.0, 32.0]);
        let labels = [8192.0, 65_536.0, 1_048_576.0, 1e7, 1e-6].map(|value| few.label(value));
        assert_eq!(labels, ["8192", "65.5 k", "1.05 M", "10 M", "1e-6"]);
    }

    #[test]
    fn any_values_give_a_range() {
        for values in
            [vec![], vec![5.0], vec![0.0], vec![f64::NAN, f64::INFINITY], vec![-3.0, -3.0]]
        {
            for axis in [Axis::linear(""), Axis::from_zero(""), Axis::logarithmic("")] {
                let ticks = Ticks::of(&axis, values.iter().copied(), 5);
                assert!(ticks.low < ticks.high && ticks.at.len() >= 2, "{values:?} {ticks:?}");
                assert!(ticks.at.len() < 20);
            }
        }
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (0.05, "0.05"),
            (1e-6, "1e-6"),
            (950.0, "950"),
            (1234.5, "1234.5"),
            (16e6, "16 M"),
            (46_080.0, "46.08 k"),
            (-2.5, "-2.5"),
        ] {
            assert_eq!(short(value), text);
        }
    }
}
