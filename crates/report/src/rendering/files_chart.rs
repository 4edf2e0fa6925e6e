//! Charts of real files: their map, and their history.

use crate::data::file::FileMap;
use crate::rendering::chart::{ChartError, ChartStyle};
use crate::rendering::line_chart::{Across, Line, LineChart, Up};
use crate::rendering::map_chart;
use crate::rendering::marker::Appearance;

/// Draws where files lie on their devices, one row for each device of a file.
///
/// # Errors
///
/// If there is no file with a place, or the size is out of bounds.
pub fn files_map(maps: &[FileMap], style: ChartStyle) -> Result<String, ChartError> {
    map_chart::of_files(maps, style)
}

/// A figure of a file over time.
#[derive(Clone, Debug, PartialEq)]
pub struct FileHistory {
    /// The file.
    pub path: String,
    /// Hours since the first measurement, and commands per request then.
    pub points: Vec<(f64, f64)>,
}

/// Draws commands per request by hour, a line for each file.
///
/// # Errors
///
/// If there is no measurement, or the size is out of bounds.
pub fn file_history_chart(
    files: &[FileHistory],
    access: &str,
    style: ChartStyle,
) -> Result<String, ChartError> {
    let lines = files.iter().enumerate().map(|(position, file)| Line {
        name: file.path.clone(),
        appearance: Appearance::of(position),
        hollow: false,
        points: file.points.clone(),
    });
    LineChart {
        title: "Commands per request over time",
        subtitles: vec![format!("{access}, as the file lay at each measurement.")],
        across: Across::FromZero("hours since the first measurement"),
        up: Up::FromZero("commands per request"),
        lines: lines.collect(),
        legend_columns: 2,
    }
    .draw(style)
}
