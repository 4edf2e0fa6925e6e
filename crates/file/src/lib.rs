//! Where the blocks of real files lie, how fragmented that is, and what it costs.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod cost;
mod error;
mod extent;
mod measure;
mod space;

pub use cost::{
    AddressShift, Advice, AgingOptions, BTRFS_BATCH_WRITES, Change, CommandCounts, Comparison,
    ContiguousPlacement, CostOptions, CostPass, CostReport, CostStudy, DEFAULT_MAX_COMMAND_BYTES,
    DEFAULT_OUTSTANDING, DEFAULT_REQUESTS, FileCommands, FileCost, FileStream, FileWorkload,
    LayoutCost, LunRequest, LunRequests, Order, PredictedLayout, Prediction, Request, RequestPlan,
    SimulatedFigures, SpeedUnit, SpindleModel, StudyOptions, UNCHANGED_SHARE, Verdict, WritePolicy,
};
pub use error::FileError;
pub use extent::{Address, Extent, Place};
pub use measure::{LayoutMeasures, LayoutPass};
pub use space::{AddressSpace, Device, Piece};
