//! The files of a run or a report, built in memory.

use std::path::Path;

use strewn::report::{self, ChartError, RESULTS_CHARTS, Report};
use strewn::results::{Column, LayoutMap, Results};
use strewn::terminal::{self, Failure};

use super::arguments::{Format, FormatArguments, PictureArguments, TableArguments, TableFormat};
use super::out_directory::{OutDirectory, OutFile};
use super::provenance;

pub(crate) const RESULTS: &str = "results.json";
pub(crate) const MAP: &str = "map.json";
pub(crate) const SCENARIO: &str = "scenario.toml";
const SEGMENTS: &str = "segments.csv";
const SEGMENTS_MARKDOWN: &str = "segments.md";
const SEGMENTS_PARQUET: &str = "segments.parquet";
const REPORT: &str = "report.html";

/// What the files are built from.
pub(crate) struct Shown<'a> {
    pub(crate) results: &'a Results,
    pub(crate) map: Option<&'a LayoutMap>,
    /// The text of the scenario.
    pub(crate) scenario: Option<&'a str>,
}

/// Returns the names of all files that any run may write, so that files of an earlier run are not left beside this
/// one's.
pub(crate) fn names_of_run() -> Vec<String> {
    let own = [RESULTS, MAP, SCENARIO, provenance::FILE].map(str::to_owned);
    let charts = RESULTS_CHARTS.iter().map(|chart| chart.file_stem());
    let pictures = charts.flat_map(|stem| ["svg", "png"].map(|ending| format!("{stem}.{ending}")));
    let made = [SEGMENTS, SEGMENTS_MARKDOWN, SEGMENTS_PARQUET, REPORT].map(str::to_owned);
    own.into_iter().chain(made).chain(pictures).collect()
}

/// Returns the formats of the tables of segments in a directory that this build can write, or the default.
pub(crate) fn formats_in(directory: &Path) -> Vec<TableFormat> {
    let mut formats = vec![TableFormat::Csv, TableFormat::Markdown];
    if cfg!(feature = "parquet") {
        formats.push(TableFormat::Parquet);
    }
    formats.retain(|format| directory.join(segments_name(*format)).exists());
    if formats.is_empty() { vec![TableFormat::Csv] } else { formats }
}

fn segments_name(format: TableFormat) -> &'static str {
    match format {
        TableFormat::Csv => SEGMENTS,
        TableFormat::Markdown => SEGMENTS_MARKDOWN,
        TableFormat::Parquet => SEGMENTS_PARQUET,
    }
}

/// Returns the names of all files that a report may write.
pub(crate) fn names_of_report(pictures: &PictureArguments, formats: &[TableFormat]) -> Vec<String> {
    let charts = RESULTS_CHARTS.iter().map(|chart| chart.file_stem());
    let segments = formats.iter().map(|format| segments_name(*format).to_owned());
    segments
        .chain([REPORT.to_owned()])
        .chain(charts.flat_map(|stem| picture_names(stem, pictures)))
        .collect()
}

/// Returns the names of a chart's files.
pub(crate) fn picture_names(stem: &str, pictures: &PictureArguments) -> Vec<String> {
    let endings: &[&str] = if pictures.png { &["svg", "png"] } else { &["svg"] };
    endings.iter().map(|ending| format!("{stem}.{ending}")).collect()
}

/// Builds the files of a run; `json` is the text of its results.
pub(crate) fn of_run(shown: &Shown<'_>, json: &str) -> Result<Vec<OutFile>, Failure> {
    let mut files = vec![(RESULTS.to_owned(), json.as_bytes().to_vec())];
    if let Some(map) = shown.map {
        files.push((MAP.to_owned(), map.to_json_string().map_err(failed)?.into_bytes()));
    }
    if let Some(scenario) = shown.scenario {
        files.push((SCENARIO.to_owned(), scenario.as_bytes().to_vec()));
    }
    Ok(files)
}

