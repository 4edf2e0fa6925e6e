//! Why who belongs to an array is not changed.

use std::io::ErrorKind;
use std::path::PathBuf;

use crate::configuration::{ConfigurationError, LayoutName, Size};
use crate::device::{Finding, OpenError};

use super::problem::remedy_of_open;
use super::{ARRAY_FILE, AssemblyError};

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
