//! A straight line through points. Knows nothing of what they are.

/// The line with the least squares, and the share of the variance that it explains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) slope: f64,
    pub(crate) start: f64,
    /// 1 if all points lie on it.
    pub(crate) r_squared: f64,
}

impl Line {
    /// Through two points or more with different x.
    pub(crate) fn through(points: &[(f64, f64)]) -> Option<Self> {
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
            points.iter().map(|point| of(point.0 - x, point.1 - y)).sum()
        };
        let (xx, xy, yy) = (sum(&|a, _| a * a), sum(&|a, b| a * b), sum(&|_, b| b * b));
        if xx == 0.0 || points.len() < 2 {
            return None;
        }
        let slope = xy / xx;
        let r_squared = if yy == 0.0 { 1.0 } else { xy * xy / (xx * yy) };
        Some(Self { slope, start: y - slope * x, r_squared })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_through_its_own_points() {
        let line = Line::through(&[(1.0, 5.0), (2.0, 7.0), (4.0, 11.0)]).unwrap();
        assert!((line.slope - 2.0).abs() < 1e-12 && (line.start - 3.0).abs() < 1e-12);
        assert!((line.r_squared - 1.0).abs() < 1e-12);
    }

    #[test]
    fn points_off_the_line_lower_the_share() {
        let line = Line::through(&[(0.0, 0.0), (1.0, 2.0), (2.0, 0.0), (3.0, 2.0)]).unwrap();
        assert!((line.slope - 0.4).abs() < 1e-12 && (line.r_squared - 0.2).abs() < 1e-12);
        assert_eq!(Line::through(&[(1.0, 2.0)]), None);
        assert_eq!(Line::through(&[(1.0, 2.0), (1.0, 3.0)]), None);
    }
}
