//! A run saved in a directory, so that it can be stopped and resumed.
//!
//! The directory has one file for the run as a whole, `run.state`, with all that determines its results; and one for
//! each array, `array-1.state` and so on, with what it has measured and the state of its simulation. An array writes
//! its own after each of its segments, so the arrays of a killed run may have come to different segments. The files are
//! [containers](container).

mod container;

use std::fs::{self, File, TryLockError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use strewn_base::state::{SavedValue, StateError};
use strewn_scenario::{Disk, ProfileFile, Scenario, ScenarioError, SpindleChoice};
use strewn_sim::Simulated;

use crate::array_run::ArrayRun;
use crate::replace_file::Replacement;
use crate::save_error::SaveError;
use crate::sensitivity_file::{sensitivity_path, sensitivity_text};
use container::{Container, Kind};

/// The file of the run as a whole.
const RUN: &str = "run.state";
/// Locked by the process that runs it.
const LOCK: &str = "lock";

/// A run that is saved in a directory as it goes on ([`RunOptions::save`](crate::RunOptions::save)). No other process
/// can have the same directory meanwhile.
#[derive(Debug)]
pub struct SavedRun {
    directory: PathBuf,
    description: Description,
    /// Identifies the run in its arrays' files.
    id: u64,
    /// Locked as long as it is open.
    _lock: File,
}

/// What determines the results of a run.
#[derive(Debug, SavedValue)]
struct Description {
    /// The text of the scenario, with the settings that were changed.
    text: String,
    /// The name of its file, from whose directory paths in it start.
    name: PathBuf,
    seed: u64,
    segments: u32,
    scale_down: u32,
    /// The text of the published figures.
    published: Option<String>,
    /// The drive profiles that are files, and their checksums.
    profiles: Vec<(PathBuf, u64)>,
    /// The text of the sensitivities, if there are any.
    sensitivity: Option<String>,
}

impl SavedRun {
    /// Begins a saved run of `scenario` at 1/`scale_down` of full scale, in a directory that is empty or not there yet.
    /// The scenario was read from `text`, which is that of a file called `name`; only its seed and its number of
    /// segments may differ.
    ///
    /// # Errors
    /// If the directory has files already or cannot be written, or a file that the scenario names cannot be read.
    pub fn create(
        directory: impl Into<PathBuf>,
        scenario: &Scenario,
        text: &str,
        name: &Path,
        scale_down: u32,
    ) -> Result<Self, SaveError> {
        let directory = directory.into();
        let published = scenario.published.as_ref().map(|path| {
            let text = fs::read_to_string(path);
            text.map_err(|source| SaveError::Read { path: path.clone(), source })
        });
        let sensitivities = sensitivity_path(name);
        let sensitivity = sensitivity_text(&sensitivities)
            .map_err(|source| SaveError::Read { path: sensitivities, source });
        let description = Description {
            text: text.to_owned(),
            name: name.to_owned(),
            seed: scenario.seed,
            segments: scenario.segments,
            scale_down,
            published: published.transpose()?,
            profiles: profiles(scenario).map(checked).collect(),
            sensitivity: sensitivity?,
        };
        let unusable = |source| SaveError::Write { path: directory.clone(), source };
        fs::create_dir_all(&directory).map_err(|source| match directory.exists() {
            true => SaveError::NoDirectory { path: directory.clone() },
            false => unusable(source),
        })?;
        if directory.join(RUN).exists() {
            return Err(SaveError::Present { path: directory });
        }
        for entry in fs::read_dir(&directory).map_err(unusable)? {
            let name = entry.map_err(unusable)?.file_name();
            // What a process leaves that was killed before it had saved anything.
            if name != LOCK && !name.to_string_lossy().starts_with(&format!(".{RUN}.")) {
                return Err(SaveError::Occupied { path: directory });
            }
        }
        let lock = lock(&directory)?;
        let id = id_of(&description)?;
        let run = Self { directory, description, id, _lock: lock };
        run.write_description()?;
        Ok(run)
    }

    /// Opens the run that is saved in a directory, to resume it. Of a complete run, that gives the results again.
    ///
    /// # Errors
    /// If no run of this version is saved there, another process has it, or a file is damaged.
    pub fn open(directory: impl Into<PathBuf>) -> Result<Self, SaveError> {
        let directory = directory.into();
        if !directory.is_dir() {
            return Err(match directory.exists() {
                true => SaveError::NoDirectory { path: directory },
                false => SaveError::Nothing { path: directory },
            });
        }
        let Some(container) = Container::read(&directory.join(RUN), Kind::Run)? else {
            return Err(SaveError::Nothing { path: directory });
        };
        let description: Description = container.decode(|from| from.value())?;
        let lock = lock(&directory)?;
        for (path, before) in &description.profiles {
            if !fs::read(path).is_ok_and(|now| container::checksum(&now) == *before) {
                return Err(SaveError::Profile { path: path.clone() });
            }
        }
        let id = id_of(&description)?;
        Ok(Self { directory, description, id, _lock: lock })
    }

    /// Returns the directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the text of the scenario, and by how many times it is scaled down.
    #[must_use]
    pub fn text(&self) -> (&str, u32) {
        (&self.description.text, self.description.scale_down)
    }

    /// Reads the scenario.
    ///
    /// # Errors
    /// As [`Scenario::parse_with_files`].
    pub fn scenario(&self) -> Result<Scenario, ScenarioError> {
        let Description { text, name, seed, segments, .. } = &self.description;
        let scenario = Scenario::parse_with_files(text, name, &Disk)?;
        Ok(Scenario { seed: *seed, segments: *segments, ..scenario })
    }

    /// The text of the published figures.
    pub(crate) fn published(&self) -> Option<&str> {
        self.description.published.as_deref()
    }

    /// The text of the sensitivities.
    pub(crate) fn sensitivity(&self) -> Option<&str> {
        self.description.sensitivity.as_deref()
    }

    /// Bytes of the arrays' files.
    pub(crate) fn bytes(&self, arrays: usize) -> u64 {
        let files = (0..arrays).map(|index| fs::metadata(self.path(index)));
        files.map(|file| file.map_or(0, |file| file.len())).sum()
    }

    /// Saves what an array has done, and the state of its simulation unless it has ended.
    pub(crate) fn save(
        &self,
        index: usize,
        run: &ArrayRun,
        simulation: Option<&dyn Simulated>,
    ) -> Result<(), SaveError> {
        container::write(&self.path(index), Kind::Array, |to| {
            to.value(&(self.id, index))?;
            to.value(run)?;
            to.value(&simulation.is_some())?;
            simulation.map_or(Ok(()), |simulation| simulation.save(to))
        })
    }

    /// Restores an array into its simulation, which has not run. Returns what it had done, and whether it has ended;
    /// `None` if nothing was saved of it.
    pub(crate) fn restore(
        &self,
        index: usize,
        simulation: &mut dyn Simulated,
        check: impl FnOnce(&dyn Simulated),
    ) -> Result<Option<(ArrayRun, bool)>, SaveError> {
        let path = self.path(index);
        Replacement::remove_left_over(&path)
            .map_err(|source| SaveError::Write { path: path.clone(), source })?;
        let Some(container) = Container::read(&path, Kind::Array)? else { return Ok(None) };
        let restored = container.decode(|from| {
            if from.value::<(u64, usize)>()? != (self.id, index) {
                return Ok(None);
            }
            let run: ArrayRun = from.value()?;
            let goes_on: bool = from.value()?;
            if goes_on {
                simulation.restore(from)?;
            }
            from.finish().map(|()| Some((run, !goes_on)))
        })?;
        let Some((run, has_ended)) = restored else { return Err(SaveError::Foreign { path }) };
        if !has_ended {
            // What a checksum cannot find: a file that was made to deceive it, or that another build has written.
            catch_unwind(AssertUnwindSafe(|| check(simulation)))
                .map_err(|_| container.inconsistent(&"an invariant of the array is violated"))?;
        }
        Ok(Some((run, has_ended)))
    }

    fn path(&self, index: usize) -> PathBuf {
        self.directory.join(format!("array-{}.state", index + 1))
    }

    fn write_description(&self) -> Result<(), SaveError> {
        let path = self.directory.join(RUN);
        Replacement::remove_left_over(&path)
            .map_err(|source| SaveError::Write { path: path.clone(), source })?;
        container::write(&path, Kind::Run, |to| to.value(&self.description))
    }
}

/// Identifies a run by what determines its results.
fn id_of(description: &Description) -> Result<u64, SaveError> {
    let mut bytes = Vec::new();
    let mut writer = strewn_base::state::StateWriter::new(&mut bytes);
    let written = writer.value(description).and_then(|()| writer.finish());
    written.map_err(|error: StateError| SaveError::Impossible(error))?;
    Ok(container::checksum(&bytes))
}

fn lock(directory: &Path) -> Result<File, SaveError> {
    let path = directory.join(LOCK);
    let failed = |source| SaveError::Write { path: path.clone(), source };
    let lock = File::create(&path).map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(SaveError::InUse { path: directory.to_owned() }),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// The drive profiles of a scenario that are files.
fn profiles(scenario: &Scenario) -> impl Iterator<Item = &ProfileFile> {
    scenario.arrays.iter().filter_map(|array| match &array.spindle {
        SpindleChoice::File(file) => Some(file),
        SpindleChoice::Shipped(_) => None,
    })
}

/// A profile's file with its checksum.
fn checked(file: &ProfileFile) -> (PathBuf, u64) {
    (file.path().to_owned(), container::checksum(file.text().as_bytes()))
}
