//! The problems that a single device of an array can have.

use std::fmt;
use std::path::PathBuf;

use crate::configuration::Size;
use crate::format::{DeviceRole, DiskFormatError, Identity};

/// A problem of one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceProblem {
    /// The device, or, if it is missing, its last known path.
    pub path: Option<PathBuf>,
    /// Its role, if it is known.
    pub role: Option<DeviceRole>,
    /// The kind of problem.
    pub kind: DeviceProblemKind,
}

/// A kind of problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceProblemKind {
    /// No device has the label of this spindle.
    Missing,
    /// No device has the label of the log, or of this device of a mirrored log.
    LogMissing,
    /// The device cannot be opened or read.
    Unreadable(String),
    /// The device has no label.
    NoLabel,
    /// Its label is unusable: another version, unknown features, or damage.
    BadLabel(DiskFormatError),
    /// The device belongs to another array.
    Foreign {
        /// Identity in the device's label.
        array: Identity,
    },
    /// Another device claims to be the same.
    Duplicate {
        /// Path of the other device.
        of: PathBuf,
    },
    /// Another device replaced it.
    Replaced,
    /// It is of a parity group that was never added: the addition was interrupted.
    NotAdded,
    /// The array continued without it: its label is older than the change that marked it as failed.
    Failed,
    /// Its label is older than the array's, although it was not marked as failed.
    Older {
        /// The sequence of its label.
        sequence: u64,
        /// The newest sequence of any label of the array.
        newest: u64,
    },
    /// Its newest superblock is more than one consistency point behind the array's: it is a copy from earlier in the
    /// last run.
    Behind {
        /// The consistency point of its newest superblock.
        consistency_point: u64,
        /// That of the array's.
        newest: u64,
    },
    /// It is being rebuilt, and holds only a part of its data.
    Rebuilding,
    /// It is smaller than its label says.
    TooSmall {
        /// Its size in bytes.
        size_bytes: u64,
        /// The size needed, in bytes.
        needed_bytes: u64,
    },
    /// One copy of its label is damaged or old.
    CopiesDiffer,
    /// Its label misses the last change of membership, which was interrupted before anything depended on it.
    CutOff,
    /// It was already named, by another name.
    SameDevice {
        /// Path under which it was named first.
        of: PathBuf,
    },
    /// It was named as a different spindle. The label decides.
    Swapped {
        /// The position that its name implies.
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

    /// Returns whether the spindle is reliable nevertheless.
    #[must_use]
    pub fn is_harmless(&self) -> bool {
        matches!(
            self,
            Self::CopiesDiffer | Self::CutOff | Self::SameDevice { .. } | Self::Swapped { .. }
        )
    }
}

impl DeviceProblem {
    /// Returns whether a program of another version wrote the device's label.
    pub(super) fn is_of_other_version(&self) -> bool {
        matches!(self.kind, DeviceProblemKind::BadLabel(DiskFormatError::OtherVersion { .. }))
    }

    /// Returns the position of the spindle that has the problem, if it is known to be one.
    #[must_use]
    pub fn position(&self) -> Option<u16> {
        self.role.and_then(DeviceRole::spindle)
    }

