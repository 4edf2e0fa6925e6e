//! `report.html` of a sweep: what was run, charts, a chart whose axes the reader chooses, and tables.

mod data;
mod tables;
mod words;

use crate::chart::{ChartSize, ChartStyle};
use crate::html::page::{ReportError, environment, page_style, within_script};
use crate::rank_correlation::RankCorrelations;
use crate::sweep_chart::sweep_charts;
use crate::sweep_design::SweepDesign;
use crate::sweep_words::{interval_words, missing_words, run_words, what_was_run};
use crate::theme::Theme;
use minijinja::context;
use serde::Serialize;
use strewn_results::{ResultsError, StudyText, Sweep, SweepChartSpec, noise_sentence};
use words::StudyWords;

const TEMPLATE: &str = include_str!("sweep.html");
const STYLE: &str = include_str!("sweep.css");
const SCRIPT: &str =
    concat!(include_str!("../tips.js"), include_str!("pictures.js"), include_str!("sweep.js"));

/// The sources of the report of a sweep.
#[derive(Clone, Copy, Debug)]
pub struct SweepReport<'a> {
    /// The sweep.
    pub sweep: &'a Sweep,
    /// The charts that its study asks for; without any, those that follow from its axes.
    pub charts: &'a [SweepChartSpec],
    /// What the study says beside its figures.
    pub text: &'a StudyText,
}

/// A line of what was run: an axis, a figure, or what all runs have in common.
#[derive(Serialize)]
struct Fact {
    name: String,
    words: String,
}

#[derive(Serialize)]
struct DrawnChart {
    id: String,
    svg: String,
}

impl SweepReport<'_> {
    /// Returns the text of `report.html`. The same sweep gives the same bytes.
    ///
    /// # Errors
    ///
    /// If a chart cannot be drawn, or a figure is infinite or not a number.
    pub fn to_html(&self) -> Result<String, ReportError> {
        let sweep = self.sweep;
        let design = SweepDesign::of(sweep);
        let size = ChartSize { width_px: 960, height_px: 480 };
        let charts =
            sweep_charts(sweep, self.charts, ChartStyle { theme: Theme::Page, ..size.into() })?;
        let charts =
            charts.into_iter().map(|chart| DrawnChart { id: chart.file_stem, svg: chart.svg });
        let facts = what_was_run(sweep).into_iter().map(|(name, words)| Fact { name, words });
        let json = serde_json::to_string(&data::SweepData::of(sweep, &design));
        let correlations = RankCorrelations::of(sweep, &design);
        let matters = correlations.as_ref().map(|all| tables::what_matters(sweep, all));
        let environment = environment();
        let page = environment.template_from_named_str("sweep.html", TEMPLATE)?;
        Ok(page.render(context! {
            version => sweep.strewn,
            study => sweep.study,
            heading => sweep.title,
            style => page_style() + STYLE,
            run => run_words(sweep),
            intervals => interval_words(sweep),
            noise => noise_sentence(sweep),
            missing => missing_words(sweep),
            facts => facts.collect::<Vec<_>>(),
            words => StudyWords::of(sweep, self.text),
            combinations => design.len(),
            runs => design.len() * sweep.seeds.len(),
            charts => charts.collect::<Vec<_>>(),
            figures => tables::figures(sweep, &design),
            matters,
            correlation => correlations.as_ref().map(RankCorrelations::sentence),
            differences => tables::differences(sweep, &design),
            sweep => within_script(&json.map_err(ResultsError::from)?),
            script => SCRIPT,
        })?)
    }
}
