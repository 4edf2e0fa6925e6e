//! What a drive does: by distance, by place, by load and by size of command.
//!
//! Everything but the seek curve is measured on the simulated drive, its cache off, as one would measure a real one.
//!
//! ```
//! use strewn::spindle::Profile;
//!
//! let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").ok_or("no such drive")?;
//! let study = strewn::study::study(&[profile], 1)?;
//! let alone = &study.drives[0].by_depth[0];
//! assert_eq!((alone.scheduler.as_str(), alone.outstanding), ("fcfs", 1));
//! assert!((165.0..180.0).contains(&alone.iops), "{}", alone.iops);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::ops::Range;
use std::sync::Arc;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use strewn_report::{
    BlockPoint, DRIVE_STUDY_SCHEMA, DepthPoint, DriveFigures, DriveStudy, SIGNIFICANT_DIGITS,
    SeekPoint, SpanPoint, TransferPoint, rounded,
};
use strewn_spindle::{
    Command, CommandError, Drive, MAX_DEPTH, Operation, Profile, ProfileError, Scheduler,
    SimulatedSpindle, SpindleError, Throughput, Track, closed_loop,
};
use thiserror::Error;

/// The rules that a study compares.
const SCHEDULERS: [Scheduler; 5] = [
    Scheduler::Fcfs,
    Scheduler::Sstf,
    Scheduler::CLook,
    Scheduler::Sptf,
    Scheduler::AgedSptf { credit_us_per_ms: Scheduler::DEFAULT_CREDIT_US_PER_MS },
];
const DEPTHS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const SPANS_PERCENT: [u32; 7] = [1, 2, 5, 10, 20, 50, 100];
/// By span and by size: one command alone, and the best rule with a queue that a host keeps.
const LOADS: [(Scheduler, u32); 2] = [(Scheduler::Fcfs, 1), (Scheduler::Sptf, 32)];
/// Of the commands whose size is not what is studied.
const BLOCK_BYTES: u32 = 4096;
/// Sizes of command: a sector, and doubled until they hold this.
const LARGEST_BLOCK_BYTES: u32 = 4 << 20;
/// Measured at each point: the mean of so many is within 1 % of that of many more.
const COMMANDS: u32 = 30_000;
/// Least commands that are not measured because the queue is filling.
const WARM_UP_COMMANDS: u32 = 1_000;
/// Fewer sectors than this are no drive of which to measure hundredths.
const FEWEST_SECTORS: u64 = 10_000;
/// Points of a seek curve, and of a transfer rate.
const SEEK_POINTS: u32 = 200;
const TRANSFER_POINTS: u64 = 100;

/// Why a drive cannot be studied.
#[derive(Debug, Error)]
pub enum StudyError {
    /// The profile does not describe a drive.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A spindle cannot be set up.
    #[error(transparent)]
    Spindle(#[from] SpindleError),
    /// The drive refuses a command.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The drive is too small for commands that anybody would give it.
    #[error("{profile}: {sectors} sectors are too few to study")]
    TooSmall {
        /// Name of the profile.
        profile: String,
        /// Its capacity.
        sectors: u64,
    },
}

/// Commands anywhere in a range, each aligned to its size from the start of the range.
#[derive(Debug, Clone)]
pub struct RandomLoad {
    first_lba: u64,
    /// Places where a command may lie.
    places: u64,
    sectors: u32,
    reads_percent: f64,
    random: Xoshiro256PlusPlus,
}

impl RandomLoad {
    /// Commands of `sectors` each within `lbas`, of which `reads_percent` are reads and the others writes. None if
    /// the range cannot hold one.
    #[must_use]
    pub fn new(lbas: &Range<u64>, sectors: u32, reads_percent: f64, seed: u64) -> Option<Self> {
        let places = lbas.end.checked_sub(lbas.start)?.checked_div(sectors.into())?;
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let load = Self { first_lba: lbas.start, places, sectors, reads_percent, random };
        (places > 0).then_some(load)
    }

