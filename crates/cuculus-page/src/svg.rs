//! A plot as SVG. Colours are classes that the page defines for light and dark; sizes are in units
//! of a drawing 640 wide that scales with the page.

use std::fmt::Write;

use super::plot::{Plot, Shape};
use super::ticks::{Ticks, short};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 52.0;
/// With more points than this, dots would be a line.
const MOST_DOTS: usize = 60;
/// Colours that the page has.
pub(super) const COLOURS: usize = 8;

/// The drawing, and below it the legend.
pub(super) fn draw(plot: &Plot) -> String {
    let shown = || plot.series.iter().flat_map(|series| plot.shown(series));
    let x = Ticks::of(&plot.x, shown().map(|point| point.0), 7);
    let marks = plot.marks.iter().map(|mark| mark.y);
    let y = Ticks::of(&plot.y, shown().map(|point| point.1).chain(marks), 6);
    let right = |value: f64| LEFT + x.share(value) * (WIDTH - LEFT - RIGHT);
    let down = |value: f64| HEIGHT - BOTTOM - y.share(value) * (HEIGHT - TOP - BOTTOM);
    let mut svg = format!(
        "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n",
        escape(&plot.title)
    );
    for &at in &y.at {
        let at_y = down(at);
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{at_y:.1}\" x2=\"{:.1}\" y2=\"{at_y:.1}\"/>\
             <text class=\"tick\" text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 7.0,
            at_y + 4.0,
            short(at)
        );
    }
    for &at in &x.at {
        let at_x = right(at);
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{at_x:.1}\" y1=\"{TOP}\" x2=\"{at_x:.1}\" y2=\"{:.1}\"/>\
             <text class=\"tick\" text-anchor=\"middle\" x=\"{at_x:.1}\" y=\"{:.1}\">{}</text>",
            HEIGHT - BOTTOM,
            HEIGHT - BOTTOM + 18.0,
            short(at)
        );
    }
    let _ = writeln!(
        svg,
        "<text class=\"label\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\
         <text class=\"label\" text-anchor=\"middle\" transform=\"translate(15 {:.1}) rotate(-90)\">{}\
         </text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 12.0,
        escape(&plot.x.label),
        (TOP + HEIGHT - BOTTOM) / 2.0,
        escape(&plot.y.label)
    );
    for mark in plot.marks.iter().filter(|mark| plot.y.shows(mark.y)) {
        let at_y = down(mark.y);
        let _ = writeln!(
            svg,
            "<line class=\"mark\" x1=\"{LEFT}\" y1=\"{at_y:.1}\" x2=\"{:.1}\" y2=\"{at_y:.1}\"/>\
             <text class=\"marked\" text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            WIDTH - RIGHT,
            WIDTH - RIGHT - 4.0,
            at_y - 5.0,
            escape(&mark.label)
        );
    }
    for (at, series) in plot.series.iter().enumerate() {
        let points: Vec<(f64, f64)> = plot.shown(series).collect();
        let (colour, again) = look(at);
        if series.shape != Shape::Dots && points.len() > 1 {
            let path: Vec<String> =
                points.iter().map(|&(x, y)| format!("{:.1},{:.1}", right(x), down(y))).collect();
            let dashed = if series.shape == Shape::Dashed { " dashed" } else { "" };
            let _ = writeln!(
                svg,
                "<polyline class=\"line c{colour}{dashed}\" points=\"{}\"/>",
                path.join(" ")
            );
        }
        let few = series.shape == Shape::Line && points.len() <= MOST_DOTS;
        if series.shape == Shape::Dots || few {
            for &(x, y) in &points {
                let _ = writeln!(
                    svg,
                    "<circle class=\"dot c{colour}{again}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"><title>{}: {}, \
                     {}</title></circle>",
                    right(x),
                    down(y),
                    escape(&series.name),
                    short(x),
                    short(y)
                );
            }
        }
    }
    svg += "</svg>\n";
    svg + &legend(plot)
}

/// The colour of a series, and how its dots differ when all colours were used before.
fn look(series: usize) -> (usize, &'static str) {
    (series % COLOURS, if series < COLOURS { "" } else { " hollow" })
}

fn legend(plot: &Plot) -> String {
    let mut legend = "<ul class=\"legend\">".to_owned();
    for (at, series) in plot.series.iter().enumerate() {
        let dashed = if series.shape == Shape::Dashed { " dashed" } else { "" };
        let (colour, again) = look(at);
        let dots = if series.shape == Shape::Dots { " dots" } else { "" };
        let _ = write!(
            legend,
            "<li><span class=\"swatch c{colour}{dashed}{dots}{again}\"></span>{}</li>",
            escape(&series.name)
        );
    }
    legend + "</ul>\n"
}

/// Text that stands for itself in HTML and SVG.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::super::plot::Axis;
    use super::*;

    #[test]
    fn every_series_mark_and_label_is_drawn_within_the_picture() {
        let plot = Plot::new("a < b", Axis::logarithmic("keys"), Axis::from_zero("load, %"))
            .series("ours & co", Shape::Line, (1..10).map(|i| (10f64.powi(i), f64::from(i))))
            .series("paper", Shape::Dashed, [(10.0, 2.0), (1e9, 5.0), (f64::NAN, 1.0), (-1.0, 3.0)])
            .series("dots", Shape::Dots, [(1e4, 12.0)])
            .mark("paper: 7", 7.0);
        let svg = draw(&plot);
        assert!(svg.contains("a &lt; b") && svg.contains("ours &amp; co"));
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert_eq!(svg.matches("<circle").count(), 9 + 1);
        assert_eq!(svg.matches("class=\"mark\"").count(), 1);
        assert_eq!(svg.matches("<li>").count(), 3);
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        for attribute in svg.split("cx=\"").skip(1) {
            let x: f64 = attribute.split('"').next().unwrap().parse().unwrap();
            assert!((LEFT..=WIDTH - RIGHT).contains(&x), "{x}");
        }
    }

    #[test]
    fn a_plot_of_nothing_is_drawn_too() {
        let plot = Plot::new("none", Axis::linear("x"), Axis::logarithmic("y"));
        assert!(plot.is_empty() && draw(&plot).contains("</svg>"));
    }
}
