//! Why an array is not opened, made or changed, and what to do about it.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::names::ARRAY_FILE;
use super::problem::DeviceProblem;
use crate::configuration::{ConfigurationError, LayoutName, Size};
use crate::device::{Finding, OpenError};
use crate::format::FormatError;

/// Why it cannot be found out where an array's devices are.
#[derive(Debug, thiserror::Error)]
pub enum LocationError {
    /// It is not there, or is no directory.
    #[error("{}: {source}", path.display())]
    Directory {
        /// The path that was given.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It holds no array.
    #[error("{} holds no array: neither {ARRAY_FILE} nor files of spindles", path.display())]
    Empty {
        /// The directory.
        path: PathBuf,
    },
    /// What names the devices cannot be read.
    #[error("{}: {message}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
}

impl LocationError {
    /// What can be done about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Directory { .. } | Self::Empty { .. } => {
                "give the directory that the array was created in".to_owned()
            }
            Self::File { .. } => format!(
                "correct it, or move it away: without {ARRAY_FILE} the files of the directory are looked at"
            ),
        }
    }
}

/// Why an array is not opened.
#[derive(Debug, thiserror::Error)]
pub enum AssemblyError {
    /// Where its devices are cannot be found out.
    #[error(transparent)]
    Location(#[from] LocationError),
    /// Another process has a device of it, or the system refused one.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// No device has a label of an array that there is.
    #[error("there is no array in {place}{}", list(.problems))]
    NoArray {
        /// Where it was looked for.
        place: String,
        /// What was found instead.
        problems: Vec<DeviceProblem>,
    },
    /// Something is wrong that redundancy would make good.
    #[error("the array is not whole: {} of its spindles can be relied upon{}", .usable, list(.problems))]
    Degraded {
        /// Spindles that can.
        usable: usize,
        /// All that is wrong.
        problems: Vec<DeviceProblem>,
    },
    /// Something is wrong that nothing makes good.
    #[error("the array cannot be started{}", list(.problems))]
    Unusable {
        /// Whether it is that more spindles are lost than redundancy makes good.
        too_many_lost: bool,
        /// All that is wrong.
        problems: Vec<DeviceProblem>,
    },
    /// The label has a configuration that this program cannot make.
    #[error("{}: {source}", .path.display())]
    Configuration {
        /// The device of the label.
        path: PathBuf,
        /// Why not.
        source: ConfigurationError,
    },
    /// A label or superblock cannot be read or written.
    #[error("{}: {action}: {source}", .path.display())]
    Io {
        /// The device.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
    /// A label cannot be made.
    #[error(transparent)]
    Format(#[from] FormatError),
}

impl AssemblyError {
    /// What can be done about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Location(error) => error.remedy(),
            Self::Open(error) => remedy_of_open(error),
            Self::NoArray { .. } => {
                "give the directory that the array was created in, or all its devices".to_owned()
            }
            Self::Degraded { problems, .. } => {
                format!(
                    "{}; `strewn array replace DIR N` replaces, and --degraded starts without what is lost, which is computed from \
                     the rest",
                    remedies(problems)
                )
            }
            Self::Unusable { problems, too_many_lost: false } => remedies(problems),
            Self::Unusable { problems, too_many_lost: true } => format!(
                "{}; nothing can be replaced while more is lost than redundancy makes good",
                remedies(problems)
            ),
            Self::Configuration { source, .. } => source.remedy(),
            Self::Io { .. } => "see what the system says of the device; a spindle that cannot be written is left out once it is marked \
                               as failed, by `strewn array fail DIR N`"
                .to_owned(),
            Self::Format(_) => "use fewer spindles".to_owned(),
        }
    }

    /// All that is wrong with single devices.
    #[must_use]
    pub fn problems(&self) -> &[DeviceProblem] {
        match self {
            Self::NoArray { problems, .. }
            | Self::Degraded { problems, .. }
            | Self::Unusable { problems, .. } => problems,
            _ => &[],
        }
    }

    pub(super) fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, action, source }
    }
}

/// What can be done where a device cannot be opened.
fn remedy_of_open(error: &OpenError) -> String {
    match error {
        OpenError::InUse { .. } => "end the program that has it, or give another".to_owned(),
        OpenError::NotStorage { .. } => "give a file or a block device".to_owned(),
        OpenError::NotBlocks { .. } => "give one of whole blocks".to_owned(),
        OpenError::System { source, .. } => match source.kind() {
            std::io::ErrorKind::PermissionDenied => "have yourself given access to it".to_owned(),
            std::io::ErrorKind::NotFound => "see that the path is right".to_owned(),
            std::io::ErrorKind::StorageFull => "make room, or make it smaller".to_owned(),
            _ => "see what the system says of the device".to_owned(),
        },
    }
}

/// Each problem on a line of its own.
fn list(problems: &[DeviceProblem]) -> String {
    problems.iter().map(|problem| format!("\n  {problem}")).collect()
}

