//! Why a run cannot be saved, or not be resumed.

use std::io;
use std::path::PathBuf;

use strewn_base::state::StateError;
use thiserror::Error;

/// Why a run cannot be saved, or not be resumed.
#[derive(Debug, Error)]
pub enum SaveError {
    /// The directory has other files.
    #[error("{}: the directory is not empty", .path.display())]
    Occupied {
        /// Path of the directory that was to have the saved run.
        path: PathBuf,
    },
    /// The directory has a saved run already.
    #[error("{}: a run is saved there already", .path.display())]
    Present {
        /// Path of the directory that was to have the saved run.
        path: PathBuf,
    },
    /// The path is something else than a directory.
    #[error("{} is not a directory", .path.display())]
    NoDirectory {
        /// Path that was given as a directory.
        path: PathBuf,
    },
    /// Nothing is saved in the directory.
    #[error("{}: no run is saved there", .path.display())]
    Nothing {
        /// Path of the directory that was searched.
        path: PathBuf,
    },
    /// Another process has the run.
    #[error("{}: another process is running it", .path.display())]
    InUse {
        /// Path of the directory with the saved run.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error("{} cannot be written: {source}", .path.display())]
    Write {
        /// Path of the file, or of the directory that was to have it.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file cannot be read.
    #[error("{} cannot be read: {source}", .path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file is something else.
    #[error("{} is not a file of a saved run", .path.display())]
    NotSaved {
        /// Path of the file.
        path: PathBuf,
    },
    /// A file has a header of another layout.
    #[error("{} has format {format}, which this version of Strewn does not read", .path.display())]
    Format {
        /// Path of the file.
        path: PathBuf,
        /// Number of the format in its header.
        format: u64,
    },
    /// A file is shorter than it was.
    #[error("{} is truncated: it had {needed} bytes", .path.display())]
    Truncated {
        /// Path of the file.
        path: PathBuf,
        /// The bytes that it must have, at least.
        needed: u64,
    },
    /// A file has changed since it was written.
    #[error("{} is damaged: its checksum is wrong", .path.display())]
    Checksum {
        /// Path of the file.
        path: PathBuf,
    },
    /// A file was written by another version.
    #[error("{} was saved by Strewn {saved}, and this is {here}", .path.display())]
    Version {
        /// Path of the file.
        path: PathBuf,
        /// The version that wrote it.
        saved: String,
        /// This version.
        here: &'static str,
    },
    /// A file belongs to another run.
    #[error("{} belongs to another run", .path.display())]
    Foreign {
        /// Path of the file.
        path: PathBuf,
    },
    /// A file is complete, but what it says cannot be.
    #[error("{} is inconsistent: {problem}", .path.display())]
    Inconsistent {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong, and where.
        problem: String,
    },
    /// A drive profile is not what it was when the run began.
    #[error("the drive profile {} is not the one that the run began with", .path.display())]
    Profile {
        /// Path of the profile.
        path: PathBuf,
    },
    /// The state has no saved form.
    #[error("the run cannot be saved: {0}")]
    Impossible(StateError),
}

impl SaveError {
    /// Returns the remedy.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Occupied { .. } => "give a directory that is empty, or is not there yet",
            Self::Present { .. } => {
                "go on with that run by giving the directory to --resume instead of --save, or give another one"
            }
            Self::NoDirectory { .. } | Self::Nothing { .. } => {
                "give the directory that --save was given"
            }
            Self::InUse { .. } => "wait for it, or stop it",
            Self::Write { .. } => "make room, or give a directory that you may write to",
            Self::Read { .. } => "give a directory that you may read",
            Self::NotSaved { .. } | Self::Truncated { .. } | Self::Checksum { .. } => {
                "restore the file from a copy of the directory, or remove an array's file to run that array again from its \
                 beginning"
            }
            Self::Inconsistent { .. } => {
                "resume the run with the same build of Strewn that saved it, or remove an array's file to run that array \
                 again from its beginning"
            }
            Self::Format { .. } | Self::Version { .. } => {
                "resume the run with the version of Strewn that saved it"
            }
            Self::Foreign { .. } => {
                "put the file of this run back, or remove this one to run its array again from the beginning"
            }
            Self::Profile { .. } => {
                "put the profile back where it was, and resume in the directory in which the run was begun"
            }
            Self::Impossible(_) => "leave out --save",
        }
    }

    /// Returns whether the request cannot be carried out as it is, and nothing was run.
    #[must_use]
    pub fn is_bad_input(&self) -> bool {
        !matches!(self, Self::Write { .. })
    }
}
