//! Ceph's fragmentation score of an allocator (`Allocator::get_fragmentation_score` of
//! `src/os/bluestore/Allocator.cc`).
//!
//! Each run has a worth: its bytes times a scale that grows with each doubling of the run, and is interpolated between
//! powers of two. The score is how far the worth of all runs is from that of one run, as a share of how far the worst
//! is. Squid (19) and later releases of Reef (18) have other scales and another worst than versions before
//! (<https://github.com/ceph/ceph/pull/49885>, backported by 59263).

use serde::Serialize;

/// Scores that differ by less are the same: Ceph adds in another order.
const SAME_SCORE: f64 = 1e-6;

/// A score as Ceph has printed it, and as it follows from the runs. 0 is one run, 1 only the shortest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CephScores {
    /// What `free-score` has printed, if it is in the list.
    pub told: Option<f64>,
    /// By the formula of Squid, and of Reef since its backport.
    pub computed: f64,
    /// By the formula before: runs of a byte are the worst there, so that it is smaller.
    pub computed_before_squid: f64,
}

impl CephScores {
    /// Returns whether the score that is told is one of those computed; true if none is told.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.told.is_none_or(|told| self.is_current(told) || self.is_before_squid(told))
    }

    fn is_current(&self, told: f64) -> bool {
        (told - self.computed).abs() < SAME_SCORE
    }

    fn is_before_squid(&self, told: f64) -> bool {
        (told - self.computed_before_squid).abs() < SAME_SCORE
    }
}

/// Scale of a doubling up to 1 MiB (`double_size_worth_small`).
const SMALL_SCALE: f64 = 1.2;
/// Scale of a doubling from 128 MiB on (`double_size_worth_huge`).
const HUGE_SCALE: f64 = 1.0;
/// Binary logarithms of these lengths; between them the scale falls in equal steps.
const SMALL_LOG: u32 = 20;
const HUGE_LOG: u32 = 27;
/// Scale of every doubling before (`double_size_worth`).
const OLD_SCALE: f64 = 1.1;

/// Returns the scale of the doubling to 2^`log` bytes.
fn scale_of_doubling(log: u32) -> f64 {
    if log >= HUGE_LOG {
        HUGE_SCALE
    } else if log > SMALL_LOG {
        let (above, below) = (f64::from(log - SMALL_LOG), f64::from(HUGE_LOG - log));
        (HUGE_SCALE * above + SMALL_SCALE * below) / f64::from(HUGE_LOG - SMALL_LOG)
    } else {
        SMALL_SCALE
    }
}

/// Returns the scales of runs of 2^0, 2^1, … bytes.
fn scales(of_doubling: fn(u32) -> f64) -> [f64; 65] {
    let mut scales = [1.0; 65];
    for log in 1..scales.len() {
        scales[log] = scales[log - 1] * of_doubling(log as u32);
    }
    scales
}

/// Returns the worth of a run.
fn worth(bytes: u64, scales: &[f64; 65]) -> f64 {
    let log = bytes.max(1).ilog2();
    let power = f64::from(log).exp2();
    let above = (bytes.max(1) as f64 - power) / power;
    let scale = |log: u32| scales[log as usize];
    power * scale(log) * (1.0 - above) + 2.0 * power * scale(log + 1) * above
}

fn score_of(runs: &[(u64, u64)], unit_bytes: u64, scales: &[f64; 65]) -> f64 {
    let free = runs
        .iter()
        .fold(0u64, |sum, (bytes, count)| sum.saturating_add(bytes.saturating_mul(*count)));
    let sum: f64 = runs.iter().map(|(bytes, count)| worth(*bytes, scales) * *count as f64).sum();
    let ideal = worth(free, scales);
    let worst = (free / unit_bytes.max(1)) as f64 * worth(unit_bytes, scales);
    if ideal <= worst { 0.0 } else { (ideal - sum) / (ideal - worst) }
}

/// Returns the score of runs, given as bytes of a run and their number, where `unit_bytes` are allocated at once.
pub(super) fn score(runs: &[(u64, u64)], unit_bytes: u64) -> f64 {
    score_of(runs, unit_bytes, &scales(scale_of_doubling))
}

/// Returns the score by the formula before Squid.
pub(super) fn score_before_squid(runs: &[(u64, u64)]) -> f64 {
    score_of(runs, 1, &scales(|_| OLD_SCALE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_scores_0_and_the_shortest_score_1() {
        assert_eq!(score(&[(1 << 30, 1)], 4096), 0.0);
        assert_eq!(score_before_squid(&[(1 << 30, 1)]), 0.0);
        assert!((score(&[(4096, 1000)], 4096) - 1.0).abs() < 1e-12);
        assert!((score_before_squid(&[(1, 1000)]) - 1.0).abs() < 1e-12);
        // To the formula before, runs of 4 KiB are far from the worst.
        assert!(score_before_squid(&[(4096, 1000)]) < 0.8);
    }

    #[test]
    fn scores_follow_the_formulas_worked_out_by_hand() {
        // 8 KiB in two runs of 4 KiB beside one of 8 KiB. Scales up to 4 KiB cancel.
        let runs = [(4096, 2), (8192, 1)];
        let by = |scale: f64, worst: f64| {
            let (double, whole) = (8192.0 * scale, 16384.0 * scale * scale);
            (whole - (2.0 * 4096.0 + double)) / (whole - worst)
        };
        assert!((score(&runs, 4096) - by(1.2, 4.0 * 4096.0)).abs() < 1e-12);
        // 16,384 runs of a byte, each worth 1, against scales of 1.1^12 for 4 KiB.
        let worst = 16384.0 / 1.1f64.powi(12);
        assert!((score_before_squid(&runs) - by(1.1, worst)).abs() < 1e-12);
        // From 128 MiB on nothing is lost by halving a run.
        let whole = 1u64 << 32;
        assert_eq!(score(&[(whole / 2, 2)], 4096), 0.0);
        assert!(score_before_squid(&[(whole / 2, 2)]) > 0.05);
        // Between 1 and 128 MiB a doubling is worth less and less.
        assert!((scale_of_doubling(21) - (1.2 - 0.2 / 7.0)).abs() < 1e-12);
        assert!((scale_of_doubling(26) - (1.0 + 0.2 / 7.0)).abs() < 1e-12);
    }
}
