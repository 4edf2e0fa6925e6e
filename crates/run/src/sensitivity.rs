//! How far predictions move when what they rest on does: constants that nobody published, rows that were fitted, seeds.

use std::path::Path;

use strewn_scenario::Scenario;

use crate::refit::{self, Refit, RefitError, RefitOptions, Variation};
use crate::run::Observer;

/// Other seeds that are tried.
const OTHER_SEEDS: u64 = 2;
