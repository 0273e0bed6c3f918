//! Numbers in aligned columns of plain text. Knows nothing of what they mean.

use std::fmt;

/// A table to print: the first column to the left, the others to the right.
#[derive(Clone, Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

/// A column: its heading, and what it has of a row.
pub type Column<'a, R> = (&'a str, &'a dyn Fn(&R) -> String);

impl Table {
    /// A table with this head.
    #[must_use]
    pub fn new<S: Into<String>>(head: impl IntoIterator<Item = S>) -> Self {
        Self { rows: vec![head.into_iter().map(Into::into).collect()] }
    }

    /// A table with a row for each of these things.
    #[must_use]
    pub fn of<'a, R: 'a>(rows: impl IntoIterator<Item = &'a R>, columns: &[Column<'_, R>]) -> Self {
        let mut table = Self::new(columns.iter().map(|column| column.0));
        for row in rows {
            table.row(columns.iter().map(|column| (column.1)(row)));
        }
        table
    }

    /// The rows, the head first.
    pub fn rows(&self) -> impl Iterator<Item = &[String]> {
        self.rows.iter().map(Vec::as_slice)
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        (0..columns).map(width).collect()
    }

    /// The characters of a line, with two spaces between columns.
    pub(crate) fn width(&self) -> usize {
        self.widths().iter().map(|width| width + 2).sum::<usize>().saturating_sub(2)
    }

    /// The table in Markdown. A row with too few cells gets empty ones.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let line = |row: &Vec<String>| {
            let cells = (0..columns).map(|column| row.get(column).map_or("", String::as_str));
            // A bar would end the cell.
            let cells: Vec<String> = cells.map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let mut lines: Vec<String> = self.rows.iter().map(line).collect();
        lines.insert(lines.len().min(1), format!("|{}\n", "---|".repeat(columns)));
        lines.concat()
    }

    /// Adds a row.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }
}

/// A number with this many decimals, or a dash for none.
#[must_use]
pub fn number(value: impl Into<Option<f64>>, decimals: usize) -> String {
    value.into().map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"))
}

/// A share as a percentage, without the sign.
#[must_use]
pub fn percent(share: f64, decimals: usize) -> String {
    number(100.0 * share, decimals)
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        for (at, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                line += &match column {
                    0 => format!("{cell:<width$}"),
                    _ => format!("  {cell:>width$}"),
                };
            }
            writeln!(f, "{}", line.trim_end())?;
            if at == 0 {
                writeln!(f, "{}", "-".repeat(self.width()))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(["name", "x"]);
        table.row(["a".to_owned(), number(1.25, 1)]);
        table.row(["longer name".to_owned(), number(None, 1)]);
        let expected = "\
name           x
----------------
a            1.2
longer name    -
";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn markdown_has_a_cell_for_each_column() {
        let mut table = Table::new(["name", "x"]);
        table.row(["a|b", "1"]);
        table.row(["short"]);
        let expected = "| name | x |\n|---|---|\n| a\\|b | 1 |\n| short |  |\n";
        assert_eq!(table.to_markdown(), expected);
    }
}