/// The remedies, each once.
fn remedies(problems: &[DeviceProblem]) -> String {
    let mut all: Vec<String> = Vec::new();
    for problem in problems.iter().filter(|problem| !problem.kind.is_harmless()) {
        let whose = match problem.position {
            Some(position) => format!("spindle {position}"),
            None => problem
                .path
                .as_ref()
                .map_or("the log".to_owned(), |path| path.display().to_string()),
        };
        all.push(format!("{whose}: {}", problem.remedy()));
    }
    all.join("; ")
}

/// Why an array is not made, changed or given up. Unless it is [`ChangeError::Assembly`] from a device that could not be
/// written, nothing was.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The array cannot be opened, or a device cannot be written.
    #[error(transparent)]
    Assembly(#[from] AssemblyError),
    /// There can be no such array.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    /// A device cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The directory cannot be used.
    #[error("{}: {message}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// The directory holds an array, or what may be left of one.
    #[error("{} already holds an array: {what} is in it", path.display())]
    HoldsArray {
        /// The directory.
        path: PathBuf,
        /// The file that was found.
        what: String,
    },
    /// A device holds something.
    #[error("{} holds {} (at byte {})", path.display(), finding.what, finding.offset)]
    HoldsData {
        /// The device.
        path: PathBuf,
        /// What and where.
        finding: Finding,
    },
    /// A device was named twice.
    #[error("{} and {} are the same device", first.display(), second.display())]
    SameDevice {
        /// One name.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// As many spindles were given as the layout does not take.
    #[error("{given} devices were given for an array of {needed} spindles")]
    Count {
        /// Devices given.
        given: usize,
        /// Spindles needed.
        needed: u16,
    },
    /// A device is too small.
    #[error("{} has {}, and must have {}", path.display(), Size(*.size_bytes), Size(*.needed_bytes))]
    TooSmall {
        /// The device.
        path: PathBuf,
        /// Bytes it has.
        size_bytes: u64,
        /// Bytes it should have.
        needed_bytes: u64,
    },
    /// The array has no such spindle.
    #[error("there is no spindle {position}: the array has spindles 0 to {}", spindles - 1)]
    NoSuchSpindle {
        /// The position.
        position: u16,
        /// Spindles that there are.
        spindles: u16,
    },
    /// The spindle is marked as failed already.
    #[error("spindle {position} is already marked as failed")]
    FailedAlready {
        /// The position.
        position: u16,
    },
    /// The spindle is there, and can be relied upon.
    #[error("spindle {position} is whole, and what it has would be given up")]
    Whole {
        /// The position.
        position: u16,
    },
    /// The log may have what the host was told is safe, and would be lost.
    #[error(
        "the array was not shut down: the log has what the host wrote since consistency point {checkpoint}, and all of it would \
         be lost"
    )]
    LogNeeded {
        /// The newest consistency point; 0 where none is found.
        checkpoint: u64,
    },
    /// Redundancy would not make good what would be lost.
    #[error(
        "without spindle {position} data would be lost: {layout} makes {} good, and {} lost already",
        how_many(layout.redundancy().into()),
        which(.lost)
    )]
    Redundancy {
        /// The position.
        position: u16,
        /// Spindles that are lost.
        lost: Vec<u16>,
        /// The layout.
        layout: LayoutName,
    },
}

impl ChangeError {
    /// What can be done about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Assembly(error) => error.remedy(),
            Self::Configuration(error) => error.remedy(),
            // Making it is not for us: how large it is to be is the choice of who gives it.
            Self::Open(OpenError::System { path, source, .. }) if source.kind() == ErrorKind::NotFound => {
                let path = path.display();
                format!("see that the path is right, or make a file there first: truncate --size SIZE {path}")
            }
            Self::Open(error) => remedy_of_open(error),
            Self::Directory { .. } => "give a directory that can be written, on a disk with room, or a new name".to_owned(),
            Self::HoldsArray { what, .. } if what == ARRAY_FILE => {
                "give another directory, destroy that array, or force it: all that it has is lost then".to_owned()
            }
            Self::HoldsArray { .. } => {
                "give another directory, move the file away, or force it: the file is lost then".to_owned()
            }
            Self::HoldsData { .. } => {
                "give another device, or force it: all that the device has is lost then".to_owned()
            }
            Self::SameDevice { .. } => "give each device once".to_owned(),
            Self::Count { given, needed } if *given > usize::from(*needed) => {
                "give fewer devices, or more data spindles".to_owned()
            }
            Self::Count { .. } => "give more devices, or fewer data spindles".to_owned(),
            Self::TooSmall { .. } => "give a larger device".to_owned(),
            Self::NoSuchSpindle { .. } => "give one of those".to_owned(),
            Self::FailedAlready { .. } => "replace it".to_owned(),
            Self::Whole { position } => format!(
                "if it is to go, mark it as failed first: `strewn array fail DIR {position}`"
            ),
            Self::LogNeeded { .. } => {
                "connect the log as it was; or give --lose-writes to go on without what it has".to_owned()
            }
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
