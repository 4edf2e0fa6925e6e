//! The runs of a study.

use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use strewn_report::{StudyText, SweepAxis, SweepBase, SweepChartSpec, SweepFigure, place_among};
use strewn_scenario::{Scenario, SetError};

use crate::design::{self, Combinations};
use crate::error::StudyError;
use crate::point::Point;
use crate::study::axis::Level;
use crate::study::{Base, Study};

/// Most runs of a study.
pub const MOST_RUNS: usize = 1_000_000;

/// A study with its runs: all that any machine needs to run them, and to make a table of their figures.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What the runs are of.
    pub study: PlannedStudy,
    /// The runs, each another.
    pub points: Vec<Point>,
}

/// A study without its runs: what they are of, and how they are shown.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlannedStudy {
    /// Its name.
    pub name: String,
    /// Its title, for a reader.
    pub title: String,
    /// Version of the program that planned it.
    pub strewn: String,
    /// Runs are at 1/`scale_down` of full scale.
    pub scale_down: u32,
    /// The seeds of each combination.
    pub seeds: Vec<u64>,
    /// What all runs have in common. Plans of earlier versions lack it.
    #[serde(default)]
    pub base: SweepBase,
    /// What runs differ by.
    pub axes: Vec<SweepAxis>,
    /// What is measured.
    pub figures: Vec<SweepFigure>,
    /// The charts that the study asks for.
    pub charts: Vec<SweepChartSpec>,
    /// What it says beside its figures.
    pub text: StudyText,
    /// Each combination: the value of each axis, as an index into its values.
    pub combinations: Vec<Vec<usize>>,
    /// Of each combination, the run with each seed, as an index into the plan's points. Combinations that come to the same
    /// settings share runs.
    pub runs: Vec<Vec<usize>>,
}

impl Study {
    /// Works out the runs of the study, at its scale or at `scale_down`.
    ///
    /// # Errors
    /// If a setting is unknown or has a wrong value in any run, or a figure is of an array that is not there.
    pub fn plan(&self, scale_down: Option<u32>) -> Result<Plan, StudyError> {
        let Combinations { levels, all } = design::combinations(self)
            .map_err(|message| self.wrong(1, "design", message, HOW_MANY))?;
        let runs = all.len().saturating_mul(self.replicates as usize);
        if runs > MOST_RUNS {
            let message = format!("{runs} runs are more than {MOST_RUNS}");
            return Err(self.wrong(1, "axis", message, "leave out values or seeds"));
        }
        let mut building = Building {
            study: self,
            levels: &levels,
            scale_down: scale_down.unwrap_or(self.scale_down).max(1),
            points: Vec::new(),
            by_id: HashMap::new(),
            seeds: Vec::new(),
            arrays: Vec::new(),
            base: SweepBase::default(),
        };
        let runs = all.iter().map(|at| building.runs_of(at)).collect::<Result<Vec<_>, _>>()?;
        let Building { points, seeds, arrays, scale_down, base, .. } = building;
        let figures = self.figures_of(&arrays)?;
        let axes = self.axes.iter().zip(&levels).map(|(axis, levels)| axis.described(levels));
        let study = PlannedStudy {
            name: self.name.clone(),
            title: self.title.clone(),
            strewn: env!("CARGO_PKG_VERSION").to_owned(),
            scale_down,
            seeds,
            base: SweepBase { arrays, ..base },
            axes: axes.collect(),
            figures,
            charts: self.charts.clone(),
            text: self.text.clone(),
            combinations: all,
            runs,
        };
        study.check_names(self)?;
        Ok(Plan { study, points })
    }

    fn figures_of(&self, arrays: &[String]) -> Result<Vec<SweepFigure>, StudyError> {
        let mut figures: Vec<SweepFigure> = Vec::new();
        for measured in &self.figures {
            if let Some(name) = measured.named_arrays().find(|name| !arrays.contains(name)) {
                let message = format!("no run has an array \"{name}\"");
                let help = format!("its arrays are {}", arrays.join(", "));
                return Err(self.wrong(measured.line, "figure.array", message, help));
            }
            figures.extend(measured.of_arrays(arrays));
        }
        Ok(figures)
    }

