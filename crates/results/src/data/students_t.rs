//! Student's t distribution.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::data::number::rounded;

/// Significant digits of a quantile. Machines differ in the last bits of a logarithm; this hides them, so every machine
/// writes the same interval.
const QUANTILE_DIGITS: usize = 7;

/// Returns the 97.5 % quantile of Student's t distribution: the true mean lies within this many standard errors of the
/// measured one with 95 % probability. None for zero degrees of freedom.
///
/// ```
/// assert_eq!(strewn_results::students_t(2), Some(4.302653));
/// ```
#[must_use]
pub fn students_t(degrees_of_freedom: usize) -> Option<f64> {
    // Zero degrees are an error of the distribution.
    let distribution = StudentsT::new(0.0, 1.0, degrees_of_freedom as f64).ok()?;
    Some(rounded(distribution.inverse_cdf(0.975), QUANTILE_DIGITS))
}
