//! Iometer's files: configurations and results.
//!
//! | file | here |
//! |---|---|
//! | `.icf` | [`Configuration`]: read and written whole; versions 1998.01.05 to 1.1.0 |
//! | `results.csv` | [`Results`]: written with Iometer's 80 columns, read by the columns' names |
//!
//! [`Configuration::features`] lists the settings of a file that a simulation may not honour.
//!
//! Sources: Iometer's own source code (`AccessSpecList.cpp`, `PageSetup.cpp`, `Manager.cpp`, `ManagerList.cpp`,
//! `Worker.cpp` of iometer-org/iometer) and, for old files, that of eilerjc/iometer.

mod access_specification;
mod configuration;
mod cursor;
mod feature;
mod read;
mod read_managers;
mod read_specifications;
mod result_cells;
mod result_columns;
mod result_row;
mod results;
mod results_read;
mod version;
mod write;

pub use access_specification::{AccessLine, AccessSpecification, DefaultAssignment};
pub use configuration::{
    BarChart, BarItem, Configuration, Cycling, DataPattern, Manager, QueueDepthCycling,
    RecordResults, ResultsDisplay, RunTime, StepType, Target, TargetSettings, TestSetup, TestType,
    UpdateType, Worker, WorkerCount, WorkerKind,
};
pub use feature::{Feature, FeatureUse};
pub use result_columns::RESULT_COLUMNS;
pub use result_row::{
    LATENCY_BIN_COUNT, LoadFigures, Measured, RawFigures, ResponseTimes, ResultRow, RowKind,
    Throughput, latency_bin,
};
pub use results::{Results, TestResults};
pub use version::Version;
