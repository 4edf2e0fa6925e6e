//! Why an array cannot be opened, created or changed, and the remedy.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::names::ARRAY_FILE;
use super::problem::DeviceProblem;
use crate::configuration::{ConfigurationError, LayoutName, Size};
use crate::device::{Finding, OpenDeviceError, remedy_of_system};
use crate::format::{DeviceRole, DiskFormatError};

/// Why an array cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum AssemblyError {
    /// It does not exist, or is not a directory.
    #[error("{}: {source}", path.display())]
    NoDirectory {
        /// The path that was given.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It holds no array.
    #[error("{} holds no array: neither {ARRAY_FILE} nor files of spindles", path.display())]
    EmptyDirectory {
        /// Directory that was searched.
        path: PathBuf,
    },
    /// `array.toml` cannot be read.
    #[error("{}: {source}", path.display())]
    ArrayFileUnreadable {
        /// Path of `array.toml`.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// `array.toml` is wrong.
    #[error("{}: {message}", path.display())]
    ArrayFile {
        /// Path of `array.toml`.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// Another process has a device, or permission was denied.
    #[error(transparent)]
    Open(#[from] OpenDeviceError),
    /// No device has an array's label.
    #[error("there is no array in {place}{}", list(.problems))]
    NoArray {
        /// The location that was searched.
        place: String,
        /// What was found instead.
        problems: Vec<DeviceProblem>,
    },
    /// Spindles are missing, and the array may not start degraded although redundancy would cover them.
    #[error("the array is degraded: only {} of its spindles can be relied on{}", .usable, list(.problems))]
    Degraded {
        /// Number of reliable spindles.
        usable: usize,
        /// Everything that is wrong.
        problems: Vec<DeviceProblem>,
    },
    /// Redundancy does not cover what is missing.
    #[error("the array cannot be started{}", list(.problems))]
    Unusable {
        /// Whether more spindles are lost than redundancy covers.
        too_many_lost: bool,
        /// Everything that is wrong.
        problems: Vec<DeviceProblem>,
    },
    /// One device of a mirrored log is missing, and the other does not have everything that was acknowledged. If the
    /// array started now, it would no longer trust the missing one.
    #[error("one device of the log is missing, and the other {why}{}", list(.problems))]
    LogNeeded {
        /// What is wrong with the other device.
        why: String,
        /// Everything that is wrong.
        problems: Vec<DeviceProblem>,
    },
    /// This program does not support the configuration in the label.
    #[error("{}: {source}", .path.display())]
    Configuration {
        /// The device of the label.
        path: PathBuf,
        /// The error in the configuration.
        source: ConfigurationError,
    },
    /// A label or superblock cannot be read or written.
    #[error("{}: {action}: {source}", .path.display())]
    Io {
        /// Path of the device.
        path: PathBuf,
        /// The action that failed.
        action: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
    /// A label cannot be encoded.
    #[error(transparent)]
    Format(#[from] DiskFormatError),
}

impl AssemblyError {
    /// Returns the remedy.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::NoDirectory { source, .. } => {
                let directory = "give the directory that the array was created in";
                remedy_of_system(source).unwrap_or(directory).to_owned()
            }
            Self::EmptyDirectory { .. } => {
                "give the directory that the array was created in".to_owned()
            }
            Self::ArrayFileUnreadable { source, .. } => {
                let file = "make it readable, or move it away";
                remedy_of_system(source).unwrap_or(file).to_owned()
            }
            Self::ArrayFile { .. } => format!(
                "correct it, or move it away: without {ARRAY_FILE} the devices are found by their files' names"
            ),
            Self::Open(error) => remedy_of_open(error),
            Self::NoArray { problems, .. } if problems.iter().any(DeviceProblem::is_of_other_version) => {
                "use the version of Strewn that made the array, or create another array".to_owned()
            }
            Self::NoArray { .. } => {
                "give the directory that the array was created in, or all its devices".to_owned()
            }
            Self::Degraded { problems, .. } => {
                let degraded = "`strewn array replace DIR N` replaces a spindle; --degraded starts without those that are lost";
                remedies_and(problems, degraded)
            }
            Self::Unusable { problems, too_many_lost: false } => remedies(problems),
            Self::Unusable { problems, too_many_lost: true } => remedies_and(
                problems,
                "nothing can be replaced while more spindles are lost than redundancy covers",
            ),
            Self::LogNeeded { .. } => {
                "reconnect the missing device; or give up what only that had: `strewn array replace DIR log --lose-writes`".to_owned()
            }
            Self::Configuration { source, .. } => source.remedy(),
            Self::Io { source, .. } => remedy_of_system(source).unwrap_or("check the device in the system's log; mark a spindle that cannot be written as failed: `strewn array fail DIR N`")
                .to_owned(),
            Self::Format(_) => "use fewer spindles".to_owned(),
        }
    }

    /// Returns everything that is wrong with single devices.
    #[must_use]
    pub fn problems(&self) -> &[DeviceProblem] {
        match self {
            Self::NoArray { problems, .. }
            | Self::Degraded { problems, .. }
            | Self::LogNeeded { problems, .. }
            | Self::Unusable { problems, .. } => problems,
            _ => &[],
        }
    }

    pub(super) fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, action, source }
    }
}

