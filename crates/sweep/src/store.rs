//! The directory of a sweep: its plan, and its finished runs.

use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read as _, Seek as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use strewn_results::Results;
use strewn_run::{Replacement, SavedRun};
use strewn_scenario::Scenario;

use crate::files::File;
use crate::plan::Plan;
use crate::planned_study::PlannedStudy;
use crate::point::{Point, is_id};

/// The file of [`slurm_script`](crate::slurm_script) in a sweep's directory.
pub const SLURM_SCRIPT: &str = "sweep.sbatch";

/// The file of [`kubernetes_job`](crate::kubernetes_job).
pub const KUBERNETES_JOB: &str = "job.yaml";
const MANIFEST: &str = "manifest.jsonl";
const STUDY: &str = "study.json";
const POINTS: &str = "points";
const RESULTS: &str = "results.json";
const SCENARIO: &str = "scenario.toml";
/// What was written of the table, its charts and scripts, a name a line: only that is ever removed.
const WRITTEN: &str = "written.txt";

/// The directory of a sweep.
#[derive(Clone, Debug)]
pub struct Store {
    directory: PathBuf,
}

/// Why a directory of a sweep cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PointStoreError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// A file of the table, its charts or the plan cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// A file is not what a sweep writes.
    #[error("{}: line {line}: {message}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        message: String,
    },
    /// Results are not those of their run.
    #[error("{}: {message}", path.display())]
    DamagedRun {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// No sweep is there.
    #[error("{} has no sweep", path.display())]
    Nothing {
        /// The directory.
        path: PathBuf,
    },
    /// The plan is of another version.
    #[error("{} was planned by Strewn {planned}, and this is {here}", path.display())]
    Version {
        /// The directory.
        path: PathBuf,
        /// The version that planned it.
        planned: String,
        /// This version.
        here: &'static str,
    },
}

impl PointStoreError {
    /// Returns the remedy.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Io { .. } => "make room, or give a directory that you may read and write",
            Self::Unwritable { .. } => {
                "make room: the runs are there, and strewn sweep --resume writes the table again"
            }
            Self::Damaged { .. } => {
                "plan the sweep again: strewn sweep STUDY.toml --out DIR keeps the runs that are there"
            }
            Self::DamagedRun { .. } => "remove the file: the sweep then runs this run again",
            Self::Nothing { .. } => "begin one: strewn sweep STUDY.toml --out DIR",
            Self::Version { .. } => "plan the sweep again with this version, in another directory",
        }
    }
}

