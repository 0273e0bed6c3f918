//! A plot as SVG. Colours are classes that the page defines for light, dark and paper. A plot is
//! drawn twice, for wide and for narrow windows, since text in a drawing that is only scaled down
//! cannot be read on a telephone; the style sheet shows one of the two.

use super::palette::{Look, Palette};
use super::plot::{Plot, Series, Shape};
use super::ticks::{Ticks, short};

macro_rules! put {
    ($text:expr; $($of:tt)*) => { $text.push_str(&format!($($of)*)) };
}
pub(super) use put;

/// The size of a drawing, in the units of its text.
struct Frame {
    class: &'static str,
    width: f64,
    height: f64,
    x_ticks: usize,
    y_ticks: usize,
}

const FRAMES: [Frame; 2] = [
    Frame { class: "plot for-wide", width: 640.0, height: 380.0, x_ticks: 7, y_ticks: 6 },
    Frame { class: "plot for-narrow", width: 350.0, height: 270.0, x_ticks: 4, y_ticks: 5 },
];
const LEFT: f64 = 70.0;
/// Half of the last label of the axis.
const RIGHT: f64 = 26.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 52.0;
/// From one line of text to the next.
const LINE_HEIGHT: f64 = 14.0;
/// With more points than this, dots would be a line.
const MOST_DOTS: usize = 60;

/// The drawings, and below them the legend.
pub(super) fn draw(plot: &Plot, palette: &Palette) -> String {
    let looks = palette.looks(plot);
    let mut svg: String = FRAMES.iter().map(|frame| frame.draw(plot, &looks)).collect();
    svg += &legend(plot, &looks);
    svg
}

impl Frame {
    fn draw(&self, plot: &Plot, looks: &[Look]) -> String {
        let Self { class, width, height, x_ticks, y_ticks } = *self;
        let shown = || plot.series.iter().flat_map(|series| plot.shown(series));
        let x = Ticks::of(&plot.x, shown().map(|point| point.0), x_ticks);
        let marks = plot.marks.iter().map(|mark| mark.1);
        let y = Ticks::of(&plot.y, shown().map(|point| point.1).chain(marks), y_ticks);
        let right = |value: f64| LEFT + x.share(value) * (width - LEFT - RIGHT);
        let down = |value: f64| height - BOTTOM - y.share(value) * (height - TOP - BOTTOM);
        let mut svg = format!(
            "<svg class=\"{class}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
             aria-label=\"{}\">\n",
            escape(&plot.title)
        );
        let end = width - RIGHT;
        for &at in &y.at {
            let at_y = down(at);
            put!(svg; "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{at_y:.1}\" x2=\"{end:.1}\" \
                 y2=\"{at_y:.1}\"/><text class=\"tick\" text-anchor=\"end\" x=\"{:.1}\" \
                 y=\"{:.1}\">{}</text>\n", LEFT - 7.0, at_y + 4.0, y.label(at));
        }
        for &at in &x.at {
            let at_x = right(at);
            put!(svg; "<line class=\"grid\" x1=\"{at_x:.1}\" y1=\"{TOP}\" x2=\"{at_x:.1}\" \
                 y2=\"{:.1}\"/><text class=\"tick\" text-anchor=\"middle\" x=\"{at_x:.1}\" \
                 y=\"{:.1}\">{}</text>\n", height - BOTTOM, height - BOTTOM + 18.0, x.label(at));
        }
        put!(svg; "<text class=\"label\" text-anchor=\"middle\" x=\"{:.1}\" \
             y=\"{:.1}\">{}</text><text class=\"label\" text-anchor=\"middle\" \
             transform=\"translate(15 {:.1}) rotate(-90)\">{}</text>\n", (LEFT + end) / 2.0,
            height - 12.0, escape(&plot.x.label), (TOP + height - BOTTOM) / 2.0,
            escape(&plot.y.label));
        let (mut labels, mut words) = (Vec::new(), String::new());
        for (label, y) in plot.marks.iter().filter(|mark| plot.y.shows(mark.1)) {
            let at_y = down(*y);
            // Above the line, to the right; elsewhere if another label or the edge is there.
            let (anchor, label_x, label_y) = [("end", end - 4.0), ("start", LEFT + 4.0)]
                .into_iter()
                .flat_map(|(anchor, x)| [(anchor, x, at_y - 5.0), (anchor, x, at_y + 14.0)])
                .find(|&(anchor, _, y)| {
                    let is_free = |&(other, other_y): &(&str, f64)| {
                        other != anchor || (other_y - y).abs() > LINE_HEIGHT
                    };
                    y > TOP + 5.0 && y < height - BOTTOM && labels.iter().all(is_free)
                })
                .unwrap_or(("end", end - 4.0, at_y - 5.0));
            labels.push((anchor, label_y));
            put!(svg; "<line class=\"mark\" x1=\"{LEFT}\" y1=\"{at_y:.1}\" x2=\"{end:.1}\" \
                 y2=\"{at_y:.1}\"/>\n");
            // Above the series.
            put!(words; "<text class=\"marked\" text-anchor=\"{anchor}\" x=\"{label_x:.1}\" \
                 y=\"{label_y:.1}\">{}</text>\n", escape(label));
        }
        for (series, &look) in plot.series.iter().zip(looks) {
            let points = plot.shown(series);
            let places = points.map(|(x, y)| ([right(x), down(y)], [x, y])).collect::<Vec<_>>();
            draw_series(&mut svg, series, look, &places);
        }
        svg + &words + "</svg>\n"
    }
}

