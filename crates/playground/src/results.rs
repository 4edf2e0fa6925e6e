//! Results, tables and charts of what the arrays have done.

use serde_json::{Value, json};
use strewn::report::{
    Beside, ChartError, ChartStyle, RESULTS_CHARTS, Report, Results, rounded, write_segments_csv,
};
use strewn::{ArrayRun, Failure, RunInParts};

use crate::source::Source;

/// Puts together what the arrays have done: an empty attachment for one that has done nothing yet.
pub(crate) fn results(
    source: &Source,
    done: &[&[u8]],
    wall_seconds: f64,
    earlier: &[String],
) -> Result<Value, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::failed(error.to_string());
    let scenario = source.scenario()?;
    let published = source.published(&scenario)?;
    let run = RunInParts::new(&scenario, source.scale_down, published.clone())?;
    if done.len() != scenario.arrays.len() {
        return Err(Failure::failed("there is not one attachment for each array"));
    }
    let read = |bytes: &&[u8]| match bytes.is_empty() {
        true => Ok(ArrayRun::default()),
        false => ArrayRun::from_bytes(bytes).map_err(|error| failed(&error)),
    };
    let done = done.iter().map(read).collect::<Result<_, _>>()?;
    let (mut results, map) = run.results(done)?;
    results.wall_seconds = rounded(wall_seconds, 4);
    let earlier: Vec<Results> =
        earlier.iter().filter_map(|text| Results::from_json(text).ok()).collect();

    let mut csv = Vec::new();
    write_segments_csv(&results, &mut csv).map_err(|error| failed(&error))?;
    let beside = Beside {
        earlier: &earlier,
        published: published.as_ref(),
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
    Ok(json!({
        "ok": true,
        "results": results.to_json_string().map_err(|error| failed(&error))?,
        "map": map.to_json_string().map_err(|error| failed(&error))?,
        "csv": String::from_utf8_lossy(&csv),
        "headline": parts.heading,
        "run": parts.run,
        "notes": parts.notes,
        "sections": parts.sections,
        "charts": charts,
    }))
}
