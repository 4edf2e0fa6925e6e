//! How data and analysis are presented: text tables, CSV, Parquet, charts as SVG and PNG, the report in HTML.

pub(crate) mod axis;
mod bar_chart;
mod canvas;
pub(crate) mod chart;
mod columns;
pub(crate) mod cost_table;
pub(crate) mod csv;
pub(crate) mod drive_chart;
pub(crate) mod drive_table;
pub(crate) mod failures_table;
pub(crate) mod headline;
pub(crate) mod html;
mod legend;
mod line_chart;
pub(crate) mod loss_table;
mod map_chart;
mod marker;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
mod plot;
#[cfg(feature = "png")]
pub(crate) mod png;
pub(crate) mod results_chart;
pub(crate) mod runs_chart;
mod runs_table;
pub(crate) mod segment_chart;
mod sheet;
pub(crate) mod table;
#[cfg(feature = "png")]
mod text_outlines;
pub(crate) mod theme;
mod value_mark;
