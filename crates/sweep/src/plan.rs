//! The runs of a study.

use std::collections::HashMap;

use strewn_results::SweepBase;
use strewn_scenario::{Disk, Scenario, SetError};

use crate::design::{self, Combinations};
use crate::error::StudyError;
use crate::names::{self, ArrayNames};
use crate::planned_study::PlannedStudy;
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

impl Study {
    /// Works out the runs of the study, at its scale or at `scale_down`.
    ///
    /// # Errors
    /// If a setting is unknown or has a wrong value in any run, or figures, charts, predictions or the finding name
    /// what no run has.
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
        let figures = names::figures_of(self, &arrays)?;
        let names = arrays.iter().map(|array| array.name.clone()).collect();
        let axes = self.axes.iter().zip(&levels).map(|(axis, levels)| axis.described(levels));
        let study = PlannedStudy {
            name: self.name.clone(),
            title: self.title.clone(),
            strewn: env!("CARGO_PKG_VERSION").to_owned(),
            file: self.file.clone(),
            scale_down,
            seeds,
            base: SweepBase { arrays: names, ..base },
            axes: axes.collect(),
            figures,
            charts: self.charts.clone(),
            text: self.text.clone(),
            combinations: all,
            runs,
        };
        names::check(self, &study, &arrays)?;
        Ok(Plan { study, points })
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

/// A plan while it is made.
struct Building<'a> {
    study: &'a Study,
    levels: &'a [Vec<Level>],
    scale_down: u32,
    points: Vec<Point>,
    by_id: HashMap<String, usize>,
    seeds: Vec<u64>,
    arrays: Vec<ArrayNames>,
    /// What is told of the runs beside their axes, by the first combination.
    base: SweepBase,
}

impl Building<'_> {
    fn runs_of(&mut self, at: &[usize]) -> Result<Vec<usize>, StudyError> {
        let chosen: Vec<&Level> =
            self.levels.iter().zip(at).map(|(levels, index)| &levels[*index]).collect();
        let mut scenario = self.study.scenario_of(&chosen)?;
        names::collect(&scenario, &mut self.arrays);
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
            // As the run itself will read it: later segments may be spoken of than are run.
            if let (true, Some(segments)) = (runs.is_empty(), self.study.segments) {
                point.scenario().map_err(|error| {
                    let message = format!("{segments} are too few for the scenario: {error}");
                    let help = "give more, or change the scenario under [set]";
                    self.study.wrong(self.study.lines.segments, "segments", message, help)
                })?;
            }
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
        let (mut scenario, _) = Scenario::parse_with(text, path, &settings, &Disk)
            .map_err(|error| self.wrong_setting(error, chosen))?;
        // Nothing is compared with figures of the source: a study is of other settings. What is uncertain is the
        // study's.
        scenario.published = None;
        scenario.unknowns.clear();
        scenario.fitted.clear();
        if let Some(segments) = self.segments {
            if !scenario.phases.is_empty() && segments > scenario.segments {
                let message =
                    format!("the phases of the scenario have {} together", scenario.segments);
                return Err(self.wrong(
                    self.lines.segments,
                    "segments",
                    message,
                    "give fewer, or make a phase longer under [set]",
                ));
            }
            scenario.segments = segments;
            // Nothing is fitted in a study.
            for array in &mut scenario.arrays {
                if let Some(fitted) = &mut array.fitted {
                    fitted.segments.retain(|segment| *segment <= segments);
                }
                array.fitted.take_if(|fitted| fitted.segments.is_empty());
            }
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
            return Err(self.wrong(self.lines.arrays, "arrays", message, help));
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
            self.wrong(self.lines.arrays, "arrays", message, "leave `arrays` out")
        })
    }

    /// Returns the error of a setting, at its place in the study.
    pub(crate) fn wrong_setting(&self, error: SetError, chosen: &[&Level]) -> StudyError {
        let error = match error {
            SetError::Scenario(error) => return StudyError::Scenario(error),
            error => error,
        };
        let is_meant = |(name, value): &(String, String)| match &error {
            SetError::Unknown { path, .. } | SetError::Ambiguous { path, .. } => name == path,
            SetError::Invalid { setting, .. } => *setting == format!("{name}={value}"),
            _ => false,
        };
        let level = chosen.iter().find(|level| level.settings.iter().any(&is_meant));
        let (line, field) = match level {
            Some(level) => (level.line, "axis"),
            None => (self.lines.set, "set"),
        };
        let help = error.help().unwrap_or_else(|| "correct the value".to_owned());
        self.wrong(line, field, error.to_string(), help)
    }
}