    /// The next command.
    pub fn command(&mut self) -> Command {
        // The high half of a product: uneven by less than places / 2⁶⁴.
        let place = (u128::from(self.random.next_u64()) * u128::from(self.places)) >> 64;
        // 53 bits are what a double holds of a number from 0 to 1.
        let share = (self.random.next_u64() >> 11) as f64 / 2f64.powi(53);
        let is_read = 100.0 * share < self.reads_percent;
        Command {
            lba: self.first_lba + place as u64 * u64::from(self.sectors),
            sectors: self.sectors,
            operation: if is_read { Operation::Read } else { Operation::Write },
        }
    }
}

/// Commands of a closed loop to leave out of its figures, because the queue starts full of new ones.
#[must_use]
pub fn warm_up_commands(outstanding: u32) -> u32 {
    WARM_UP_COMMANDS.max(outstanding.saturating_mul(4))
}

/// Studies drives, on as many threads as there are cores; the figures depend on the profiles and the seed alone.
///
/// # Errors
/// See [`StudyError`].
pub fn study(profiles: &[Profile], seed: u64) -> Result<DriveStudy, StudyError> {
    let drives = profiles.iter().map(|profile| figures(profile, seed)).collect::<Result<_, _>>()?;
    Ok(DriveStudy {
        schema: DRIVE_STUDY_SCHEMA,
        strewn: env!("CARGO_PKG_VERSION").to_owned(),
        seed,
        block_bytes: BLOCK_BYTES,
        drives,
    })
}

fn figures(profile: &Profile, seed: u64) -> Result<DriveFigures, StudyError> {
    let bench = Bench { drive: Arc::new(Drive::new(profile)?), seed };
    let drive = &bench.drive;
    let capacity_sectors = drive.capacity_sectors();
    let fewest = u64::from(2 * LARGEST_BLOCK_BYTES / drive.sector_bytes()).max(FEWEST_SECTORS);
    if capacity_sectors < fewest {
        let profile = profile.name.clone();
        return Err(StudyError::TooSmall { profile, sectors: capacity_sectors });
    }
    Ok(DriveFigures {
        profile: profile.name.clone(),
        credit: profile.credit.clone(),
        rpm: profile.rpm,
        heads: profile.heads,
        cylinders: drive.cylinders(),
        zones: profile.zones.len() as u32,
        sector_bytes: drive.sector_bytes(),
        capacity_sectors,
        revolution_ms: figure(drive.rotation().revolution_ms()),
        head_switch_ms: profile.head_switch_ms,
        write_settle_ms: profile.write_settle_ms,
        seek: seek_curve(drive),
        transfer: transfer_rates(drive, profile.bus_mb_per_s)?,
        by_depth: bench.by_depth()?,
        by_span: bench.by_span()?,
        by_block: bench.by_block()?,
    })
}

/// As many digits as results have.
fn figure(value: f64) -> f64 {
    rounded(value, SIGNIFICANT_DIGITS)
}

/// The seek curve at distances that lie closer where it bends: at the short ones.
fn seek_curve(drive: &Drive) -> Vec<SeekPoint> {
    let longest = drive.cylinders().saturating_sub(1);
    let mut distances: Vec<u32> = (1..=SEEK_POINTS)
        .map(|point| {
            let share = f64::from(point) / f64::from(SEEK_POINTS);
            (f64::from(longest) * share * share).round() as u32
        })
        .filter(|distance| *distance > 0)
        .collect();
    distances.insert(0, 1.min(longest));
    distances.dedup();
    let point = |cylinders: u32| {
        let ticks = drive.seek_ticks(Track::new(0, 0), Track::new(cylinders, 0));
        SeekPoint { cylinders, ms: figure(drive.rotation().ns(ticks.into()) as f64 / 1e6) }
    };
    distances.into_iter().map(point).collect()
}

/// What reading a hundredth of the drive in order comes to, for each hundredth. Track and cylinder switches are in it,
/// and the bus if that is slower.
fn transfer_rates(
    drive: &Drive,
    bus_mb_per_s: Option<f64>,
) -> Result<Vec<TransferPoint>, CommandError> {
    let place = |point: u64| point * drive.capacity_sectors() / TRANSFER_POINTS;
    let rate = |point: u64| {
        let (lba, end) = (place(point), place(point + 1));
        let sectors = u32::try_from(end - lba).unwrap_or(u32::MAX);
        let transfer = drive.transfer(&Command { lba, sectors, operation: Operation::Read })?;
        let bytes = f64::from(sectors) * f64::from(drive.sector_bytes());
        let mb_per_s = bytes * 1e3 / drive.rotation().ns(transfer.ticks) as f64;
        let mb_per_s = figure(mb_per_s.min(bus_mb_per_s.unwrap_or(f64::INFINITY)));
        Ok(TransferPoint {
            lba,
            lba_percent: point as f64 * 100.0 / TRANSFER_POINTS as f64,
            mb_per_s,
        })
    };
    (0..TRANSFER_POINTS).map(rate).collect()
}

/// A drive under closed loops of random reads.
struct Bench {
    drive: Arc<Drive>,
    seed: u64,
}

impl Bench {
    fn by_depth(&self) -> Result<Vec<DepthPoint>, StudyError> {
        let points: Vec<(Scheduler, u32)> = SCHEDULERS
            .iter()
            .flat_map(|scheduler| DEPTHS.map(|outstanding| (*scheduler, outstanding)))
            .collect();
        let point = |&(scheduler, outstanding): &(Scheduler, u32)| {
            let whole = 0..self.drive.capacity_sectors();
            let measured = self.measure(scheduler, outstanding, whole, self.block_sectors())?;
            Ok(DepthPoint {
                scheduler: scheduler.to_string(),
                outstanding,
                iops: figure(measured.commands_per_second),
                response_ms: figure(measured.response_ms),
            })
        };
        points.par_iter().map(point).collect()
    }

