#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod analysis;
mod data;
mod rendering;

pub use analysis::bands::{BandSources, add_bands};
pub use analysis::claims::{ClaimVerdict, JudgedClaim, JudgedFigure, judge};
pub use analysis::comparison::{
    compare, compare_rows, fitted_segments_by_array, ratios, root_mean_square,
};
pub use analysis::like::{LikePair, like_kinds, like_pairs};
pub use analysis::loss::{loss, losses};
pub use analysis::overhead::{
    CapacityRule, DiskGroupCapacity, OverheadArray, OverheadConfiguration, OverheadError, overhead,
};
pub use analysis::phases::{PhaseFigures, phase_figures};
pub use analysis::runs::{CompareError, compare_runs};
pub use analysis::study::{JudgedPrediction, PredictionVerdict, place_among};
pub use analysis::sweep::{differences, mean_and_interval, noise_sentence, students_t};
pub use data::band::{
    ArrayBands, Bands, ChangeBand, ErrorsOverSeeds, ExcludedChange, FigureBand, FigureRange,
    SeedSource, SeedsAlone, SegmentBand, SensitivityUsed,
};
pub use data::claim::{Claim, ClaimTest, ClaimedFigure, ClaimedOf, Claims};
pub use data::client_raid::ClientRaidFigures;
pub use data::comparison::{
    ComparedRow, ComparedSegment, FittedSetting, Metric, PublishedComparison, Ratio, RowStatus,
};
pub use data::cost::{PartShare, SimulationCost};
pub use data::drive::{
    ClosedLoopFigures, DRIVE_STUDY_SCHEMA, DriveFigures, DriveStudy, LoopPoint, ReplayFigures,
    SeekPoint, TransferPoint,
};
pub use data::figure::{FigureMetric, FigureOf, Last, SegmentChoice, Statistic};
pub use data::file::{
    FileCost, FileDevice, FileLayoutFigures, FileMap, FileOther, FilePerformance, FilePrediction,
    FileRecord, FileSimulation, FileTotals, FreeSpaceRecord, NotLookedAt, about_bytes,
    files_from_json, files_json,
};
pub use data::gateway::GatewayFigures;
pub use data::housekeeping::Housekeeping;
pub use data::json::{ResultsError, figures_json};
pub use data::layout_map::{
    ArrayMap, LayoutMap, Levels, MAP_COLUMNS, MAP_LEVELS, MAP_SCHEMA, MapPicture, Snapshot, Strip,
};
pub use data::live::{Fill, LogFigures, RealSpindles};
pub use data::loss::{Cause, Limit, Loss, LossPart};
pub use data::machine::{
    ControllerFigures, CoresFigures, HostProcessor, LinkFigures, MachineEvent, MachineFigures,
    TimeIn,
};
pub use data::number::{SIGNIFICANT_DIGITS, rounded};
pub use data::overhead::OverheadRow;
pub use data::page_cache::PageCacheFigures;
pub use data::phase::Phase;
pub use data::published::{Published, PublishedArray, PublishedRatio};
pub use data::published_row::PublishedRow;
pub use data::redundancy::{DataLoss, Redundancy, SpindleFailure};
pub use data::relocation::{ReallocationScan, Relocated, Relocation};
pub use data::results::{
    ArrayResults, LayoutKind, Origin, Parameter, ParityGroup, Results, SCHEMA, Scaled, Setting,
    Spindles,
};
pub use data::runs::{
    COMPARISON_SCHEMA, ComparedArray, ComparedRun, DifferingParameter, RunFigures, RunsComparison,
    SegmentOfRuns,
};
pub use data::segment::{
    Cache, Checks, ConsistencyPoints, FreeSpace, GroupFigures, HostReadHits, ReadAhead,
    ResponseTime, Segment, SegmentLayout, SpindleCommands, StripeDestages, Utilization,
};
pub use data::sensitivity::{
    ArraySensitivity, RowOutcome, SENSITIVITY_SCHEMA, Sensitivity, SensitivityRow, VariedKind,
};
pub use data::snapshots::Snapshots;
pub use data::study_text::{Argument, Prediction, StudyText};
pub use data::sweep::{
    AxisValue, MissingRun, SWEEP_SCHEMA, Sweep, SweepAxis, SweepBase, SweepChartKind,
    SweepChartSpec, SweepDifference, SweepFigure, SweepRow,
};
pub use data::toml_text::{TomlError, TomlText};
pub use data::volume::VolumeFigures;
pub use data::workload::{
    AccessMix, HostFigures, HostLoad, Ignored, OperationFigures, TraceReplay, Workload,
    WorkloadFigures, WorkloadKind, WorkloadWorker,
};
#[cfg(feature = "charts")]
pub use rendering::beside::{Beside, Curve};
#[cfg(feature = "charts")]
pub use rendering::chart::{ChartError, ChartSize, ChartStyle};
pub use rendering::claims_table::claims_table;
pub use rendering::client_raid_table::client_raid_table;
pub use rendering::cost_table::cost_tables;
pub use rendering::csv::write_segments_csv;
#[cfg(feature = "charts")]
pub use rendering::drive_chart::{DRIVE_CHARTS, DriveChart};
pub use rendering::drive_table::{closed_loop_text, drive_tables, replay_text};
pub use rendering::failures_table::failures_table;
#[cfg(feature = "charts")]
pub use rendering::files_chart::{FILE_HISTORY_TITLE, FileHistory, file_history_chart, files_map};
pub use rendering::files_table::{
    earlier_files, file_totals_sentence, files_comparison, files_table, free_space_table,
    shown_path, write_files_csv,
};
pub use rendering::groups_table::groups_table;
pub use rendering::headline::headline;
#[cfg(feature = "charts")]
pub use rendering::html::{
    FilesReport, Playground, Report, ReportError, ReportParts, ReportSection, SweepReport,
};
pub use rendering::loss_table::loss_table;
pub use rendering::machine_table::machine_table;
pub use rendering::page_cache_table::page_cache_table;
#[cfg(feature = "parquet")]
pub use rendering::parquet::{write_segments_parquet, write_sweep_parquet};
pub use rendering::phases_table::phases_table;
#[cfg(feature = "png")]
pub use rendering::png::{PNG_SCALE, png};
pub use rendering::prediction_words::predictions_sentence;
#[cfg(feature = "charts")]
pub use rendering::results_chart::{RESULTS_CHARTS, ResultsChart};
pub use rendering::rows_table::rows_table;
#[cfg(feature = "charts")]
pub use rendering::runs_chart::runs_chart;
#[cfg(feature = "charts")]
pub use rendering::segment_chart::{iops_chart, response_chart};
#[cfg(feature = "charts")]
pub use rendering::study_page::{StudyPageError, StudySource, study_page};
pub use rendering::study_summary::study_summary;
#[cfg(feature = "charts")]
pub use rendering::sweep_chart::{SweepChart, sweep_charts};
pub use rendering::sweep_csv::{write_differences_csv, write_sweep_csv};
pub use rendering::sweep_table::sweep_table;
pub use rendering::table::{
    all_tables, fitted_table, overhead_table, segments_table, summary_table, volumes_table,
    workloads_table,
};
#[cfg(feature = "charts")]
pub use rendering::theme::Theme;
