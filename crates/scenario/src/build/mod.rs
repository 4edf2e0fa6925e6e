//! Builds what a scenario describes around an array: its spindles, what work costs its processor, and the machine that
//! it is a part of.

mod goal;
pub mod machine;
mod mapped;
mod streams;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use strewn_array::{ArrayConfigError, ProcessorCosts, WriteBackCosts};
use strewn_base::SECTOR_BYTES;
use strewn_raid::LayoutError;
use strewn_sim::{HostError, Spindles};
use strewn_spindle::{Drive, Profile, ProfileError};
use strewn_workload::WorkloadError;
use thiserror::Error;

use crate::array::Array;
use crate::lun::Lun;
use crate::processor::Processor;
use crate::scenario::Scenario;
use crate::spindle_choice::SpindleChoice;

pub use goal::is_at_goal;
pub(crate) use goal::written_bytes;
pub use machine::SetUpError;
pub use mapped::{Mapped, map_of_groups};
pub use streams::{goes_to_random_places, stream_matches};

/// Why a scenario's array cannot be set up, although the file itself is valid.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The layout over spindles or blades is invalid.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// There can be no such hosts: their page cache, or how they are clients of blades, is invalid.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The array rejects its sizes.
    #[error(transparent)]
    Array(#[from] ArrayConfigError),
    /// No drive profile of this name is shipped.
    #[error("no drive profile named \"{0}\" is shipped")]
    UnknownProfile(String),
    /// A drive profile is invalid.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A workload is invalid, or its file is too small for its accesses.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// There is no such link, or kind of link.
    #[error("there is no link \"{0}\"")]
    NoLink(String),
    /// The network cannot be built.
    #[error("its network: {0}")]
    Network(#[from] strewn_transport::NetworkError),
    /// A kind of arrays refuses what it is to be built of.
    #[error(transparent)]
    Kind(Box<dyn std::error::Error + Send + Sync>),
    /// The file is larger than the block map can address.
    #[error("a file of {0} bytes: a write-anywhere array maps at most 16 TiB of 4 KiB blocks")]
    FileTooLarge(u64),
}

impl BuildError {
    /// The error of a kind of arrays.
    pub fn of_kind(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Kind(Box::new(error))
    }
}

/// Returns the LUNs of an array in the order of their ids.
pub fn luns(array: &Array) -> Vec<&Lun> {
    array.luns_by_volume().into_iter().flat_map(|volume| volume.luns).collect()
}

/// Returns the spindles that an array runs on.
pub fn spindles(scenario: &Scenario, array: &Array) -> Result<Spindles, BuildError> {
    Ok(Spindles {
        drive: drive(&array.spindle)?,
        scheduler: array.scheduler,
        commands_per_spindle: array.commands_per_spindle,
        stretch: scenario.spindle_stretch,
        drive_cache: array.layout.drive_cache(),
    })
}

/// Returns the capacity of one spindle of an array, in bytes, or 0 if its profile cannot be read.
pub fn capacity_bytes(array: &Array) -> u64 {
    drive(&array.spindle).map_or(0, |drive| drive.capacity_sectors() * SECTOR_BYTES)
}

/// Returns the tables of a drive, which arrays address by sectors of 512 bytes. Those of a shipped one are made once: a
/// sweep has thousands of short runs, and making them takes as long as the tenth part of one.
pub fn drive(choice: &SpindleChoice) -> Result<Arc<Drive>, BuildError> {
    static SHIPPED: Mutex<BTreeMap<String, Arc<Drive>>> = Mutex::new(BTreeMap::new());
    match choice {
        SpindleChoice::Shipped(name) => {
            // Whatever a thread left that panicked is whole: entries are added when they are made.
            let mut shipped = SHIPPED.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(made) = shipped.get(name) {
                return Ok(Arc::clone(made));
            }
            let profile =
                Profile::shipped(name).ok_or_else(|| BuildError::UnknownProfile(name.clone()))?;
            let made = Arc::new(Drive::new(&profile.with_512_byte_sectors())?);
            shipped.insert(name.clone(), Arc::clone(&made));
            Ok(made)
        }
        SpindleChoice::File(file) => {
            Ok(Arc::new(Drive::new(&file.profile().with_512_byte_sectors())?))
        }
    }
}

/// Returns what work costs the processor of a controller.
pub fn processor_costs(processor: &Processor) -> ProcessorCosts {
    let whole = |ns: f64| ns.round() as u64;
    let interrupt_ns = whole(processor.interrupt_ns);
    ProcessorCosts {
        host_operation_ns: processor.host_operation_ns.round() as u64,
        // A fit may try a command that costs less than its interrupt.
        spindle_command_ns: whole(processor.spindle_command_ns).saturating_sub(interrupt_ns),
        // A KiB has two sectors, and a nanosecond a thousand picoseconds.
        per_sector_ps: (processor.per_kib_ns * 500.0).round() as u64,
        write_back_percent: processor.write_back_percent,
        write_back: WriteBackCosts {
            allocated_block_ns: whole(processor.allocated_block_ns),
            freed_block_ns: whole(processor.freed_block_ns),
            metadata_block_ns: whole(processor.metadata_block_ns),
            parity_sector_ps: (processor.parity_per_kib_ns * 500.0).round() as u64,
        },
        interrupt_ns,
    }
}
