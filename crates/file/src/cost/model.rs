//! The drive that requests are simulated on.

use std::sync::Arc;

use strewn_spindle::{
    Command, Direction, Drive, Profile, Scheduler, SimulatedSpindle, TICKS_PER_REVOLUTION,
};

use crate::FileError;

/// Commands that a drive chooses among.
const DEPTH: u32 = 32;

/// The kind of drive that requests are simulated on: one for each device of the file system.
///
/// - Commands are scheduled by SPTF among up to 32, and every one goes to the platter, as in Strewn's other
///   simulations. The drive's cache is left out: what it holds of a small file, the host's memory holds first.
/// - **Random and mixed workloads** keep their number of requests outstanding. The nearline profile, which was chosen
///   for 86 random reads a second one at a time and 185 with 16 to choose from, gives 86 with 1 outstanding and 186
///   with 16, over the whole drive.
/// - **Sequential workloads** are issued as windows of as many requests as are outstanding, each after the one before.
///   Where a piece goes on behind one of the window before, host and drive read ahead (or gather writes): both are one
///   command, and the time that its parts take to pass under the head is their windows'. A contiguous file is then read
///   and written at the media rate: 246 MB/s on the outermost tracks of the nearline profile, which is 261 on a track
///   less the switches between tracks.
/// - A piece larger than a command is one command to the simulated drive: real drives transfer queued commands that
///   follow each other in one go.
///
/// The drive's simulated cache was tried, and is not used. Its read-ahead ends with a track or two, and misses a
/// command that is queued behind the one in service, so a contiguous scan comes to 83 MB/s, or 167 with pauses of the
/// host. And the scheduler does not know of it, so fragments on one track lose a revolution each.
///
/// It falls short in three ways. Sequential requests within a mixed workload lose a revolution each. Drives that read
/// through small gaps between fragments are faster than this. And writes of less than a sector are not read first.
#[derive(Debug, Clone)]
pub struct SpindleModel {
    drive: Arc<Drive>,
}

impl SpindleModel {
    /// Drives of a profile.
    ///
    /// # Errors
    ///
    /// If the profile is invalid.
    pub fn new(profile: &Profile) -> Result<Self, FileError> {
        let drive = Drive::new(profile).map_err(|error| {
            FileError::input(error.to_string(), "correct the profile, or use one of Strewn's")
        })?;
        Ok(Self { drive: Arc::new(drive) })
    }

    /// Drives of the shipped profile called `name`.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn shipped(name: &str) -> Result<Self, FileError> {
        let profile = Profile::shipped(name).ok_or_else(|| {
            let names: Vec<&str> = Profile::shipped_names().collect();
            FileError::input(
                format!("no drive profile is called \"{name}\""),
                format!("use one of {}", names.join(", ")),
            )
        })?;
        Self::new(&profile)
    }

    /// The name of the profile.
    #[must_use]
    pub fn name(&self) -> &str {
        self.drive.name()
    }

    /// Bytes of one drive.
    #[must_use]
    pub fn capacity_bytes(&self) -> u64 {
        self.drive.capacity_sectors() * u64::from(self.drive.sector_bytes())
    }

    pub(crate) fn sector_bytes(&self) -> u64 {
        self.drive.sector_bytes().into()
    }

    pub(crate) fn revolution_ns(&self) -> f64 {
        self.drive.rotation().revolution_ms() * 1e6
    }

    /// An idle drive.
    pub(crate) fn spindle(&self) -> Result<SimulatedSpindle<u32>, FileError> {
        let spindle = SimulatedSpindle::new(Arc::clone(&self.drive), Scheduler::Sptf, DEPTH);
        spindle.map_err(|error| FileError::input(error.to_string(), "use another drive profile"))
    }

    /// The command for `bytes` from `byte` on, rounded to sectors.
    pub(crate) fn command(&self, byte: u64, bytes: u64, direction: Direction) -> Command {
        let sector_bytes = self.sector_bytes();
        let lba = byte / sector_bytes;
        let sectors = (byte + bytes).div_ceil(sector_bytes) - lba;
        Command { lba, sectors: u32::try_from(sectors).unwrap_or(u32::MAX), direction }
    }

    /// How long the sectors of a command take to pass under the head; 0 if they are not on the drive.
    pub(crate) fn passing_ns(&self, command: &Command) -> u64 {
        let ticks_to_ns = self.revolution_ns() / f64::from(TICKS_PER_REVOLUTION);
        self.drive
            .transfer(command)
            .map_or(0, |transfer| (transfer.ticks as f64 * ticks_to_ns) as u64)
    }
}
