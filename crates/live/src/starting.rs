//! Starts an array on its opened devices.

use std::io;
use std::time::Duration;

use strewn_array::in_place::InPlace;
use strewn_array::write_anywhere::WriteAnywhere;
use strewn_base::BLOCK_SECTORS;
use strewn_raid::SpindleIndex;

use crate::assembly::AssembledArray;
use crate::configuration::{ArrayConfig, ConfigurationError};
use crate::data::Data;
use crate::device::{
    DeviceIndex, Devices, IoBackend, Measured, RealDevices, open_devices, remedy_of_system,
};
use crate::engine::{LiveArray, TargetId};
use crate::format::{DeviceRole, MemberState, Superblock};
use crate::log::{LogDeviceFinding, LogReadError};
use crate::measured_array::MeasuredArray;
use crate::offline::OfflineArray;
use crate::restart::{
    RestartError, RestartOptions, newest_superblock, read_tree, restart_in_place,
    restart_write_anywhere, store_of,
};
use crate::running::RunningArray;
use crate::scrub::{ScrubReport, scrub, scrub_in_place};
use crate::serving::ArrayThread;
use crate::store::SpindleWriteError;

/// Longest interval between progress reports of a rebuild.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Why an array cannot start, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration is invalid.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    /// The chosen backend cannot run its devices.
    #[error("its devices cannot be run: {0}")]
    Devices(io::Error),
    /// It cannot restart from the contents of its devices.
    #[error(transparent)]
    Restart(#[from] RestartError),
    /// It stopped, for this reason.
    #[error("the array stopped: {0}")]
    Stopped(String),
    /// A spindle refused a repair.
    #[error("a spindle does not take what is to be written again: {0}")]
    Scrub(SpindleWriteError),
    /// The configuration is for the other kind of array.
    #[error("the configuration is of another kind of array")]
    OtherConfiguration,
    /// No thread can be started.
    #[error("no thread can be started for it: {0}")]
    Thread(io::Error),
}

/// The remedy if the log has lost acknowledged writes.
pub const REMEDY_OF_LOST_LOG: &str = "connect the log as it was; or replace it, and lose what it alone had: `strewn array replace DIR log --lose-writes`";

impl StartError {
    /// Returns whether the start was refused because of what the devices hold, before anything but labels was written.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Configuration(_) | Self::OtherConfiguration => true,
            Self::Restart(error) => error.is_refusal(),
            Self::Devices(_) | Self::Stopped(_) | Self::Scrub(_) | Self::Thread(_) => false,
        }
    }

    /// Returns the remedy.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Configuration(error) => error.remedy(),
            Self::Devices(error) => {
                remedy_of_system(error).unwrap_or("give --io threads, or --io auto").to_owned()
            }
            Self::Restart(RestartError::Log(LogReadError::Differ(_))) => {
                "connect the two devices of this array's log; or leave out the one that is a copy of other times"
                    .to_owned()
            }
            Self::Restart(RestartError::LogBreaksOff(_) | RestartError::Log(_)) => {
                REMEDY_OF_LOST_LOG.to_owned()
            }
            Self::Restart(RestartError::Redo(SpindleWriteError::NoSpace))
            | Self::Scrub(SpindleWriteError::NoSpace) => {
                "make room on the file systems of the devices".to_owned()
            }
            _ => "`strewn array status` says how its devices are; nothing was lost by trying"
                .to_owned(),
        }
    }
}

/// An array running on real devices.
pub enum StartedArray {
    /// A write-anywhere (copy-on-write) array.
    WriteAnywhere(Box<RunningArray<RealDevices, WriteAnywhere<Data>>>),
    /// An array that updates in place.
    InPlace(Box<RunningArray<RealDevices, InPlace<Data>>>),
}

impl StartedArray {
    /// Returns the array on devices that are measured from now on.
    #[must_use]
    pub fn measured(self) -> Box<dyn MeasuredArray> {
        match self {
            Self::WriteAnywhere(running) => Box::new(running.map_devices(Measured::new)),
            Self::InPlace(running) => Box::new(running.map_devices(Measured::new)),
        }
    }

