//! Whether a file of published figures and its scenario know each other's names.

use std::path::{Path, PathBuf};

use strewn_results::{FigureOf, Published};
use strewn_scenario::Scenario;
use thiserror::Error;

use strewn_scenario::build::machine;

/// A name that one of the two does not know.
#[derive(Debug, Error)]
pub enum PublishedNameError {
    /// The published figures name something that the scenario does not have.
    #[error("{}: there are figures of `{name}`, and the scenario has no such {kind}", .path.display())]
    NotInScenario {
        /// Path of the published figures.
        path: PathBuf,
        /// What it is: `array`, `phase`, `workload` or `link`.
        kind: &'static str,
        /// The name in the file.
        name: String,
        /// The scenario's names.
        known: Vec<String>,
    },
    /// The published figures are of a workload that does not run on their array.
    #[error("{}: there are figures of workload `{name}` on array `{array}`, where it does not run", .path.display())]
    NotOnArray {
        /// Path of the published figures.
        path: PathBuf,
        /// Name of the workload.
        name: String,
        /// Name of the array.
        array: String,
        /// The workloads that run on it.
        known: Vec<String>,
    },
    /// The published figures are of a link that does not lead to their array.
    #[error("{}: there are figures of link `{name}` on the way to array `{array}`, which does not have it", .path.display())]
    LinkElsewhere {
        /// Path of the published figures.
        path: PathBuf,
        /// Name of the link.
        name: String,
        /// Name of the array.
        array: String,
        /// The links that lead to it.
        known: Vec<String>,
    },
    /// A setting is fitted to a row that is not in the file.
    #[error("{}: there is no row `{row}`, to which `{parameter}` is fitted", .path.display())]
    NoRow {
        /// Path of the published figures.
        path: PathBuf,
        /// Name of the row.
        row: String,
        /// Name of the setting in the scenario.
        parameter: String,
    },
    /// A setting is fitted to a row that has no figure.
    #[error("{}: row `{row}` has no figure to which `{parameter}` could be fitted", .path.display())]
    NoFigure {
        /// Path of the published figures.
        path: PathBuf,
        /// Name of the row.
        row: String,
        /// Name of the setting in the scenario.
        parameter: String,
    },
    /// There are figures by segment, and the scenario has phases.
    #[error("{}: there are figures of array `{array}` by segment, and the scenario has phases", .path.display())]
    BySegmentInPhases {
        /// Path of the published figures.
        path: PathBuf,
        /// Name of the array.
        array: String,
    },
}

impl PublishedNameError {
    /// Returns the remedy.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::NotInScenario { kind, known, .. } if known.is_empty() => {
                format!("the scenario has no {kind} with a name")
            }
            Self::NotInScenario { known, .. } => format!("it has: {}", known.join(", ")),
            Self::NotOnArray { known, .. } | Self::LinkElsewhere { known, .. }
                if known.is_empty() =>
            {
                "there is none: leave it out".to_owned()
            }
            Self::NotOnArray { known, .. } => format!("these do: {}", known.join(", ")),
            Self::LinkElsewhere { known, .. } => format!("it has: {}", known.join(", ")),
            Self::NoRow { .. } => "give the name of a [[row]], as it is there".to_owned(),
            Self::NoFigure { .. } => "give a row with `figure`".to_owned(),
            Self::BySegmentInPhases { .. } => {
                "give them as [[row]], each with its `phase`".to_owned()
            }
        }
    }
}