    pub(crate) fn wrong(
        &self,
        line: usize,
        field: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> StudyError {
        StudyError::at_line(&self.path, line, field, message, help)
    }
}

const HOW_MANY: &str = "correct `design`, or the axes";

impl PlannedStudy {
    /// Checks that charts and predictions speak of axes, values and figures that are there.
    fn check_names(&self, study: &Study) -> Result<(), StudyError> {
        let listed = |names: Vec<&str>| format!("there are: {}", names.join(", "));
        let quantities: Vec<&str> =
            self.figures.iter().map(|figure| figure.quantity.as_str()).collect();
        let axes: Vec<&str> = self.axes.iter().map(|axis| axis.name.as_str()).collect();
        for chart in &self.charts {
            if let Some(name) =
                chart.figures.iter().find(|name| !quantities.contains(&name.as_str()))
            {
                let message = format!("there is no figure \"{name}\"");
                return Err(study.wrong(1, "chart.figures", message, listed(quantities)));
            }
            let named = [&chart.x, &chart.lines, &chart.panels].into_iter().flatten();
            for name in named.filter(|name| *name != "segment") {
                if !axes.contains(&name.as_str()) {
                    let message = format!("there is no axis \"{name}\"");
                    return Err(study.wrong(1, "chart", message, listed(axes)));
                }
            }
        }
        for prediction in &self.text.predictions {
            let Some(figure) = self.figures.iter().find(|figure| figure.name == prediction.figure)
            else {
                let message = format!("there is no figure \"{}\"", prediction.figure);
                let names = self.figures.iter().map(|figure| figure.name.as_str()).collect();
                return Err(study.wrong(1, "prediction.figure", message, listed(names)));
            };
            if prediction.least.is_none() && prediction.most.is_none() {
                let message = format!("\"{}\" has no bounds", prediction.text);
                return Err(study.wrong(1, "prediction", message, "give `least`, `most` or both"));
            }
            if figure.by_segment != prediction.segment.is_some() {
                let message = format!(
                    "\"{}\" needs the segment of a figure by segment, and of no other",
                    prediction.text
                );
                return Err(study.wrong(
                    1,
                    "prediction.segment",
                    message,
                    "give `segment`, or leave it out",
                ));
            }
            for place in [Some(&prediction.at), prediction.over.as_ref()].into_iter().flatten() {
                let words = place.iter().map(|(axis, label)| (axis.as_str(), label.as_str()));
                let places = self.combinations.iter().map(Vec::as_slice);
                if let Err((message, help)) = place_among(&self.axes, places, words) {
                    return Err(study.wrong(1, "prediction.at", message, help));
                }
            }
        }
        Ok(())
    }
}

impl PlannedStudy {
    /// Returns the number of its runs.
    #[must_use]
    pub fn run_count(&self) -> usize {
        self.runs.iter().flatten().max().map_or(0, |last| last + 1)
    }
}

/// A plan while it is made.
struct Building<'a> {
    study: &'a Study,
    levels: &'a [Vec<Level>],
    scale_down: u32,
    points: Vec<Point>,
    by_id: HashMap<String, usize>,
    seeds: Vec<u64>,
    arrays: Vec<String>,
    /// What is told of the runs beside their axes, by the first combination.
    base: SweepBase,
}

impl Building<'_> {
    fn runs_of(&mut self, at: &[usize]) -> Result<Vec<usize>, StudyError> {
        let chosen: Vec<&Level> =
            self.levels.iter().zip(at).map(|(levels, index)| &levels[*index]).collect();
        let mut scenario = self.study.scenario_of(&chosen)?;
        for array in &scenario.arrays {
            if !self.arrays.contains(&array.name) {
                self.arrays.push(array.name.clone());
            }
        }
        let first_seed = self.study.seed.unwrap_or(scenario.seed);
        let seeds: Vec<u64> = (0..u64::from(self.study.replicates))
            .map(|further| first_seed.wrapping_add(further))
            .collect();
        if self.seeds.is_empty() {
            self.seeds.clone_from(&seeds);
            self.base = self.study.base_of(&scenario);
        }
        let axes = self.study.axes.iter().zip(&chosen);
        let at: Vec<(String, String)> =
            axes.map(|(axis, level)| (axis.name.clone(), level.label.clone())).collect();
        let mut runs = Vec::new();
        for seed in &self.seeds {
            scenario.seed = *seed;
            let point = Point::of(&scenario, self.scale_down, &at).map_err(|message| {
                self.study.wrong(1, "scenario", message, "correct the scenario")
            })?;
            let next = self.points.len();
            let index = *self.by_id.entry(point.id.clone()).or_insert(next);
            if index == next {
                self.points.push(Point { index, ..point });
            }
            runs.push(index);
        }
        Ok(runs)
    }
}

