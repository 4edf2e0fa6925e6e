//! Why an array of real spindles is not run to the end.

use std::io;

use strewn_live::assembly::AssemblyError;
use strewn_live::configuration::ConfigurationError;
use strewn_live::restart::RestartError;
use strewn_scenario::Bytes;
use thiserror::Error;

use crate::load::LoadError;
use crate::run::RunError;

/// Why a run is not begun, or ends before its time.
#[derive(Debug, Error)]
pub enum LiveError {
    /// The array's devices are not fit.
    #[error(transparent)]
    Assembly(#[from] AssemblyError),
    /// Its configuration cannot be.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    /// An array of this layout cannot be run yet.
    #[error("arrays in place (vraid-5) are not run on real spindles yet")]
    InPlace,
    /// The devices cannot be asked in this way.
    #[error("the devices cannot be opened: {0}")]
    Devices(io::Error),
    /// It cannot catch up with what its log has.
    #[error("the array cannot be started: {0}")]
    Restart(#[from] RestartError),
    /// The file is longer than the LUN.
    #[error("a file of {} does not fit the LUN of {}", Bytes(*file_bytes), Bytes(*lun_bytes))]
    FileTooLong {
        /// What was asked for.
        file_bytes: u64,
        /// What there is.
        lun_bytes: u64,
    },
    /// Somebody's data would be written over.
    #[error("the LUN holds data, which the run would write over")]
    HoldsData,
    /// The workload cannot be run.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The host cannot be made.
    #[error(transparent)]
    Host(#[from] RunError),
    /// The host's next access cannot be had.
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
        /// One more than its last.
        end: u64,
        /// What the array says.
        why: String,
    },
    /// The user wanted no more before there was anything to measure.
    #[error("stopped before the file was written")]
    Interrupted,
    /// A segment breaks an operational law.
    #[error(
        "segment {segment} breaks an operational law: Little's law is off by {host_percent:.3} % at the host, by \
         {spindles_percent:.3} % at the spindles; 0.1 % is allowed"
    )]
    LawBroken {
        /// The segment.
        segment: u32,
        /// How far Little's law is off for the host, in percent.
        host_percent: f64,
        /// How far for the spindles.
        spindles_percent: f64,
    },
}

impl LiveError {
    /// What can be done about it; empty where nothing is known.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Assembly(error) => error.remedy(),
            Self::Configuration(error) => error.remedy(),
            Self::InPlace => "give an array of layout raid-4 or raid-dp".to_owned(),
            Self::Devices(_) => "give --io threads, or --io auto".to_owned(),
            Self::Restart(_) => "nothing was lost by trying: strewn array status says how its devices are".to_owned(),
            Self::FileTooLong { lun_bytes, .. } => {
                format!("give --file {} or less, or create a larger LUN", Bytes(*lun_bytes))
            }
            Self::HoldsData => {
                "give --overwrite if nobody needs what it holds, or a workload that only reads with --no-fill".to_owned()
            }
            Self::Load(error) => error.help().to_owned(),
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

    /// Whether what was asked for cannot be done and nothing was; otherwise it went wrong on the way.
    #[must_use]
    pub fn is_bad_input(&self) -> bool {
        matches!(
            self,
            Self::Assembly(_)
                | Self::Configuration(_)
                | Self::InPlace
                | Self::Devices(_)
                | Self::FileTooLong { .. }
                | Self::HoldsData
                | Self::Load(_)
        )
    }
}
