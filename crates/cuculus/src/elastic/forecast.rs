//! What a filter will be like with some number of keys, without building it: the policy is followed
//! from the first key on in steps of a few percent. Knows how segments grow, nothing of entries.

use super::address::PATH_BITS;
use super::builder::MAX_LOAD;
use super::lengths::Lengths;
use super::policy::{Goal, Settings, segments_for};
use super::segment::{HEADERS, Segment};
use super::{ElasticFilter, ElasticFilterBuilder};
use crate::table::OutOfMemory;
use crate::{BuildError, memory};

/// What an elastic filter will be like with some keys.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ElasticForecast {
    /// Memory, everything counted.
    pub bytes: u64,
    /// The rate that [`expected_false_positive_rate`](crate::Filter::expected_false_positive_rate)
    /// will say.
    pub false_positive_rate: f64,
}

/// The keys that come in a step, as a part of those that are there.
const STEP: u64 = 32;
/// Segments whose codes stand for those of all.
const SAMPLES: usize = 64;
/// What is free in the regions of a filter that grew, on average.
const FREE: f64 = 0.02;
/// And at the end of a block, with the header that it has there.
const FREE_BYTES: usize = 32;

impl ElasticFilterBuilder {
    /// What the filter will be like when it has grown to some number of keys, none of them twice:
    /// within 8 % of the memory, and from 50,000 keys on within 20 % of the rate. (At rates of 0.001 % and
    /// some 100,000 keys it is within 13 % of the memory.)
    ///
    /// # Errors
    /// [`BuildError`] if there can be no such filter.
    ///
    /// ```
    /// use cuculus::ElasticFilter;
    ///
    /// let forecast = ElasticFilter::builder().false_positive_rate(0.01).forecast(1_000_000_000)?;
    /// assert!(forecast.bytes < 2_500_000_000);
    /// assert!(forecast.false_positive_rate <= 0.01);
    /// # Ok::<(), cuculus::BuildError>(())
    /// ```
    pub fn forecast(&self, keys: u64) -> Result<ElasticForecast, BuildError> {
        let settings = self.settings()?;
        let mut growth = Growth::default();
        while growth.keys < keys {
            let step = (growth.keys / STEP).max(1).min(keys - growth.keys);
            growth.add(step, &settings)?;
        }
        Ok(growth.forecast(&settings))
    }
}

/// The share of segments with each length of entries.
type Shares = [f64; PATH_BITS as usize + 2];

/// Segments that were made in a step.
struct Made {
    /// The keys after the step.
    keys: u64,
    width: f64,
    lengths: Shares,
}

impl Made {
    fn new(keys: u64, goal: Goal) -> Self {
        let segments = segments_for(keys);
        // Those that are split now get the depth that all will have.
        let depth = if segments == 1 { 0 } else { segments.ilog2() + 1 };
        let mut made = Self { keys, width: 0.0, lengths: [0.0; PATH_BITS as usize + 2] };
        for index in 0..SAMPLES {
            let form = goal.form(index, depth);
            let length = (depth + form.longest()).min(PATH_BITS);
            made.width += f64::from(form.width) / SAMPLES as f64;
            made.lengths[length as usize] += 1.0 / SAMPLES as f64;
        }
        made
    }
}

/// A filter that grows, as far as the policy sees it.
#[derive(Default)]
struct Growth {
    keys: u64,
    lengths: Lengths,
    /// The segments, in the order in which they were made.
    made: Vec<Made>,
}

impl Growth {
    fn add(&mut self, keys: u64, settings: &Settings) -> Result<(), OutOfMemory> {
        let goal = settings.goal(keys, &self.lengths);
        self.keys += keys;
        let made = Made::new(self.keys, goal);
        // Plain entries stay as long as they are when their segment is split.
        if matches!(goal, Goal::Ended { .. }) {
            self.rewrite(keys, &made)?;
        }
        memory::push(&mut self.made, made)?;
        let mut shares: Shares = [0.0; PATH_BITS as usize + 2];
        self.each_segment(|share, made| {
            shares.iter_mut().zip(made.lengths).for_each(|(sum, of)| *sum += share * of);
        });
        let occurring = || (0..).zip(shares).filter(|&(_, share)| share > 0.0);
        let longest = occurring().last().map_or(PATH_BITS, |(length, _)| length);
        self.shorten(longest)?;
        let mut added = 0.0;
        for (length, share) in occurring() {
            let before = f64::round(added);
            added += share * keys as f64;
            self.lengths.reserve(length)?;
            self.lengths.add_many(length, (f64::round(added) - before) as u64);
        }
        Ok(())
    }

