#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod axis;
mod band_words;
mod bands;
mod bar_chart;
mod beside;
mod canvas;
mod chart;
mod claims_table;
mod columns;
mod controller_work;
mod cost_table;
mod csv;
mod drive_chart;
mod drive_table;
mod embedded_font;
mod failures_table;
mod files_chart;
mod files_table;
mod group_tables;
mod groups_table;
mod headline;
mod html;
mod legend;
mod line_chart;
mod loss_table;
mod machine_table;
mod map_chart;
mod marker;
mod overhead_table;
#[cfg(feature = "parquet")]
mod parquet;
mod phases_table;
mod plot;
#[cfg(feature = "png")]
mod png;
mod prediction_words;
mod published_tables;
mod rank_correlation;
mod recorded_table;
mod results_chart;
mod rows_chart;
mod rows_table;
mod runs_chart;
mod runs_table;
mod segment_chart;
mod segments_table;
mod sheet;
mod shown;
mod study_page;
mod study_summary;
mod sweep_chart;
mod sweep_csv;
mod sweep_design;
mod sweep_table;
mod sweep_words;
mod table;
#[cfg(feature = "png")]
mod text_outlines;
mod theme;
mod throughput_chart;
mod trace_chart;
mod trace_table;
mod value_mark;
mod volumes_table;
mod workloads_table;

pub use beside::{Beside, Curve};
pub use chart::{ChartError, ChartSize, ChartStyle};
pub use claims_table::{claims_check, claims_table};
pub use columns::{Drawing, TableForm, words_table};
pub use cost_table::cost_tables;
pub use csv::{segments_markdown, write_segments_csv};
pub use drive_chart::{DRIVE_CHARTS, DriveChart};
pub use drive_table::{closed_loop_text, drive_tables, replay_text, shipped_drives_table};
pub use failures_table::failures_table;
pub use files_chart::{FILE_HISTORY_TITLE, FileHistory, file_history_chart, files_map};
pub use files_table::{
    earlier_files, file_totals_sentence, files_comparison, files_table, free_space_table,
    write_files_csv,
};
pub use group_tables::{client_raid_table, page_cache_table};
pub use groups_table::groups_table;
pub use headline::headline;
pub use html::{
    FilesReport, MAP_SCRIPT, Report, ReportError, ReportParts, ReportSection, SweepReport,
    TIPS_SCRIPT, page_style, render_page, within_script,
};
pub use loss_table::loss_table;
pub use machine_table::machine_table;
pub use overhead_table::overhead_table;
#[cfg(feature = "parquet")]
pub use parquet::{write_segments_parquet, write_sweep_parquet};
pub use phases_table::phases_table;
#[cfg(feature = "png")]
pub use png::{PNG_SCALE, png};
pub use prediction_words::predictions_sentence;
pub use published_tables::{fitted_table, summary_table};
pub use recorded_table::recorded_table;
pub use results_chart::{RESULTS_CHARTS, ResultsChart};
pub use rows_table::rows_table;
pub use runs_chart::runs_chart;
pub use runs_table::{runs_csv, runs_tables};
pub use segment_chart::{iops_chart, response_chart};
pub use segments_table::segments_table;
pub use shown::{shown_path, shown_text};
pub use study_page::{
    StudyPageError, StudySource, is_study_page, markdown_in_lines, study_depends, study_finding,
    study_page,
};
pub use study_summary::study_summary;
pub use sweep_chart::{SweepChart, sweep_charts};
pub use sweep_csv::{write_differences_csv, write_sweep_csv};
pub use sweep_table::sweep_table;
pub use sweep_words::is_sweep_chart;
pub use table::{TABLE_COLUMNS, all_tables, all_tables_of, brief};
pub use theme::Theme;
pub use trace_chart::{TRACE_CHARTS, TraceChart};
pub use trace_table::trace_text;
pub use volumes_table::volumes_table;
pub use workloads_table::workloads_table;
