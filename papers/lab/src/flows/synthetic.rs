//! A synthetic trace with the counts of the Yahoo! trace that the Consistent Cuckoo Filter was
//! evaluated with, which is not public: 58,941 flows within 1,200 s, at most 7,290 alive.

use std::f64::consts::TAU;
use std::net::Ipv4Addr;

use super::{Flow, Trace, peak};

const END_SECONDS: f64 = 1200.0;
const ARRIVAL_SECONDS: f64 = 1160.0;
/// The spread of lifetimes: the deviation of their logarithm.
const LIFETIME_SIGMA: f64 = 1.2;
/// Halvings of the median's interval; a double has no more.
const BISECTIONS: usize = 60;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Synthetic {
    pub(crate) flows: usize,
    pub(crate) peak: usize,
    pub(crate) seed: u64,
}

impl Synthetic {
    /// The counts of the real trace.
    pub(crate) fn yahoo(seed: u64) -> Self {
        Self { flows: 58_941, peak: 7_290, seed }
    }

    /// A trace of this many flows whose peak is smaller or larger in proportion.
    pub(crate) fn scaled(self, flows: usize) -> Self {
        let peak = (self.peak as f64 * flows as f64 / self.flows as f64).ceil() as usize;
        Self { flows, peak, ..self }
    }

    /// Makes the trace: arrivals spread as 1160 s × Beta(2, 2), lognormal lifetimes, the longest
    /// cut at 1200 s.
    ///
    /// Longer lifetimes can only raise the peak, and the median stretches all of them alike, so
    /// halving finds the median with the wanted peak.
    pub(crate) fn trace(&self) -> Trace {
        let mut random = fastrand::Rng::with_seed(self.seed);
        let draw = |_| (ARRIVAL_SECONDS * beta22(&mut random), log_normal(&mut random));
        let drawn: Vec<(f64, f64)> = (0..self.flows).map(draw).collect();
        let interval = |median: f64| {
            move |&(start, factor): &(f64, f64)| (start, (start + median * factor).min(END_SECONDS))
        };
        let (mut low, mut high) = (0.0, END_SECONDS);
        for _ in 0..BISECTIONS {
            let median = (low + high) / 2.0;
            if peak(drawn.iter().map(interval(median))) < self.peak {
                low = median;
            } else {
                high = median;
            }
        }
        let mut address = || Ipv4Addr::from(random.u32(..)).to_string();
        let mut flow = |(start, end)| {
            let (source, destination) = (address(), address());
            Flow { source, destination, start, end }
        };
        Trace { flows: drawn.iter().map(interval(high)).map(&mut flow).collect() }
    }
}

/// The second of three uniform numbers is distributed as Beta(2, 2).
fn beta22(random: &mut fastrand::Rng) -> f64 {
    let mut three = [random.f64(), random.f64(), random.f64()];
    three.sort_by(f64::total_cmp);
    three[1]
}

/// With median 1, by Box and Muller.
fn log_normal(random: &mut fastrand::Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    (LIFETIME_SIGMA * radius * (TAU * random.f64()).cos()).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_paper() {
        let trace = Synthetic::yahoo(1).trace();
        assert_eq!((trace.flows.len(), trace.peak()), (58_941, 7_290));
        let within = |flow: &Flow| 0.0 <= flow.start && flow.start <= flow.end;
        assert!(trace.flows.iter().all(within));
        assert!(trace.flows.iter().all(|flow| flow.end <= END_SECONDS));
    }

    #[test]
    fn a_seed_gives_one_trace() {
        let made = |seed| Synthetic::yahoo(seed).scaled(1000).trace();
        assert_eq!(made(3), made(3));
        assert_ne!(made(3), made(4));
        assert_eq!((made(3).flows.len(), made(3).peak()), (1000, 124));
    }

    /// Means within four standard errors: .5 and .05 are mean and variance of Beta(2, 2).
    #[test]
    fn numbers_are_distributed_as_they_claim() {
        let mut random = fastrand::Rng::with_seed(9);
        let count = 40_000;
        let betas: Vec<f64> = (0..count).map(|_| beta22(&mut random)).collect();
        let mean = betas.iter().sum::<f64>() / f64::from(count);
        assert!((mean - 0.5).abs() < 4.0 * (0.05 / f64::from(count)).sqrt());
        let logs: Vec<f64> = (0..count).map(|_| log_normal(&mut random).ln()).collect();
        let mean = logs.iter().sum::<f64>() / f64::from(count);
        let square = logs.iter().map(|log| log * log).sum::<f64>() / f64::from(count);
        assert!(mean.abs() < 4.0 * LIFETIME_SIGMA / f64::from(count).sqrt());
        assert!((square.sqrt() / LIFETIME_SIGMA - 1.0).abs() < 0.02);
    }
}
