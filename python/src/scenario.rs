//! Scenarios, checked.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use strewn::scenario::{Disk, schema_json};

use crate::errors::{failed, raised, unset};
use crate::value;

/// What errors call a scenario without a file.
const NO_FILE: &str = "scenario";

/// A checked scenario, and a text that reads as it.
#[pyclass(frozen, module = "strewn._strewn")]
pub(crate) struct Scenario {
    pub(crate) scenario: strewn::scenario::Scenario,
    #[pyo3(get)]
    pub(crate) text: String,
    /// From its folder, relative paths start.
    #[pyo3(get)]
    pub(crate) path: Option<PathBuf>,
}

#[pymethods]
impl Scenario {
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        let scenario = strewn::scenario::Scenario::load(&path).map_err(raised)?;
        // The loader keeps no text, and its errors are better than ours, so the file is read a second time.
        let text = std::fs::read_to_string(&path);
        let text =
            text.map_err(|error| failed(format!("cannot read {}: {error}", path.display())))?;
        Ok(Self { scenario, text, path: Some(path) })
    }

    #[staticmethod]
    #[pyo3(signature = (text, path=None))]
    fn from_toml(text: String, path: Option<PathBuf>) -> PyResult<Self> {
        let name = path.as_deref().unwrap_or(Path::new(NO_FILE));
        let scenario = strewn::scenario::Scenario::parse_with_files(&text, name, &Disk).map_err(raised)?;
        Ok(Self { scenario, text, path })
    }

    #[staticmethod]
    #[pyo3(signature = (data, path=None))]
    fn from_dict(data: &Bound<'_, PyAny>, path: Option<PathBuf>) -> PyResult<Self> {
        Self::from_toml(value::table(data, "")?.to_string(), path)
    }

    fn with_settings(&self, settings: &Bound<'_, PyDict>) -> PyResult<Self> {
        let settings = value::settings(settings)?;
        let name = self.path.as_deref().unwrap_or(Path::new(NO_FILE));
        let changed = strewn::scenario::Scenario::parse_with(&self.text, name, &settings, &Disk);
        let (scenario, text) = changed.map_err(unset)?;
        Ok(Self { scenario, text, path: self.path.clone() })
    }

    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let settings = PyDict::new(py);
        for (name, set) in self.scenario.every_setting() {
            settings.set_item(name, value::of_setting(py, &set)?)?;
        }
        Ok(settings)
    }

    /// The tables of the text, as JSON.
    fn json(&self) -> PyResult<String> {
        let table = self.text.parse::<toml::Table>().map_err(failed)?;
        serde_json::to_string(&table).map_err(failed)
    }

    fn warnings(&self) -> Vec<String> {
        self.scenario.warnings()
    }

    #[getter]
    fn name(&self) -> &str {
        &self.scenario.name
    }

    #[getter]
    fn title(&self) -> &str {
        &self.scenario.title
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.scenario.seed
    }

    #[getter]
    fn segments(&self) -> u32 {
        self.scenario.segments
    }

    /// In seconds.
    #[getter]
    fn segment_seconds(&self) -> f64 {
        self.scenario.segment_ns as f64 / 1e9
    }

    #[getter]
    fn has_phases(&self) -> bool {
        !self.scenario.phases.is_empty()
    }

    #[getter]
    fn arrays(&self) -> Vec<&str> {
        self.scenario.arrays.iter().map(|array| array.name.as_str()).collect()
    }
}

/// The JSON schema of a scenario's file.
#[pyfunction]
pub(crate) fn schema() -> String {
    schema_json()
}
