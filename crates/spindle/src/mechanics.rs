//! The time of a command: overhead, seek, rotation, transfer.
//!
//! The model is DiskSim's with caches off. A command takes an overhead that depends on the last command, a seek, the
//! wait for the first sector, the sectors themselves, and a skew for each track crossed.
//!
//! Where the profile says so, a command on one track has zero latency: if its sectors are already passing, it starts
//! with the next of them and completes one revolution later. A command on several tracks gains nothing by that, because
//! it would wait for the second track instead.

use std::hint::select_unpredictable;
use std::ops::Range;

use crate::geometry::{Geometry, Location, Track};
use crate::profile::{Cache, Profile, ProfileError};
use crate::rotation::{Angle, MAX_DELAY_MS, Rotation, TICKS_PER_REVOLUTION};
use strewn_base::Direction;
use strewn_base::state::SavedValue;

/// Sectors to read or write, in address order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, SavedValue)]
pub struct Command {
    /// Address of the first sector.
    pub lba: u64,
    /// Sectors to transfer, at least one.
    pub sectors: u32,
    /// Read or write.
    pub direction: Direction,
}

/// Why a drive refuses a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The command transfers nothing.
    #[error("a command at sector {lba} transfers no sectors")]
    Empty {
        /// Address of the first sector.
        lba: u64,
    },
    /// The command reaches past the last sector.
    #[error("{sectors} sectors at {lba} reach past the capacity of {capacity_sectors} sectors")]
    PastEnd {
        /// Address of the first sector.
        lba: u64,
        /// Sectors to transfer.
        sectors: u32,
        /// Sectors of the drive.
        capacity_sectors: u64,
    },
    /// The command does not begin and end on sector boundaries.
    #[error("{bytes} bytes at {offset_bytes} do not fall on sectors of {sector_bytes} bytes")]
    Misaligned {
        /// Where the first byte is.
        offset_bytes: u64,
        /// Bytes to transfer.
        bytes: u64,
        /// Bytes in a sector of the drive.
        sector_bytes: u32,
    },
    /// The command arrives later than the simulation can represent.
    #[error(
        "a command arrives at {arrival_ns} ns, after the last time that can be simulated, 2^63 ns"
    )]
    ArrivalTooLate {
        /// When the command arrives, in nanoseconds.
        arrival_ns: u64,
    },
    /// The command arrives before the one submitted last.
    #[error("a command arrives at {arrival_ns} ns, after one that arrived at {latest_ns} ns")]
    ArrivalDecreases {
        /// When this command arrives, in nanoseconds.
        arrival_ns: u64,
        /// When the one before it arrived.
        latest_ns: u64,
    },
}

/// The part of a command's timing that does not depend on when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SavedValue)]
pub struct Transfer {
    /// Where the first sector starts.
    pub start: Location,
    /// The track on which the last sector lies.
    pub end_track: Track,
    /// Ticks from the start of the first sector to the end of the last.
    pub ticks: u64,
}

/// The parts of the time from start to first sector, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Positioning {
    /// Before the arm moves, and the settling of a write after it.
    pub overhead: u32,
    /// The movement of the arm.
    pub seek: u32,
    /// The wait for the sector, less than a revolution.
    pub rotation: u32,
}

impl Positioning {
    /// Overhead, seek and rotation together, in ticks.
    #[inline]
    pub const fn ticks(&self) -> u32 {
        self.overhead + self.seek + self.rotation
    }
}

/// A drive's tables, built once from its [`Profile`] and shared by every spindle of the kind.
#[derive(Clone, Debug)]
pub struct Drive {
    name: String,
    sector_bytes: u32,
    rotation: Rotation,
    geometry: Geometry,
    /// By cylinders crossed; entry 0 is a head switch.
    seek_ticks: Vec<u32>,
    /// By direction before and direction now.
    overhead_ticks: [[u32; 2]; 2],
    /// By direction: a command on one track that needs more ticks than this for rotation and transfer is done in one
    /// revolution instead. No limit without zero latency.
    turn_limit_ticks: [u64; 2],
    cache: Option<Cache>,
    bus_ps_per_sector: u64,
}

