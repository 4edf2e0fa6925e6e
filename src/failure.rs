//! Why a program failed.

use std::fmt;

pub(crate) use strewn_run::with_causes;
use strewn_run::{CalibrateError, CalibrateRowsError, LoadError, RefitError, RunError, SaveError};
use strewn_scenario::{ParameterError, ScenarioError, SetError};
use strewn_spindle::ProfileError;
use strewn_sweep::{PointError, PointStoreError, StudyError, SweepFileError};

/// A failure that ends a program: a message, a remedy, and the exit code.
#[derive(Debug)]
pub struct Failure {
    message: String,
    help: Option<String>,
    exit_code: u8,
    scenario: Option<ScenarioError>,
    others: Vec<Failure>,
}

/// Exit code when the work failed on the way.
const FAILED: u8 = 1;
/// Exit code when the request cannot be carried out, and nothing was done.
const BAD_INPUT: u8 = 2;
/// Exit code that a shell reports for a program ended by SIGINT: 128 plus the signal's number.
pub(crate) const INTERRUPTED_EXIT_CODE: u8 = 130;

impl Failure {
    /// Returns the failure for a request that cannot be carried out, with its remedy: exit code 2. Nothing was
    /// written.
    #[must_use]
    pub fn bad_input(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(BAD_INPUT, message.into(), Some(help.into()))
    }

    /// Returns the failure for work that failed on the way: exit code 1.
    #[must_use]
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(FAILED, message.into(), None)
    }

    /// Returns the failure for a stop by a signal before there was anything to show: exit code 130.
    #[must_use]
    pub fn stopped(message: impl Into<String>) -> Self {
        Self::new(INTERRUPTED_EXIT_CODE, message.into(), Some("nothing was written".to_owned()))
    }

    /// Adds a remedy.
    #[must_use]
    pub fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    fn new(exit_code: u8, message: String, help: Option<String>) -> Self {
        Self { message, help, exit_code, scenario: None, others: Vec::new() }
    }

    /// Adds further problems of the same input, which are shown below this one.
    #[must_use]
    pub fn with_others(self, others: impl IntoIterator<Item = Self>) -> Self {
        Self { others: others.into_iter().collect(), ..self }
    }

    /// Returns the further problems.
    #[must_use]
    pub fn others(&self) -> &[Self] {
        &self.others
    }

    /// Returns what went wrong, in one line.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the remedy.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// Returns the exit code of a program that ends so.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        self.exit_code
    }

    /// Returns the problems of a scenario, each with its place in the text, if they caused the failure.
    #[must_use]
    pub fn scenario(&self) -> Option<&ScenarioError> {
        self.scenario.as_ref()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        let (message, help) = (error.to_string(), error.help().map(str::to_owned));
        Self { scenario: Some(error), ..Self::new(BAD_INPUT, message, help) }
    }
}

impl From<SetError> for Failure {
    fn from(error: SetError) -> Self {
        let (message, help) = (error.to_string(), error.help());
        match error {
            SetError::Scenario(error) => error.into(),
            _ => Self::new(BAD_INPUT, format!("--set: {message}"), help),
        }
    }
}

impl From<ParameterError> for Failure {
    fn from(error: ParameterError) -> Self {
        Self::bad_input(error.to_string(), error.help())
    }
}

impl From<ProfileError> for Failure {
    fn from(error: ProfileError) -> Self {
        let help = "give a drive profile in TOML: `strewn spindle --print NAME` prints one, docs/drives.md lists every \
                    field";
        if let ProfileError::Provenance { profile, faults } = &error {
            let mut problems = faults.iter().map(|fault| {
                Self::bad_input(
                    format!("drive profile {profile}: {fault}"),
                    "docs/drives.md says what a source is",
                )
            });
            if let Some(first) = problems.next() {
                return first.with_others(problems);
            }
        }
        Self::new(BAD_INPUT, with_causes(&error), Some(help.to_owned()))
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let error = match error {
            RunError::Load(error) => return error.into(),
            RunError::Scenario(error) => return error.into(),
            RunError::Save(error) => return error.into(),
            RunError::Unwritten(unwritten) => return unwritten.error.into(),
            RunError::PublishedName(error) => {
                let help = error.help();
                return Self::bad_input(error.to_string(), help);
            }
            error => error,
        };
        let exit_code = match &error {
            RunError::Build { .. }
            | RunError::PublishedFile { .. }
            | RunError::Published(_)
            | RunError::SensitivityFile { .. }
            | RunError::Sensitivity(_)
            | RunError::Memory(_) => BAD_INPUT,
            _ => FAILED,
        };
        Self::new(exit_code, with_causes(&error), error.help().map(str::to_owned))
    }
}