/// Checks that every name in the published figures is one of the scenario, and every fitted row one of the figures.
pub(crate) fn check(
    scenario: &Scenario,
    published: &Published,
    path: &Path,
) -> Result<(), PublishedNameError> {
    let names = Names::of(scenario);
    let unknown = |kind, name: &str, known: &[String]| PublishedNameError::NotInScenario {
        path: path.to_owned(),
        kind,
        name: name.to_owned(),
        known: known.to_vec(),
    };
    let of_ratios = published.ratios.iter().flat_map(|ratio| [&ratio.of, &ratio.over]);
    let mut arrays = published.arrays.iter().map(|array| &array.name).chain(of_ratios);
    if let Some(name) = arrays.find(|name| !names.arrays.contains(name)) {
        return Err(unknown("array", name, &names.arrays));
    }
    if let (Some(array), false) = (published.arrays.first(), scenario.phases.is_empty()) {
        let array = array.name.clone();
        return Err(PublishedNameError::BySegmentInPhases { path: path.to_owned(), array });
    }
    for row in &published.rows {
        if let Some((kind, name, known)) = names.unknown(&row.of) {
            return Err(unknown(kind, name, known));
        }
        for array in std::iter::once(&row.of.array).chain(&row.of.over) {
            check_workload(scenario, &row.of, array, path)?;
            check_link(scenario, &row.of, array, path)?;
        }
    }
    for fitted in &scenario.fitted {
        for row in &fitted.rows {
            let (row, parameter) = (row.clone(), fitted.parameter.clone());
            let path = path.to_owned();
            match published.rows.iter().find(|published| published.name == row) {
                None => return Err(PublishedNameError::NoRow { path, row, parameter }),
                Some(published) if published.figure.is_none() => {
                    return Err(PublishedNameError::NoFigure { path, row, parameter });
                }
                Some(_) => {}
            }
        }
    }
    Ok(())
}

/// Checks that the workload of a figure runs on `array`.
fn check_workload(
    scenario: &Scenario,
    of: &FigureOf,
    array: &str,
    path: &Path,
) -> Result<(), PublishedNameError> {
    let here = scenario.workloads.iter().filter(|workload| workload.runs_on(array));
    let known: Vec<String> =
        here.filter_map(|workload| Some(workload.named.as_ref()?.name.clone())).collect();
    match &of.workload {
        Some(name) if !known.contains(name) => Err(PublishedNameError::NotOnArray {
            path: path.to_owned(),
            name: name.clone(),
            array: array.to_owned(),
            known,
        }),
        _ => Ok(()),
    }
}

/// Checks that the link of a figure leads to `array`.
fn check_link(
    scenario: &Scenario,
    of: &FigureOf,
    array: &str,
    path: &Path,
) -> Result<(), PublishedNameError> {
    let (Some(link), Some(array)) = (&of.link, scenario.array(array)) else { return Ok(()) };
    let known = machine::link_names(scenario, array);
    let is_it = |name: &String| name == link || name.starts_with(&format!("{link}, "));
    match known.iter().any(is_it) {
        true => Ok(()),
        false => Err(PublishedNameError::LinkElsewhere {
            path: path.to_owned(),
            name: link.clone(),
            array: array.name.clone(),
            known,
        }),
    }
}

/// The names that a scenario has.
struct Names {
    arrays: Vec<String>,
    phases: Vec<String>,
    workloads: Vec<String>,
    links: Vec<String>,
}

impl Names {
    fn of(scenario: &Scenario) -> Self {
        let workloads = scenario.workloads.iter().filter_map(|one| one.named.as_ref());
        Self {
            arrays: scenario.arrays.iter().map(|array| array.name.clone()).collect(),
            phases: scenario.phases.iter().map(|phase| phase.name.clone()).collect(),
            workloads: workloads.map(|named| named.name.clone()).collect(),
            links: scenario.links.iter().map(|link| link.name.clone()).collect(),
        }
    }

    /// Returns the first name of a figure that there is not, with its kind and what there is.
    fn unknown<'s>(&'s self, of: &'s FigureOf) -> Option<(&'static str, &'s str, &'s [String])> {
        let named = [
            ("array", Some(&of.array), &self.arrays),
            ("array", of.over.as_ref(), &self.arrays),
            ("phase", of.phase.as_ref(), &self.phases),
            ("workload", of.workload.as_ref(), &self.workloads),
            ("link", of.link.as_ref(), &self.links),
        ];
        named.into_iter().find_map(|(kind, name, known)| {
            let name = name.filter(|name| !known.contains(name))?;
            Some((kind, name.as_str(), known.as_slice()))
        })
    }
}
