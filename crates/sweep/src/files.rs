//! The files of a sweep's directory: its table, charts and report.

use strewn_report::{ChartStyle, StudySource, SweepChart, SweepReport, sweep_charts};
use strewn_report::{write_differences_csv, write_sweep_csv};
use strewn_results::Sweep;

use crate::planned_study::PlannedStudy;

/// A file: its name and contents.
pub type File = (String, Vec<u8>);

/// A file of a sweep cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("{name} cannot be made: {reason}")]
pub struct SweepFileError {
    /// Its name.
    name: String,
    reason: String,
}

/// Returns the files that `strewn sweep` writes of a sweep, the same bytes for the same figures: `sweep.json`,
/// `sweep.csv`, `differences.csv`, its charts, `report.html`, and `sweep.parquet` with the feature `parquet`.
///
/// # Errors
/// If a figure is infinite or a chart cannot be drawn.
pub fn files(
    sweep: &Sweep,
    study: &PlannedStudy,
    style: ChartStyle,
) -> Result<Vec<File>, SweepFileError> {
    let mut files =
        vec![("sweep.json".to_owned(), made("sweep.json", sweep.to_json_string())?.into_bytes())];
    let mut table = Vec::new();
    made("sweep.csv", write_sweep_csv(sweep, &mut table))?;
    files.push(("sweep.csv".to_owned(), table));
    let mut differences = Vec::new();
    made("differences.csv", write_differences_csv(sweep, &mut differences))?;
    files.push(("differences.csv".to_owned(), differences));
    #[cfg(feature = "parquet")]
    {
        let mut table = Vec::new();
        made("sweep.parquet", strewn_report::write_sweep_parquet(sweep, &mut table))?;
        files.push(("sweep.parquet".to_owned(), table));
    }
    for SweepChart { file_stem, svg, .. } in pictures(sweep, study, style)? {
        files.push((format!("{file_stem}.svg"), svg.into_bytes()));
    }
    let report = SweepReport { sweep, charts: &study.charts, text: &study.text };
    files.push(("report.html".to_owned(), made("report.html", report.to_html())?.into_bytes()));
    Ok(files)
}

/// The charts of a sweep.
fn pictures(
    sweep: &Sweep,
    study: &PlannedStudy,
    style: ChartStyle,
) -> Result<Vec<SweepChart>, SweepFileError> {
    made("a chart", sweep_charts(sweep, &study.charts, style))
}

/// Returns the page of a study, `NAME.md`, and the charts that it shows, `NAME.svg` or `NAME-1.svg` and so on.
///
/// # Errors
/// If a chart cannot be drawn, or the study's words quote what the sweep does not have.
pub fn page(
    sweep: &Sweep,
    study: &PlannedStudy,
    source: &StudySource,
) -> Result<Vec<File>, SweepFileError> {
    let name = &study.name;
    let pictures = pictures(sweep, study, ChartStyle::default())?;
    let count = pictures.len();
    let mut charts = Vec::new();
    let mut files = Vec::new();
    for (number, SweepChart { title, svg, .. }) in (1..).zip(pictures) {
        let file = if count == 1 { format!("{name}.svg") } else { format!("{name}-{number}.svg") };
        charts.push((file.clone(), title));
        files.push((file, svg.into_bytes()));
    }
    let page_name = format!("{name}.md");
    let page = made(&page_name, strewn_report::study_page(sweep, &study.text, &charts, source))?;
    files.insert(0, (page_name, page.into_bytes()));
    Ok(files)
}

fn made<T, E: std::fmt::Display>(name: &str, made: Result<T, E>) -> Result<T, SweepFileError> {
    made.map_err(|error| SweepFileError { name: name.to_owned(), reason: error.to_string() })
}