    fn by_span(&self) -> Result<Vec<SpanPoint>, StudyError> {
        let points: Vec<_> =
            LOADS.iter().flat_map(|load| SPANS_PERCENT.map(|percent| (*load, percent))).collect();
        let point = |&((scheduler, outstanding), percent): &((Scheduler, u32), u32)| {
            let end_lba = self.span_end(percent).max(self.block_sectors().into());
            let measured =
                self.measure(scheduler, outstanding, 0..end_lba, self.block_sectors())?;
            Ok(SpanPoint {
                scheduler: scheduler.to_string(),
                outstanding,
                span_percent: percent,
                end_lba,
                iops: figure(measured.commands_per_second),
                response_ms: figure(measured.response_ms),
            })
        };
        points.par_iter().map(point).collect()
    }

    fn by_block(&self) -> Result<Vec<BlockPoint>, StudyError> {
        let sector_bytes = self.drive.sector_bytes();
        let sizes = (0..).map(|doubling| 1_u32 << doubling);
        let sizes = sizes.take_while(|sectors| sectors * sector_bytes <= LARGEST_BLOCK_BYTES);
        let points: Vec<_> = sizes.flat_map(|sectors| LOADS.map(|load| (load, sectors))).collect();
        let point = |&((scheduler, outstanding), sectors): &((Scheduler, u32), u32)| {
            let whole = 0..self.drive.capacity_sectors();
            let measured = self.measure(scheduler, outstanding, whole, sectors)?;
            let bytes = sectors * sector_bytes;
            Ok(BlockPoint {
                scheduler: scheduler.to_string(),
                outstanding,
                sectors,
                bytes,
                iops: figure(measured.commands_per_second),
                response_ms: figure(measured.response_ms),
                mb_per_s: figure(measured.commands_per_second * f64::from(bytes) / 1e6),
            })
        };
        points.par_iter().map(point).collect()
    }

    /// The first address past the outermost `percent` of the stroke.
    fn span_end(&self, percent: u32) -> u64 {
        let drive = &self.drive;
        let capacity_sectors = drive.capacity_sectors();
        if percent >= 100 {
            return capacity_sectors;
        }
        let cylinders = (u64::from(drive.cylinders()) * u64::from(percent)).div_ceil(100);
        // Addresses go inward, but for the bands' serpentines, which are small beside a hundredth of a stroke.
        let (mut low, mut high) = (0, capacity_sectors);
        while low < high {
            let middle = low + (high - low) / 2;
            if u64::from(drive.locate(middle).track.cylinder()) < cylinders {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    fn block_sectors(&self) -> u32 {
        BLOCK_BYTES.div_ceil(self.drive.sector_bytes())
    }

    fn measure(
        &self,
        scheduler: Scheduler,
        outstanding: u32,
        lbas: Range<u64>,
        sectors: u32,
    ) -> Result<Throughput, StudyError> {
        let mut load = RandomLoad::new(&lbas, sectors, 100.0, self.seed).ok_or_else(|| {
            let profile = self.drive.name().to_owned();
            StudyError::TooSmall { profile, sectors: self.drive.capacity_sectors() }
        })?;
        let mut spindle = SimulatedSpindle::new(Arc::clone(&self.drive), scheduler, MAX_DEPTH)?;
        let warm_up = warm_up_commands(outstanding);
        Ok(closed_loop(&mut spindle, outstanding, warm_up, COMMANDS, || load.command())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_stays_in_its_range_and_mixes_as_asked() {
        let mut load = RandomLoad::new(&(100..260), 16, 25.0, 7).unwrap();
        let commands: Vec<Command> = (0..4000).map(|_| load.command()).collect();
        for place in 0..10 {
            assert!(commands.iter().any(|command| command.lba == 100 + 16 * place));
        }
        assert!(commands.iter().all(|command| command.lba <= 260 - 16));
        let reads = commands.iter().filter(|command| command.operation == Operation::Read).count();
        assert!((900..1100).contains(&reads), "{reads}");
        assert!(RandomLoad::new(&(0..15), 16, 100.0, 1).is_none());
        assert!(RandomLoad::new(&Range { start: 9, end: 1 }, 1, 100.0, 1).is_none());
    }
}
