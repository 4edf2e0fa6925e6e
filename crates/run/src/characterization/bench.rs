//! Closed loops of random commands, by queue depth, span and command size.

use std::ops::Range;
use std::sync::Arc;

use strewn_base::Direction;
use strewn_results::LoopPoint;
use strewn_spindle::{Drive, MAX_DEPTH, Scheduler, SimulatedSpindle, closed_loop};

use crate::parallel;

use super::curves::figure;
use super::load::{RandomLoad, warm_up_commands};
use super::{CharacterizationError, Watched};

/// The schedulers that a characterization compares.
const SCHEDULERS: [Scheduler; 5] = [
    Scheduler::Fcfs,
    Scheduler::Sstf,
    Scheduler::CLook,
    Scheduler::Sptf,
    Scheduler::AgedSptf { credit_us_per_ms: Scheduler::DEFAULT_CREDIT_US_PER_MS },
];
const DEPTHS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const SPANS_PERCENT: [u32; 7] = [1, 2, 5, 10, 20, 50, 100];
/// Loads of the curves by span and by size: one command at a time, which leaves the scheduler no choice, and as many
/// as hosts keep at a drive (`QUEUE`), under each scheduler.
const ALONE: (Scheduler, u32) = (Scheduler::Fcfs, 1);
const QUEUE: u32 = 16;
/// Command size in the curves that do not vary it.
pub(super) const BLOCK_BYTES: u32 = 4096;
/// Largest command size; sizes double from one sector up to this.
pub(super) const LARGEST_BLOCK_BYTES: u32 = 4 << 20;
/// Commands measured at each point: their mean is within 1 % of that of many more.
const COMMANDS: u32 = 30_000;

/// A drive under closed loops.
pub(super) struct Bench<'a> {
    pub(super) drive: Arc<Drive>,
    pub(super) seed: u64,
    pub(super) cache: bool,
    pub(super) watched: &'a Watched<'a>,
}

/// The settings of a closed loop.
#[derive(Clone, Copy)]
struct Loop {
    operation: Direction,
    scheduler: Scheduler,
    outstanding: u32,
    span_percent: u32,
    sectors: u32,
}

impl Bench<'_> {
    /// Returns the number of closed loops that a drive is measured with.
    pub(super) fn loops(drive: &Drive) -> usize {
        let loads = loads().count();
        let sizes = sizes(drive).count();
        2 * (SCHEDULERS.len() * DEPTHS.len() + loads * (SPANS_PERCENT.len() + sizes))
    }

    pub(super) fn by_depth(&self) -> Result<Vec<LoopPoint>, CharacterizationError> {
        let whole = |operation, scheduler, outstanding| Loop {
            operation,
            scheduler,
            outstanding,
            span_percent: 100,
            sectors: self.block_sectors(),
        };
        let loops = Direction::ALL.into_iter().flat_map(|operation| {
            SCHEDULERS.into_iter().flat_map(move |scheduler| {
                DEPTHS.map(|outstanding| whole(operation, scheduler, outstanding))
            })
        });
        self.measure_all(loops.collect())
    }

    pub(super) fn by_span(&self) -> Result<Vec<LoopPoint>, CharacterizationError> {
        let sectors = self.block_sectors();
        let loops = Direction::ALL.into_iter().flat_map(|operation| {
            loads().flat_map(move |(scheduler, outstanding)| {
                SPANS_PERCENT.map(|span_percent| Loop {
                    operation,
                    scheduler,
                    outstanding,
                    span_percent,
                    sectors,
                })
            })
        });
        self.measure_all(loops.collect())
    }

    pub(super) fn by_block(&self) -> Result<Vec<LoopPoint>, CharacterizationError> {
        let drive = &self.drive;
        let loops = Direction::ALL.into_iter().flat_map(|operation| {
            loads().flat_map(move |(scheduler, outstanding)| {
                sizes(drive).map(move |sectors| Loop {
                    operation,
                    scheduler,
                    outstanding,
                    span_percent: 100,
                    sectors,
                })
            })
        });
        self.measure_all(loops.collect())
    }

    fn measure_all(&self, loops: Vec<Loop>) -> Result<Vec<LoopPoint>, CharacterizationError> {
        parallel::over_threads(0, loops, |wanted| self.measure(wanted))
    }

    fn measure(&self, wanted: Loop) -> Result<LoopPoint, CharacterizationError> {
        self.watched.begin()?;
        let Loop { operation, scheduler, outstanding, span_percent, sectors } = wanted;
        let end_lba = self.span_end(span_percent).max(sectors.into());
        let lbas: Range<u64> = 0..end_lba;
        let reads_percent = if operation == Direction::Read { 100.0 } else { 0.0 };
        let load = RandomLoad::new(&lbas, sectors, reads_percent, self.seed);
        let mut load = load.ok_or_else(|| CharacterizationError::too_small(&self.drive))?;
        let drive = Arc::clone(&self.drive);
        let mut spindle = if self.cache {
            SimulatedSpindle::with_cache(drive, scheduler, MAX_DEPTH)
        } else {
            SimulatedSpindle::new(drive, scheduler, MAX_DEPTH)
        }?;
        let warm_up = warm_up_commands(outstanding);
        let measured =
            closed_loop(&mut spindle, outstanding, warm_up, COMMANDS, &mut || load.command())?;
        self.watched.end();
        let bytes = sectors * self.drive.sector_bytes();
        Ok(LoopPoint {
            operation,
            scheduler: scheduler.to_string(),
            outstanding,
            span_percent,
            end_lba,
            sectors,
            bytes,
            iops: figure(measured.commands_per_second),
            response_ms: figure(measured.response_ms),
            mb_per_s: figure(measured.commands_per_second * f64::from(bytes) / 1e6),
        })
    }

    /// Returns the first address past the outermost `percent` of the stroke.
    fn span_end(&self, percent: u32) -> u64 {
        let drive = &self.drive;
        let capacity_sectors = drive.capacity_sectors();
        if percent >= 100 {
            return capacity_sectors;
        }
        let cylinders = (u64::from(drive.cylinders()) * u64::from(percent)).div_ceil(100);
        // Addresses increase inward, except in the bands' serpentines, which are small beside a hundredth of a
        // stroke.
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
}

fn loads() -> impl Iterator<Item = (Scheduler, u32)> {
    [ALONE].into_iter().chain(SCHEDULERS.map(|scheduler| (scheduler, QUEUE)))
}

/// Returns the command sizes, in sectors.
fn sizes(drive: &Drive) -> impl Iterator<Item = u32> {
    let largest = LARGEST_BLOCK_BYTES / drive.sector_bytes();
    (0..u32::BITS).map(|doubling| 1 << doubling).take_while(move |sectors| *sectors <= largest)
}
