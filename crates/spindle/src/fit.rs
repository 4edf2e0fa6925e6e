//! Finds the profile of a drive from the times of its reads.
//!
//! The platter is a clock. Two reads of one sector end a whole number of revolutions apart. So the ends of any two
//! reads differ, modulo a revolution, by the angle between their sectors, whatever the arm did. This gives, in order:
//!
//! 1. The revolution: one sector, read again and again.
//! 2. The tracks: sectors a sixteenth of a track apart are equally far apart in angle, except where a track ends and
//!    the next is turned by its skew. The sectors between two such ends are a track; their number changes by zone.
//! 3. The seek by distance: read later and later sectors of the target track, until one passes before the arm arrives
//!    and costs another revolution. The sector after it gives the arm's time.
//! 4. The overhead of a command: the same, on the arm's own track.
//!
//! This is the method of Worthington, Ganger, Patt and Wilkes, *On-line extraction of SCSI disk drive parameters*
//! (1995): the minimum time between request completions. Schindler and Ganger automated it, *DIXtrac* (1999). The equal
//! steps in address that reveal each track are those of Talagala, Arpaci-Dusseau and Patterson's *Skippy* (1999).
//!
//! **What it does not find.** It does not tell heads apart: the profile has one head, or a few if there are very many
//! tracks, and all tracks in a row. A seek over a number of tracks is then the mean of the head switches and arm
//! movements over that distance. Random reads come out right; sequential reads use each zone's median skew. Drives that
//! give each head zones of its own are beyond it. Writes take as long as reads, because measuring them would overwrite
//! data.
//!
//! The drive's own cache must be off, so that a sector read twice comes from the platter twice.
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
use crate::profile_validation::MAX_CAPACITY_SECTORS;
use timing::Timing;

pub use simulated_drive::SimulatedDrive;
#[cfg(unix)]
pub use unix_file::UnixFile;

/// A drive that can be read from and has a clock.
pub trait MeasuredDrive {
    /// Sectors that can be addressed.
    fn capacity_sectors(&self) -> u64;

    /// Bytes in a sector.
    fn sector_bytes(&self) -> u32;

    /// Reads `sectors` sectors from `lba` on, from the medium if possible. Returns when the command was issued and when
    /// it completed, in nanoseconds on a monotonic clock. The next read may follow at once.
    ///
    /// # Errors
    ///
    /// The read failed.
    fn read(&mut self, lba: u64, sectors: u32) -> io::Result<(u64, u64)>;
}

/// The progress of a fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The quantity being measured.
    pub stage: Stage,
    /// The fraction done, from 0 to 1.
    pub done: f64,
    /// Reads so far.
    pub reads: u64,
}

/// The stages of a fit, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The revolution, or that there is none.
    Rotation,
    /// Sectors per track over the addresses.
    Zones,
    /// The seek by distance.
    Seeks,
}

/// The result of a fit.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The profile, which is valid.
    pub profile: Profile,
    /// The same as a file, with the device and the method.
    pub toml: String,
    /// Reads issued.
    pub reads: u64,
    /// Duration in nanoseconds, on the drive's clock.
    pub drive_ns: u64,
}

/// The evidence that no platter answered.
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

/// Why a fit failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// It is neither a file nor a block device.
    #[error("{path} is {kind}: only a file or a block device can be measured")]
    Kind {
        /// The file.
        path: String,
        /// Its kind.
        kind: &'static str,
    },
    /// The system refused to open the file or device.
    #[error("cannot open {path} for reading")]
    Open {
        /// The file.
        path: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The device does not turn, or hides that it does.
    #[error(
        "this device does not rotate: one sector read again and again takes {:.4} ms each time, \
         sectors at many angles spread over {:.4} ms where a platter spreads them over a \
         revolution, and the phases at which one sector comes back cohere to {:.2} of 1",
        .0.repeat_ms, .0.spread_ms, .0.coherence
    )]
    DoesNotRotate(Stillness),
    /// One sector comes back at once and others do not, so a cache hides whether a platter turns.
    #[error(
        "no rotation shows: one sector read again and again takes {:.4} ms each time, too soon for \
         a platter, though others spread over {:.4} ms; a cache answers, which has to be switched \
         off, or the device does not rotate",
        .0.repeat_ms, .0.spread_ms
    )]
    CacheAnswers(Stillness),
    /// Too small to show tracks, or larger than a profile can describe.
    #[error("a device of {capacity_sectors} sectors cannot be measured: {reason}")]
    Capacity {
        /// Sectors of the device.
        capacity_sectors: u64,
        /// The reason.
        reason: &'static str,
    },
    /// Successive addresses are not at successive angles.
    #[error(
        "no tracks can be made out at sector {lba}: sectors do not follow each other in angle as \
         they do in address"
    )]
    NoTracks {
        /// Address of the attempt.
        lba: u64,
    },
    /// The seek times do not repeat.
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
        /// The error of the operating system.
        source: io::Error,
    },
    /// The measurements describe no drive.
    #[error("what was measured is not a drive")]
    Profile(#[from] ProfileError),
}

/// Measures `drive` by reading single sectors. `name` becomes the profile's name; `device` names the device in its
/// credit.
///
/// The addresses come from a fixed seed: the same answers give the same profile.
///
/// # Errors
///
/// The device does not rotate, cannot be read, or is no drive that a profile can describe.
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
    if capacity_sectors > MAX_CAPACITY_SECTORS {
        return refuse("a profile has 17,179,869,184 at most");
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
