//! Finds the profile of a drive by reading from it and looking at the clock.
//!
//! The platter is a clock too. Two reads of one sector end a whole number of revolutions apart, so
//! the difference between the ends of any two reads is, modulo a revolution, the angle from one
//! sector to the other, whatever the arm did in between. From that follow, in this order:
//!
//! 1. the revolution: one sector, read again and again;
//! 2. where tracks start: sectors a sixteenth of a track apart are equally far apart in angle,
//!    except where a track ends and the next is turned by its skew. Between two such places lie
//!    the sectors of a track, which changes from zone to zone;
//! 3. the seek by distance: sectors of the target track, later and later ones, are reached later
//!    and later, until one comes by before the arm is there and costs a revolution more. The one
//!    after it shows the time of the arm alone;
//! 4. the overhead of a command: the same, on the track where the arm is already.
//!
//! This is the method of Worthington, Ganger, Patt and Wilkes, *On-line extraction of SCSI disk
//! drive parameters* (1995): the minimum time between request completions. Schindler and Ganger
//! made it a program, *DIXtrac* (1999); the equal steps in address whose completions give away
//! each track are those of Talagala, Arpaci-Dusseau and Patterson's *Skippy* (1999).
//!
//! **What is not found.** Which head reads a track need not be known: the profile has one head,
//! or a few where tracks are very many, and all tracks in a row. A seek over so many tracks is
//! then the mean of what it is on the drive, where it may be a switch to another head or a move of
//! the arm. Random reads come out right, and sequential ones by the median skew of each zone. A
//! drive that gives each head zones of its own is beyond this. Writes are not measured, for they
//! would write: they are given the times of reads.
//!
//! The drive's own cache has to be off: a sector read twice must come from the platter twice.
//!
//! ```
//! use std::sync::Arc;
//! use strewn_spindle::fit::{SimulatedDrive, fit};
//! use strewn_spindle::{Drive, Profile};
//!
//! let cheetah = Profile::shipped("seagate-cheetah-15k5-st3146855fc").ok_or("no such drive")?;
//! let mut drive = SimulatedDrive::new(Arc::new(Drive::new(&cheetah)?))?;
//! let found = fit(&mut drive, "black-box", "a simulated drive", &mut |_| ())?;
//! assert_eq!(found.profile.rpm, 15_020);
//! assert_eq!(found.profile.zones[0].sectors_per_track, 1200);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod profile_text;
mod seeks;
mod simulated_drive;
mod timing;
mod tracks;
#[cfg(unix)]
mod unix_file;

use std::io;

use crate::profile::{Profile, ProfileError};
use timing::Timing;

pub use simulated_drive::SimulatedDrive;
#[cfg(unix)]
pub use unix_file::{OpenError, UnixFile};

/// A drive that can be read from and has a clock.
pub trait MeasuredDrive {
    /// Sectors that can be addressed.
    fn capacity_sectors(&self) -> u64;

    /// Bytes in a sector.
    fn sector_bytes(&self) -> u32;

    /// Reads `sectors` sectors from `lba` on, from the medium if that can be had, and returns
    /// when the command was issued and when it was done, in nanoseconds on a clock that does not
    /// jump. The next read may be issued at once.
    ///
    /// # Errors
    ///
    /// The sectors could not be read.
    fn read(&mut self, lba: u64, sectors: u32) -> io::Result<(u64, u64)>;
}

/// How far a measurement has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// What is being measured.
    pub stage: Stage,
    /// How much of it is done, from 0 to 1.
    pub done: f64,
    /// Reads so far.
    pub reads: u64,
}

/// What is being measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Whether and how fast it turns.
    Rotation,
    /// Sectors per track over the addresses.
    Zones,
    /// The seek by distance.
    Seeks,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The profile, which is valid.
    pub profile: Profile,
    /// The same as a file, with what was measured, on what and how.
    pub toml: String,
    /// Reads that it took.
    pub reads: u64,
    /// Nanoseconds on the drive's clock that it took.
    pub drive_ns: u64,
}

