#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod analysis;
mod data;

pub use analysis::bands::{BandSources, add_bands};
pub use analysis::busiest::{Busiest, busiest};
pub use analysis::claims::{JudgedClaim, JudgedFigure, judge};
pub use analysis::comparison::{
    compare, compare_rows, fitted_segments_by_array, off_percent, ratios, root_mean_square,
};
pub use analysis::figures::mib_per_s_on;
pub use analysis::findings::findings;
pub use analysis::independence::{follows_from_iops, independent_rows};
pub use analysis::like::{
    LikePair, have_same_mix, is_measure_of_array, like_kinds, like_pairs, like_positions,
};
pub use analysis::loss::{loss, loss_between, losses, unaccounted, unaccounted_between};
pub use analysis::overhead::{
    CapacityRule, DiskGroupCapacity, OverheadArray, OverheadConfiguration, OverheadError, overhead,
};
pub use analysis::phases::{PhaseFigures, phase_figures};
pub use analysis::runs::{CompareError, compare_runs};
pub use analysis::study::{JudgedPrediction, PredictionVerdict, place_among};
pub use analysis::sweep::{differences, mean_and_interval, noise_sentence};
pub use data::array::{ArrayResults, LayoutKind, Parameter, ParityGroup, Spindles, VdevClass};
pub use data::band::{
    ArrayBands, Bands, ChangeBand, ErrorsOverSeeds, ExcludedChange, FigureBand, FigureRange,
    SeedSource, SeedsAlone, SegmentBand, SensitivityUsed,
};
pub use data::claim::{Claim, ClaimTest, ClaimVerdict, ClaimedFigure, ClaimedOf, Claims};
pub use data::client_raid::ClientRaidFigures;
pub use data::columns::{COLUMNS, Column, Group, Place, Table, Unit, glossary};
pub use data::comparison::{
    CLOSE_PERCENT, ComparedRow, ComparedSegment, FittedSetting, Metric, PublishedComparison, Ratio,
    RowStatus,
};
pub use data::cost::{PartShare, SimulationCost};
pub use data::drive::{
    ClosedLoopFigures, DRIVE_CHARACTERIZATION_SCHEMA, DriveCharacterization, DriveFigures,
    LoopPoint, ReplayFigures, SeekPoint, ShippedDrive, TransferPoint,
};
pub use data::figure::{FigureMetric, FigureOf, Last, SegmentChoice};
pub use data::file::{
    FileCost, FileDevice, FileLayoutFigures, FileMap, FileOther, FilePerformance, FilePrediction,
    FileRecord, FileSimulation, FileTotals, FreeSpaceRecord, NotLookedAt, about_bytes,
    files_from_json, files_json,
};
pub use data::finding::{Finding, Severity};
pub use data::gateway::GatewayFigures;
pub use data::housekeeping::Housekeeping;
pub use data::json::{ResultsError, figures_json};
pub use data::layout_map::{ArrayMap, LayoutMap, Levels, MAP_COLUMNS, MAP_SCHEMA, Snapshot, Strip};
pub use data::live::{Fill, LogFigures, RealSpindles};
pub use data::loss::{Cause, Limit, Loss, LossPart, Unaccounted};
pub use data::machine::{
    BusiestLink, ControllerFigures, CoresFigures, HostProcessor, LinkFigures, MachineEvent,
    MachineFigures, TimeIn,
};
pub use data::number::{MB_PER_MIB, SIGNIFICANT_DIGITS, rounded, seconds};
pub use data::of_segment::{ResponseTime, SegmentLayout};
pub use data::overhead::OverheadRow;
pub use data::page_cache::PageCacheFigures;
pub use data::phase::Phase;
pub use data::pool::{L2arcFigures, PoolFigures, TrimFigures};
pub use data::published::{Published, PublishedArray, PublishedRatio};
pub use data::published_row::PublishedRow;
pub use data::redundancy::{DataLoss, REBUILD_NOTE, RESILVER_NOTE, Redundancy, SpindleFailure};
pub use data::relocation::{ReallocationScan, Relocated, Relocation};
pub use data::results::{GroupWords, Origin, QUICK_NOTE, Results, SCHEMA, Scaled, Setting};
pub use data::runs::{
    COMPARISON_SCHEMA, ComparedArray, ComparedFigures, ComparedRun, DifferingParameter, RunFigures,
    RunsComparison, SegmentOfRuns,
};
pub use data::segment::{
    Cache, Checks, ConsistencyPoints, FreeSpace, GroupFigures, HostReadHits, ReadAhead, Segment,
    SpindleCommands, StripeDestages, Utilization,
};
pub use data::sensitivity::{
    ArraySensitivity, RowOutcome, SENSITIVITY_SCHEMA, Sensitivity, SensitivityRow, VariedKind,
};
pub use data::snapshots::Snapshots;
pub use data::statistic::Statistic;
pub use data::students_t::students_t;
pub use data::study_text::{Argument, Prediction, StudyText};
pub use data::sweep::{
    AxisValue, MissingRun, SWEEP_SCHEMA, Sweep, SweepAxis, SweepBase, SweepChartKind,
    SweepChartSpec, SweepDifference, SweepFigure, SweepRow,
};
pub use data::toml_text::{TomlError, TomlText};
pub use data::trace::{
    RecordedSegment, TraceFigures, TraceFootprint, TraceInterval, TraceOrder, TraceRates,
    TraceRecorded, TraceResponses, TraceSizeBin, TraceSizes, TraceSkipped, TraceVolume,
};
pub use data::trend::is_steady;
pub use data::volume::VolumeFigures;
pub use data::workload::{
    AccessMix, HostFigures, HostLoad, Ignored, LimitedOperations, OperationFigures, RateLimit,
    TraceReplay, Workload, WorkloadFigures, WorkloadKind, WorkloadWorker,
};
pub use strewn_alloc::MAP_LEVELS;

/// Figures, quantities and kinds of operations in words: the same in tables, charts and pages.
pub mod words {
    pub use crate::analysis::sweep::by_chance;
    pub use crate::data::lines::wrapped;
    pub use crate::data::number::{fixed, grouped, signed, with_commas};
    pub use crate::data::phase::{kind_in_words, subject};
    pub use crate::data::quantity::{about, in_words};
    pub use crate::data::snapshots::gib_of;
}
