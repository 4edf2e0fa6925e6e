//! What can be wrong with one of an array's devices.

use std::fmt;
use std::path::PathBuf;

use crate::configuration::Size;
use crate::format::{FormatError, Identity};

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
