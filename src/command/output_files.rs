//! The files that `--out` asks for, made in memory.

use strewn::report::{self, ChartSize, Results};
use strewn::terminal::Failure;

/// Their names, in the order of [`of`].
pub(crate) const NAMES: [&str; 4] = ["results.json", "segments.csv", "iops.svg", "response.svg"];

/// The contents of every file for `results`, of which `json` is the text.
pub(crate) fn of(results: &Results, json: &str) -> Result<[Vec<u8>; 4], Failure> {
    let mut csv = Vec::new();
    report::write_segments_csv(results, &mut csv)
        .map_err(|error| Failure::failed(error.to_string()))?;
    let size = ChartSize::default();
    let chart = |drawn: Result<String, report::ChartError>| {
        drawn.map(String::into_bytes).map_err(|error| Failure::failed(error.to_string()))
    };
    Ok([
        json.as_bytes().to_vec(),
        csv,
        chart(report::iops_chart(results, &size))?,
        chart(report::response_chart(results, &size))?,
    ])
}