    /// Returns the remedy.
    #[must_use]
    pub fn remedy(&self) -> String {
        match &self.kind {
            DeviceProblemKind::Missing => {
                "reconnect it, or replace it".to_owned()
            }
            DeviceProblemKind::LogMissing if self.is_of_mirror() => {
                "reconnect it before the array is started; or replace it: `strewn array replace DIR log`"
                    .to_owned()
            }
            DeviceProblemKind::LogMissing => {
                "reconnect it: it may hold writes that the host was told are safe; or replace it: `strewn array replace DIR log`"
                    .to_owned()
            }
            DeviceProblemKind::Unreadable(_) => "make it readable, or replace it".to_owned(),
            DeviceProblemKind::NoLabel => "give the right device, or replace it".to_owned(),
            DeviceProblemKind::BadLabel(DiskFormatError::OtherVersion { .. }) => {
                "use the Strewn that wrote it".to_owned()
            }
            DeviceProblemKind::BadLabel(_) => "give the right device, or replace it".to_owned(),
            DeviceProblemKind::Foreign { .. } => "give the device of this array".to_owned(),
            DeviceProblemKind::Duplicate { .. } => {
                "remove the copy: with both in use, neither would stay right".to_owned()
            }
            DeviceProblemKind::Replaced => "leave it out: it no longer belongs to the array".to_owned(),
            DeviceProblemKind::NotAdded => {
                "add the group again: `strewn array add-group` uses new files, and removes this one".to_owned()
            }
            DeviceProblemKind::Failed | DeviceProblemKind::Older { .. } if self.is_of_mirror() => {
                "replace it: `strewn array replace DIR log`".to_owned()
            }
            DeviceProblemKind::Failed => "replace it: its data is out of date".to_owned(),
            DeviceProblemKind::Older { .. } | DeviceProblemKind::Behind { .. } => {
                "replace it: it may lack later writes".to_owned()
            }
            DeviceProblemKind::Rebuilding => "nothing: its rebuild starts over when the array is started".to_owned(),
            DeviceProblemKind::TooSmall { .. } => {
                "restore the device's size, or replace the spindle".to_owned()
            }
            DeviceProblemKind::CopiesDiffer => "nothing: opening the array rewrites both".to_owned(),
            DeviceProblemKind::CutOff => "nothing: opening the array rewrites it".to_owned(),
            DeviceProblemKind::SameDevice { .. } => "name each device once".to_owned(),
            DeviceProblemKind::Swapped { .. } => "nothing: the label decides".to_owned(),
        }
    }
}

impl DeviceProblem {
    fn is_of_mirror(&self) -> bool {
        matches!(self.role, Some(DeviceRole::MirroredLog(_)))
    }
}

impl fmt::Display for DeviceProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The path names a single log well enough.
        if let Some(role) = self.role.filter(|role| *role != DeviceRole::Log) {
            write!(formatter, "{role}")?;
            if let Some(path) = &self.path {
                write!(formatter, " ({})", path.display())?;
            }
            formatter.write_str(": ")?;
        } else if let Some(path) = &self.path {
            write!(formatter, "{}: ", path.display())?;
        }
        match &self.kind {
            DeviceProblemKind::Missing => formatter.write_str("it is missing"),
            DeviceProblemKind::LogMissing if self.is_of_mirror() => {
                formatter.write_str("it is missing")
            }
            DeviceProblemKind::LogMissing => formatter.write_str("the log is missing"),
            DeviceProblemKind::Unreadable(why) => formatter.write_str(why),
            DeviceProblemKind::NoLabel => formatter.write_str("it has no label of Strewn"),
            DeviceProblemKind::BadLabel(error) => error.fmt(formatter),
            DeviceProblemKind::Foreign { array } => {
                write!(formatter, "it belongs to another array, {array}")
            }
            DeviceProblemKind::Duplicate { of } => {
                write!(formatter, "it has the same label as {}", of.display())
            }
            DeviceProblemKind::Replaced => {
                formatter.write_str("another device has taken its place")
            }
            DeviceProblemKind::NotAdded => formatter.write_str(
                "it is no member of the array: the addition of its parity group was interrupted",
            ),
            DeviceProblemKind::Failed => formatter.write_str("it is marked as failed"),
            DeviceProblemKind::Older { sequence, newest } => write!(
                formatter,
                "it is stale: its label is number {sequence}, the array's is {newest}; it was away, or is an old copy"
            ),
            DeviceProblemKind::Behind { consistency_point, newest } => write!(
                formatter,
                "it is stale: its superblock is that of consistency point {consistency_point}, the array's is {newest}; it is an old copy"
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
                .write_str("its label lacks the last change of membership, which was interrupted"),
            DeviceProblemKind::SameDevice { of } => {
                write!(formatter, "it is the same device as {}", of.display())
            }
            DeviceProblemKind::Swapped { named } => {
                write!(formatter, "it was named as spindle {named}")
            }
        }
    }
}
