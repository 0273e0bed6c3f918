//! Numbers and tables as text. Knows widths, nothing of what is in the cells.

use std::io::{self, Write};

use cuculus_page::Table;

/// `1234567` as `1,234,567`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A fraction as a percentage.
pub(crate) fn percent(share: f64, decimals: usize) -> String {
    format!("{:.decimals$} %", 100.0 * share)
}

/// A number of bytes with its unit, in about three digits.
pub(crate) fn bytes(number: usize) -> String {
    let number = number as f64;
    match number {
        ..1e3 => format!("{number} B"),
        ..1e6 => format!("{:.1} kB", number / 1e3),
        ..1e9 => format!("{:.2} MB", number / 1e6),
        _ => format!("{:.2} GB", number / 1e9),
    }
}

/// A time with its unit, in about three digits.
pub(crate) fn nanoseconds(time: f64) -> String {
    match time {
        ..1e3 => format!("{time:.0} ns"),
        ..1e5 => format!("{:.1} µs", time / 1e3),
        ..1e6 => format!("{:.0} µs", time / 1e3),
        ..1e8 => format!("{:.1} ms", time / 1e6),
        ..1e9 => format!("{:.0} ms", time / 1e6),
        _ => format!("{:.1} s", time / 1e9),
    }
}

/// A paragraph in lines of at most 79 characters; lines after the first are indented.
pub(crate) fn wrapped(text: &str) -> String {
    let (mut lines, mut line) = (String::new(), String::new());
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > 79 {
            lines += &line;
            lines.push('\n');
            line = format!("  {word}");
        } else {
            line += if line.is_empty() { "" } else { " " };
            line += word;
        }
    }
    lines + &line
}

/// Writes a table without the line under its head.
pub(crate) fn write_table(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let text = table.to_string();
    let mut lines = text.lines().enumerate().filter(|&(at, _)| at != 1);
    lines.try_for_each(|(_, line)| writeln!(out, "{line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let numbers = [0, 999, 1000, 123_456, 1_234_567];
        let expected = ["0", "999", "1,000", "123,456", "1,234,567"];
        assert_eq!(numbers.map(thousands), expected);
    }

    #[test]
    fn sizes_and_times_have_the_unit_that_suits_them() {
        let sizes = [0, 999, 4704, 7_615_000, 12_000_000_000].map(bytes);
        assert_eq!(sizes, ["0 B", "999 B", "4.7 kB", "7.62 MB", "12.00 GB"]);
        let times = [12.0, 1234.0, 147_900.0, 2.5e6, 384e6, 3e9].map(nanoseconds);
        assert_eq!(times, ["12 ns", "1.2 µs", "148 µs", "2.5 ms", "384 ms", "3.0 s"]);
    }

    #[test]
    fn paragraphs_are_cut_between_words() {
        let text = wrapped(&"word ".repeat(40));
        assert!(text.lines().all(|line| line.len() <= 79), "{text}");
        assert_eq!(text.split_whitespace().count(), 40);
        assert!(text.lines().skip(1).all(|line| line.starts_with("  word")));
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(["a", "long head"]);
        table.row(["name", "1"]);
        let mut out = Vec::new();
        write_table(&table, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a     long head\nname          1\n");
    }
}
