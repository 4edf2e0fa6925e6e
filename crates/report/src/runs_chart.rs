//! Runs side by side, as a chart.

use crate::beside::Beside;
use crate::chart::{ChartError, ChartStyle};
use crate::segment_chart::{Shown, segment_chart};
use crate::sheet::high_enough;
use strewn_results::{Metric, Results, compare_runs};

/// Draws IOPS or mean response time by segment for all arrays that runs share, one line for each run. Published figures
/// are drawn once.
///
/// # Errors
///
/// If no array is in common, there is no segment, a figure cannot be drawn, or the size is out of bounds.
pub fn runs_chart(
    runs: &[(String, &Results)],
    metric: Metric,
    style: ChartStyle,
) -> Result<String, ChartError> {
    let Ok(comparison) = compare_runs(runs) else { return Err(ChartError::NothingToDraw) };
    let mut shown = Vec::new();
    let mut subtitles = Vec::new();
    for array in &comparison.arrays {
        for (position, run) in array.runs.iter().enumerate() {
            let (name, results) = &runs[*run];
            let Some(found) = results.array(array.name_in(position)) else { continue };
            shown.push(Shown {
                results,
                array: found,
                name: format!("{}, {name}", found.name),
                // The dashes of all runs would coincide.
                shows_published: position == 0,
            });
        }
    }
    for (name, results) in runs {
        let (scenario, seed, strewn) = (&results.scenario, results.seed, &results.strewn);
        let caveats = results.chart_caveats().join(" ");
        subtitles.push(
            format!("{name}: {scenario}, seed {seed}, strewn {strewn}. {caveats}")
                .trim()
                .to_owned(),
        );
    }
    high_enough(style, |style| {
        segment_chart(&shown, metric, subtitles.clone(), &Beside::default(), style)
    })
}