impl Drive {
    /// Builds the tables of the drive that `profile` describes. If it has a template and neither seeks nor zones, they
    /// are derived, as from a file.
    ///
    /// # Errors
    ///
    /// [`ProfileError::Invalid`] when the profile does not pass [`Profile::validate`].
    pub fn new(profile: &Profile) -> Result<Self, ProfileError> {
        if profile.template.is_some() && profile.seek.is_empty() && profile.zones.is_empty() {
            let mut whole = profile.clone();
            whole.derive()?;
            return Self::new(&whole);
        }
        profile.validate()?;
        let rotation = Rotation::new(profile.rpm);
        let overheads = &profile.overhead_ms;
        let settle_ms = profile.write_settle_ms;
        let overhead_ms = [
            [overheads.read_after_read, overheads.write_after_read + settle_ms],
            [overheads.read_after_write, overheads.write_after_write + settle_ms],
        ];
        Ok(Self {
            name: profile.name.clone(),
            sector_bytes: profile.sector_bytes,
            rotation,
            geometry: Geometry::new(profile),
            seek_ticks: seek_table(profile, &rotation),
            overhead_ticks: overhead_ms.map(|row| row.map(|ms| rotation.ticks_from_ms(ms))),
            turn_limit_ticks: [profile.zero_latency_read, profile.zero_latency_write]
                .map(|zero| if zero { u64::from(TICKS_PER_REVOLUTION) } else { u64::MAX }),
            cache: profile.cache.clone(),
            bus_ps_per_sector: profile.bus_mb_per_s.map_or(0, |mb_per_s| {
                (f64::from(profile.sector_bytes) * 1e6 / mb_per_s).round() as u64
            }),
        })
    }

    /// Name of the profile.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sectors that can be addressed.
    #[inline]
    pub fn capacity_sectors(&self) -> u64 {
        self.geometry.capacity_sectors()
    }

