//! The results of a run.

use pyo3::prelude::*;
use strewn::report::{self, ChartError, ChartSize, ChartStyle, RESULTS_CHARTS, Report, Theme};
use strewn::results::{self, LayoutMap};

use crate::errors::{failed, raised};

/// Results, the map of the same run, and the text of its scenario.
#[pyclass(frozen, module = "strewn._strewn")]
pub(crate) struct Results {
    results: results::Results,
    map: Option<LayoutMap>,
    scenario: Option<String>,
}

impl Results {
    pub(crate) fn new(
        results: results::Results,
        map: Option<LayoutMap>,
        scenario: Option<String>,
    ) -> Self {
        Self { results, map, scenario }
    }
}

#[pymethods]
impl Results {
    #[staticmethod]
    #[pyo3(signature = (json, map_json=None, scenario=None))]
    fn from_json(json: &str, map_json: Option<&str>, scenario: Option<String>) -> PyResult<Self> {
        let results = results::Results::from_json(json).map_err(failed)?;
        let map = map_json.map(LayoutMap::from_json).transpose().map_err(failed)?;
        Ok(Self { results, map, scenario })
    }

    fn json(&self) -> PyResult<String> {
        self.results.to_json_string().map_err(failed)
    }

    fn map_json(&self) -> PyResult<Option<String>> {
        self.map.as_ref().map(LayoutMap::to_json_string).transpose().map_err(failed)
    }

    #[getter]
    fn scenario_text(&self) -> Option<&str> {
        self.scenario.as_deref()
    }

    fn tables(&self) -> String {
        report::all_tables(&self.results)
    }

    fn headline(&self) -> String {
        report::headline(&self.results)
    }

    fn caveats(&self) -> Vec<String> {
        self.results.caveats()
    }

    fn segments_csv(&self) -> PyResult<String> {
        let mut bytes = Vec::new();
        report::write_segments_csv(&self.results, &[], &mut bytes).map_err(failed)?;
        String::from_utf8(bytes).map_err(failed)
    }

    fn report(&self) -> PyResult<String> {
        let Self { results, map, scenario } = self;
        let report = Report { results, map: map.as_ref(), scenario: scenario.as_deref() };
        report.to_html().map_err(failed)
    }

    /// The names of the charts that these results have something for.
    fn chart_names(&self) -> PyResult<Vec<&'static str>> {
        let mut names = Vec::new();
        for chart in RESULTS_CHARTS {
            match chart.draw(&self.results, self.map.as_ref(), ChartStyle::default()) {
                Ok(Some(_)) => names.push(chart.file_stem()),
                // A run that lost data in its first segment has nothing to draw.
                Ok(None) | Err(ChartError::NothingToDraw) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(names)
    }

    /// A chart as SVG; none if these results have nothing for it.
    fn chart(
        &self,
        name: &str,
        dark: bool,
        width_px: u32,
        height_px: u32,
    ) -> PyResult<Option<String>> {
        let Some(chart) = RESULTS_CHARTS.into_iter().find(|chart| chart.file_stem() == name) else {
            return Ok(None);
        };
        let theme = if dark { Theme::Dark } else { Theme::Light };
        let style = ChartStyle::filling(ChartSize { width_px, height_px }, theme);
        match chart.draw(&self.results, self.map.as_ref(), style) {
            Err(ChartError::NothingToDraw) => Ok(None),
            drawn => drawn.map_err(failed),
        }
    }
}

/// A chart's SVG as PNG, twice its size each way.
#[pyfunction]
pub(crate) fn png(svg: &str) -> PyResult<Vec<u8>> {
    report::png(svg).map_err(|error| raised(strewn::Failure::failed(error.to_string())))
}