impl Store {
    /// Returns the store in a directory, which need not be there yet.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Returns the directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns whether a sweep was planned here.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.directory.join(STUDY).is_file()
    }

    /// Returns whether the directory has something, and no sweep.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        let is_empty =
            || fs::read_dir(&self.directory).map_or(true, |mut entries| entries.next().is_none());
        !self.is_there() && !is_empty()
    }

    /// Writes a plan. Runs that are there stay, also those that the plan does not have. Scripts of another plan that
    /// were there go: they would run it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_plan(&self, plan: &Plan) -> Result<(), PointStoreError> {
        let points = self.directory.join(POINTS);
        fs::create_dir_all(&points)
            .map_err(|source| PointStoreError::Io { path: points, source })?;
        let mut lines = Vec::new();
        for point in &plan.points {
            to_json(&mut lines, point, false).map_err(|source| self.io(MANIFEST, source))?;
        }
        let mut study = Vec::new();
        to_json(&mut study, &plan.study, true).map_err(|source| self.io(STUDY, source))?;
        let is_there = |name: &str, bytes: &[u8]| {
            fs::read(self.directory.join(name)).is_ok_and(|there| there == bytes)
        };
        if !is_there(MANIFEST, &lines) || !is_there(STUDY, &study) {
            self.remove_written(is_script)?;
        }
        self.write(MANIFEST, &lines)?;
        // Last: what has a study has a manifest.
        self.write(STUDY, &study)
    }

    /// Reads the plan.
    ///
    /// # Errors
    /// If there is none, or it is damaged or of another version.
    pub fn read_plan(&self) -> Result<Plan, PointStoreError> {
        self.read_part(0..usize::MAX)
    }

    /// Reads the plan with these of its runs alone, by their numbers from 0: none if it has no such runs.
    ///
    /// # Errors
    /// As [`read_plan`](Self::read_plan).
    pub fn read_part(&self, runs: Range<usize>) -> Result<Plan, PointStoreError> {
        let study = self.read_study()?;
        let text = self.read(MANIFEST)?;
        let lines = text.lines().enumerate().skip(runs.start).take(runs.len());
        let points = lines.map(|(index, line)| self.point(index, line));
        let points = points.collect::<Result<Vec<_>, _>>()?;
        let (found, count) = (text.lines().count(), study.run_count());
        if found != count {
            return Err(PointStoreError::Damaged {
                path: self.directory.join(MANIFEST),
                line: found + 1,
                message: format!("{found} runs, and the study has {count}"),
            });
        }
        Ok(Plan { study, points })
    }

    fn read_study(&self) -> Result<PlannedStudy, PointStoreError> {
        if !self.is_there() {
            return Err(PointStoreError::Nothing { path: self.directory.clone() });
        }
        #[derive(Deserialize)]
        struct VersionOnly {
            strewn: String,
        }
        let text = self.read(STUDY)?;
        let damaged = |error: serde_json::Error| self.damaged(STUDY, error.line(), &error);
        let VersionOnly { strewn } = serde_json::from_str(&text).map_err(damaged)?;
        let here = env!("CARGO_PKG_VERSION");
        if strewn != here {
            return Err(PointStoreError::Version {
                path: self.directory.clone(),
                planned: strewn,
                here,
            });
        }
        serde_json::from_str(&text).map_err(damaged)
    }

    fn point(&self, index: usize, line: &str) -> Result<Point, PointStoreError> {
        let point: Point = serde_json::from_str(line)
            .map_err(|error| self.damaged(MANIFEST, index + 1, &error))?;
        // It names a directory.
        if !is_id(&point.id) {
            return Err(PointStoreError::Damaged {
                path: self.directory.join(MANIFEST),
                line: index + 1,
                message: format!("{:?} is no name of a run", point.id),
            });
        }
        if point.index != index {
            return Err(PointStoreError::Damaged {
                path: self.directory.join(MANIFEST),
                line: index + 1,
                message: format!("is run {}, not {index}", point.index),
            });
        }
        Ok(point)
    }

    /// Checks that the plan's line of a run, with its scenario, is as it was planned.
    ///
    /// # Errors
    /// If it was changed.
    pub fn check(&self, point: &Point, scenario: &Scenario) -> Result<(), PointStoreError> {
        if point.is_intact(scenario) {
            return Ok(());
        }
        Err(PointStoreError::Damaged {
            path: self.directory.join(MANIFEST),
            line: point.index + 1,
            message: format!("run {} is not the one that was planned", point.id),
        })
    }

    fn directory_of(&self, point: &Point) -> PathBuf {
        self.directory.join(POINTS).join(&point.id)
    }

    /// Returns whether a run is there: of this scenario, and whole. Files that a power loss cut short do not end as
    /// they should.
    #[must_use]
    pub fn has(&self, point: &Point) -> bool {
        let directory = self.directory_of(point);
        let is_same =
            || read_file(&directory.join(SCENARIO)).is_ok_and(|text| text == point.scenario);
        ends_whole(&directory.join(RESULTS)).unwrap_or(false) && is_same()
    }

    /// Reads the results of a run; none if it is not there.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn results(&self, point: &Point) -> Result<Option<Results>, PointStoreError> {
        if !self.has(point) {
            return Ok(None);
        }
        let path = self.directory_of(point).join(RESULTS);
        let text = read_file(&path)
            .map_err(|source| PointStoreError::Io { path: path.clone(), source })?;
        let wrong = |message: String| PointStoreError::DamagedRun { path: path.clone(), message };
        let results = Results::from_json(&text).map_err(|error| wrong(error.to_string()))?;
        if results.seed != point.seed {
            return Err(wrong(format!("has seed {}, not {}", results.seed, point.seed)));
        }
        Ok(Some(results))
    }

    /// Keeps the results of a finished run, all of it or nothing. Those that are there already stay: they are the same.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn keep(&self, point: &Point, results: &Results) -> Result<(), PointStoreError> {
        let json = results.to_json_string().map_err(|error| {
            self.io(RESULTS, io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
        })?;
        let path = self.directory_of(point);
        let failed = |source| PointStoreError::Io { path: path.clone(), source };
        // Two nodes may do one run, and the first process of each pod has the same number.
        let (process, chance) = (std::process::id(), RandomState::new().hash_one(&point.id));
        let temporary = path.with_extension(format!("{process}-{chance:016x}.tmp"));
        fs::create_dir_all(&temporary).map_err(failed)?;
        fs::write(temporary.join(SCENARIO), &point.scenario).map_err(failed)?;
        // Not synced: a file that a power loss cuts short is seen for what it is, and the run is run again.
        fs::write(temporary.join(RESULTS), json).map_err(failed)?;
        match fs::rename(&temporary, &path) {
            Ok(()) => {}
            Err(_) if self.has(point) => drop(fs::remove_dir_all(&temporary)),
            // What is there was cut short.
            Err(_) => fs::remove_dir_all(&path)
                .and_then(|()| fs::rename(&temporary, &path))
                .map_err(failed)?,
        }
        // It may have been saved on the way.
        let _ = fs::remove_dir_all(self.saved_path(point));
        Ok(())
    }

    fn saved_path(&self, point: &Point) -> PathBuf {
        self.directory_of(point).with_extension("saved")
    }

    /// Opens the saved state of an unfinished run, or begins to save it.
    ///
    /// # Errors
    /// If it cannot be, also because another process runs it.
    pub fn saved(&self, point: &Point) -> Result<SavedRun, strewn_run::RunError> {
        let path = self.saved_path(point);
        match SavedRun::open(&path) {
            Err(strewn_run::SaveError::Nothing { .. }) => {}
            opened => return Ok(opened?),
        }
        let scenario = point.scenario()?;
        Ok(SavedRun::create(
            &path,
            &scenario,
            &point.scenario,
            Path::new(SCENARIO),
            point.scale_down,
        )?)
    }

    /// Returns whether a saved state of an unfinished run is there.
    #[must_use]
    pub fn is_saved(&self, point: &Point) -> bool {
        self.saved_path(point).is_dir()
    }

    fn read(&self, name: &str) -> Result<String, PointStoreError> {
        read_file(&self.directory.join(name)).map_err(|source| self.io(name, source))
    }

    /// Writes the table of a sweep, its charts and report, and removes those of an earlier plan that it no longer has.
    /// Pictures (PNG) of charts that are the same as before stay.
    ///
    /// # Errors
    /// If one cannot be written or removed.
    pub fn publish(&self, files: &[File]) -> Result<(), PointStoreError> {
        let mut same = Vec::new();
        for (name, bytes) in files {
            if fs::read(self.directory.join(name)).is_ok_and(|before| before == *bytes) {
                same.push(name.as_str());
            }
            self.write(name, bytes)?;
        }
        let is_picture_of_same = |name: &str| {
            let chart = name.strip_suffix(".png").map(|stem| format!("{stem}.svg"));
            chart.is_some_and(|chart| same.contains(&chart.as_str()))
        };
        let is_old = |name: &str| {
            !is_script(name)
                && files.iter().all(|(file, _)| file != name)
                && !is_picture_of_same(name)
        };
        self.remove_written(is_old)?;
        self.list(files.iter().map(|(name, _)| name.as_str()))
    }

    /// Writes a script that runs the plan on a cluster, `sweep.sbatch` or `job.yaml`. It goes when another plan is
    /// written.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_script(&self, name: &str, text: &str) -> Result<(), PointStoreError> {
        self.write(name, text.as_bytes())?;
        self.list([name])
    }

    /// Returns the names of the files that were written here.
    fn written(&self) -> Vec<String> {
        // Before there is a list, nothing was listed.
        let text = fs::read_to_string(self.directory.join(WRITTEN)).unwrap_or_default();
        let is_plain = |name: &&str| Path::new(name).file_name().is_some_and(|file| file == *name);
        text.lines().filter(is_plain).map(str::to_owned).collect()
    }

    fn list<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<(), PointStoreError> {
        let mut all = self.written();
        all.extend(names.into_iter().map(str::to_owned));
        all.sort_unstable();
        all.dedup();
        self.write_list(&all)
    }

    fn write_list(&self, names: &[String]) -> Result<(), PointStoreError> {
        let text: String = names.iter().map(|name| format!("{name}\n")).collect();
        self.write(WRITTEN, text.as_bytes())
    }

    /// Removes those files that were written here and are meant.
    fn remove_written(&self, is_meant: impl Fn(&str) -> bool) -> Result<(), PointStoreError> {
        let (old, kept): (Vec<String>, Vec<String>) =
            self.written().into_iter().partition(|name| is_meant(name));
        if old.is_empty() {
            return Ok(());
        }
        for name in &old {
            match fs::remove_file(self.directory.join(name)) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(self.io(name, source));
                }
                _ => {}
            }
        }
        self.write_list(&kept)
    }

    /// Writes a file of the directory, whole or not at all.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), PointStoreError> {
        let path = self.directory.join(name);
        Replacement::write(&path, bytes)
            .and_then(Replacement::put_in_place)
            .map_err(|source| PointStoreError::Unwritable { path, source })
    }

    fn io(&self, name: &str, source: io::Error) -> PointStoreError {
        PointStoreError::Io { path: self.directory.join(name), source }
    }

    fn damaged(&self, name: &str, line: usize, error: &serde_json::Error) -> PointStoreError {
        PointStoreError::Damaged {
            path: self.directory.join(name),
            line,
            message: error.to_string(),
        }
    }
}

/// Reads a file. What is none, such as a pipe, could keep a reader waiting for ever.
fn read_file(path: &Path) -> io::Result<String> {
    check_is_file(path)?;
    fs::read_to_string(path)
}

fn check_is_file(path: &Path) -> io::Result<()> {
    if fs::metadata(path)?.is_file() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file"))
}

/// Whether a file runs a plan on a cluster.
fn is_script(name: &str) -> bool {
    name == SLURM_SCRIPT || name == KUBERNETES_JOB
}

/// Returns whether a file has the end of a text of JSON.
fn ends_whole(path: &Path) -> io::Result<bool> {
    const END: &[u8] = b"}\n";
    check_is_file(path)?;
    let mut file = fs::File::open(path)?;
    file.seek(io::SeekFrom::End(-(END.len() as i64)))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    Ok(end == END)
}

fn to_json(bytes: &mut Vec<u8>, value: &impl serde::Serialize, is_pretty: bool) -> io::Result<()> {
    match is_pretty {
        true => serde_json::to_writer_pretty(&mut *bytes, value)?,
        false => serde_json::to_writer(&mut *bytes, value)?,
    }
    bytes.push(b'\n');
    Ok(())
}
