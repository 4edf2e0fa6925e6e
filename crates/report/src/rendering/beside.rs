//! What is drawn beside the results of a run that goes on.

use crate::data::published::Published;
use crate::data::results::Results;

/// What charts by segment show beside results, where one run follows another and each is seen while it grows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside<'a> {
    /// Earlier runs: a faint line for each array that these results have too.
    pub earlier: &'a [Results],
    /// Published figures, also of segments that are yet to come.
    pub published: Option<&'a Published>,
    /// The segments of the whole run, so that the axis does not grow with it; 0 for those that there are.
    pub segments: u32,
}