impl Study {
    /// Returns what the study tells of its runs beside their axes, by the scenario of one; the arrays are the caller's.
    fn base_of(&self, scenario: &Scenario) -> SweepBase {
        SweepBase {
            scenario: scenario.title.clone(),
            arrays: Vec::new(),
            segments: scenario.segments,
            segment_seconds: scenario.segment_ns as f64 / 1e9,
            set: self.set.clone(),
            design: self.design.as_str().to_owned(),
        }
    }

    /// Returns the scenario of a combination, with the study's seed left to the caller.
    fn scenario_of(&self, chosen: &[&Level]) -> Result<Scenario, StudyError> {
        let other = chosen.iter().find_map(|level| level.scenario.as_ref());
        let Base { text, path } =
            other.and_then(|path| self.other_bases.get(path)).unwrap_or(&self.base);
        let of_axes = chosen.iter().flat_map(|level| level.settings.iter().cloned());
        let settings: Vec<(String, String)> = self.set.iter().cloned().chain(of_axes).collect();
        let (mut scenario, _) = Scenario::parse_with(text, path, &settings)
            .map_err(|error| self.wrong_setting(error, chosen))?;
        // Nothing is compared with figures of the source: a study is of other settings. What is uncertain is the study's.
        scenario.published = None;
        scenario.unknowns.clear();
        scenario.fitted.clear();
        if let Some(segments) = self.segments {
            if !scenario.phases.is_empty() && segments > scenario.segments {
                let message =
                    format!("the phases of the scenario have {} together", scenario.segments);
                return Err(self.wrong(
                    1,
                    "segments",
                    message,
                    "give fewer, or make a phase longer under [set]",
                ));
            }
            scenario.segments = segments;
        }
        self.keep_arrays(&mut scenario)?;
        Ok(scenario)
    }

    /// Leaves out the arrays that the study does not run.
    fn keep_arrays(&self, scenario: &mut Scenario) -> Result<(), StudyError> {
        if self.arrays.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = scenario.arrays.iter().map(|array| array.name.as_str()).collect();
        if let Some(unknown) = self.arrays.iter().find(|name| !names.contains(&name.as_str())) {
            let message = format!("the scenario has no array \"{unknown}\"");
            let help = format!("its arrays are {}", names.join(", "));
            return Err(self.wrong(self.arrays_line, "arrays", message, help));
        }
        let keep = |name: &String| self.arrays.contains(name);
        scenario.arrays.retain(|array| keep(&array.name));
        if let Some(overhead) = &mut scenario.overhead {
            overhead.configurations.retain(|one| keep(&one.array));
        }
        for workload in &mut scenario.workloads {
            if let Some(named) = &mut workload.named {
                named.arrays.retain(keep);
            }
        }
        scenario.check().map_err(|error| {
            let message = format!("the scenario needs the other arrays: {error}");
            self.wrong(self.arrays_line, "arrays", message, "leave `arrays` out")
        })
    }

    /// Returns the error of a setting, at its place in the study.
    fn wrong_setting(&self, error: SetError, chosen: &[&Level]) -> StudyError {
        let error = match error {
            SetError::Scenario(error) => return StudyError::Scenario(error),
            error => error,
        };
        let is_meant = |(name, value): &(String, String)| match &error {
            SetError::Unknown { path, .. } | SetError::Ambiguous { path, .. } => name == path,
            SetError::Invalid { setting, .. } => *setting == format!("{name}={value}"),
            SetError::Scenario(_) => false,
        };
        let level = chosen.iter().find(|level| level.settings.iter().any(&is_meant));
        let (line, field) = match level {
            Some(level) => (level.line, "axis"),
            None => (self.set_line, "set"),
        };
        let help = error.help().unwrap_or_else(|| "correct the value".to_owned());
        self.wrong(line, field, error.to_string(), help)
    }
}

/// Returns a path from anywhere: a run may be begun elsewhere.
pub(crate) fn absolute(path: &Path) -> std::path::PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
