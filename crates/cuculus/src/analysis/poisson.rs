//! Tails of the Poisson distribution, with all their digits where they are tiny. Knows nothing of
//! filters.

use core::f64::consts::TAU;

/// P(X ≥ `count`) for a Poisson X. A mean that is not a positive number counts as zero.
pub fn at_least(mean: f64, count: u64) -> f64 {
    if count == 0 {
        1.0
    } else if mean.is_nan() || mean <= 0.0 {
        0.0
    } else if mean.is_infinite() {
        1.0
    } else if count as f64 > mean {
        // The far side is summed itself: as one minus the rest it would have no digits left.
        upwards(mean, count).min(1.0)
    } else {
        (1.0 - downwards(mean, count - 1)).max(0.0)
    }
}

/// P(X ≥ `from`), for `from` above the mean: the terms fall from the first on.
fn upwards(mean: f64, from: u64) -> f64 {
    let (mut sum, mut term, mut count) = (0.0, exactly(mean, from), from as f64);
    while sum + term > sum {
        sum += term;
        count += 1.0;
        term *= mean / count;
    }
    sum
}

/// P(X ≤ `from`), for `from` below the mean.
fn downwards(mean: f64, from: u64) -> f64 {
    let (mut sum, mut term, mut count) = (0.0, exactly(mean, from), from as f64);
    while sum + term > sum {
        sum += term;
        term *= count / mean;
        count -= 1.0;
    }
    sum
}

/// P(X = `count`), by the saddle point: e^(−mean)·mean^count/count! has factors that overflow long
/// before their product does.
fn exactly(mean: f64, count: u64) -> f64 {
    if count == 0 {
        return f64::exp(-mean);
    }
    let n = count as f64;
    // n·ln(n/mean) + mean − n, where it cancels and where it does not.
    let off = (mean - n) / n;
    let distance = if off.abs() < 0.5 {
        n * (off - f64::ln_1p(off))
    } else {
        n * f64::ln(n / mean) + (mean - n)
    };
    f64::exp(-distance - stirling_error(count)) / f64::sqrt(TAU * n)
}

/// ln n! less Stirling's n·ln n − n + ½·ln 2πn, for n ≥ 1.
fn stirling_error(count: u64) -> f64 {
    let n = count as f64;
    if count < 16 {
        let factorial: u64 = (1..=count).product();
        return f64::ln(factorial as f64) - n * f64::ln(n) + n - 0.5 * f64::ln(TAU * n);
    }
    // The first term left out is below 2·10^-14.
    let square = n * n;
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / 1680.0 / square) / square) / square) / n
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Term by term, where nothing over- or underflows.
    fn plainly(mean: f64, count: u64) -> f64 {
        let mut term = f64::exp(-mean);
        let (mut below, mut above) = (0.0, 0.0);
        for i in 0..400 {
            *(if i < count { &mut below } else { &mut above }) += term;
            term *= mean / (i + 1) as f64;
        }
        if below < 0.5 { 1.0 - below } else { above }
    }

    #[test]
    fn tails_equal_the_sum_of_their_terms() {
        for mean in [1e-6, 0.01, 0.5, 1.0, 1.6, 7.3, 20.0, 99.5] {
            for count in (0..40).chain([60, 100, 150]) {
                let (got, want) = (at_least(mean, count), plainly(mean, count));
                assert!((got - want).abs() <= 1e-12 * want, "{mean} {count}: {got} {want}");
            }
        }
    }

    /// Known in another way: half of a large Poisson distribution lies on either side of its mean,
    /// up to 1/(3·sqrt(2π·mean)) that the skew and the step at the mean make together.
    #[test]
    fn large_means_keep_their_balance() {
        for mean in [1e4, 1e8, 1e12] {
            let got = at_least(mean, mean as u64) - 0.5;
            let want = 1.0 / (3.0 * f64::sqrt(TAU * mean));
            assert!((got - want).abs() < 1e-3 * want + 1e-9, "{mean}: {got} {want}");
        }
    }

    #[test]
    fn every_argument_has_an_answer() {
        for mean in [f64::NAN, f64::NEG_INFINITY, -1.0, 0.0, 1e-300, 1.0, 1e300, f64::INFINITY] {
            for count in [0, 1, 7, 1 << 40, u64::MAX] {
                let tail = at_least(mean, count);
                assert!((0.0..=1.0).contains(&tail), "{mean} {count}: {tail}");
            }
        }
    }
}
