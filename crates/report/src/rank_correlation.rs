//! Which axes matter, where combinations are scattered: rank correlations of axes with figures.

use crate::sweep_design::{DesignShape, SweepDesign};
use strewn_results::words::by_chance;
use strewn_results::{Sweep, rounded, students_t};

/// Significant digits: machines differ in the last bits.
const DIGITS: usize = 8;
/// With fewer points any correlation is chance.
const LEAST_POINTS: usize = 5;

/// The correlations of a sweep, by axis and then by figure.
pub(crate) struct RankCorrelations {
    pub(crate) all: Vec<RankCorrelation>,
    /// Combinations that differ in an axis of numbers.
    pub(crate) points: usize,
    /// A correlation beyond this, on either side, is more than chance with 95 % probability.
    pub(crate) bound: f64,
}

/// Spearman's rank correlation of an axis of numbers with a figure.
pub(crate) struct RankCorrelation {
    pub(crate) axis: usize,
    pub(crate) figure: usize,
    /// From -1, always less with more, to 1, always more with more.
    pub(crate) rho: f64,
}

impl RankCorrelations {
    /// Correlates each axis of numbers with each figure that is not by segment. None unless combinations are scattered,
    /// as those of a Latin hypercube are.
    pub(crate) fn of(sweep: &Sweep, design: &SweepDesign<'_>) -> Option<Self> {
        if design.shape != DesignShape::Scattered {
            return None;
        }
        let numeric = || design.varied.iter().filter(|axis| sweep.axes[**axis].is_numeric());
        // A hypercube that is crossed with words has each point several times.
        let mut points: Vec<Vec<usize>> = (0..design.len())
            .map(|combination| design.at(combination))
            .filter(|at| !at.is_empty())
            .map(|at| numeric().filter_map(|axis| at.get(*axis).copied()).collect())
            .collect();
        points.sort_unstable();
        points.dedup();
        let points = points.len();
        let mut all = Vec::new();
        for axis in numeric().copied() {
            let whole = (0..sweep.figures.len()).filter(|one| !sweep.figures[*one].by_segment);
            for figure in whole {
                let pairs = sweep.rows.iter().filter(|row| row.figure == figure);
                let pairs = pairs.filter_map(|row| {
                    Some((sweep.axes[axis].values.get(*row.at.get(axis)?)?.number?, row.mean?))
                });
                let pairs: Vec<(f64, f64)> = pairs.collect();
                all.extend(spearman(&pairs).map(|rho| RankCorrelation { axis, figure, rho }));
            }
        }
        if all.is_empty() || points < LEAST_POINTS {
            return None;
        }
        let degrees = points - 2;
        let quantile = students_t(degrees)?;
        let bound = quantile / (degrees as f64 + quantile * quantile).sqrt();
        Some(Self { all, points, bound: rounded(bound, DIGITS) })
    }

    pub(crate) fn is_beyond_chance(&self, one: &RankCorrelation) -> bool {
        one.rho.abs() > self.bound
    }

    /// Returns how large a correlation must be, and how many would be by chance.
    pub(crate) fn sentence(&self) -> String {
        let Self { all, points, bound } = self;
        let by_chance = by_chance(all.len());
        format!(
            "Over {points} points, a rank correlation beyond \u{b1}{bound:.2} is more than chance (95 %); if nothing had any \
             effect, {by_chance} of these {} would be beyond it.",
            all.len()
        )
    }
}

/// Returns the correlation of the ranks; none if either side is always the same.
fn spearman(pairs: &[(f64, f64)]) -> Option<f64> {
    let here = ranks(pairs.iter().map(|pair| pair.0).collect());
    let there = ranks(pairs.iter().map(|pair| pair.1).collect());
    let middle = (pairs.len() as f64 - 1.0) / 2.0;
    let product = |one: &[f64], other: &[f64]| -> f64 {
        one.iter().zip(other).map(|(one, other)| (one - middle) * (other - middle)).sum()
    };
    let scale = (product(&here, &here) * product(&there, &there)).sqrt();
    (scale > 0.0).then(|| rounded(product(&here, &there) / scale, DIGITS))
}

/// Returns the rank of each number, from 0; equal ones share the mean of their ranks.
fn ranks(numbers: Vec<f64>) -> Vec<f64> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|one, other| numbers[*one].total_cmp(&numbers[*other]));
    let mut ranks = vec![0.0; numbers.len()];
    let mut below = 0;
    for equal in order.chunk_by(|one, other| numbers[*one] == numbers[*other]) {
        let rank = below as f64 + (equal.len() as f64 - 1.0) / 2.0;
        equal.iter().for_each(|at| ranks[*at] = rank);
        below += equal.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_decide_and_equal_numbers_share_theirs() {
        assert_eq!(spearman(&[(1.0, 5.0), (2.0, 50.0), (30.0, 51.0)]), Some(1.0));
        assert_eq!(spearman(&[(1.0, 9.0), (2.0, 4.0), (30.0, -1.0)]), Some(-1.0));
        assert_eq!(spearman(&[(1.0, 9.0), (2.0, 9.0)]), None);
        assert_eq!(ranks(vec![7.0, 3.0, 7.0, 9.0]), [1.5, 0.0, 1.5, 3.0]);
        // 1 - 6 * sum of squared differences / (n (n^2 - 1)), without equal numbers.
        let pairs = [(1.0, 2.0), (2.0, 1.0), (3.0, 4.0), (4.0, 3.0), (5.0, 5.0)];
        assert_eq!(spearman(&pairs), Some(0.8));
    }
}