    /// Bytes in a sector.
    pub fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }

    /// The sectors of the track that holds `lba`, below the capacity.
    pub(crate) fn track_sectors(&self, lba: u64) -> Range<u64> {
        self.geometry.track_sectors(lba)
    }

    /// The rules of the drive's cache, if it has one.
    pub(crate) fn cache_rules(&self) -> Option<&Cache> {
        self.cache.as_ref()
    }

    /// Picoseconds that a sector takes between drive and host.
    pub(crate) fn bus_ps_per_sector(&self) -> u64 {
        self.bus_ps_per_sector
    }

    /// The command that transfers `bytes` from `offset_bytes` on.
    ///
    /// # Errors
    ///
    /// The bytes are none, are not whole sectors, or reach past the end.
    pub fn command(
        &self,
        offset_bytes: u64,
        bytes: u64,
        direction: Direction,
    ) -> Result<Command, CommandError> {
        let sector_bytes = u64::from(self.sector_bytes);
        if !offset_bytes.is_multiple_of(sector_bytes) || !bytes.is_multiple_of(sector_bytes) {
            let sector_bytes = self.sector_bytes;
            return Err(CommandError::Misaligned { offset_bytes, bytes, sector_bytes });
        }
        let lba = offset_bytes / sector_bytes;
        // No command transfers more than 2^32 - 1 sectors; a drive may have more.
        let Ok(sectors) = u32::try_from(bytes / sector_bytes) else {
            let capacity_sectors = self.capacity_sectors();
            return Err(CommandError::PastEnd { lba, sectors: u32::MAX, capacity_sectors });
        };
        let command = Command { lba, sectors, direction };
        self.check(&command)?;
        Ok(command)
    }

    /// Cylinders, spare ones included.
    pub fn cylinders(&self) -> u32 {
        self.seek_ticks.len() as u32
    }

    /// The conversion between time and angle.
    #[inline]
    pub fn rotation(&self) -> &Rotation {
        &self.rotation
    }

    /// Where sector `lba` starts.
    ///
    /// # Panics
    ///
    /// When `lba` is not below [`Drive::capacity_sectors`].
    #[inline]
    pub fn locate(&self, lba: u64) -> Location {
        assert!(lba < self.capacity_sectors(), "sector {lba} is past the end of the drive");
        self.geometry.locate(lba).start
    }

    /// The part of a command's timing that does not depend on when it starts.
    ///
    /// # Errors
    ///
    /// The command is empty or reaches past the end.
    #[inline(always)]
    pub fn transfer(&self, command: &Command) -> Result<Transfer, CommandError> {
        self.check(command)?;
        let Command { lba, sectors, .. } = *command;
        let remainder = self.geometry.locate(lba);
        let start = remainder.start;
        if sectors <= remainder.sectors {
            let ticks = u64::from(remainder.transfer_ticks(sectors));
            return Ok(Transfer { start, end_track: start.track, ticks });
        }
        Ok(self.transfer_across_tracks(lba, sectors))
    }

    #[inline]
    fn check(&self, command: &Command) -> Result<(), CommandError> {
        let Command { lba, sectors, .. } = *command;
        if sectors == 0 {
            return Err(CommandError::Empty { lba });
        }
        let capacity_sectors = self.capacity_sectors();
        if lba >= capacity_sectors || u64::from(sectors) > capacity_sectors - lba {
            return Err(CommandError::PastEnd { lba, sectors, capacity_sectors });
        }
        Ok(())
    }

    #[cold]
    fn transfer_across_tracks(&self, lba: u64, sectors: u32) -> Transfer {
        let mut remainder = self.geometry.locate(lba);
        let start = remainder.start;
        let (mut next_lba, mut left, mut ticks) = (lba, sectors, 0_u64);
        loop {
            let here = remainder.start;
            let count = left.min(remainder.sectors);
            let pass_ticks = remainder.transfer_ticks(count);
            ticks += u64::from(pass_ticks);
            left -= count;
            if left == 0 {
                return Transfer { start, end_track: here.track, ticks };
            }
            next_lba += u64::from(count);
            remainder = self.geometry.locate(next_lba);
            let end = here.angle.after(pass_ticks);
            let crossing = self.positioning(0, here.track, end, remainder.start);
            ticks += u64::from(crossing.ticks());
        }
    }

    /// Ticks to move the heads from one track to another; 0 if it is the same.
    #[inline]
    pub fn seek_ticks(&self, from: Track, to: Track) -> u32 {
        let ticks = self.seek_ticks[from.cylinder().abs_diff(to.cylinder()) as usize];
        // Branchless, because a choice evaluates every command in the queue.
        select_unpredictable(from == to, 0, ticks)
    }

    /// Ticks before the arm moves after a command in direction `before`, for both directions of the next: index with
    /// `Direction as usize`.
    #[inline]
    pub fn overhead_ticks(&self, before: Direction) -> [u32; 2] {
        self.overhead_ticks[before as usize]
    }

    /// The time from a track, with the platter at `angle` now, to the start of a sector.
    #[inline]
    pub fn positioning(
        &self,
        overhead: u32,
        from: Track,
        angle: Angle,
        to: Location,
    ) -> Positioning {
        let seek = self.seek_ticks(from, to.track);
        let rotation = angle.after(overhead + seek).ticks_until(to.angle);
        Positioning { overhead, seek, rotation }
    }

    /// The timing of a transfer that starts with the platter at `angle` and the heads on track `from`: the positioning
    /// for its first sector, and the ticks from there to the end of the last.
    #[inline]
    pub fn service(
        &self,
        overhead: u32,
        from: Track,
        angle: Angle,
        direction: Direction,
        transfer: &Transfer,
    ) -> (Positioning, u64) {
        let mut positioning = self.positioning(overhead, from, angle, transfer.start);
        let one_track = transfer.start.track == transfer.end_track;
        let ticks = u64::from(positioning.rotation) + transfer.ticks;
        if ticks > self.turn_limit_ticks[direction as usize] && one_track {
            positioning.rotation = 0;
            return (positioning, u64::from(TICKS_PER_REVOLUTION));
        }
        (positioning, transfer.ticks)
    }
}

