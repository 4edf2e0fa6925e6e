//! What can be wrong with an array's devices.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::configuration::{ConfigurationError, Size};
use crate::device::OpenError;
use crate::format::{FormatError, Identity};

use super::LocationError;

/// Something that is wrong with one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceProblem {
    /// The device, where there is one; otherwise where it was last, as far as that is known.
    pub path: Option<PathBuf>,
    /// The spindle's position, if it is known; nothing for the log.
    pub position: Option<u16>,
    /// What it is.
    pub kind: DeviceProblemKind,
}

/// What is wrong with a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceProblemKind {
    /// No device has the label of this spindle.
    Missing,
    /// No device has the label of the log.
    LogMissing,
    /// It cannot be opened or read.
    Unreadable(String),
    /// It has no label.
    NoLabel,
    /// It has a label that this program does not take: another version, features that are not known, or damage.
    BadLabel(FormatError),
    /// It belongs to another array.
    Foreign {
        /// That array.
        array: Identity,
    },
    /// It says to be what another device is, too.
    Duplicate {
        /// The other device.
        of: PathBuf,
    },
    /// Another device took its place, or it was never a member.
    Replaced,
    /// The array went on without it: its label is older than a change that marked it as failed.
    Failed,
    /// Its label is older than the array's, though it was not marked as failed.
    Older {
        /// The sequence of its label.
        sequence: u64,
        /// The newest.
        newest: u64,
    },
    /// It has a part of what it should.
    Rebuilding,
    /// It is smaller than its label says.
    TooSmall {
        /// Bytes it has.
        size_bytes: u64,
        /// Bytes it should have.
        needed_bytes: u64,
    },
    /// One copy of its label is damaged, or older than the other.
    CopiesDiffer,
    /// Its label is from before a change of membership that was cut off before anything depended on it.
    CutOff,
    /// It is a device that was named before.
    SameDevice {
        /// The other name.
        of: PathBuf,
    },
    /// It was given in the place of another spindle; its label counts.
    Swapped {
        /// The position by its name.
        named: u16,
    },
}

impl DeviceProblemKind {
    pub(super) fn not_storage() -> Self {
        Self::Unreadable("it is neither a file nor a block device".to_owned())
    }

    pub(super) fn not_blocks(size_bytes: u64) -> Self {
        Self::Unreadable(format!("it has {size_bytes} B, not whole blocks of 4 KiB"))
    }

    /// Whether the spindle can be relied upon in spite of it.
    #[must_use]
    pub fn is_harmless(&self) -> bool {
        matches!(
            self,
            Self::CopiesDiffer | Self::CutOff | Self::SameDevice { .. } | Self::Swapped { .. }
        )
    }
}

impl DeviceProblem {
    /// What can be done about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match &self.kind {
            DeviceProblemKind::Missing => {
                "connect it, or replace it".to_owned()
            }
            DeviceProblemKind::LogMissing => {
                "connect it, as it may have writes that the host was told are safe; or replace it, by `strewn array replace DIR log`"
                    .to_owned()
            }
            DeviceProblemKind::Unreadable(_) => "make it readable, or replace it".to_owned(),
            DeviceProblemKind::NoLabel => "give the right device, or replace it".to_owned(),
            DeviceProblemKind::BadLabel(FormatError::Older { .. } | FormatError::Newer { .. }) => {
                "use the Strewn that wrote it".to_owned()
            }
            DeviceProblemKind::BadLabel(_) => "give the right device, or replace it".to_owned(),
            DeviceProblemKind::Foreign { .. } => "give the device of this array".to_owned(),
            DeviceProblemKind::Duplicate { .. } => {
                "take away the one that is a copy: written to both, neither is right".to_owned()
            }
            DeviceProblemKind::Replaced => "leave it out: it is no longer of the array".to_owned(),
            DeviceProblemKind::Failed => "replace it: what it has is out of date".to_owned(),
            DeviceProblemKind::Older { .. } => {
                "replace it: it may lack what was written since".to_owned()
            }
            DeviceProblemKind::Rebuilding => "nothing: the array begins anew with it when it is started".to_owned(),
            DeviceProblemKind::TooSmall { .. } => {
                "give the whole device back, or replace the spindle".to_owned()
            }
            DeviceProblemKind::CopiesDiffer => "nothing: both are written when the array is opened".to_owned(),
            DeviceProblemKind::CutOff => "nothing: it is written when the array is opened".to_owned(),
            DeviceProblemKind::SameDevice { .. } => "name each device once".to_owned(),
            DeviceProblemKind::Swapped { .. } => "nothing: the label counts".to_owned(),
        }
    }
}

impl fmt::Display for DeviceProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(position) = self.position {
            write!(formatter, "spindle {position}")?;
            if let Some(path) = &self.path {
                write!(formatter, " ({})", path.display())?;
            }
            formatter.write_str(": ")?;
        } else if let Some(path) = &self.path {
            write!(formatter, "{}: ", path.display())?;
        }
        match &self.kind {
            DeviceProblemKind::Missing => formatter.write_str("it is missing"),
            DeviceProblemKind::LogMissing => formatter.write_str("the log is missing"),
            DeviceProblemKind::Unreadable(why) => formatter.write_str(why),
            DeviceProblemKind::NoLabel => formatter.write_str("it has no label of Strewn"),
            DeviceProblemKind::BadLabel(error) => error.fmt(formatter),
            DeviceProblemKind::Foreign { array } => {
                write!(formatter, "it belongs to another array, {array}")
            }
            DeviceProblemKind::Duplicate { of } => {
                write!(formatter, "it has the label that {} has too", of.display())
            }
            DeviceProblemKind::Replaced => {
                formatter.write_str("another device has taken its place")
            }
            DeviceProblemKind::Failed => formatter.write_str("it is marked as failed"),
            DeviceProblemKind::Older { sequence, newest } => write!(
                formatter,
                "it is older than the array: its label is number {sequence}, and not {newest}, so that it was away, or \
                 is a copy from before"
            ),
            DeviceProblemKind::Rebuilding => formatter.write_str("it is being rebuilt"),
            DeviceProblemKind::TooSmall { size_bytes, needed_bytes } => write!(
                formatter,
                "it has {}, and its label says {}",
                Size(*size_bytes),
                Size(*needed_bytes)
            ),
            DeviceProblemKind::CopiesDiffer => {
                formatter.write_str("one of the two copies of its label is damaged or older")
            }
            DeviceProblemKind::CutOff => formatter
                .write_str("its label lacks the last change of membership, which was cut off"),
            DeviceProblemKind::SameDevice { of } => {
                write!(formatter, "it is the same device as {}", of.display())
            }
            DeviceProblemKind::Swapped { named } => {
                write!(formatter, "it was given in the place of spindle {named}")
            }
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
pub(super) fn remedy_of_open(error: &OpenError) -> String {
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