/// Returns the remedy for a device that cannot be opened.
fn remedy_of_open(error: &OpenDeviceError) -> String {
    match error {
        OpenDeviceError::InUse { .. } => "end the program that has it, or give another".to_owned(),
        OpenDeviceError::NotStorage { .. } => "give a file or a block device".to_owned(),
        OpenDeviceError::NotBlocks { .. } => "give one of whole blocks".to_owned(),
        OpenDeviceError::System { source, .. } => {
            let of_device = match source.kind() {
                ErrorKind::NotFound => "check the path",
                ErrorKind::StorageFull => "make room, or make it smaller",
                _ => "check the device in the system's log",
            };
            remedy_of_system(source).unwrap_or(of_device).to_owned()
        }
    }
}

/// Lists the problems, one per line.
fn list(problems: &[DeviceProblem]) -> String {
    problems.iter().map(|problem| format!("\n  {problem}")).collect()
}

/// Lists the remedies of all problems that matter, and one more.
fn remedies_and(problems: &[DeviceProblem], last: &str) -> String {
    match remedies(problems) {
        first if first.is_empty() => last.to_owned(),
        first => format!("{first}; {last}"),
    }
}

/// Lists the remedies of all problems that matter; of the others if there are none.
fn remedies(problems: &[DeviceProblem]) -> String {
    let mut all: Vec<String> = Vec::new();
    let any_matters = problems.iter().any(|problem| !problem.kind.is_harmless());
    for problem in problems.iter().filter(|one| !any_matters || !one.kind.is_harmless()) {
        let whose = match problem.role {
            Some(role) if role != DeviceRole::Log => role.to_string(),
            _ => problem
                .path
                .as_ref()
                .map_or("the log".to_owned(), |path| path.display().to_string()),
        };
        all.push(format!("{whose}: {}", problem.remedy()));
    }
    all.join("; ")
}

/// Why an array cannot be created, changed or destroyed. Nothing was written, unless this is
/// [`MembershipError::Assembly`] from a device that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum MembershipError {
    /// The array cannot be opened, or a device cannot be written.
    #[error(transparent)]
    Assembly(#[from] AssemblyError),
    /// The configuration is invalid.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    /// A device cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenDeviceError),
    /// The directory cannot be used.
    #[error("{}: {message}", path.display())]
    Directory {
        /// Path of the directory.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// The directory holds an array, or the possible remains of one.
    #[error("{} already holds an array: {what} is in it", path.display())]
    HoldsArray {
        /// Path of the directory.
        path: PathBuf,
        /// The file that was found.
        what: String,
    },
    /// A device is not empty.
    #[error("{} holds {} (at byte {})", path.display(), finding.what, finding.offset)]
    HoldsData {
        /// Path of the device.
        path: PathBuf,
        /// What was found, and where.
        finding: Finding,
    },
    /// One device was named twice.
    #[error("{} and {} are the same device", first.display(), second.display())]
    SameDevice {
        /// One name.
        first: PathBuf,
        /// The other name.
        second: PathBuf,
    },
    /// A device of the array was named as a new one.
    #[error("{} is a device of this array already", path.display())]
    IsMember {
        /// Path under which it was named.
        path: PathBuf,
    },
    /// The number of devices does not match the layout.
    #[error("{given} devices were given for an array of {needed} spindles")]
    Count {
        /// Number of devices given.
        given: usize,
        /// Number of spindles needed.
        needed: u16,
    },
    /// A device is too small.
    #[error("{} has {}, and must have {}", path.display(), Size(*.size_bytes), Size(*.needed_bytes))]
    TooSmall {
        /// Path of the device.
        path: PathBuf,
        /// Its size in bytes.
        size_bytes: u64,
        /// The size needed, in bytes.
        needed_bytes: u64,
    },
    /// The array has no such spindle.
    #[error("there is no spindle {position}: the array has spindles 0 to {}", spindles - 1)]
    NoSuchSpindle {
        /// Position that was named, counted from 0.
        position: u16,
        /// Number of spindles in the array.
        spindles: u16,
    },
    /// The spindle is already marked as failed.
    #[error("spindle {position} is already marked as failed")]
    FailedAlready {
        /// Position of the spindle, counted from 0.
        position: u16,
    },
    /// An array that updates in place takes no parity groups.
    #[error("an array that updates in place has no parity groups to add to")]
    InPlaceGroup,
    /// A parity group has parity spindles.
    #[error("{0} is no layout of a parity group")]
    GroupLayout(LayoutName),
    /// The spindle is present and reliable.
    #[error("spindle {position} is whole: replacing it would discard its data")]
    Whole {
        /// Position of the spindle, counted from 0.
        position: u16,
    },
    /// Both devices of the log are present, and the one to replace was not named.
    #[error("both devices of the log are present: log-a and log-b")]
    WhichLog,
    /// Two devices have the label of one device of the log: one is a copy of the other.
    #[error("{} and {} have the same label: one is a copy of the other", .first.display(), .second.display())]
    CopyOfLog {
        /// Path of one device.
        first: PathBuf,
        /// Path of the other.
        second: PathBuf,
    },
    /// The array has no such log device.
    #[error("the log of this array is a single device")]
    NotMirrored,
    #[error(
        "the array was not shut down: everything that the host wrote since consistency point {consistency_point} is in the log, and would be lost"
    )]
    /// The log may hold acknowledged writes that would be lost.
    LogNeeded {
        /// The newest consistency point; 0 if none was found.
        consistency_point: u64,
    },
    #[error(
        "without spindle {position} data would be lost: {layout} makes {} good, and {} lost already",
        how_many(layout.redundancy().into()),
        which(.lost)
    )]
    /// Redundancy would not cover the loss.
    Redundancy {
        /// Position of the spindle that was to fail, counted from 0.
        position: u16,
        /// Spindles that are lost.
        lost: Vec<u16>,
        /// Layout of its parity group, which decides how many losses are covered.
        layout: LayoutName,
    },
}

