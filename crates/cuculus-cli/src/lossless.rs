//! The filter that `uniq` and `dedup` keep what they have seen in, and how many new lines it is expected to
//! take for lines seen before. The one place that builds it and inserts into it.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use cuculus::{ElasticFilter, Full, Insert, KeyHash};

use crate::change::refusal;
use crate::keys::{Block, shown};
use crate::rate::Rate;
use crate::saved::{AnyFilter, Saved};

/// The limit of the rate if none is asked for. Entries are as long as can be, so the rate is far
/// below it: about n · 2^−52 / 768 for n lines, 3·10^−12 at ten million and 3·10^−10 at a billion.
const LIMIT: f64 = 1e-8;
/// Makes entries as long as can be: some five bytes per line.
const ALL_SPARE_BYTES: u64 = 1 << 40;
/// From this expected number of lost lines on, the user is told.
pub(crate) const WORTH_SAYING: f64 = 0.5;

/// An empty filter, with a rate on request.
pub(crate) fn filter(rate: Option<&Rate>) -> Result<ElasticFilter> {
    let builder = ElasticFilter::builder();
    match rate {
        None => builder.false_positive_rate(LIMIT).spare_bytes(ALL_SPARE_BYTES).build(),
        Some(rate) => builder.false_positive_rate(rate.get()).build(),
    }
    .with_context(|| rate.map_or_else(String::new, |rate| format!("--fpr {}", rate.typed())))
}

/// Refuses a rate that the filter of a file was not built with.
pub(crate) fn check_rate(saved: &Saved, rate: Option<&Rate>, path: &Path) -> Result<()> {
    if let (AnyFilter::Elastic(filter), Some(rate)) = (&saved.filter, rate) {
        let (kept, typed) = (filter.false_positive_rate(), rate.typed());
        ensure!(
            kept == rate.get(),
            "--fpr {typed}: {} was made with {kept}; use the same, or another file",
            shown(path)
        );
    }
    Ok(())
}

/// New lines that were taken for lines seen before, on average.
///
/// A new line is lost with the false positive rate at that moment. The filter counts in it every
/// way to be mistaken: entries that know less than the whole hash, and hashes that are equal.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mistakes(pub(crate) f64);

impl Mistakes {
    /// Adds what `kept` new lines stand for: of all new lines 1 − rate are kept, so for each of
    /// them rate / (1 − rate) were lost. The rate after a block is at least the rate within it.
    pub(crate) fn add(&mut self, kept: u64, rate: f64) {
        self.0 += kept as f64 * rate / (1.0 - rate).max(f64::EPSILON);
    }

    pub(crate) fn are_worth_saying(self) -> bool {
        self.0 >= WORTH_SAYING
    }
}

/// Inserts the keys of a block that are not in the filter yet; `absent` says which. Lines without a
/// key are all absent, and are not inserted.
pub(crate) fn insert_absent(
    set: &mut dyn Insert,
    block: &Block,
    absent: &mut Vec<bool>,
) -> Result<()> {
    insert_absent_by(block, absent, |hashes, absent| set.insert_absent_batch(hashes, absent))
}

/// With the function that inserts keys and says which were absent.
pub(crate) fn insert_absent_by(
    block: &Block,
    absent: &mut Vec<bool>,
    mut insert: impl FnMut(&[KeyHash], &mut Vec<bool>) -> Result<(), Full>,
) -> Result<()> {
    if block.keyless.is_empty() {
        let inserted = insert(&block.hashes, absent);
        return inserted.map_err(|full| refusal(&full, &block.origin_of(absent.len())));
    }
    let mut keyless = block.keyless.iter().map(|&line| line as usize).peekable();
    let is_keyed: Vec<bool> =
        (0..block.len()).map(|line| keyless.next_if_eq(&line).is_none()).collect();
    let keyed: Vec<_> =
        block.hashes.iter().zip(&is_keyed).filter_map(|(&hash, &is)| is.then_some(hash)).collect();
    let mut some = Vec::new();
    insert(&keyed, &mut some).map_err(|full| {
        let mut lines = is_keyed.iter().enumerate().filter(|&(_, &is)| is);
        let line = lines.nth(some.len()).map_or(0, |(line, _)| line);
        refusal(&full, &block.origin_of(line))
    })?;
    let mut some = some.into_iter();
    absent.clear();
    absent.extend(is_keyed.iter().map(|&is| !is || some.next().unwrap_or(true)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use cuculus::Filter;

    use super::*;
    use crate::gathered::Gathered;

    /// The promise: for a billion different lines the expected number of lost lines is below one.
    /// What a filter says of itself is measured up to half a million; from there on the formula goes
    /// on, with every entry as long as its depth allows.
    #[test]
    fn less_than_one_of_a_billion_lines_is_lost() {
        let mut filter = filter(None).expect("a filter");
        let (mut gathered, mut absent) = (Gathered::default(), Vec::new());
        let mut mistakes = Mistakes::default();
        for number in 0..512 {
            let hashes: Vec<KeyHash> =
                (0..1000).map(|i| KeyHash::new(crate::sample::key(number * 1000 + i))).collect();
            gathered.take(&mut filter, &hashes, &mut absent).expect("room");
            mistakes.add(1000, filter.expected_false_positive_rate());
        }
        gathered.insert_all(&mut filter).expect("room");
        // Entries know 39 bits of the path beyond those that choose one of 640 segments.
        let (rate, lines) = (filter.expected_false_positive_rate(), 512e3);
        let entry = |bits: u32| 0.5f64.powi(bits as i32) / 768.0;
        assert!(rate > lines * entry(52) && rate < 16.0 * lines * entry(48), "{rate:e}");
        assert!(mistakes.0 < 1e-4, "{}", mistakes.0);
        assert!(filter.size_in_bytes() < 3_500_000, "{} bytes", filter.size_in_bytes());

        let (mut rate, mut lines) = (rate, lines);
        while lines < 1e9 {
            let depth = (lines / 800.0_f64).log2().floor() as u32;
            let step = (lines / 100.0).min(1e9 - lines);
            rate += step * entry((depth + 39).min(52));
            mistakes.add(step as u64, rate);
            lines += step;
        }
        assert!(rate < LIMIT / 10.0, "{rate:e}");
        assert!(mistakes.0 > 0.1 && mistakes.0 < 0.2, "{}", mistakes.0);
        assert!(!mistakes.are_worth_saying());
    }

    #[test]
    fn kept_lines_stand_for_lost_ones() {
        let mut mistakes = Mistakes::default();
        mistakes.add(900, 0.1);
        assert!((mistakes.0 - 100.0).abs() < 1e-9);
        assert!(mistakes.are_worth_saying());
        mistakes.add(1, 1.0);
        assert!(mistakes.0.is_finite());
    }
}
