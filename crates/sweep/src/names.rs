//! What figures, charts, predictions and the finding of a study name: all of it must be there.

use strewn_report::{StudyPageError, study_depends, study_finding};
use strewn_results::{Prediction, SegmentChoice, SweepChartSpec, SweepFigure, place_among};
use strewn_results::{SWEEP_SCHEMA, Sweep, SweepRow};
use strewn_scenario::Scenario;

use crate::error::StudyError;
use crate::planned_study::PlannedStudy;
use crate::study::{Measured, Study};

/// What an array has, in any run, that figures may name.
pub(crate) struct ArrayNames {
    pub(crate) name: String,
    segments: u32,
    phases: Vec<String>,
    workloads: Vec<String>,
    links: Vec<String>,
}

/// Adds what the arrays of a scenario have.
pub(crate) fn collect(scenario: &Scenario, arrays: &mut Vec<ArrayNames>) {
    for array in &scenario.arrays {
        let index = arrays.iter().position(|other| other.name == array.name).unwrap_or_else(|| {
            arrays.push(ArrayNames {
                name: array.name.clone(),
                segments: 0,
                phases: Vec::new(),
                workloads: Vec::new(),
                links: Vec::new(),
            });
            arrays.len() - 1
        });
        let names = &mut arrays[index];
        names.segments = names.segments.max(scenario.segments);
        let phases = scenario.phases.iter().map(|phase| &phase.name);
        add(&mut names.phases, phases);
        let workloads = scenario.workloads.iter().filter_map(|one| one.named.as_ref());
        let of_array =
            workloads.filter(|one| one.arrays.is_empty() || one.arrays.contains(&array.name));
        add(&mut names.workloads, of_array.map(|one| &one.name));
        add(&mut names.links, scenario.links.iter().map(|link| &link.name));
    }
}

fn add<'a>(names: &mut Vec<String>, more: impl Iterator<Item = &'a String>) {
    for name in more {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
}

/// Returns the figures of a study, of each array that they are meant for.
///
/// # Errors
/// If one is of something that no run has.
pub(crate) fn figures_of(
    study: &Study,
    arrays: &[ArrayNames],
) -> Result<Vec<SweepFigure>, StudyError> {
    let problems = study.figures.iter().filter_map(|figure| problem_of(study, figure, arrays));
    StudyError::all_of(problems.collect())?;
    let names: Vec<String> = arrays.iter().map(|array| array.name.clone()).collect();
    Ok(study.figures.iter().flat_map(|figure| figure.of_arrays(&names)).collect())
}

/// Returns what a figure names that is not there.
fn problem_of(study: &Study, figure: &Measured, arrays: &[ArrayNames]) -> Option<StudyError> {
    let wrong = |field: &str, message: String, help: String| {
        Some(study.wrong(figure.line, &format!("figure.{field}"), message, help))
    };
    for (field, name) in [("array", &figure.array), ("over", &figure.of.over)] {
        let unknown = name.as_ref().filter(|name| arrays.iter().all(|array| array.name != **name));
        if let Some(name) = unknown {
            let names: Vec<&str> = arrays.iter().map(|array| array.name.as_str()).collect();
            let help = format!("its arrays are {}", names.join(", "));
            return wrong(field, format!("no run has an array \"{name}\""), help);
        }
    }
    let is_meant =
        |array: &&ArrayNames| figure.array.as_ref().is_none_or(|name| *name == array.name);
    let meant: Vec<&ArrayNames> = arrays.iter().filter(is_meant).collect();
    let of = &figure.of;
    type Names = fn(&ArrayNames) -> &Vec<String>;
    let named: [(&str, &Option<String>, Names); 3] = [
        ("workload", &of.workload, |array| &array.workloads),
        ("phase", &of.phase, |array| &array.phases),
        ("link", &of.link, |array| &array.links),
    ];
    for (field, name, names) in named {
        let mut all = Vec::new();
        meant.iter().for_each(|array| add(&mut all, names(array).iter()));
        let Some(name) = name.as_ref().filter(|name| !all.contains(name)) else { continue };
        let help = match all.as_slice() {
            [] => format!("leave `{field}` out: no {field} has a name"),
            all => format!("there are: {}", all.join(", ")),
        };
        return wrong(
            field,
            format!("\"{}\": no run has a {field} \"{name}\"", figure.quantity),
            help,
        );
    }
    let segments = meant.iter().map(|array| array.segments).max().unwrap_or(0);
    for (field, choice) in [("segment", of.segment), ("over_segment", of.over_segment)] {
        let Some(SegmentChoice::Number(number)) = choice else { continue };
        if !(1..=segments).contains(&number) {
            let message = format!("\"{}\": no run has a segment {number}", figure.quantity);
            return wrong(field, message, format!("give 1 to {segments}, or \"last\""));
        }
    }
    None
}

/// Checks that charts, predictions and words speak of axes, values and figures that are there.
///
/// # Errors
/// All that is not.
pub(crate) fn check(
    study: &Study,
    planned: &PlannedStudy,
    arrays: &[ArrayNames],
) -> Result<(), StudyError> {
    let names = Names { study, planned, arrays };
    let mut problems: Vec<StudyError> = Vec::new();
    for (chart, line) in planned.charts.iter().zip(&study.lines.charts) {
        problems.extend(names.check_chart(chart, *line).err());
    }
    for (prediction, line) in planned.text.predictions.iter().zip(&study.lines.predictions) {
        problems.extend(names.check_prediction(prediction, *line).err());
    }
    problems.extend(names.wrong_words());
    StudyError::all_of(problems)
}

struct Names<'a> {
    study: &'a Study,
    planned: &'a PlannedStudy,
    arrays: &'a [ArrayNames],
}

