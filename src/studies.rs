//! The studies that ship: their texts and those of their scenarios, so that a program has them anywhere.

use std::path::{Component, Path, PathBuf};

use strewn_sweep::{Study, StudyError};

macro_rules! sources {
    ($($path:literal),* $(,)?) => {
        [$(($path, include_str!(concat!("../", $path)))),*]
    };
}

/// The studies, in the order of the questions that they answer.
const STUDIES: [(&str, &str); 17] = sources![
    "scenarios/studies/alignment.toml",
    "scenarios/studies/crossover.toml",
    "scenarios/studies/steady-state.toml",
    "scenarios/studies/lun-size.toml",
    "scenarios/studies/how-full.toml",
    "scenarios/studies/reallocate.toml",
    "scenarios/studies/redundancy-and-price.toml",
    "scenarios/studies/both-heads.toml",
    "scenarios/studies/snapshots.toml",
    "scenarios/studies/scan-after-random.toml",
    "scenarios/studies/outstanding.toml",
    "scenarios/studies/noisy-neighbour.toml",
    "scenarios/studies/group-sizes.toml",
    "scenarios/studies/added-group.toml",
    "scenarios/studies/drives-and-memory.toml",
    "scenarios/studies/avanade.toml",
    "scenarios/studies/ten-years-on.toml",
];

/// The scenarios that they begin from.
const SCENARIOS: [(&str, &str); 31] = sources![
    "scenarios/added-group.toml",
    "scenarios/avanade.toml",
    "scenarios/making-sense-of-wafl-4.toml",
    "scenarios/studies/bases/aged-neighbours.toml",
    "scenarios/studies/bases/avanade-iscsi.toml",
    "scenarios/studies/bases/days-in-place.toml",
    "scenarios/studies/bases/days.toml",
    "scenarios/studies/bases/decade-later.toml",
    "scenarios/studies/bases/decade.toml",
    "scenarios/studies/bases/fresh-and-aged.toml",
    "scenarios/studies/bases/groups-2-of-28.toml",
    "scenarios/studies/bases/groups-4-of-14.toml",
    "scenarios/studies/bases/groups-7-of-8.toml",
    "scenarios/studies/bases/heads-eva4400.toml",
    "scenarios/studies/bases/heads-one.toml",
    "scenarios/studies/bases/heads-takeover.toml",
    "scenarios/studies/bases/heads-two.toml",
    "scenarios/studies/bases/lun-sizes.toml",
    "scenarios/studies/bases/neighbours.toml",
    "scenarios/studies/bases/one-group.toml",
    "scenarios/studies/bases/outstanding.toml",
    "scenarios/studies/bases/price-eva4400.toml",
    "scenarios/studies/bases/price-raid-4.toml",
    "scenarios/studies/bases/price-root-apart.toml",
    "scenarios/studies/bases/price-root-inside.toml",
    "scenarios/studies/bases/scan-40-spindles.toml",
    "scenarios/studies/bases/single-blocks.toml",
    "scenarios/studies/bases/snapshots-fuller.toml",
    "scenarios/studies/bases/snapshots.toml",
    "scenarios/studies/bases/week-80-percent-full.toml",
    "scenarios/studies/bases/week.toml",
];

/// Returns the names of the studies that ship.
pub fn names() -> impl Iterator<Item = &'static str> {
    STUDIES.iter().map(|(path, _)| name_of(path))
}

/// Returns the study of this name; none if none ships.
///
/// # Errors
/// None, of a study that ships: a test reads each.
pub fn study(name: &str) -> Option<Result<Study, StudyError>> {
    let (path, text) = STUDIES.iter().find(|(path, _)| name_of(path) == name)?;
    Some(Study::parse_with(text, path, &scenario))
}

fn name_of(path: &'static str) -> &'static str {
    Path::new(path).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
}

/// Returns the text of a scenario that ships.
fn scenario(path: &Path) -> Result<String, StudyError> {
    let plain = without_dots(path);
    let found = SCENARIOS.iter().find(|(shipped, _)| Path::new(shipped) == plain);
    found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| StudyError::Unreadable {
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

    /// A study that is written and not listed would not ship.
    #[test]
    fn every_study_ships_and_can_be_planned() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/studies");
        let mut files: Vec<String> = (std::fs::read_dir(folder).unwrap())
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
            .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        let mut listed: Vec<String> = names().map(str::to_owned).collect();
        files.sort_unstable();
        listed.sort_unstable();
        assert_eq!(files, listed);
        for name in listed {
            let study = study(&name).unwrap().unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(study.name, name);
            let plan = study.plan(None).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!plan.study.text.question.is_empty(), "{name} asks nothing");
            assert!(!plan.study.text.predictions.is_empty(), "{name} predicts nothing");
        }
    }
}