/// A series at its places, with its values.
fn draw_series(svg: &mut String, series: &Series, look: Look, places: &[([f64; 2], [f64; 2])]) {
    let class = look.class();
    let joined = matches!(series.shape, Shape::Line | Shape::Dashed) && places.len() > 1;
    if joined {
        let path: Vec<String> = places.iter().map(|([x, y], _)| format!("{x:.1},{y:.1}")).collect();
        let dashed = if series.shape == Shape::Dashed { " dashed" } else { "" };
        let path = path.join(" ");
        put!(svg; "<polyline class=\"line {class}{dashed}\" points=\"{path}\"/>\n");
    }
    let few = series.shape == Shape::Line && places.len() <= MOST_DOTS;
    let alone = series.shape == Shape::Dashed && !joined;
    if !few && !alone && !matches!(series.shape, Shape::Dots | Shape::Paper) {
        return;
    }
    for ([x, y], values) in places {
        let [at, value] = values.map(short);
        let title = format!("<title>{}: {at}, {value}</title>", escape(&series.name));
        if series.shape == Shape::Paper {
            let path = diamond(*x, *y, 5.0);
            put!(svg; "<path class=\"paper {class}\" d=\"{path}\">{title}</path>\n");
        } else {
            put!(svg; "<circle class=\"dot {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\">{title}\
                </circle>\n");
        }
    }
}

fn diamond(x: f64, y: f64, size: f64) -> String {
    format!(
        "M{:.1} {y:.1}L{x:.1} {:.1}L{:.1} {y:.1}L{x:.1} {:.1}Z",
        x - size,
        y - size,
        x + size,
        y + size
    )
}

/// Swatches are drawings, because browsers print no backgrounds, and they look like the lines.
fn legend(plot: &Plot, looks: &[Look]) -> String {
    let mut legend = "<ul class=\"legend\">".to_owned();
    for (series, look) in plot.series.iter().zip(looks) {
        let class = look.class();
        let line = |dashed: &str| {
            format!("<line class=\"line {class}{dashed}\" x1=\"1\" y1=\"5\" x2=\"27\" y2=\"5\"/>")
        };
        let look = match series.shape {
            Shape::Line => line(""),
            Shape::Dashed => line(" dashed"),
            Shape::Dots => format!("<circle class=\"dot {class}\" cx=\"14\" cy=\"5\" r=\"4\"/>"),
            Shape::Paper => {
                format!("<path class=\"paper {class}\" d=\"{}\"/>", diamond(14.0, 5.0, 4.5))
            }
        };
        put!(legend; "<li><svg class=\"swatch\" viewBox=\"0 0 28 10\" \
             aria-hidden=\"true\">{look}</svg>{}</li>", escape(&series.name));
    }
    legend + "</ul>\n"
}

/// Text that stands for itself in HTML and SVG.
pub(super) fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::plot::Axis;
    use super::*;

    #[test]
    fn every_series_mark_and_label_is_drawn_within_the_picture() {
        let plot = Plot::new("a < b", Axis::logarithmic("keys"), Axis::from_zero("load, %"))
            .line("ours & co", (1..10).map(|i| (10f64.powi(i), f64::from(i))))
            .dashed("model", [(10.0, 2.0), (1e9, 5.0), (f64::NAN, 1.0), (-1.0, 3.0)])
            .dots("dots", [(1e4, 12.0)])
            .paper("the paper", [(1e5, 3.0)])
            .mark("paper: 7", 7.0);
        let svg = draw(&plot, &Palette::default());
        assert!(svg.contains("a &lt; b") && svg.contains("ours &amp; co"));
        // Wide, narrow, and for some the legend.
        assert_eq!(svg.matches("<polyline").count(), 2 * 2);
        assert_eq!(svg.matches("<circle").count(), 2 * (9 + 1) + 1);
        assert_eq!(svg.matches("class=\"paper").count(), 2 + 1);
        assert_eq!(svg.matches("class=\"mark\"").count(), 2);
        assert_eq!(svg.matches("<li>").count(), 4);
        assert_eq!(svg.matches(" dashed\"").count(), 2 + 1);
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        for attribute in svg.split("cx=\"").skip(1) {
            let x: f64 = attribute.split('"').next().unwrap().parse().unwrap();
            assert!(x == 14.0 || (LEFT..=FRAMES[0].width - RIGHT).contains(&x), "{x}");
        }
    }

    #[test]
    fn what_lies_before_an_axis_is_drawn_at_its_edge() {
        let plot = Plot::new("", Axis::from("utilisation", 0.8), Axis::linear(""));
        let svg = draw(&plot.line("s", [(0.1, 0.0), (0.9, 1.0)]), &Palette::default());
        assert!(svg.contains(&format!("points=\"{LEFT:.1},")), "{svg}");
    }

    #[test]
    fn labels_of_marks_are_not_drawn_over_each_other() {
        let plot = Plot::new("", Axis::linear(""), Axis::from_zero(""))
            .line("s", [(0.0, 0.0), (1.0, 1.0)])
            .mark("a", 0.98)
            .mark("b", 0.97)
            .mark("c", 0.96);
        let svg = draw(&plot, &Palette::default());
        let mut places: Vec<&str> = svg
            .split("class=\"marked\" ")
            .skip(1)
            .filter_map(|text| text.split('>').next())
            .collect();
        let (wide, _) = places.split_at_mut(3);
        wide.sort_unstable();
        assert!(wide[0].contains("\"end\"") && wide[2].contains("\"start\""), "{wide:?}");
        assert!(wide[0] != wide[1] && wide[1] != wide[2], "{wide:?}");
    }

    #[test]
    fn a_plot_of_nothing_is_drawn_too() {
        let plot = Plot::new("none", Axis::linear("x"), Axis::logarithmic("y"));
        assert!(plot.is_empty() && draw(&plot, &Palette::default()).contains("</svg>"));
    }
}
