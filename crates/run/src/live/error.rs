//! Why a run on real spindles fails.

use strewn_live::assembly::AssemblyError;
use strewn_live::starting::StartError;
use strewn_scenario::Bytes;
use thiserror::Error;

use crate::load::LoadError;
use crate::run_error::RunError;

/// Why a run cannot start, or ends early.
#[derive(Debug, Error)]
pub enum LiveError {
    /// The array cannot be assembled from its devices.
    #[error(transparent)]
    Assembly(#[from] AssemblyError),
    /// The array cannot be started on its devices.
    #[error("the array does not start: {0}")]
    Start(#[from] StartError),
    /// The file is longer than the LUN.
    #[error("a file of {} does not fit the LUN of {}", Bytes(*file_bytes), Bytes(*lun_bytes))]
    FileTooLong {
        /// The length asked for.
        file_bytes: u64,
        /// The length of the LUN.
        lun_bytes: u64,
    },
    /// An access is longer than the file.
    #[error("accesses of {} do not fit a file of {}", Bytes(*access_bytes), Bytes(*file_bytes))]
    AccessTooLong {
        /// Length of the longest access.
        access_bytes: u64,
        /// The length of the file.
        file_bytes: u64,
    },
    /// The array has other LUNs than the one that it was created with.
    #[error("the array has other volumes or LUNs than it was created with")]
    OtherLuns,
    /// The workload cannot be run.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The host cannot be built.
    #[error(transparent)]
    Host(#[from] RunError),
    /// The host's next access cannot be produced.
    #[error("the host cannot go on: {0}")]
    Accesses(String),
    /// The array has stopped.
    #[error("the array has stopped: {0}")]
    Stopped(String),
    /// An operation was refused.
    #[error("sectors {first_sector} to {end} were not served: {why}")]
    Refused {
        /// The first sector of the operation.
        first_sector: u64,
        /// The end of the operation, exclusive.
        end: u64,
        /// The array's error.
        why: String,
    },
    /// The user stopped the run before there was anything to measure.
    #[error("stopped before the file was written")]
    Interrupted,
    /// A segment violates an operational law.
    #[error(
        "segment {segment} violates an operational law: Little's law is off by {host_percent:.3} % at the host, by \
         {spindles_percent:.3} % at the spindles; 0.1 % is allowed"
    )]
    LawBroken {
        /// Number of the segment, counted from 1.
        segment: u32,
        /// How far Little's law is off for the host, in percent.
        host_percent: f64,
        /// How far it is off for the spindles, in percent.
        spindles_percent: f64,
    },
}

impl LiveError {
    /// Returns the remedy; empty if none is known.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Assembly(error) => error.remedy(),
            Self::Start(error) => error.remedy(),
            Self::FileTooLong { lun_bytes, .. } => {
                format!("give --file {} or less, or create a larger LUN", Bytes(*lun_bytes))
            }
            Self::AccessTooLong { .. } => {
                "give smaller accesses, or a longer --file, up to the LUN".to_owned()
            }
            Self::OtherLuns => {
                "a run measures an array that has only the LUN that it was created with; age others with fio, through \
                 `strewn array serve`"
                    .to_owned()
            }
            Self::Load(error) => error.help_with("enlarge the file under load, up to the LUN"),
            Self::Host(_) | Self::Interrupted => String::new(),
            Self::Accesses(_) => {
                "give a slower replay, by --speedup below 1 or --closed-loop-trace".to_owned()
            }
            Self::Stopped(_) | Self::Refused { .. } => {
                "strewn array status says how its devices are".to_owned()
            }
            Self::LawBroken { .. } => "a defect of Strewn: please report it".to_owned(),
        }
    }

    /// Returns whether the request is invalid and nothing was done; otherwise the run failed on the way.
    #[must_use]
    pub fn is_bad_input(&self) -> bool {
        matches!(
            self,
            Self::Assembly(_)
                | Self::FileTooLong { .. }
                | Self::AccessTooLong { .. }
                | Self::OtherLuns
                | Self::Load(_)
        )
    }
}