    /// Returns the I/O backend of its devices: never [`IoBackend::Auto`].
    #[must_use]
    pub fn backend(&self) -> IoBackend {
        match self {
            Self::WriteAnywhere(running) => running.devices().backend(),
            Self::InPlace(running) => running.devices().backend(),
        }
    }

    /// Returns what is wrong with a device of a mirrored log, one sentence each. The other device had everything, and
    /// the array goes on.
    #[must_use]
    pub fn log_warnings(&self) -> Vec<String> {
        match self {
            Self::WriteAnywhere(running) => log_warnings(running),
            Self::InPlace(running) => log_warnings(running),
        }
    }

    /// Finishes the rebuilds in progress, then shuts the array down. Returns whether all rebuilt spindles are whole.
    /// `progress` is called from time to time with the fraction done, 0 to 1; if it returns false, the next start
    /// begins the rebuild again.
    ///
    /// # Errors
    /// If the array stops.
    pub fn rebuild(self, progress: &mut dyn FnMut(f64) -> bool) -> Result<bool, StartError> {
        match self {
            Self::WriteAnywhere(running) => rebuild(*running, progress),
            Self::InPlace(running) => rebuild(*running, progress),
        }
    }

    /// Finishes a rebuild, shuts the array down, then reads every stripe and repairs errors. `progress` is called
    /// with the fraction done of the stage, 0 to 1, and ends the stage by returning false.
    ///
    /// # Errors
    /// If the array stops, cannot be read, or refuses a repair.
    pub fn scrub(
        self,
        config: &ArrayConfig,
        progress: &mut dyn FnMut(ScrubStage, f64) -> bool,
    ) -> Result<ScrubReport, StartError> {
        match (self, config) {
            (Self::WriteAnywhere(running), ArrayConfig::WriteAnywhere(config)) => {
                scrub_stopped(*running, progress, |offline, superblock, progress| {
                    let tree = read_tree(offline, config, superblock)?;
                    let blocks: Vec<_> = tree.in_use().collect();
                    scrub(offline, config, &blocks, superblock.consistency_point, progress)
                        .map_err(StartError::Scrub)
                })
            }
            (Self::InPlace(running), ArrayConfig::InPlace(config)) => {
                scrub_stopped(*running, progress, |offline, superblock, progress| {
                    scrub_in_place(offline, config, superblock.consistency_point, progress)
                        .map_err(StartError::Scrub)
                })
            }
            _ => Err(StartError::OtherConfiguration),
        }
    }

    /// Returns whether the array has the LUN that it was created with, of so many sectors, and no other.
    #[must_use]
    pub fn has_only_its_first_lun(&self, sectors: u64) -> bool {
        match self {
            Self::WriteAnywhere(running) => {
                let engine = running.engine();
                engine.catalog().is_some_and(|catalog| catalog.luns().count() == 1)
                    && engine.target_sectors(TargetId::FIRST_LUN) == Some(sectors)
            }
            Self::InPlace(_) => true,
        }
    }

    /// Shuts the array down: everything is on the spindles.
    ///
    /// # Errors
    /// Why the array stopped, or that there is no space for what is to be written.
    pub fn shut_down(self) -> Result<(), String> {
        match self {
            Self::WriteAnywhere(mut running) => running.shut_down(),
            Self::InPlace(mut running) => running.shut_down(),
        }
    }

    /// Moves the array to a thread of its own.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn serve(self) -> Result<ArrayThread, StartError> {
        match self {
            Self::WriteAnywhere(running) => {
                ArrayThread::start(*running).map_err(StartError::Thread)
            }
            Self::InPlace(running) => ArrayThread::start(*running).map_err(StartError::Thread),
        }
    }
}

fn log_warnings<D: Devices, A: LiveArray>(running: &RunningArray<D, A>) -> Vec<String> {
    let label = running.engine().label();
    let role = |device: DeviceIndex| label.role_of(device);
    let sentence = |finding: &LogDeviceFinding| match finding {
        LogDeviceFinding::Failed { device, error } => {
            format!("{} has failed: {error}", role(*device))
        }
        LogDeviceFinding::Lacks { device, records } => format!(
            "{} had lost {records} records: they were read from the other device, and written again",
            role(*device)
        ),
    };
    running.log_findings().iter().map(sentence).collect()
}

