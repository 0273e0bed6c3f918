//! Progress of the demo on standard error: a live table on a terminal, two lines elsewhere. Knows
//! cells and widths, nothing of filters.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use console::Term;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::follower::Follower;
use super::keys::{Course, LAST, Stop};
use super::report::live_row;
use crate::interrupt;
use crate::text::thousands;

/// Columns and their widths, the most important first: those that do not fit are left out.
const COLUMNS: [(&str, usize); 8] = [
    ("filter", 8),
    ("keys", 10),
    ("memory", 8),
    ("bits/key", 8),
    ("used", 5),
    ("measured", 8),
    ("promised", 8),
    ("longest", 7),
];
/// Empty columns at the right edge.
const MARGIN: usize = 1;
/// Below this width the bar is short and its text has one word.
const NARROW: usize = 75;

pub(super) struct View {
    /// None if standard error is not a terminal.
    screen: Option<Screen>,
    course: Course,
}

struct Screen {
    bar: ProgressBar,
    head: ProgressBar,
    rows: Vec<ProgressBar>,
}

impl View {
    pub(super) fn new(course: Course, followers: &[Follower]) -> Self {
        let screen = io::stderr().is_terminal().then(|| Screen::new(course, followers.len()));
        let view = Self { screen, course };
        for (row, follower) in followers.iter().enumerate() {
            view.show(row, follower);
        }
        view
    }

    /// The filters start towards this stop.
    pub(super) fn next(&self, stop: Stop) {
        let goal = if stop.growing { self.course.most() } else { LAST };
        let way = if stop.growing { "growing" } else { "shrinking" };
        match &self.screen {
            Some(screen) => {
                let (goal, keys) = (thousands(goal), thousands(stop.keys));
                let message = match width() < NARROW {
                    true => way.to_owned(),
                    false => format!("{way} to {goal}: {keys} keys"),
                };
                screen.bar.set_message(message);
                screen.head.set_message(line(&COLUMNS.map(|(name, _)| name.to_owned())));
            }
            None if self.changes_direction(stop) => {
                // A closed standard error does not stop the demo.
                let _ = writeln!(io::stderr(), "{way} to {} keys", thousands(goal));
            }
            None => {}
        }
    }

    /// Whether the set starts to grow or to shrink towards this stop.
    fn changes_direction(&self, stop: Stop) -> bool {
        let stops = self.course.stops();
        stops.iter().find(|first| first.growing == stop.growing) == Some(&stop)
    }

    /// Shows a filter that reached the stop.
    pub(super) fn show(&self, row: usize, follower: &Follower) {
        if let Some(row) = self.screen.as_ref().and_then(|screen| screen.rows.get(row)) {
            row.set_message(line(&live_row(follower)));
        }
    }

    /// All filters reached the stop.
    pub(super) fn reached(&self, stop: Stop) {
        if let Some(screen) = &self.screen {
            screen.bar.set_position(self.course.operations(stop));
        }
    }
}

impl Screen {
    fn new(course: Course, rows: usize) -> Self {
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        leave_cleanly_when_interrupted(&all);
        let plain = |template: &str| {
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
        };
        let text = |template: &str| {
            let style = plain(template);
            all.add(ProgressBar::new_spinner().with_style(style))
        };
        let end = Stop { growing: false, keys: LAST, all: true };
        let style = plain(match width() < NARROW {
            true => "{bar:10.cyan} {percent:>3} %  {elapsed:>3}  {msg}",
            false => "{bar:20.cyan} {percent:>3} %  {elapsed:>3}  {msg}",
        });
        let bar = all.add(ProgressBar::new(course.operations(end)).with_style(style));
        bar.enable_steady_tick(Duration::from_millis(200));
        let head = text("{msg:.dim}");
        // The elastic filter stands out.
        let style = |row: usize| if row == 0 { "{msg:.bold}" } else { "{msg}" };
        let rows = (0..rows).map(|row| text(style(row))).collect();
        Self { bar, head, rows }
    }
}

/// The screen is clean after an error too.
impl Drop for View {
    fn drop(&mut self) {
        if let Some(screen) = &self.screen {
            screen.bar.finish_and_clear();
            screen.head.finish_and_clear();
            screen.rows.iter().for_each(ProgressBar::finish_and_clear);
        }
    }
}

/// Clears the table, so that the shell continues where the table began.
fn leave_cleanly_when_interrupted(all: &MultiProgress) {
    let all = all.clone();
    interrupt::ends_in_order(move || {
        let _ = all.clear();
        all.set_draw_target(ProgressDrawTarget::hidden());
        // The terminal echoed ^C on a line after the table, so the cleared area was one line too
        // low.
        if io::stdin().is_terminal() {
            let _ = Term::stderr().clear_last_lines(1);
        }
        std::process::exit(crate::INTERRUPTED.into());
    });
}

/// The width of the terminal, which may change while the demo runs.
fn width() -> usize {
    Term::stderr().size_checked().map_or(80, |(_, columns)| usize::from(columns))
}

fn line(cells: &[String]) -> String {
    fitting(cells, width())
}

/// The cells of a row that fit into a terminal of this width, each whole or not at all.
fn fitting(cells: &[String], width: usize) -> String {
    let mut line = String::new();
    for (at, (cell, (_, wide))) in cells.iter().zip(COLUMNS).enumerate() {
        let cell = if at == 0 { format!("{cell:<wide$}") } else { format!("  {cell:>wide$}") };
        if line.chars().count() + cell.chars().count() + MARGIN > width {
            break;
        }
        line += &cell;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_fits_a_usual_terminal_and_loses_whole_columns_in_a_narrow_one() {
        let head = COLUMNS.map(|(name, _)| name.to_owned());
        assert!(fitting(&head, 80).ends_with("longest"));
        for width in 0..100 {
            let line = fitting(&head, width);
            assert!(line.chars().count() <= width.saturating_sub(MARGIN), "{width}: {line:?}");
            assert!(line.split_whitespace().all(|word| head.iter().any(|cell| cell == word)));
        }
        assert_eq!(fitting(&head, 40), "filter          keys    memory");
    }
}
