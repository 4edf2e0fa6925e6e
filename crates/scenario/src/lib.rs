//! Experiments as TOML files, checked on load.
//!
//! A scenario says what an experiment is: a workload, the arrays that are given it, what may be
//! fitted to published figures, and what the spindles beside the working ones cost. It is written
//! in the units people use and read into plain data in base units, so that everything after this
//! crate works in bytes and nanoseconds and can rely on what was checked here.
//!
//! ```
//! use strewn_scenario::{Layout, Scenario};
//!
//! let text = r#"
//! schema = 1
//! name = "small"
//! title = "A small write-anywhere array"
//! seed = 1
//! segments = 2
//! segment = "20 min"
//!
//! [workload]
//! access_specification = "file-server"
//! file = "10 GiB"
//!
//! [[array]]
//! name = "small"
//! outstanding = 32
//! lun = "100 GB"
//! spindle = "seagate-cheetah-15k5-st3146855fc"
//! commands_per_spindle = 8
//! scheduler = "sptf"
//!
//! [array.processor]
//! host_operation = "76 us"
//! spindle_command = "110 us"
//! per_kib = "0.5 us"
//!
//! [array.write_anywhere]
//! parity = "raid-4"
//! data_spindles = 4
//! right_sized = "136000 MiB"
//! reserve_percent = 10
//! policy = "emptiest-area"
//! area_stripes = 4096
//! tetris_stripes = 64
//! chunk_blocks = 64
//! tetrises_in_flight = 2
//! log_half = "64 MiB"
//! log_record_header = "160 B"
//! checkpoint_interval = "10 s"
//! buffer_cache = "512 MiB"
//! protected_percent = 50
//! dirty_limit_percent = 30
//! delayed_free_percent = 1
//! cache_start = "metadata"
//! "#;
//! let scenario = Scenario::parse(text, "small.toml")?;
//! assert_eq!(scenario.segment_ns, 1_200_000_000_000);
//! assert!(matches!(scenario.arrays[0].layout, Layout::WriteAnywhere(_)));
//!
//! // A slip is refused at its line, with what would be right.
//! let error = Scenario::parse(&text.replace("data_spindles", "data_spindels"), "small.toml")
//!     .expect_err("there is no such key");
//! let problem = &error.problems()[0];
//! assert_eq!((problem.line(), problem.column()), (28, 1));
//! assert_eq!(problem.help(), "did you mean `data_spindles`?");
//! # Ok::<(), strewn_scenario::ScenarioError>(())
//! ```
//!
//! [`ScenarioError`] holds every problem of a text at once as data: the field, the message, what
//! would be right, and the span, line and column. How they are shown is up to the program.
//!
//! Calibration varies a checked scenario with [`Scenario::set_parameter`] and writes what it found
//! into the file's text with [`record_fitted`]. [`Scenario::scaled_down`] makes one that runs in a
//! fraction of the time.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod array;
mod catalog;
mod failure;
mod in_place;
mod nearest;
mod overhead;
mod parameter;
mod problem;
mod quantity;
mod record;
mod scale;
mod scenario;
mod section;
mod value;
mod workload;
mod write_anywhere;

pub use array::{Array, Fitted, Layout, Processor, SpindleChoice};
pub use failure::SpindleFailure;
pub use in_place::{InPlace, Vraid};
pub use overhead::{Overhead, OverheadConfiguration};
pub use parameter::{ParameterError, ParameterUnit};
pub use problem::{Problem, ProblemKind, ScenarioError};
pub use quantity::{Bytes, Nanoseconds, QuantityError};
pub use record::{RecordError, record_fitted};
pub use scenario::Scenario;
pub use strewn_raid::{Parity, ProtectionLevel};
pub use strewn_workload::AccessLine;
pub use workload::{AccessSpecificationChoice, Workload};
pub use write_anywhere::{CacheStart, WriteAnywhere};

/// The JSON schema of a scenario's file, for editors that check TOML by one.
pub const SCHEMA_JSON: &str = include_str!("scenario.schema.json");
