//! What is computed from the data: errors against published figures, causes of a loss, cost, differences between runs.

pub(crate) mod bands;
mod beyond_bands;
pub(crate) mod busiest;
pub(crate) mod claims;
pub(crate) mod comparison;
mod effects;
pub(crate) mod figures;
pub(crate) mod findings;
mod in_run;
pub(crate) mod independence;
pub(crate) mod like;
pub(crate) mod loss;
pub(crate) mod obstacle;
pub(crate) mod overhead;
pub(crate) mod phases;
pub(crate) mod runs;
pub(crate) mod study;
pub(crate) mod sweep;
mod verdicts;
