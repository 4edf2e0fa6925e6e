//! From devices that were found fit to an array that runs on them.

use std::io;
use std::time::Duration;

use strewn_array::in_place::InPlace;
use strewn_array::write_anywhere::WriteAnywhere;
use strewn_raid::SpindleIndex;

use crate::assembly::AssembledArray;
use crate::configuration::{ArrayConfig, ConfigurationError};
use crate::data::Data;
use crate::device::{Devices, IoBackend, RealDevices, open_devices};
use crate::engine::LiveArray;
use crate::format::{MemberState, Superblock};
use crate::offline::OfflineArray;
use crate::restart::{
    RestartError, RestartOptions, newest_superblock, read_snapshots, read_tree, restart_in_place,
    restart_write_anywhere, store_of,
};
use crate::running::RunningArray;
use crate::scrub::{ScrubReport, scrub, scrub_in_place};
use crate::serving::ArrayThread;
use crate::snapshots::SnapshotError;
use crate::store::StoreError;

/// How often it is told how far a rebuild is, at least.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Why an array does not start, or does not go on.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its configuration cannot be.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    /// Nothing runs its devices.
    #[error("its devices cannot be run: {0}")]
    Devices(io::Error),
    /// It cannot go on from what is on its devices.
    #[error(transparent)]
    Restart(#[from] RestartError),
    /// It stopped.
    #[error("the array stopped: {0}")]
    Stopped(String),
    /// What was to be written again was not taken.
    #[error("a spindle does not take what is to be written again: {0}")]
    Scrub(StoreError),
    /// It was opened with another's configuration.
    #[error("the configuration is of another kind of array")]
    OtherConfiguration,
    /// No thread for it.
    #[error("no thread can be started for it: {0}")]
    Thread(io::Error),
}

/// What can be done about a log that has lost what was acknowledged.
pub const REMEDY_OF_LOST_LOG: &str = "connect the log as it was; or replace it, and lose what it alone had: `strewn array replace DIR log --lose-writes`";

impl StartError {
    /// What can be done about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Configuration(error) => error.remedy(),
            Self::Devices(_) => "give --io threads, or --io auto".to_owned(),
            Self::Restart(RestartError::LogBreaksOff(_) | RestartError::Log(_)) => {
                REMEDY_OF_LOST_LOG.to_owned()
            }
            _ => "`strewn array status` says how its devices are; nothing was lost by trying"
                .to_owned(),
        }
    }
}

/// An array that runs on real devices.
pub enum StartedArray {
    /// Copy on write.
    WriteAnywhere(Box<RunningArray<RealDevices, WriteAnywhere<Data>>>),
    /// Where it belongs.
    InPlace(Box<RunningArray<RealDevices, InPlace<Data>>>),
}

impl StartedArray {
    /// Which way its devices are asked: never [`IoBackend::Auto`].
    #[must_use]
    pub fn backend(&self) -> IoBackend {
        match self {
            Self::WriteAnywhere(running) => running.devices().backend(),
            Self::InPlace(running) => running.devices().backend(),
        }
    }

    /// Rebuilds the spindles that are rebuilding; whether all of them are whole. `progress` is told now and then how far it is,
    /// 0 to 1, and may end it; then it begins anew the next time. All is brought to the spindles in the end.
    ///
    /// # Errors
    /// If the array stops.
    pub fn rebuild(self, progress: impl FnMut(f64) -> bool) -> Result<bool, StartError> {
        match self {
            Self::WriteAnywhere(running) => rebuild(*running, progress),
            Self::InPlace(running) => rebuild(*running, progress),
        }
    }

    /// Takes a snapshot, see [`RunningArray::take_snapshot`], and shuts the array down.
    ///
    /// # Errors
    /// See [`SnapshotError`].
    pub fn take_snapshot(self, name: &str, taken_unix_seconds: u64) -> Result<(), SnapshotError> {
        self.and_shut_down(|running| running.take_snapshot(name, taken_unix_seconds))
    }

    /// Deletes a snapshot, see [`RunningArray::delete_snapshot`], and shuts the array down.
    ///
    /// # Errors
    /// See [`SnapshotError`].
    pub fn delete_snapshot(self, name: &str) -> Result<(), SnapshotError> {
        self.and_shut_down(|running| running.delete_snapshot(name))
    }

    /// Does something with snapshots, and shuts the array down whether that was refused or not.
    fn and_shut_down(
        self,
        action: impl FnOnce(
            &mut RunningArray<RealDevices, WriteAnywhere<Data>>,
        ) -> Result<(), SnapshotError>,
    ) -> Result<(), SnapshotError> {
        match self {
            Self::WriteAnywhere(mut running) => {
                let done = action(&mut running);
                done.and(running.shut_down().map_err(SnapshotError::Stopped))
            }
            Self::InPlace(mut running) => {
                let is_down = running.shut_down().map_err(SnapshotError::Stopped);
                is_down.and(Err(SnapshotError::InPlace))
            }
        }
    }

