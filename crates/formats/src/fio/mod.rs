//! fio's files: jobs, results as JSON, logs of I/O.
//!
//! | file | here |
//! |---|---|
//! | job file | [`JobFile`]: every job with its options resolved; ignored and refused options, by name and line |
//! | `--output-format=json` and `json+` | [`Output`]: written with fio's keys, in fio's order and form; read by `serde` |
//! | iolog, version 2 and 3 | [`IologReader`], [`IologWriter`] |
//!
//! Sources: the manual page of fio 3.33 and runs of it. Where the two differ, this crate follows the program and notes
//! the difference.

mod distribution;
mod duration;
mod engine;
mod iolog;
mod job;
mod job_file;
mod json;
mod latency;
mod option;
mod output;
mod output_read;
mod per_direction;
mod setting;
mod size;
mod split;

pub use distribution::DistributionPercent;
pub use iolog::{IologAction, IologEntry, IologReader, IologVersion, IologWriter};
pub use job::{
    BlockSizes, Distribution, Extent, Job, Pattern, PatternDirection, RateProcess, SizeShare,
    ThinkTime, Zone, ZoneShare,
};
pub use job_file::{JobFile, OptionNote};
pub use latency::{LatencyBins, LatencyStatistics, bin_ns, percentile_list};
pub use output::{DirectionResult, JobResult, Output, SyncResult};
pub use per_direction::PerDirection;

pub(crate) use iolog::{IologParser, is_iolog_header};