fn listed<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let mut all: Vec<String> = Vec::new();
    add(&mut all, names);
    format!("there are: {}", all.join(", "))
}

impl Names<'_> {
    fn check_chart(&self, chart: &SweepChartSpec, line: usize) -> Result<(), StudyError> {
        let PlannedStudy { figures, axes, .. } = self.planned;
        let quantities = || figures.iter().map(|figure| &figure.quantity);
        if let Some(name) = &chart.against {
            let by_segment = |wanted: &&String| {
                figures.iter().any(|one| one.quantity == **wanted && one.by_segment)
            };
            if let Some(figure) = chart.figures.iter().find(by_segment) {
                let message = format!("\"{figure}\" is by segment");
                let help = "leave `against` out, or name figures that are not by segment";
                return Err(self.study.wrong(line, "chart.figures", message, help));
            }
            if chart.x.as_deref() == Some("segment") || chart.kind.is_some() {
                let message =
                    "is given beside `x = \"segment\"` or `kind`, which say how it is drawn";
                let help = "leave these out";
                return Err(self.study.wrong(line, "chart.against", message, help));
            }
            let is_there = |by_segment: bool| {
                figures.iter().any(|one| one.quantity == *name && one.by_segment == by_segment)
            };
            let message = match (is_there(false), is_there(true)) {
                (true, _) => None,
                (false, true) => Some(format!("\"{name}\" is by segment")),
                (false, false) => Some(format!("there is no figure \"{name}\"")),
            };
            if let Some(message) = message {
                let alike = figures.iter().filter(|figure| !figure.by_segment);
                let help = listed(alike.map(|figure| &figure.quantity));
                return Err(self.study.wrong(line, "chart.against", message, help));
            }
        }
        if let Some(name) = chart.figures.iter().find(|name| quantities().all(|one| one != *name)) {
            let message = format!("there is no figure \"{name}\"");
            return Err(self.study.wrong(line, "chart.figures", message, listed(quantities())));
        }
        for (field, axis) in [("x", &chart.x), ("lines", &chart.lines), ("panels", &chart.panels)] {
            let Some(name) = axis.as_ref().filter(|name| *name != "segment") else { continue };
            if axes.iter().all(|axis| axis.name != *name) {
                let message = format!("there is no axis \"{name}\"");
                let help = listed(axes.iter().map(|axis| &axis.name));
                return Err(self.study.wrong(line, &format!("chart.{field}"), message, help));
            }
        }
        Ok(())
    }

    fn check_prediction(&self, prediction: &Prediction, line: usize) -> Result<(), StudyError> {
        let PlannedStudy { figures, axes, combinations, .. } = self.planned;
        let wrong = |field: &str, message: String, help: String| {
            Err(self.study.wrong(line, field, message, help))
        };
        let Some(figure) = figures.iter().find(|figure| figure.name == prediction.figure) else {
            let message = format!("there is no figure \"{}\"", prediction.figure);
            return wrong(
                "prediction.figure",
                message,
                listed(figures.iter().map(|one| &one.name)),
            );
        };
        let text = &prediction.text;
        match (prediction.least, prediction.most) {
            (None, None) => {
                let message = format!("\"{text}\" has no bounds");
                return wrong("prediction", message, "give `least`, `most` or both".to_owned());
            }
            (least, most) if [least, most].into_iter().flatten().any(f64::is_nan) => {
                let message = format!("\"{text}\" has a bound that is no number");
                return wrong("prediction", message, "give a number".to_owned());
            }
            (Some(least), Some(most)) if least > most => {
                let message = format!("{least} is above `most`, {most}: \"{text}\" cannot hold");
                return wrong("prediction.least", message, "exchange the two".to_owned());
            }
            _ => {}
        }
        if figure.by_segment != prediction.segment.is_some() {
            let message =
                format!("\"{text}\" needs the segment of a figure by segment, and of no other");
            let help = "give `segment`, or leave it out".to_owned();
            return wrong("prediction.segment", message, help);
        }
        let segments = self.segments_of(figure);
        if let Some(number) = prediction.segment.filter(|one| !(1..=segments).contains(one)) {
            let message = format!("no run has a segment {number}");
            return wrong("prediction.segment", message, format!("give 1 to {segments}"));
        }
        let places = [("at", Some(&prediction.at)), ("over", prediction.over.as_ref())];
        for (field, place) in places {
            let words = place.into_iter().flatten();
            let words = words.map(|(axis, label)| (axis.as_str(), label.as_str()));
            let all = combinations.iter().map(Vec::as_slice);
            if let (Some(_), Err((message, help))) = (place, place_among(axes, all, words)) {
                return wrong(&format!("prediction.{field}"), message, help);
            }
        }
        Ok(())
    }

    fn segments_of(&self, figure: &SweepFigure) -> u32 {
        let of_figure = self.arrays.iter().find(|array| array.name == figure.of.array);
        of_figure.map_or(0, |array| array.segments)
    }
}

