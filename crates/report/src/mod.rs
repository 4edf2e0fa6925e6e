//! How data and analysis are presented: text tables, CSV, Parquet, charts as SVG and PNG, the report in HTML.

#[cfg(feature = "charts")]
pub(crate) mod axis;
pub(crate) mod band_words;
#[cfg(feature = "charts")]
mod bands;
#[cfg(feature = "charts")]
mod bar_chart;
#[cfg(feature = "charts")]
pub(crate) mod beside;
#[cfg(feature = "charts")]
mod canvas;
#[cfg(feature = "charts")]
pub(crate) mod chart;
pub(crate) mod claims_table;
pub(crate) mod client_raid_table;
mod columns;
mod controller_work;
pub(crate) mod cost_table;
pub(crate) mod csv;
#[cfg(feature = "charts")]
pub(crate) mod drive_chart;
pub(crate) mod drive_table;
#[cfg(feature = "charts")]
mod embedded_font;
pub(crate) mod failures_table;
#[cfg(feature = "charts")]
pub(crate) mod files_chart;
pub(crate) mod files_table;
pub(crate) mod groups_table;
pub(crate) mod headline;
#[cfg(feature = "charts")]
pub(crate) mod html;
#[cfg(feature = "charts")]
mod legend;
#[cfg(feature = "charts")]
mod line_chart;
pub(crate) mod loss_table;
pub(crate) mod machine_table;
#[cfg(feature = "charts")]
mod map_chart;
#[cfg(feature = "charts")]
mod marker;
pub(crate) mod page_cache_table;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
pub(crate) mod phases_table;
#[cfg(feature = "charts")]
mod plot;
#[cfg(feature = "png")]
pub(crate) mod png;
pub(crate) mod prediction_words;
#[cfg(feature = "charts")]
pub(crate) mod results_chart;
#[cfg(feature = "charts")]
mod rows_chart;
pub(crate) mod rows_table;
#[cfg(feature = "charts")]
pub(crate) mod runs_chart;
mod runs_table;
#[cfg(feature = "charts")]
pub(crate) mod segment_chart;
#[cfg(feature = "charts")]
mod sheet;
#[cfg(feature = "charts")]
pub(crate) mod study_page;
pub(crate) mod study_summary;
#[cfg(feature = "charts")]
pub(crate) mod sweep_chart;
pub(crate) mod sweep_csv;
pub(crate) mod sweep_table;
mod sweep_words;
pub(crate) mod table;
mod table_column;
#[cfg(feature = "png")]
mod text_outlines;
#[cfg(feature = "charts")]
pub(crate) mod theme;
#[cfg(feature = "charts")]
mod throughput_chart;
#[cfg(feature = "charts")]
mod value_mark;