impl MembershipError {
    /// Returns the remedy.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Assembly(error) => error.remedy(),
            Self::Configuration(error) => error.remedy(),
            // Do not create it: its size is the user's choice.
            Self::Open(OpenDeviceError::System { path, source, .. })
                if source.kind() == ErrorKind::NotFound =>
            {
                let path = path.display();
                format!("check the path, or make a file there first: truncate --size SIZE {path}")
            }
            Self::Open(error) => remedy_of_open(error),
            Self::Directory { .. } => {
                "give a directory that can be written, on a disk with room, or a new name"
                    .to_owned()
            }
            Self::HoldsArray { what, .. } if what == ARRAY_FILE => {
                "give another directory, destroy that array, or overwrite it with --force"
                    .to_owned()
            }
            Self::HoldsArray { .. } => {
                "give another directory, move the file away, or overwrite it with --force"
                    .to_owned()
            }
            Self::HoldsData { .. } => {
                "give another device, or overwrite it with --force".to_owned()
            }
            Self::SameDevice { .. } => "give each device once".to_owned(),
            Self::IsMember { .. } => "give another device".to_owned(),
            Self::Count { given, needed } if *given > usize::from(*needed) => {
                "give fewer devices, or more data spindles".to_owned()
            }
            Self::Count { .. } => "give more devices, or fewer data spindles".to_owned(),
            Self::TooSmall { .. } => "give a larger device".to_owned(),
            Self::NoSuchSpindle { .. } => "give one of those".to_owned(),
            Self::FailedAlready { .. } => "replace it".to_owned(),
            Self::Whole { position } => format!(
                "to replace it all the same, mark it as failed first: `strewn array fail DIR {position}`"
            ),
            Self::WhichLog => {
                "name the one to replace; if both lack records, --lose-writes goes on without those"
                    .to_owned()
            }
            Self::CopyOfLog { .. } => {
                "move the copy away, and nothing is lost: the array starts with the other"
                    .to_owned()
            }
            Self::NotMirrored => "give log".to_owned(),
            Self::LogNeeded { .. } => {
                "reconnect the log; or give --lose-writes to continue without the writes in it"
                    .to_owned()
            }
            Self::InPlaceGroup => {
                "create another array; write-anywhere arrays (raid-dp, raid-4) take more groups"
                    .to_owned()
            }
            Self::GroupLayout(_) => "give raid-dp or raid-4".to_owned(),
            Self::Redundancy { .. } => "replace the spindles that are lost first".to_owned(),
        }
    }
}

fn how_many(spindles: usize) -> String {
    format!("{spindles} lost spindle{}", if spindles == 1 { "" } else { "s" })
}

fn which(spindles: &[u16]) -> String {
    let numbers: Vec<String> = spindles.iter().map(ToString::to_string).collect();
    match spindles {
        [one] => format!("spindle {one} is"),
        _ => format!("spindles {} are", numbers.join(" and ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assembly::DeviceProblemKind;

    #[test]
    fn regression_help_begins_with_a_remedy() {
        let same = DeviceProblem {
            path: Some(PathBuf::from("a")),
            role: Some(DeviceRole::Spindle(1)),
            kind: DeviceProblemKind::SameDevice { of: PathBuf::from("b") },
        };
        let missing = DeviceProblem { kind: DeviceProblemKind::Missing, ..same.clone() };
        let degraded = |problems| AssemblyError::Degraded { usable: 5, problems }.remedy();
        let unusable =
            |problems| AssemblyError::Unusable { too_many_lost: true, problems }.remedy();
        for remedy in [degraded(Vec::new()), unusable(Vec::new())] {
            assert!(!remedy.starts_with(';') && !remedy.is_empty(), "{remedy}");
        }
        for remedy in [degraded(vec![same.clone()]), unusable(vec![same.clone()])] {
            assert!(remedy.starts_with("spindle 1: name each device once; "), "{remedy}");
        }
        let both = degraded(vec![same, missing]);
        assert!(both.starts_with("spindle 1: reconnect it, or replace it; `strewn"), "{both}");
    }
}
