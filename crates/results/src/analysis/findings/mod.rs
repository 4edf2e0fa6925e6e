//! What a reader of results must know before the tables. Each kind of finding is a file here, and a line in
//! [`FINDERS`].

mod age;
mod difference;
mod goal;
mod limit;
mod littles_law;
mod metadata;
mod rate;
mod refused;
mod spilled;
mod step;
mod warm_up;

use crate::data::finding::Finding;
use crate::data::results::Results;

/// In the order in which a reader needs them.
const FINDERS: [fn(&Results) -> Vec<Finding>; 11] = [
    refused::find,
    spilled::find,
    goal::find,
    rate::find,
    age::find,
    warm_up::find,
    limit::find,
    metadata::find,
    difference::find,
    step::find,
    littles_law::find,
];

/// Returns the findings of results: those first that say that figures are not of what the scenario describes, then
/// those that say what figures do not show, then what explains them.
#[must_use]
pub fn findings(results: &Results) -> Vec<Finding> {
    let mut all: Vec<Finding> = FINDERS.iter().flat_map(|find| find(results)).collect();
    all.sort_by_key(|finding| finding.severity);
    all
}