/// What a device did that a platter would not have done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stillness {
    /// Median time from one read of a sector to the next of the same, in milliseconds: a
    /// revolution, if it turns.
    pub repeat_ms: f64,
    /// Between the 5th and the 95th percentile of the response times of sectors at many angles,
    /// in milliseconds: nine tenths of a revolution, if it turns.
    pub spread_ms: f64,
    /// Length of the mean of the unit vectors at the phases, modulo the time above, at which one
    /// sector came back after reads of others: 1 if it turns, near 0 if its times have nothing
    /// to do with each other.
    pub coherence: f64,
}

/// Why no profile was found.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// The device does not turn, or hides that it does.
    #[error(
        "this device does not rotate: one sector read again and again takes {:.4} ms each time, \
         sectors at many angles spread over {:.4} ms where a platter spreads them over a \
         revolution, and the phases at which one sector comes back cohere to {:.2} of 1",
        .0.repeat_ms, .0.spread_ms, .0.coherence
    )]
    DoesNotRotate(Stillness),
    /// One sector comes back at once and others do not: whether a platter turns behind the memory
    /// that answers cannot be seen.
    #[error(
        "no rotation shows: one sector read again and again takes {:.4} ms each time, too soon for \
         a platter, though others spread over {:.4} ms; a cache answers, which has to be switched \
         off, or the device does not rotate",
        .0.repeat_ms, .0.spread_ms
    )]
    CacheAnswers(Stillness),
    /// Too small to have tracks, or larger than a profile can say.
    #[error("a device of {capacity_sectors} sectors cannot be measured: {reason}")]
    Capacity {
        /// Sectors of the device.
        capacity_sectors: u64,
        /// What is wrong with that.
        reason: &'static str,
    },
    /// Sectors that follow each other in address do not follow each other in angle.
    #[error(
        "no tracks can be made out at sector {lba}: sectors do not follow each other in angle as \
         they do in address"
    )]
    NoTracks {
        /// Around where.
        lba: u64,
    },
    /// The time of the arm did not show.
    #[error("no seek over {tracks} tracks could be measured: response times do not repeat")]
    NoSeek {
        /// The distance.
        tracks: u32,
    },
    /// The drive could not be read.
    #[error("cannot read sector {lba}")]
    Read {
        /// The sector.
        lba: u64,
        /// What the system said.
        source: io::Error,
    },
    /// What was found is no drive.
    #[error("what was measured is not a drive")]
    Profile(#[from] ProfileError),
}

/// Measures `drive` through reads of single sectors. `name` becomes the profile's; `device` says
/// in its credit what was measured.
///
/// Nothing random is drawn but where to read, and that from a fixed seed: a drive that answers
/// the same gives the same profile.
///
/// # Errors
///
/// The device does not rotate, cannot be read, or is not a drive that a profile can describe.
pub fn fit<D: MeasuredDrive>(
    drive: &mut D,
    name: &str,
    device: &str,
    report: &mut dyn FnMut(Progress),
) -> Result<Fit, FitError> {
    let capacity_sectors = drive.capacity_sectors();
    let sector_bytes = drive.sector_bytes();
    let refuse = |reason| Err(FitError::Capacity { capacity_sectors, reason });
    if capacity_sectors < 1 << 17 {
        return refuse("in fewer than 131,072 tracks do not show");
    }
    if capacity_sectors > u64::from(u32::MAX) {
        return refuse("a profile has fewer than 4,294,967,296");
    }
    let mut timing = Timing::new(drive, report);
    timing.find_revolution()?;
    let layout = tracks::find_layout(&mut timing)?;
    let seeks = seeks::find_seeks(&mut timing, &layout)?;
    let (reads, drive_ns) = (timing.reads(), timing.elapsed_ns());
    let toml = profile_text::ProfileText {
        name,
        device,
        sector_bytes,
        capacity_sectors,
        revolution_ns: timing.revolution_ns(),
        reads,
        drive_ns,
        layout: &layout,
        seeks: &seeks,
    }
    .to_string();
    let profile = Profile::from_toml(&toml, name)?;
    Ok(Fit { profile, toml, reads, drive_ns })
}