/// Ticks by distance: interpolated between the measured points, and extrapolated beyond the last.
fn seek_table(profile: &Profile, rotation: &Rotation) -> Vec<u32> {
    let points = &profile.seek;
    let mut table = vec![rotation.ticks_from_ms(profile.head_switch_ms)];
    for cylinders in 1..profile.cylinders() {
        let above = points.partition_point(|&(distance, _)| distance < cylinders);
        let last = points.len() - 1;
        let ms = if points.len() == 1 {
            points[0].1
        } else {
            // Beyond the last point the line of the last two goes on, but never falls.
            let (low, high) = (points[above.clamp(1, last) - 1], points[above.clamp(1, last)]);
            let slope = (high.1 - low.1) / f64::from(high.0 - low.0);
            let slope = if above > last { slope.max(0.0) } else { slope };
            let (from, ms) = if above > last { high } else { low };
            if cylinders < from { ms } else { ms + slope * f64::from(cylinders - from) }
        };
        table.push(rotation.ticks_from_ms(ms.min(MAX_DELAY_MS)));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cheetah() -> Drive {
        let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").unwrap();
        Drive::new(&profile).unwrap()
    }

    fn read(lba: u64, sectors: u32) -> Command {
        Command { lba, sectors, direction: Direction::Read }
    }

    #[test]
    fn seek_times_are_the_measured_points() {
        let drive = cheetah();
        let seek_ms = |cylinders: u32| {
            let ticks = drive.seek_ticks(Track::new(0, 0), Track::new(cylinders, 0));
            drive.rotation().ns(u64::from(ticks)) as f64 / 1e6
        };
        for (cylinders, ms) in [(1, 0.5525), (57, 0.82375), (58, 1.1281), (72_000, 6.9139)] {
            assert!((seek_ms(cylinders) - ms).abs() < 1e-5, "{cylinders} cylinders");
        }
        // Half way between 100 (1.1398) and 110 (1.1419), and on past the last point.
        assert!((seek_ms(105) - 1.14085).abs() < 1e-5);
        assert!(seek_ms(72_170) > 6.9139);
    }

    #[test]
    fn a_head_switch_takes_its_own_time_and_staying_none() {
        let drive = cheetah();
        let (here, beside) = (Track::new(64, 0), Track::new(64, 1));
        assert_eq!(drive.seek_ticks(here, here), 0);
        assert_eq!(drive.seek_ticks(here, beside), drive.rotation().ticks_from_ms(0.001));
    }

    #[test]
    fn crossing_a_track_costs_its_skew() {
        let drive = cheetah();
        let (one, two) =
            (drive.transfer(&read(0, 1200)).unwrap(), drive.transfer(&read(0, 2400)).unwrap());
        let skew_ns = drive.rotation().ns(two.ticks - 2 * one.ticks);
        assert!(skew_ns.abs_diff(565_900) < 200, "{skew_ns} ns");
        assert_eq!(two.end_track, Track::new(1, 0));
        // From the band's last track on head 0 to head 1 of the same cylinder.
        let turn = drive.transfer(&read(64 * 1200, 2400)).unwrap();
        assert_eq!(turn.end_track, Track::new(64, 1));
        let skew_ns = drive.rotation().ns(turn.ticks - 2 * one.ticks);
        assert!(skew_ns.abs_diff(757_000) < 10_000, "{skew_ns} ns");
    }

    #[test]
    fn commands_that_cannot_be_are_refused() {
        let drive = cheetah();
        let capacity_sectors = drive.capacity_sectors();
        assert_eq!(drive.transfer(&read(7, 0)), Err(CommandError::Empty { lba: 7 }));
        let (lba, sectors) = (capacity_sectors - 1, 2);
        assert_eq!(
            drive.transfer(&read(lba, sectors)),
            Err(CommandError::PastEnd { lba, sectors, capacity_sectors })
        );
        assert!(drive.transfer(&read(lba, 1)).is_ok());
        assert!(drive.transfer(&read(u64::MAX, 1)).is_err());
    }
}
