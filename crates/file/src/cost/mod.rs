//! What the layout of a file costs: drive commands per request, and what a simulated drive makes of them.

mod analysis;
mod commands;
mod contiguous;
mod lun;
mod model;
mod options;
mod prediction;
mod requests;
mod resolution;
mod simulation;
mod verdict;
mod workload;

pub use analysis::{CostAnalysis, CostAnalysisOptions, CostReport};
pub use commands::{CommandCounts, DEFAULT_MAX_COMMAND_BYTES, Merging};
pub use contiguous::ContiguousPlacement;
pub use lun::{LunRequest, LunRequests};
pub use model::SpindleModel;
pub use options::CostOptions;
pub use prediction::{
    AgingOptions, BTRFS_BATCH_WRITES, PredictedLayout, Prediction, WritePolicy,
    XFS_COPIED_UNIT_BYTES,
};
pub use requests::{DEFAULT_REQUESTS, Request, RequestPlan};
pub use resolution::{CostPass, FileCommands};
pub use simulation::{AddressShift, FileCost, LayoutCost, SimulatedFigures};
pub use verdict::{Advice, Change, Comparison, SpeedUnit, TRIFLE_S, UNCHANGED_SHARE, Verdict};
pub use workload::{DEFAULT_OUTSTANDING, FileStream, FileWorkload, Order};
