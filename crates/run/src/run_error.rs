//! Why a run cannot be carried out.

use std::path::PathBuf;

use strewn_results::{LayoutMap, Results, TomlError};
use strewn_scenario::ScenarioError;
use strewn_scenario::build::BuildError;
use strewn_sim::SimulationError;
use thiserror::Error;

use crate::load::LoadError;
use crate::memory::NotEnoughMemory;
use crate::parallel::ThreadsError;
use crate::published_names::PublishedNameError;
use crate::record::IologError;
use crate::save_error::SaveError;

/// Why a run failed, or its figures cannot be trusted.
#[derive(Debug, Error)]
pub enum RunError {
    /// An array of the scenario cannot be set up.
    #[error("array \"{array}\" cannot be set up{}: {source}", at_scale(*.scale_down))]
    Build {
        /// Name of the array in the scenario.
        array: String,
        /// What the run is scaled down by; 1 at full scale.
        scale_down: u32,
        /// Why it cannot be built.
        source: BuildError,
    },
    /// The simulation of an array failed.
    #[error("the simulation of array \"{array}\" failed: {source}")]
    Simulation {
        /// Name of the array in the scenario.
        array: String,
        /// Why the simulation stopped.
        source: SimulationError,
    },
    /// A segment violates an operational law, so its figures cannot be trusted.
    #[error(
        "segment {segment} of array \"{array}\" violates an operational law: Little's law is off by {littles_percent:.3} %, the \
         utilization law by {utilization_percent:.3} %; 0.1 % is allowed"
    )]
    LawBroken {
        /// Name of the array in the scenario.
        array: String,
        /// Number of the segment, counted from 1.
        segment: u32,
        /// How far Little's law is off, in percent.
        littles_percent: f64,
        /// How far the utilization law is off, in percent.
        utilization_percent: f64,
    },
    /// The workload that replaces the scenario's cannot be run.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The scenario was changed by code, and could not be one so.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The operations cannot be logged.
    #[error(transparent)]
    Record(#[from] IologError),
    /// A log of operations could not be written to its end, or the run not be saved. What was measured is there.
    #[error("{}", .0.error)]
    Unwritten(Box<Unwritten>),
    /// The published figures cannot be read.
    #[error("{}: the published figures cannot be read: {source}", .path.display())]
    PublishedFile {
        /// Path of the published figures.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The published figures name something that the scenario does not have, or the other way round.
    #[error(transparent)]
    PublishedName(#[from] PublishedNameError),
    /// The published figures are wrong.
    #[error(transparent)]
    Published(TomlError),
    /// The sensitivities cannot be read.
    #[error("{}: the sensitivities cannot be read: {source}", .path.display())]
    SensitivityFile {
        /// Path of the sensitivities.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The sensitivities are wrong.
    #[error(transparent)]
    Sensitivity(TomlError),
    /// The run would not fit the machine's memory.
    #[error(transparent)]
    Memory(#[from] NotEnoughMemory),
    /// The cost of spindles cannot be computed.
    #[error(transparent)]
    Overhead(#[from] strewn_results::OverheadError),
    /// Threads cannot be started.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// The run cannot be saved, or not be resumed.
    #[error(transparent)]
    Save(#[from] SaveError),
}

/// Returns at which scale an array was to be set up, unless it is its own.
fn at_scale(scale_down: u32) -> String {
    match scale_down {
        0..=1 => String::new(),
        by => format!(" at 1/{by} of its scale"),
    }
}

impl RunError {
    /// Returns the remedy, if it is not that of an error within this one, and the message does not end with it.
    #[must_use]
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Build { scale_down: 2.., .. } => Some(
                "so small an array may not be possible where it is at full scale: give a smaller --scale-down, or correct \
                 this array in the scenario",
            ),
            Self::Build { .. } => Some("correct this array in the scenario"),
            Self::PublishedFile { .. } => Some(
                "give `published` as a path from the scenario's directory, or leave `published` out of the scenario",
            ),
            Self::Published(_) => {
                Some("correct the file of published figures that the scenario names")
            }
            Self::SensitivityFile { .. } | Self::Sensitivity(_) => {
                Some("measure the sensitivities again, or remove the file beside the scenario")
            }
            Self::LawBroken { .. } => Some(
                "in a short segment, the operations in flight at its ends weigh too much: lengthen `segment`; in a \
                 segment of minutes this is a defect of Strewn, which the scenario and its seed reproduce",
            ),
            Self::Simulation { source: SimulationError::Accesses(_), .. } => Some(
                "slow the replay down with --speedup below 1 or --closed-loop-trace, or use a faster array",
            ),
            // The message itself ends with the remedy.
            Self::Simulation { source: SimulationError::StandsStill { .. }, .. } => None,
            Self::Simulation { .. } => {
                Some("this is a defect of Strewn, which the scenario and its seed reproduce")
            }
            Self::Record(_) => Some("make room, and give another file"),
            _ => None,
        }
    }
}

/// A run that could not write a file as it went on.
#[derive(Debug)]
pub struct Unwritten {
    /// Its results: whole if a log of operations could not be written, and else partial, as if it had been stopped.
    pub results: Results,
    /// Its map; empty unless one was asked for.
    pub map: LayoutMap,
    /// [`RunError::Record`] or [`RunError::Save`]: why the file could not be written.
    pub error: RunError,
}
