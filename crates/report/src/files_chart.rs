//! Charts of real files: their map, and their history.

use crate::chart::{ChartError, ChartStyle};
use crate::line_chart::{Across, Line, LineChart, Up};
use crate::map_chart;
use crate::marker::Appearance;
use crate::shown::shown_path;
use strewn_results::FileMap;

/// Draws where files lie on their devices, one row for each device of a file.
///
/// # Errors
///
/// If there is no file with a place, or the size is out of bounds.
pub fn files_map(maps: &[FileMap], style: ChartStyle) -> Result<String, ChartError> {
    map_chart::of_files(maps, style)
}

/// The title of [`file_history_chart`], by which such a chart is known.
pub const FILE_HISTORY_TITLE: &str = "Commands per request over time";

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
    let longest =
        files.iter().flat_map(|file| &file.points).map(|point| point.0).fold(0.0, f64::max);
    let (scale, across) = match longest {
        hours if hours > 72.0 => (1.0 / 24.0, "days since the first measurement"),
        hours if hours > 2.0 => (1.0, "hours since the first measurement"),
        _ => (60.0, "minutes since the first measurement"),
    };
    let lines = files.iter().enumerate().map(|(position, file)| Line {
        name: shown_path(&file.path),
        appearance: Appearance::of(position),
        hollow: false,
        points: file.points.iter().map(|(hours, commands)| (hours * scale, *commands)).collect(),
    });
    let of = match files {
        [only] => format!("{}: {access}", shown_path(&only.path)),
        _ => access.to_owned(),
    };
    LineChart {
        title: FILE_HISTORY_TITLE,
        subtitles: vec![format!("{of}, as the file lay at each measurement.")],
        across: Across::FromZero(across),
        up: Up::FromZero("commands per request"),
        lines: lines.collect(),
        legend_columns: 2,
    }
    .draw(style)
}
