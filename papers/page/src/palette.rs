//! Which colour a series has. Knows names and numbers of colours, nothing of what they stand for.

use super::plot::{Plot, Series, Shape};

/// Colours that the style sheet has.
pub(super) const COLOURS: usize = 12;

/// Shades of a colour that the style sheet has, the colour itself first.
pub(super) const SHADES: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    colour: usize,
    shade: usize,
}

impl Look {
    pub(super) fn class(self) -> String {
        match self.shade {
            0 => format!("c{}", self.colour),
            shade => format!("c{} s{shade}", self.colour),
        }
    }
}

/// Names with a look of their own on the whole page: a series whose name begins with one of them has
/// that look in every plot, and several such series of a plot have shades of the same colour. Names
/// beyond the number of colours have shades.
#[derive(Clone, Debug, Default)]
pub struct Palette {
    names: Vec<(String, Look)>,
}

impl Palette {
    /// Each item is the names of one look.
    #[must_use]
    pub fn new(names: &[&[&str]]) -> Self {
        let numbered = names.iter().enumerate().flat_map(|(number, names)| {
            let look = Look { colour: number % COLOURS, shade: number / COLOURS % SHADES };
            names.iter().map(move |name| ((*name).to_owned(), look))
        });
        Self { names: numbered.collect() }
    }

    /// The look of the longest name that this one begins with, as whole words.
    fn of(&self, series: &str) -> Option<Look> {
        let begins = |name: &str| {
            let rest = series.strip_prefix(name)?;
            let whole = !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
            whole.then_some(name.len())
        };
        let known = self.names.iter().filter_map(|(name, look)| Some((begins(name)?, *look)));
        known.max_by_key(|&(length, _)| length).map(|(_, look)| look)
    }

    /// The look of each series of a plot. Two lines of a plot never share one, as far as there are
    /// any; a line may share it with its dashed companion, and with a paper's points. Names that are
    /// not known take colours that are free in this plot.
    pub(super) fn looks(&self, plot: &Plot) -> Vec<Look> {
        let known: Vec<Option<Look>> =
            plot.series.iter().map(|series| self.of(&series.name)).collect();
        let mut taken: Vec<(Look, Shape)> = Vec::new();
        let mut looks = vec![None; known.len()];
        for ((series, known), look) in plot.series.iter().zip(&known).zip(&mut looks) {
            let Some(own) = *known else { continue };
            let kind = kind(series);
            let shades = (0..SHADES).map(|shade| Look { shade, ..own });
            // A shade that is another name's own is left to it.
            let others = |shade: &Look| self.names.iter().any(|(_, look)| look == shade);
            let mut free = [own].into_iter().chain(shades.filter(|shade| !others(shade)));
            *look = free.find(|&look| !taken.contains(&(look, kind)));
            taken.extend(look.map(|look| (look, kind)));
        }
        let mut given: Vec<(&str, Look)> = Vec::new();
        let rest = plot.series.iter().zip(looks).enumerate();
        rest.map(|(at, (series, look))| {
            let kind = kind(series);
            // A paper's points have the look of the line that they belong to.
            let line = || given.iter().find(|(line, _)| belongs(&series.name, line));
            let look = look.or_else(|| line().filter(|_| kind == Shape::Paper).map(|line| line.1));
            let mut plain = (0..COLOURS).map(|colour| Look { colour, shade: 0 });
            let unused = |colour: usize| taken.iter().all(|(look, _)| look.colour != colour);
            let look = look
                .or_else(|| plain.clone().find(|look| unused(look.colour)))
                .or_else(|| plain.find(|&look| !taken.contains(&(look, kind))))
                .unwrap_or(Look { colour: at % COLOURS, shade: at / COLOURS % SHADES });
            taken.push((look, kind));
            given.push((&series.name, look));
            look
        })
        .collect()
    }
}

/// `a line: the paper` belongs to `a line`.
fn belongs(points: &str, line: &str) -> bool {
    points.strip_prefix(line).is_some_and(|rest| rest.starts_with(':'))
}

/// What can be told apart in one colour: not lines and dots.
fn kind(series: &Series) -> Shape {
    if series.shape == Shape::Dots { Shape::Line } else { series.shape }
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
        let look = |colour, shade| Look { colour, shade };
        assert_eq!(palette.looks(&one), [look(1, 0), look(1, 0)]);
        let other = plot(&[("b = 2", Shape::Line), ("CCF_B", Shape::Line), ("CF", Shape::Line)]);
        assert_eq!(palette.looks(&other), [look(1, 0), look(2, 0), look(0, 0)]);
        // Forms of one filter are shades of its colour.
        let forms = plot(&[("CF, b = 2", Shape::Line), ("DCF", Shape::Line), ("CF", Shape::Line)]);
        assert_eq!(palette.looks(&forms), [look(0, 0), look(1, 0), look(0, 1)]);
        // And the points of a paper have the colour of their line, whatever that is.
        let printed =
            plot(&[("k = 2", Shape::Line), ("k = 3", Shape::Line), ("k = 3: paper", Shape::Paper)]);
        assert_eq!(palette.looks(&printed), [look(0, 0), look(1, 0), look(1, 0)]);
        let unlike = plot(&[("CFX", Shape::Line), ("cuckoo", Shape::Line)]);
        assert_eq!(palette.looks(&unlike), [look(1, 0), look(0, 0)]);
        let many: Vec<_> = (0..30).map(|_| ("x", Shape::Line)).collect();
        assert_eq!(palette.looks(&plot(&many)).len(), 30);
        let many: Vec<_> = (0..30).map(|_| ("CF", Shape::Line)).collect();
        assert_eq!(palette.looks(&plot(&many)).len(), 30);
    }

    /// Names beyond the number of colours are shades, which forms of other filters do not take.
    #[test]
    fn there_may_be_more_names_than_colours() {
        let names: Vec<String> = (0..14).map(|number| format!("filter{number}")).collect();
        let names: Vec<[&str; 1]> = names.iter().map(|name| [name.as_str()]).collect();
        let names: Vec<&[&str]> = names.iter().map(|name| &name[..]).collect();
        let palette = Palette::new(&names);
        let plot = Plot::new("", Axis::linear(""), Axis::linear(""));
        let plot = ["filter12", "filter0", "filter0 again", "filter5", "filter5 again"]
            .iter()
            .fold(plot, |plot, name| plot.series(*name, Shape::Line, [(1.0, 1.0)]));
        let looks: Vec<String> = palette.looks(&plot).into_iter().map(Look::class).collect();
        assert_eq!(looks, ["c0 s1", "c0", "c0 s2", "c5", "c5 s1"]);
    }
}
