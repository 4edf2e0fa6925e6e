//! The studies that ship.

use std::path::{Component, Path, PathBuf};

use strewn_sweep::{Study, StudyError};

use crate::shipped::{BASES, SCENARIOS, STUDIES};

/// Returns the names of the studies that ship.
pub fn names() -> impl Iterator<Item = &'static str> {
    STUDIES.iter().map(|study| name_of(study.path))
}

/// Returns the study of this name; none if none ships.
///
/// # Errors
/// None, of a study that ships: a test reads each.
pub fn study(name: &str) -> Option<Result<Study, StudyError>> {
    let study = STUDIES.iter().find(|study| name_of(study.path) == name)?;
    Some(Study::parse_with(study.text, study.path, &scenario))
}

fn name_of(path: &'static str) -> &'static str {
    Path::new(path).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
}

/// Returns the text of a scenario that ships.
fn scenario(path: &Path) -> Result<String, StudyError> {
    let plain = without_dots(path);
    let mut shipped = SCENARIOS.iter().chain(BASES);
    let found = shipped.find(|shipped| Path::new(shipped.path) == plain);
    found.map(|shipped| shipped.text.to_owned()).ok_or_else(|| StudyError::Unreadable {
        path: plain,
        source: std::io::ErrorKind::NotFound.into(),
    })
}

/// Returns a path without `.` and `..`, as the sources are named from the project's root. Links are not followed.
#[must_use]
pub fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            component => plain.push(component),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_study_that_ships_can_be_planned() {
        for name in names() {
            let study = study(name).unwrap().unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(study.name, name);
            let plan = study.plan(None).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!plan.study.text.question.is_empty(), "{name} asks nothing");
            assert!(!plan.study.text.predictions.is_empty(), "{name} predicts nothing");
        }
    }
}