    /// Rebuilds what is rebuilding, brings all to the spindles, then reads every stripe and makes right what is wrong.
    /// `progress` is told how far which of these is, 0 to 1, and may end it.
    ///
    /// # Errors
    /// If the array stops, cannot be read, or does not take what is written again.
    pub fn scrub(
        self,
        config: &ArrayConfig,
        mut progress: impl FnMut(ScrubStage, f64) -> bool,
    ) -> Result<ScrubReport, StartError> {
        match (self, config) {
            (Self::WriteAnywhere(running), ArrayConfig::WriteAnywhere(config)) => {
                scrub_stopped(*running, &mut progress, |offline, superblock, progress| {
                    let mut blocks = read_tree(offline, config, superblock)?;
                    let held = read_snapshots(offline, config, &superblock.snapshots)?;
                    blocks.extend(held.into_iter().flatten());
                    scrub(offline, config, &blocks, superblock.checkpoint, progress)
                        .map_err(StartError::Scrub)
                })
            }
            (Self::InPlace(running), ArrayConfig::InPlace(config)) => {
                scrub_stopped(*running, &mut progress, |offline, superblock, progress| {
                    scrub_in_place(offline, config, superblock.checkpoint, progress)
                        .map_err(StartError::Scrub)
                })
            }
            _ => Err(StartError::OtherConfiguration),
        }
    }

    /// Gives it a thread of its own.
    ///
    /// # Errors
    /// If there is none.
    pub fn serve(self) -> Result<ArrayThread, StartError> {
        match self {
            Self::WriteAnywhere(running) => {
                ArrayThread::start(*running).map_err(StartError::Thread)
            }
            Self::InPlace(running) => ArrayThread::start(*running).map_err(StartError::Thread),
        }
    }
}

/// What a scrub is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScrubStage {
    /// A spindle that was being rebuilt is, first.
    Rebuild,
    /// Stripes are read.
    Scrub,
}

/// Brings all to the spindles, and scrubs what lies there.
fn scrub_stopped<D: Devices, A: LiveArray>(
    mut running: RunningArray<D, A>,
    progress: &mut impl FnMut(ScrubStage, f64) -> bool,
    scrub: impl FnOnce(
        &mut OfflineArray<'_, D>,
        &Superblock,
        &mut dyn FnMut(f64) -> bool,
    ) -> Result<ScrubReport, StartError>,
) -> Result<ScrubReport, StartError> {
    if !finish_rebuild(&mut running, |done| progress(ScrubStage::Rebuild, done))? {
        running.shut_down().map_err(StartError::Stopped)?;
        return Ok(ScrubReport::default());
    }
    running.clean().and_then(|()| running.shut_down()).map_err(StartError::Stopped)?;
    let label = running.engine().label().clone();
    let mut devices = running.into_devices();
    let superblock = newest_superblock(&mut devices, &label).ok_or(RestartError::NoSuperblock)?;
    let mut offline = OfflineArray::new(&mut devices, store_of(&label));
    scrub(&mut offline, &superblock, &mut |done| progress(ScrubStage::Scrub, done))
}

fn rebuild<D: Devices, A: LiveArray>(
    mut running: RunningArray<D, A>,
    progress: impl FnMut(f64) -> bool,
) -> Result<bool, StartError> {
    let rebuilding = running.engine().rebuilding();
    finish_rebuild(&mut running, progress)?;
    // One of them may have failed again.
    let members = &running.engine().label().members;
    let is_whole = |spindle: &SpindleIndex| members[spindle.index()].state == MemberState::Present;
    let is_done = rebuilding.iter().all(is_whole);
    running.shut_down().map_err(StartError::Stopped)?;
    Ok(is_done)
}

/// Waits until nothing is being rebuilt any more, or `progress` has enough of it; whether it was waited for to the end.
fn finish_rebuild<D: Devices, A: LiveArray>(
    running: &mut RunningArray<D, A>,
    mut progress: impl FnMut(f64) -> bool,
) -> Result<bool, StartError> {
    loop {
        let engine = running.engine();
        if let Some(why) = engine.stopped() {
            return Err(StartError::Stopped(why.to_owned()));
        }
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

/// Starts an array on its devices, and catches up with its log.
///
/// # Errors
/// See [`StartError`]. What is on the devices is as it was, or further on the way to what was acknowledged.
pub fn start(assembled: AssembledArray, backend: IoBackend) -> Result<StartedArray, StartError> {
    start_with(assembled, backend, false)
}

/// Starts an array as [`start`] does, even if its log has lost what was acknowledged: with what was before that.
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
        label: assembled.label_of(Some(0)),
        lun_sectors: assembled.configuration.lun_blocks * 8,
        accept_lost_writes,
    };
    let AssembledArray { spindles, log, .. } = assembled;
    let devices = open_devices(spindles.into_iter().chain([Some(log)]), backend)
        .map_err(StartError::Devices)?;
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