/// Builds every file that is derived from results.
pub(crate) fn of_report(
    shown: &Shown<'_>,
    pictures: &PictureArguments,
    formats: &[TableFormat],
    columns: &[&'static Column],
) -> Result<Vec<OutFile>, Failure> {
    let Shown { results, map, scenario } = *shown;
    let html = Report { results, map, scenario }.to_html().map_err(failed)?;
    let tables = formats.iter().map(|format| segments(results, *format, columns));
    let mut files = tables.collect::<Result<Vec<_>, _>>()?;
    files.push((REPORT.to_owned(), html.into_bytes()));
    for chart in RESULTS_CHARTS {
        match chart.draw(results, map, pictures.style()) {
            Ok(Some(svg)) => files.extend(picture(chart.file_stem(), svg, pictures)?),
            // A run that lost data in its first segment has nothing to draw.
            Ok(None) | Err(ChartError::NothingToDraw) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(files)
}

/// What a run gives: the text for standard output, and files.
pub(crate) struct RunOutput {
    pub(crate) text: String,
    /// Whether a program is to read it.
    pub(crate) is_for_programs: bool,
    /// The measurements, and the files derived from them.
    pub(crate) files: Option<OutputFiles>,
}

/// The files of a run, for a directory.
pub(crate) struct OutputFiles {
    pub(crate) out: OutDirectory,
    pub(crate) measured: Vec<OutFile>,
    pub(crate) made: Result<Vec<OutFile>, Failure>,
}

fn files_of(count: usize) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}

/// Returns what is printed of a run; `json` is the text of its results.
pub(crate) fn printed(
    results: &Results,
    json: &str,
    format: &FormatArguments,
    table: &TableArguments,
) -> Result<String, Failure> {
    let columns = table.columns();
    Ok(match format.format() {
        Format::Json => json.to_owned(),
        Format::Csv => {
            let mut bytes = Vec::new();
            report::write_segments_csv(results, &columns, &mut bytes).map_err(failed)?;
            String::from_utf8_lossy(&bytes).into_owned()
        }
        Format::Text | Format::Markdown | Format::Latex => {
            let width = if table.has_all() { usize::MAX } else { terminal::table_width() };
            format.draw_within(width, || report::all_tables_of(results, &columns))
        }
    })
}

/// Prints what a run found, and then writes its files. A full disk, a closed output or a chart that cannot be drawn
/// does not lose the rest; the first failure is returned.
pub(crate) fn publish(output: RunOutput) -> Result<(), Failure> {
    let RunOutput { text, is_for_programs, files } = output;
    let printed = terminal::print(&text);
    let Some(OutputFiles { out, mut measured, made }) = files else { return printed };
    let shown = out.path().display();
    let from_results = format!("the results are there: strewn report {shown}");
    let made = made.map(|made| measured.extend(made));
    let written = out.write(&measured, |results_are_written| match results_are_written {
        true => format!("make room; {from_results}"),
        false => {
            "make room, and run again with the same seed: the figures will be the same".to_owned()
        }
    });
    let undrawn = made.map_err(|failure| failure.with_help(from_results.clone()));
    if written.is_ok() && undrawn.is_ok() {
        let said = match measured.iter().any(|(name, _)| name == REPORT) {
            true => format!(
                "Written into {shown}: {REPORT}, and {} more.",
                files_of(measured.len() - 1)
            ),
            false => format!("Written into {shown}: {}.", files_of(measured.len())),
        };
        match is_for_programs {
            // Nothing else goes to standard output, and nothing to a log.
            true => terminal::say_to_person(&said),
            // Nothing is printed of a run that was to be quiet.
            false if text.is_empty() => {}
            false if printed.is_ok() => terminal::print(&format!("\n{said}\n"))?,
            false => {}
        }
    }
    written.and(undrawn).and(printed)
}

fn segments(
    results: &Results,
    format: TableFormat,
    columns: &[&'static Column],
) -> Result<OutFile, Failure> {
    let mut bytes = Vec::new();
    match format {
        TableFormat::Csv => {
            report::write_segments_csv(results, columns, &mut bytes).map_err(failed)?
        }
        TableFormat::Markdown => bytes = report::segments_markdown(results, columns).into_bytes(),
        #[cfg(feature = "parquet")]
        TableFormat::Parquet => {
            report::write_segments_parquet(results, columns, &mut bytes).map_err(failed)?;
        }
        // The argument checks refused this before anything ran.
        #[cfg(not(feature = "parquet"))]
        TableFormat::Parquet => return Err(Failure::failed("built without Parquet")),
    }
    Ok((segments_name(format).to_owned(), bytes))
}

/// Returns the files of a rendered chart.
pub(crate) fn picture(
    stem: &str,
    svg: String,
    pictures: &PictureArguments,
) -> Result<Vec<OutFile>, Failure> {
    #[cfg(feature = "png")]
    let png = pictures.png.then(|| report::png(&svg)).transpose().map_err(failed)?;
    // The argument checks refused this before anything ran.
    #[cfg(not(feature = "png"))]
    let png: Option<Vec<u8>> = None;
    let contents = [Some(svg.into_bytes()), png].into_iter().flatten();
    Ok(picture_names(stem, pictures).into_iter().zip(contents).collect())
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::failed(error.to_string())
}
