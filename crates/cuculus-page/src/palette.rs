//! Which colour a series has. Knows names and numbers of colours, nothing of what they stand for.

use super::plot::{Plot, Series, Shape};

/// Colours that the style sheet has.
pub(super) const COLOURS: usize = 12;

/// Names with a colour of their own on the whole page: a series whose name begins with one of them
/// has that colour in every plot. Several names may share a colour.
#[derive(Clone, Debug, Default)]
pub struct Palette {
    names: Vec<(String, usize)>,
}

impl Palette {
    /// Each item is the names of one colour.
    #[must_use]
    pub fn new(names: &[&[&str]]) -> Self {
        let numbered = names.iter().enumerate().flat_map(|(colour, names)| {
            names.iter().map(move |name| ((*name).to_owned(), colour % COLOURS))
        });
        Self { names: numbered.collect() }
    }

    /// The colour of the longest name that this one begins with, as whole words.
    fn of(&self, series: &str) -> Option<usize> {
        let begins = |name: &str| {
            let rest = series.strip_prefix(name)?;
            let whole = !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
            whole.then_some(name.len())
        };
        let known = self.names.iter().filter_map(|(name, colour)| Some((begins(name)?, *colour)));
        known.max_by_key(|&(length, _)| length).map(|(_, colour)| colour)
    }

    /// The colour of each series of a plot. Two lines of a plot never share one, as far as there are
    /// colours; a line may share it with its dashed companion, and with a paper's points.
    pub(super) fn colours(&self, plot: &Plot) -> Vec<usize> {
        let mut taken: Vec<(usize, Kind)> = Vec::new();
        let mut colours = vec![None; plot.series.len()];
        for (series, colour) in plot.series.iter().zip(&mut colours) {
            let wanted = self.of(&series.name).map(|number| (number, Kind::of(series)));
            if let Some(look) = wanted.filter(|look| !taken.contains(look)) {
                taken.push(look);
                *colour = Some(look.0);
            }
        }
        let rest = plot.series.iter().zip(colours).enumerate();
        rest.map(|(at, (series, colour))| {
            let kind = Kind::of(series);
            let free = |&number: &usize| taken.iter().all(|look| look.0 != number);
            let colour = colour
                .or_else(|| (0..COLOURS).find(free))
                .or_else(|| (0..COLOURS).find(|&number| !taken.contains(&(number, kind))))
                .unwrap_or(at % COLOURS);
            taken.push((colour, kind));
            colour
        })
        .collect()
    }
}

/// What can be told apart in one colour.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Solid,
    Dashed,
    Paper,
}

impl Kind {
    fn of(series: &Series) -> Self {
        match series.shape {
            Shape::Line | Shape::Dots => Self::Solid,
            Shape::Dashed => Self::Dashed,
            Shape::Paper => Self::Paper,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::plot::Axis;
    use super::*;

    #[test]
    fn a_name_has_one_colour_in_every_plot() {
        let palette = Palette::new(&[&["CF", "cuckoo"], &["DCF"], &["CCF_B"]]);
        let plot = |names: &[(&str, Shape)]| {
            let plot = Plot::new("", Axis::linear(""), Axis::linear(""));
            names.iter().fold(plot, |plot, (name, shape)| plot.series(*name, *shape, [(1.0, 1.0)]))
        };
        let one = plot(&[("DCF as printed", Shape::Line), ("DCF: the paper", Shape::Paper)]);
        assert_eq!(palette.colours(&one), [1, 1]);
        let other = plot(&[("b = 2", Shape::Line), ("CCF_B", Shape::Line), ("CF", Shape::Line)]);
        assert_eq!(palette.colours(&other), [1, 2, 0]);
        let twice = plot(&[("CF, b = 2", Shape::Line), ("CF, b = 4", Shape::Line)]);
        assert_eq!(palette.colours(&twice), [0, 1]);
        let unlike = plot(&[("CFX", Shape::Line), ("cuckoo", Shape::Line)]);
        assert_eq!(palette.colours(&unlike), [1, 0]);
        let many: Vec<_> = (0..30).map(|_| ("x", Shape::Line)).collect();
        assert_eq!(palette.colours(&plot(&many)).len(), 30);
    }
}
