//! Results as data, tables and charts, beside published figures.
//!
//! A run of a scenario ends in one value, [`Results`]: what every array measured in every segment,
//! and the numbers it was configured with. [`compare`] and [`ratios`] set that beside [`Published`]
//! figures, [`overhead()`] works out what would have to be bought, and the rest shows it: as JSON and
//! CSV for programs, as text tables, [`RESULTS_CHARTS`] and a [`Report`] in HTML for people. A
//! [`LayoutMap`] shows where blocks lie, [`losses`] where IOPS went, [`compare_runs`] what differs between
//! runs. Nothing here runs an experiment, and nothing is printed.
//!
//! Everything that shows figures says which segments a parameter was fitted to and which were
//! predicted.
//!
//! ```
//! use strewn_report::{Metric, Published, Results};
//! # use strewn_report::{ArrayResults, LayoutKind, Parameter, ResponseTime, SCHEMA, Segment, Spindles};
//!
//! let published = Published::from_toml(
//!     r#"
//!     title = "A test"
//!     author = "Somebody"
//!     year = 2008
//!     [[array]]
//!     name = "A"
//!     iops = [4000, 3000]
//!     "#,
//!     "a-test.published.toml",
//! )?;
//! # let segment = |index, iops| Segment {
//! #     index, seconds: 60.0, ops: 1, iops, mib_per_s: 1.0,
//! #     response_ms: ResponseTime { mean: 150.0 / iops, ..Default::default() },
//! #     utilization: Default::default(), spindle_commands: Default::default(),
//! #     cache: Default::default(), layout: Default::default(), free_space: None, consistency_points: None,
//! #     checks: Default::default(), redundancy: None, host: None,
//! # };
//! # let array = ArrayResults {
//! #     name: "A".into(), layout: LayoutKind::WriteAnywhere, outstanding: 150, lun_bytes: None,
//! #     spindles: Spindles::default(),
//! #     parameters: vec![Parameter {
//! #         name: "p".into(), unit: "us".into(), value: 76.0, fitted: true,
//! #         fitted_to_segments: vec![1], source: String::new(),
//! #     }],
//! #     segments: vec![segment(1, 4000.0), segment(2, 3030.0)],
//! #     failures: vec![], data_loss: None,
//! # };
//! # let mut results = Results {
//! #     schema: SCHEMA, scenario: "s".into(), seed: 1, strewn: "0.1.0".into(), wall_seconds: 0.0,
//! #     host_ops: 2, partial: false, scaled: None, load: None, workload: None, real_spindles: None, arrays: vec![array], published: vec![],
//! #     ratios: vec![], overhead: vec![], losses: vec![],
//! # };
//!
//! // An array that was fitted to segment 1 and did 3030 IOPS in segment 2:
//! let fitted = strewn_report::fitted_segments_by_array(&results.arrays);
//! results.published = strewn_report::compare(&published, &results.arrays, &fitted);
//! assert_eq!(results.published[0].metric, Metric::Iops);
//! assert_eq!(results.published[0].predicted_rms_error_percent, Some(1.0));
//!
//! let json = results.to_json_string()?;
//! assert_eq!(Results::from_json(&json)?, results);
//! println!("{}", strewn_report::all_tables(&results));
//! let svg = strewn_report::iops_chart(&results, strewn_report::ChartStyle::default())?;
//! assert!(svg.starts_with("<svg"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod analysis;
mod data;
mod rendering;

pub use analysis::comparison::{compare, fitted_segments_by_array, ratios};
pub use analysis::loss::{loss, losses};
pub use analysis::overhead::{
    CapacityRule, OverheadArray, OverheadConfiguration, OverheadError, overhead,
};
pub use analysis::runs::{CompareError, compare_runs};
pub use data::comparison::{ComparedSegment, Metric, PublishedComparison, Ratio};
pub use data::cost::{PartShare, SimulationCost};
pub use data::drive::{
    ClosedLoopFigures, DRIVE_STUDY_SCHEMA, DriveFigures, DriveStudy, LoopPoint, ReplayFigures,
    SeekPoint, TransferPoint,
};
pub use data::json::{ResultsError, figures_json};
pub use data::layout_map::{
    ArrayMap, LayoutMap, Levels, MAP_COLUMNS, MAP_LEVELS, MAP_SCHEMA, MapPicture, Snapshot, Strip,
};
pub use data::live::{Fill, LogFigures, RealSpindles};
pub use data::loss::{Cause, Limit, Loss, LossPart};
pub use data::number::{SIGNIFICANT_DIGITS, rounded};
pub use data::overhead::OverheadRow;
pub use data::published::{Published, PublishedArray, PublishedError, PublishedRatio};
pub use data::redundancy::{DataLoss, Redundancy, SpindleFailure};
pub use data::results::{
    ArrayResults, LayoutKind, Origin, Parameter, Results, SCHEMA, Scaled, Spindles,
};
pub use data::runs::{
    COMPARISON_SCHEMA, ComparedArray, ComparedRun, DifferingParameter, RunFigures, RunsComparison,
    SegmentOfRuns,
};
pub use data::segment::{
    Cache, Checks, ConsistencyPoints, FreeSpace, ResponseTime, Segment, SegmentLayout,
    SpindleCommands, Utilization,
};
pub use data::workload::{
    AccessMix, HostFigures, HostLoad, Ignored, OperationFigures, TraceReplay, Workload,
    WorkloadKind, WorkloadWorker,
};
pub use rendering::chart::{ChartError, ChartSize, ChartStyle};
pub use rendering::cost_table::cost_tables;
pub use rendering::csv::write_segments_csv;
pub use rendering::drive_chart::{DRIVE_CHARTS, DriveChart};
pub use rendering::drive_table::{closed_loop_text, drive_tables, replay_text};
pub use rendering::failures_table::failures_table;
pub use rendering::html::{Report, ReportError};
pub use rendering::loss_table::loss_table;
#[cfg(feature = "parquet")]
pub use rendering::parquet::write_segments_parquet;
#[cfg(feature = "png")]
pub use rendering::png::{PNG_SCALE, png};
pub use rendering::results_chart::{RESULTS_CHARTS, ResultsChart};
pub use rendering::runs_chart::runs_chart;
pub use rendering::segment_chart::{iops_chart, response_chart};
pub use rendering::table::{
    all_tables, fitted_table, overhead_table, segments_table, summary_table,
};
pub use rendering::theme::Theme;