    /// Entries of segments that are split while some keys come: each is once while the set doubles.
    fn rewrite(&mut self, keys: u64, made: &Made) -> Result<(), OutOfMemory> {
        let part = (keys as f64 / (self.keys as f64 * core::f64::consts::LN_2)).min(1.0);
        for (to, share) in (0..).zip(made.lengths).filter(|&(_, share)| share > 0.0) {
            self.lengths.reserve(to)?;
            for length in to + 1..=self.lengths.longest() {
                let cut = (self.lengths.count(length) as f64 * part * share) as u64;
                self.lengths.remove_many(length, cut);
                self.lengths.add_many(to, cut);
            }
        }
        Ok(())
    }

    /// Entries that are longer than any segment holds by now.
    fn shorten(&mut self, most: u32) -> Result<(), OutOfMemory> {
        self.lengths.reserve(most)?;
        for length in most + 1..=self.lengths.longest() {
            let count = self.lengths.count(length);
            self.lengths.remove_many(length, count);
            self.lengths.add_many(most, count);
        }
        Ok(())
    }

    /// The segments that there are, with the share of those made together: all were made since the
    /// set had half as many keys.
    fn each_segment(&self, mut see: impl FnMut(f64, &Made)) {
        let first = self.keys / 2;
        let mut before = first;
        let from = self.made.partition_point(|made| made.keys <= first);
        for made in &self.made[from..] {
            see((made.keys - before) as f64 / (self.keys - first) as f64, made);
            before = made.keys;
        }
    }

    fn forecast(&self, settings: &Settings) -> ElasticForecast {
        let mut width = 0.0;
        self.each_segment(|share, made| width += share * made.width);
        let each = HEADERS + 8 * (size_of::<Segment>() + FREE_BYTES);
        let bits = self.keys as f64 * (width + 1.0) + segments_for(self.keys) as f64 * each as f64;
        let free = FREE + (MAX_LOAD - settings.load);
        ElasticForecast {
            bytes: (bits / 8.0 * (1.0 + free)) as u64 + size_of::<ElasticFilter>() as u64,
            false_positive_rate: self.lengths.rate(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Filter;

    #[test]
    fn a_filter_becomes_what_was_forecast() {
        for (rate, hint) in [(0.2, false), (0.01, false), (0.01, true), (1e-5, false)] {
            for keys in [1000u64, 10_000, 100_000, 1_300_000] {
                let hint = if hint { keys as usize } else { 0 };
                let builder = ElasticFilter::builder().false_positive_rate(rate);
                let builder = builder.expected_items(hint).seed(3);
                let forecast = builder.forecast(keys).expect("possible");
                let mut filter = builder.build().expect("possible");
                filter.extend(0..keys);
                let off = forecast.bytes as f64 / filter.size_in_bytes() as f64 - 1.0;
                // Where blocks begin to share regions, large ones leave much of them free.
                let most = if (rate, keys) == (1e-5, 100_000) { 0.13 } else { 0.08 };
                assert!(off.abs() < most, "{rate} {hint} {keys}: {forecast:?}, {off}");
                let rate = filter.expected_false_positive_rate();
                // Of few keys a step is a whole length.
                let most = if keys < 50_000 { 0.6 } else { 0.2 };
                let off = forecast.false_positive_rate / rate - 1.0;
                assert!(off.abs() < most, "{hint} {keys}: {forecast:?}, {rate}");
            }
        }
    }

    #[test]
    fn no_number_of_keys_is_too_large() {
        let builder = ElasticFilter::builder().false_positive_rate(0.001);
        for keys in [0, 1, 1 << 40, u64::MAX] {
            let forecast = builder.forecast(keys).expect("an answer");
            assert!(forecast.false_positive_rate <= 1.0, "{forecast:?}");
        }
    }
}
