//! Times in results.

use strewn_results::{SIGNIFICANT_DIGITS, rounded};

pub(crate) const NS_PER_S: f64 = 1e9;

/// Returns a time in seconds, as results have it.
pub(crate) fn seconds(ns: u64) -> f64 {
    rounded(ns as f64 / NS_PER_S, SIGNIFICANT_DIGITS)
}
