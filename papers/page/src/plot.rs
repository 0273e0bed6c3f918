//! What is in a plot, before it is drawn.

/// A plot of one quantity over another.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// What is shown, in a few words.
    pub title: String,
    /// To the right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// What was measured or computed.
    pub series: Vec<Series>,
    /// Values to compare with, for instance those of a paper: what they are, and horizontal lines.
    pub marks: Vec<(String, f64)>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The quantity and its unit.
    pub label: String,
    /// How values are spaced.
    pub scale: Scale,
    /// Whether zero is shown, whatever the values are. Not on a logarithmic axis.
    pub from_zero: bool,
    /// Where a linear axis begins, if not at the least value: what is less is drawn at its edge.
    pub least: Option<f64>,
}

/// How values are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences.
    Linear,
    /// Equal ratios. Values that are not above zero are left out.
    Logarithmic,
}

/// A line or a cloud of points.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// For the legend.
    pub name: String,
    /// The points, in the order in which they are joined.
    pub points: Vec<(f64, f64)>,
    /// How they are drawn.
    pub shape: Shape,
}

/// How points are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Joined, with a dot each if there are few.
    Line,
    /// Joined and dashed, without dots, for what was computed or is a paper's.
    Dashed,
    /// Dots only.
    Dots,
    /// Diamonds, for numbers that a paper prints.
    Paper,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Linear, from_zero: false, least: None }
    }

    /// A linear axis that begins at this value: what is less is drawn at its edge.
    pub fn from(label: impl Into<String>, least: f64) -> Self {
        Self { least: Some(least), ..Self::linear(label) }
    }

    /// A linear axis that shows zero.
    pub fn from_zero(label: impl Into<String>) -> Self {
        Self { from_zero: true, ..Self::linear(label) }
    }

    /// A logarithmic axis.
    pub fn logarithmic(label: impl Into<String>) -> Self {
        Self { scale: Scale::Logarithmic, ..Self::linear(label) }
    }

    pub(super) fn shows(&self, value: f64) -> bool {
        value.is_finite() && (self.scale == Scale::Linear || value > 0.0)
    }
}

/// One method for each shape of a series.
macro_rules! shapes {
    ($($(#[$doc:meta])+ $name:ident: $shape:ident;)+) => {$(
        $(#[$doc])+
        #[must_use]
        pub fn $name(
            self,
            name: impl Into<String>,
            points: impl IntoIterator<Item = (f64, f64)>,
        ) -> Self {
            self.series(name, Shape::$shape, points)
        }
    )+};
}

impl Plot {
    /// A plot without anything in it.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, series: Vec::new(), marks: Vec::new() }
    }

    /// Adds a series.
    #[must_use]
    pub fn series(
        mut self,
        name: impl Into<String>,
        shape: Shape,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        let points = points.into_iter().collect();
        self.series.push(Series { name: name.into(), points, shape });
        self
    }

    shapes! {
        /// Adds points that are joined.
        line: Line;
        /// Adds a dashed line.
        dashed: Dashed;
        /// Adds dots.
        dots: Dots;
        /// Adds what a paper prints.
        paper: Paper;
    }

    /// Adds a value to compare with.
    #[must_use]
    pub fn mark(mut self, label: impl Into<String>, y: f64) -> Self {
        self.marks.push((label.into(), y));
        self
    }

    pub(super) fn shown<'a>(&'a self, series: &'a Series) -> impl Iterator<Item = (f64, f64)> + 'a {
        let points = series.points.iter().copied();
        points.filter(|&(x, y)| self.x.shows(x) && self.y.shows(y))
    }

    /// Whether there is anything to see.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.series.iter().all(|series| self.shown(series).next().is_none())
    }
}
