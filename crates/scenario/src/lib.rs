//! Storage experiments as TOML files, checked in full on load.
//!
//! A scenario describes one experiment: the workload, the arrays that run it, the parameters that
//! may be fitted to published figures, and the cost of spare and root spindles. The file uses the
//! units people use, such as `"64 MiB"` and `"20 min"`. [`Scenario`] holds plain data in bytes and
//! nanoseconds that has passed every check, so the code that runs it need not check again.
//!
//! ```
//! use strewn_scenario::Scenario;
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
//! assert!(scenario.arrays[0].layout.write_anywhere().is_some());
//!
//! // A misspelt key is refused at its line, with the key that was meant.
//! let error = Scenario::parse(&text.replace("data_spindles", "data_spindels"), "small.toml")
//!     .expect_err("there is no such key");
//! let problem = &error.problems()[0];
//! assert_eq!((problem.line(), problem.column()), (28, 1));
//! assert_eq!(problem.help(), "did you mean `data_spindles`?");
//! # Ok::<(), strewn_scenario::ScenarioError>(())
//! ```
//!
//! [`ScenarioError`] holds every problem of a text at once, as data: the field, the message, the
//! remedy, and the span, line and column. The program decides how to show them.
//!
//! [`Scenario::load`] reads a file of the disk, and [`Scenario::parse`] a text and nothing else, so that it works where
//! there is no disk. The drive profiles that a text names come from the [`Files`] that [`Scenario::parse_with_files`]
//! is given.
//!
//! [`Scenario::parse_with`] changes settings by name while it reads a text, and [`Scenario::edited`] changes them in a
//! text, as a form does. Both keep its comments.
//!
//! Calibration varies a checked scenario with [`Scenario::set_parameter`], and writes the result
//! into the file with [`record_fitted`], which changes nothing else in it.
//! [`Scenario::scaled_down`] makes a scenario that runs in a fraction of the time.
//!
//! Code may set any field. [`Scenario::check`] checks what came of it, as a run does first, and [`Scenario::to_toml`]
//! writes it as a file with every setting. [`Default`] is the scenario of [`Template::BOTH`], and serde reads and
//! writes scenarios as the tables of their files, checked.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod array;
mod between_parts;
pub mod build;
mod catalog;
mod client_raid;
mod describe;
mod digest;
mod document;
mod edit;
mod failure;
mod fields;
mod files;
mod fitted;
mod fitted_rows;
mod fitted_values;
mod format;
mod front_end;
mod gateway;
mod host;
pub mod kinds;
mod lun;
mod machine;
mod nearest;
mod origin;
mod overhead;
mod page_cache;
mod parameter;
mod parameter_value;
mod phase;
mod place;
mod presets;
mod problem;
mod processor;
mod protocol;
mod quantity;
mod read_ahead;
mod record;
mod scale;
mod scenario;
mod set;
mod setting_value;
mod settings;
mod snapshots;
mod source_text;
mod spindle_choice;
mod template;
mod unknown;
mod until;
mod value;
mod volume;
mod warnings;
mod workload;

pub use array::Array;
pub use catalog::SCHEDULERS;
pub use client_raid::{ClientRaid, LostBlade};
pub use describe::{schema_json, settings_markdown};
pub use failure::SpindleFailure;
pub use fields::{ArrayParameter, Control, ParameterUnit, Setting, Takes};
pub use files::{Disk, Files, NoFiles, ProfileFile};
pub use fitted::Fitted;
pub use fitted_rows::FittedRows;
pub use fitted_values::with_settings;
pub use front_end::{FrontEnd, HostReceives, PerKib};
pub use gateway::Gateway;
pub use host::Host;
pub use kinds::in_place::{DiskGroup, InPlace, InPlaceLayout};
pub use kinds::write_anywhere::{FurtherGroup, OtherData, PlacedGroup, WriteAnywhere};
pub use kinds::{ArrayLayout, MOST_GROUPS};
pub use lun::Lun;
pub use machine::{Link, Pair};
pub use origin::Origin;
pub use overhead::{Overhead, OverheadConfiguration};
pub use page_cache::{CacheWrites, PageCache, WakeUps};
pub use parameter::ParameterError;
pub use phase::Phase;
pub use problem::{Problem, ProblemKind, ScenarioError};
pub use processor::{Processor, ProcessorWork};
pub use quantity::{Bytes, Nanoseconds, QuantityError};
pub use record::{RecordFittedError, record_fitted};
pub use scenario::Scenario;
pub use set::SetError;
pub use setting_value::SettingValue;
pub use snapshots::SnapshotSchedule;
pub use source_text::SourceText;
pub use spindle_choice::SpindleChoice;
pub use strewn_alloc::{Chunks, PolicyName};
pub use strewn_array::Format;
pub use strewn_array::write_anywhere::{
    BackgroundScan, BackgroundWork, CacheStart, ReallocationScan, RelocationConfig,
};
pub use strewn_raid::{Parity, ProtectionLevel};
pub use strewn_spindle::Scheduler;
pub use strewn_transport::{
    Forwarding, LaneRule, Protocol, RouterOptions, RouterStorage, Transport,
};
pub use strewn_workload::AccessLine;
pub use template::Template;
pub use unknown::Unknown;
pub use until::Until;
pub use volume::{Volume, VolumeLuns};
pub use workload::{AccessSpecificationChoice, MOST_OUTSTANDING, NamedWorkload, Workload};

/// The example of the README, compiled and run with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
