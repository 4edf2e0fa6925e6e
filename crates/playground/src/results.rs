//! Results, tables and charts of what the arrays have done.

use serde_json::{Value, json};
use strewn_report::{
    Beside, ChartError, ChartStyle, Curve, RESULTS_CHARTS, Report, write_segments_csv,
};
use strewn_results::rounded;
use strewn_run::ArrayRun;

use crate::refusal::Refusal;

use crate::source::Source;

/// What the page knows of a run.
pub(crate) struct Of<'a> {
    pub(crate) wall_seconds: f64,
    /// Whether arrays are still running.
    pub(crate) goes_on: bool,
    /// The curves of earlier runs.
    pub(crate) earlier: &'a [Vec<Curve>],
}

/// Puts together what the arrays have done: an empty attachment for one that has done nothing yet.
pub(crate) fn results(source: &Source, done: &[&[u8]], of: &Of<'_>) -> Result<Value, Refusal> {
    let failed = |error: &dyn std::fmt::Display| Refusal::failed(error.to_string());
    let run = source.run(&source.scenario()?)?;
    if done.len() != run.scenario().arrays.len() {
        return Err(Refusal::failed("there is not one attachment for each array"));
    }
    let read = |bytes: &&[u8]| match bytes.is_empty() {
        true => Ok(ArrayRun::default()),
        false => ArrayRun::from_bytes(bytes).map_err(|error| failed(&error)),
    };
    let done = done.iter().map(read).collect::<Result<_, _>>()?;
    let (mut results, map) = run.results(done)?;
    results.wall_seconds = rounded(of.wall_seconds, 4);

    let mut csv = Vec::new();
    write_segments_csv(&results, &[], &mut csv).map_err(|error| failed(&error))?;
    let files = (results.to_json_string().map_err(|error| failed(&error))?, csv);
    // Nobody has stopped it.
    results.partial &= !of.goes_on;
    let beside = Beside {
        earlier: of.earlier,
        published: run.published(),
        segments: run.scenario().segments,
    };
    let report = Report { results: &results, map: Some(&map), scenario: Some(&source.text) };
    let parts = report.to_parts(&beside).map_err(|error| failed(&error))?;
    let mut charts = Vec::new();
    for chart in RESULTS_CHARTS {
        match chart.draw(&results, Some(&map), ChartStyle::default()) {
            Ok(Some(svg)) => charts.push(json!({ "name": chart.file_stem(), "svg": svg })),
            Ok(None) | Err(ChartError::NothingToDraw) => {}
            Err(error) => return Err(failed(&error)),
        }
    }
    let mut notes = parts.notes;
    if of.goes_on {
        notes.push("Still running: these are the figures so far.".to_owned());
    }
    Ok(json!({
        "ok": true,
        "results": files.0,
        "curves": Curve::all_of(&results),
        "map": map.to_json_string().map_err(|error| failed(&error))?,
        "partial": results.partial,
        "csv": String::from_utf8_lossy(&files.1),
        "headline": parts.heading,
        "run": parts.run,
        "notes": notes,
        "accuracy": parts.accuracy,
        "sections": parts.sections,
        "charts": charts,
    }))
}