impl From<SaveError> for Failure {
    fn from(error: SaveError) -> Self {
        let exit_code = if error.is_bad_input() { BAD_INPUT } else { FAILED };
        Self::new(exit_code, error.to_string(), Some(error.help().to_owned()))
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        let others = error.others().iter().cloned().map(Self::from).collect::<Vec<_>>();
        Self::new(BAD_INPUT, error.to_string(), Some(error.help())).with_others(others)
    }
}

impl From<CalibrateError> for Failure {
    fn from(error: CalibrateError) -> Self {
        let (exit_code, help) = match error {
            CalibrateError::Run(error) => return error.into(),
            CalibrateError::Threads(error) => return RunError::from(error).into(),
            CalibrateError::NothingFitted => (
                BAD_INPUT,
                "below an array, add [array.fitted] with `parameters` and the published `segments` to fit them to",
            ),
            CalibrateError::NoPublished => {
                (BAD_INPUT, "add a line such as published = \"figures.published.toml\"")
            }
            CalibrateError::NoFigure { .. } => (
                BAD_INPUT,
                "fit to segments that are published, or add the figure to the published file",
            ),
            CalibrateError::DataLost { .. } => {
                (BAD_INPUT, "fit to segments before the failures, or remove the failures")
            }
            CalibrateError::Parameter(_) => (
                FAILED,
                "start closer: give the parameter a value whose results come closer to the published figures",
            ),
            CalibrateError::NotConverged { .. } => (
                FAILED,
                "nothing was written. Start closer, fit fewer parameters, or look at what else limits these segments: \
                 `strewn run` shows how busy processor and spindles are",
            ),
            CalibrateError::Stopped => (INTERRUPTED_EXIT_CODE, "nothing was written"),
        };
        Self::new(exit_code, with_causes(&error), Some(help.to_owned()))
    }
}

impl From<CalibrateRowsError> for Failure {
    fn from(error: CalibrateRowsError) -> Self {
        match error {
            CalibrateRowsError::Run(error) => error.into(),
            CalibrateRowsError::Set(error) => error.into(),
            CalibrateRowsError::Stopped => Self::stopped(error.to_string()),
            CalibrateRowsError::NotGiven { .. } => Self::bad_input(
                error.to_string(),
                "write it into the file, with a first guess: every array that has it must give it",
            ),
            CalibrateRowsError::NoRow { .. } | CalibrateRowsError::NoFigure { .. } => {
                Self::bad_input(error.to_string(), "correct the names under [[fitted]] and [[row]]")
            }
            CalibrateRowsError::NotConverged { .. } => Self::failed(error.to_string()).with_help(
                "something else limits these rows: fit another setting, or begin elsewhere",
            ),
        }
    }
}

impl From<RefitError> for Failure {
    fn from(error: RefitError) -> Self {
        let message = with_causes(&error);
        match error {
            RefitError::Scenario(error) => error.into(),
            RefitError::Calibrate(error) => error.into(),
            RefitError::Run(error) => error.into(),
            RefitError::Memory(error) => RunError::from(error).into(),
            RefitError::Threads(error) => RunError::from(error).into(),
            RefitError::NothingFitted => CalibrateError::NothingFitted.into(),
            RefitError::NoPublished => CalibrateError::NoPublished.into(),
            RefitError::Setting { source, .. } => {
                let help = source.help().unwrap_or_default();
                Self::new(BAD_INPUT, message, Some(help))
            }
            RefitError::NoBaseline { .. } => Self::failed(message)
                .with_help("`strewn calibrate` fits the scenario first; nothing was written"),
            RefitError::Stopped => Self::stopped(message),
        }
    }
}

impl From<StudyError> for Failure {
    fn from(error: StudyError) -> Self {
        let help = error.help();
        match error {
            StudyError::Scenario(error) => error.into(),
            StudyError::Several(errors) => {
                let mut failures = errors.into_iter().map(Self::from);
                match failures.next() {
                    Some(first) => first.with_others(failures),
                    None => Self::bad_input("the study is wrong", "correct it"),
                }
            }
            error => Self::new(BAD_INPUT, error.to_string(), help),
        }
    }
}

impl From<SweepFileError> for Failure {
    fn from(error: SweepFileError) -> Self {
        Self::failed(error.to_string())
    }
}

impl From<PointStoreError> for Failure {
    fn from(error: PointStoreError) -> Self {
        let exit_code =
            if matches!(error, PointStoreError::Io { .. } | PointStoreError::Unwritable { .. }) {
                FAILED
            } else {
                BAD_INPUT
            };
        Self::new(exit_code, error.to_string(), Some(error.help().to_owned()))
    }
}

impl From<PointError> for Failure {
    fn from(error: PointError) -> Self {
        match error {
            PointError::Run(error) => error.into(),
            PointError::Store(error) => error.into(),
            PointError::Threads(error) => RunError::from(error).into(),
        }
    }
}