/// The stages of a scrub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScrubStage {
    /// Finishing a rebuild.
    Rebuild,
    /// Reading the stripes.
    Scrub,
}

/// Shuts an array down and scrubs its devices.
fn scrub_stopped<D: Devices, A: LiveArray>(
    mut running: RunningArray<D, A>,
    progress: &mut dyn FnMut(ScrubStage, f64) -> bool,
    scrub: impl FnOnce(
        &mut OfflineArray<'_, D>,
        &Superblock,
        &mut dyn FnMut(f64) -> bool,
    ) -> Result<ScrubReport, StartError>,
) -> Result<ScrubReport, StartError> {
    if !finish_rebuild(&mut running, &mut |done| progress(ScrubStage::Rebuild, done))? {
        running.shut_down().map_err(StartError::Stopped)?;
        return Ok(ScrubReport::default());
    }
    running.clean().and_then(|()| running.shut_down()).map_err(StartError::Stopped)?;
    let label = running.engine().label().clone();
    let mut devices = running.into_devices();
    let superblock = newest_superblock(&mut devices, &label).ok_or(RestartError::NoSuperblock)?;
    let store = store_of(&mut devices, &label)?;
    let mut offline = OfflineArray::new(&mut devices, store);
    scrub(&mut offline, &superblock, &mut |done| progress(ScrubStage::Scrub, done))
}

fn rebuild<D: Devices, A: LiveArray>(
    mut running: RunningArray<D, A>,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<bool, StartError> {
    let rebuilding = running.engine().rebuilding();
    finish_rebuild(&mut running, progress)?;
    // A rebuilt spindle may have failed again.
    let members = &running.engine().label().members;
    let is_whole = |spindle: &SpindleIndex| members[spindle.index()].state == MemberState::Present;
    let is_done = rebuilding.iter().all(is_whole);
    running.shut_down().map_err(StartError::Stopped)?;
    Ok(is_done)
}

/// Waits until no rebuild is in progress; returns false if `progress` ended the wait.
fn finish_rebuild<D: Devices, A: LiveArray>(
    running: &mut RunningArray<D, A>,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<bool, StartError> {
    let begin_ns = running.now_ns();
    loop {
        if let Some(why) = running.obstacle(begin_ns) {
            return Err(StartError::Stopped(why));
        }
        let engine = running.engine();
        let open = engine.array().failures().iter().filter(|failure| failure.is_open());
        let done = open.map(|failure| failure.rebuilt).fold(1.0, f64::min);
        if !engine.is_rebuilding() {
            return Ok(true);
        }
        if !progress(done) {
            return Ok(false);
        }
        running.poll(Some(LOOK_EVERY));
    }
}

/// Starts an array on its devices and replays its log.
///
/// # Errors
/// See [`StartError`]. The devices are unchanged, or closer to the acknowledged state.
pub fn start(assembled: AssembledArray, backend: IoBackend) -> Result<StartedArray, StartError> {
    start_with(assembled, backend, false)
}

/// Starts an array as [`start`] does, even if the log has lost acknowledged writes: the array then has all data from
/// before those.
///
/// # Errors
/// As [`start`].
pub fn start_with_lost_writes(
    assembled: AssembledArray,
    backend: IoBackend,
) -> Result<StartedArray, StartError> {
    start_with(assembled, backend, true)
}

fn start_with(
    assembled: AssembledArray,
    backend: IoBackend,
    accept_lost_writes: bool,
) -> Result<StartedArray, StartError> {
    let config = assembled.configuration.array()?;
    let beginning = RestartOptions {
        label: assembled.label_of(DeviceRole::Spindle(0)),
        lun_sectors: assembled.configuration.lun_blocks * BLOCK_SECTORS,
        accept_lost_writes,
    };
    let devices = open_devices(assembled.into_devices(), backend).map_err(StartError::Devices)?;
    match config {
        ArrayConfig::WriteAnywhere(config) => {
            let running = restart_write_anywhere(devices, &beginning, &config)?;
            Ok(StartedArray::WriteAnywhere(Box::new(running)))
        }
        ArrayConfig::InPlace(config) => {
            let running = restart_in_place(devices, &beginning, &config)?;
            Ok(StartedArray::InPlace(Box::new(running)))
        }
    }
}
