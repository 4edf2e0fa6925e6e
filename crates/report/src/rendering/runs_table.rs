//! Runs side by side, as text and as CSV.

use crate::data::number::{fixed, signed};
use crate::data::runs::{
    ComparedArray, ComparedRun, DifferingParameter, RunFigures, RunsComparison, SegmentOfRuns,
};
use crate::rendering::columns::{Columns, response_decimals};
use crate::rendering::csv::csv_text;

impl RunsComparison {
    /// Returns as text the runs, and for each array its differing settings, the IOPS and the mean response times.
    #[must_use]
    pub fn tables(&self) -> String {
        let mut text = Columns::<ComparedRun>::new()
            .words("run", |run| run.name.clone())
            .words("scenario", |run| run.scenario.clone())
            .number("seed", |run| run.seed.to_string())
            .words("strewn", |run| run.strewn.clone())
            .number("scale", |run| match run.scaled_by {
                1 => "full".to_owned(),
                by => format!("1/{by}"),
            })
            .words("", |run| if run.partial { "partial" } else { "" }.to_owned())
            .render(&self.runs);
        for array in &self.arrays {
            if !array.parameters.is_empty() {
                let mut columns = Columns::<DifferingParameter>::new()
                    .words("set differently", |row| row.name.clone());
                for (position, run) in array.runs.iter().enumerate() {
                    columns = columns.number(self.runs[*run].name.clone(), move |row| {
                        row.values[position].clone().unwrap_or_else(|| "-".to_owned())
                    });
                }
                text.push_str(&format!(
                    "\n{}\n\n{}",
                    array.name,
                    columns.render(&array.parameters)
                ));
            }
            text.push_str(&format!("\n{}: IOPS\n\n", array.name));
            text.push_str(&self.figures_table(array, 0, |figures| {
                (figures.iops, figures.iops_difference_percent)
            }));
            text.push_str(&format!("\n{}: mean response time, ms\n\n", array.name));
            // Files and flash answer within fractions of a millisecond.
            let mut figures =
                array.segments.iter().flat_map(|segment| segment.figures.iter().flatten());
            let is_quick = figures.any(|figures| figures.response_ms < 10.0);
            text.push_str(&self.figures_table(array, response_decimals(is_quick), |figures| {
                (figures.response_ms, figures.response_difference_percent)
            }));
        }
        if !self.left_out.is_empty() {
            text.push_str(&format!(
                "\nIn one run alone, and not compared: {}\n",
                self.left_out.join(", ")
            ));
        }
        text
    }

    fn figures_table(
        &self,
        array: &ComparedArray,
        decimals: usize,
        figure: fn(&RunFigures) -> (f64, Option<f64>),
    ) -> String {
        let mut columns =
            Columns::<SegmentOfRuns>::new().number("segment", |row| row.index.to_string());
        for (position, run) in array.runs.iter().enumerate() {
            columns = columns.number(self.runs[*run].name.clone(), move |row| {
                row.figures[position]
                    .map_or_else(|| "-".to_owned(), |of| fixed(figure(&of).0, decimals))
            });
            if position > 0 {
                columns = columns.number("%", move |row| {
                    let difference = row.figures[position].and_then(|of| figure(&of).1);
                    difference.map_or_else(|| "-".to_owned(), |percent| signed(percent, 1))
                });
            }
        }
        columns.render(&array.segments)
    }

    /// Returns a row per run, array and segment, as comma-separated values (RFC 4180).
    #[must_use]
    pub fn csv(&self) -> String {
        let names = [
            "run",
            "array",
            "segment",
            "host_ops_per_s",
            "host_ops_per_s_difference_percent",
            "response_mean_ms",
            "response_mean_difference_percent",
            "spindle_commands_per_host_op",
            "layout_score_0_to_1",
        ];
        let mut rows = vec![names.map(str::to_owned).to_vec()];
        let optional =
            |figure: Option<f64>| figure.map(|figure| figure.to_string()).unwrap_or_default();
        for array in &self.arrays {
            for (position, run) in array.runs.iter().enumerate() {
                for segment in &array.segments {
                    let Some(of) = segment.figures[position] else { continue };
                    rows.push(vec![
                        self.runs[*run].name.clone(),
                        array.name_in(position).to_owned(),
                        segment.index.to_string(),
                        of.iops.to_string(),
                        optional(of.iops_difference_percent),
                        of.response_ms.to_string(),
                        optional(of.response_difference_percent),
                        of.commands_per_host_op.to_string(),
                        of.layout_score.to_string(),
                    ]);
                }
            }
        }
        String::from_utf8_lossy(&csv_text(rows.into_iter())).into_owned()
    }
}