impl Names<'_> {
    /// Returns what the finding and what it depends on quote that no sweep of the plan will have.
    fn wrong_words(&self) -> Vec<StudyError> {
        let text = &self.planned.text;
        if text.finding.trim().is_empty() && text.depends.trim().is_empty() {
            return Vec::new();
        }
        let sweep = self.made_up_sweep();
        let wrong = |line: usize, field: &str, error: &StudyPageError| {
            let help = "write {{ at('FIGURE', 'AXIS = VALUE; AXIS = VALUE') }}";
            self.study.wrong(line, field, error.message(), help)
        };
        let lines = &self.study.lines;
        let finding = study_finding(text, &sweep).err();
        let depends = study_depends(text, &sweep).err();
        let finding = finding.map(|error| wrong(lines.finding, "finding", &error));
        let depends = depends.map(|error| wrong(lines.depends, "depends", &error));
        finding.into_iter().chain(depends).collect()
    }

    /// Returns a sweep of the plan in which each figure is 1, so that the code that fills in the words checks them.
    fn made_up_sweep(&self) -> Sweep {
        let PlannedStudy { figures, combinations, .. } = self.planned;
        let mut rows = Vec::new();
        for (combination, at) in combinations.iter().enumerate() {
            for (figure, of) in figures.iter().enumerate() {
                let segments: Vec<Option<u32>> = match of.by_segment {
                    true => (1..=self.segments_of(of)).map(Some).collect(),
                    false => vec![None],
                };
                rows.extend(segments.into_iter().map(|segment| SweepRow {
                    combination,
                    at: at.clone(),
                    figure,
                    segment,
                    samples: Vec::new(),
                    mean: Some(1.0),
                    interval: None,
                }));
            }
        }
        Sweep {
            schema: SWEEP_SCHEMA,
            study: self.planned.name.clone(),
            title: self.planned.title.clone(),
            strewn: self.planned.strewn.clone(),
            scale_down: self.planned.scale_down,
            seeds: Vec::new(),
            confidence_percent: 0.0,
            base: self.planned.base.clone(),
            axes: self.planned.axes.clone(),
            figures: figures.clone(),
            rows,
            differences: Vec::new(),
            missing: Vec::new(),
        }
    }
}
