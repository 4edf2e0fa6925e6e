//! The in-place controller: write-back cache, destage, read-modify-write of VRAID-5 and RAID-5.
//!
//! A host write is acknowledged from a mirrored cache. An elevator destages dirty extents to where they belong: it
//! reads the old data and the old parity of the sectors that change, and writes both. A host read costs one spindle
//! command for each chunk it touches, however long the array has been in use.
//!
//! With a payload of bytes, the array computes parity and the contents of lost or bad blocks ([`BadBlocks`]), and each
//! write records what its blocks contain. In the durable format it writes whole blocks of 4 KiB. Without a mirrored
//! cache, it needs a log: see [`InPlaceConfig::log`].

mod bad_blocks;
mod blocks;
mod checkpoint;
mod config;
mod degraded;
mod destage;
mod failing;
mod host;
mod layout;
mod partial_writes;
mod rebuild;
mod recovery;
mod segments;
mod slices;
mod steps;
mod write_cache;

use std::collections::VecDeque;
use std::ops::Range;

use slab::Slab;
use strewn_alloc::{FileLayout, SummaryBitmap};
use strewn_base::{BLOCK_SECTORS, Direction, SECTOR_BYTES};
use strewn_raid::{SpindleIndex, StripedLayout};

use crate::counters::Counters;
use crate::driver::{
    Acknowledge, Array, Driver, HostOperation, LayoutMeasures, LunId, LunLayoutMeasures,
    SpindleCommand, Tag,
};
use crate::failure::{DataLost, FailedSpindle, Rebuild};
use crate::log::LogSize;
use crate::payload::Payload;
use crate::processor::ProcessorCosts;

pub use bad_blocks::BadBlocks;
use blocks::BlockSet;
use checkpoint::Checkpoint;
pub use config::{InPlaceConfig, InPlaceError, LunConfig};
use degraded::Degraded;
use destage::Destage;
use host::HostRead;
pub use layout::{LunLayout, Raid5Layout};
use partial_writes::PartialWrites;
use write_cache::WriteCache;

/// The tag's lowest bit tells destages from host operations; the rest is the slot and, for a read, where in the
/// operation the command's sectors begin, for a destage the member of the stripe.
const DESTAGE: u64 = 1;

/// The tag's bit 31 tells what is read and written because something is lost from the rest: a recovery without, a step
/// of a rebuild with [`DESTAGE`]. Of a recovery, bit 1 says that what comes is part of its answer.
const REDUNDANCY: u64 = 1 << 31;

/// An in-place array.
pub struct InPlace<P: Payload> {
    config: InPlaceConfig,
    /// The sectors of each LUN, numbered through.
    luns: Vec<Range<u64>>,
    end_sector: u64,
    cache: WriteCache,
    contents: P::Contents,
    reads: Slab<HostRead<P>>,
    destages: Slab<Destage<P>>,
    /// The stripes whose parity a destage is about to change: one destage a stripe.
    destaged_stripes: SummaryBitmap,
    waiting_for_room: VecDeque<HostOperation<P>>,
    partial_writes: PartialWrites<P>,
    rebuild: Rebuild,
    /// `None` until a spindle fails or a block is bad. An array without failures must not depend on it.
    degraded: Option<Box<Degraded<P>>>,
    /// Whether the half of the log in use has records.
    log_has_records: bool,
    checkpoint: Option<Box<Checkpoint>>,
    bad_blocks: BadBlocks,
    counters: Counters,
}

impl<P: Payload> InPlace<P> {
    /// An array with an empty cache.
    ///
    /// # Errors
    /// If a size is zero or the LUN does not fit the layout.
    pub fn new(config: InPlaceConfig) -> Result<Self, InPlaceError> {
        let layout_sectors = config.layout.lun_capacity_sectors();
        let luns = config.lun_sectors();
        let lun_sectors = luns.last().ok_or(InPlaceError::NoLun)?.end;
        if lun_sectors > layout_sectors {
            return Err(InPlaceError::LunTooLarge { lun_sectors, layout_sectors });
        }
        let nonzero = [
            (config.luns.iter().map(|lun| lun.sectors).min().unwrap_or(0), "a LUN"),
            (config.luns.iter().map(|lun| lun.file_sectors).min().unwrap_or(0), "a file"),
            (config.spindle_sectors, "a spindle"),
            (config.write_cache_sectors, "the write cache"),
            (config.destages_in_flight.into(), "the number of destages in flight"),
        ];
        if let Some((_, what)) = nonzero.iter().find(|(size, _)| *size == 0) {
            return Err(InPlaceError::Zero(what));
        }
        let chunk_bytes = config.layout.unit_sectors() * SECTOR_BYTES;
        if (P::CARRIES_DATA || config.format.is_durable())
            && !chunk_bytes.is_multiple_of(BLOCK_SECTORS * SECTOR_BYTES)
        {
            return Err(InPlaceError::ChunkOfParts { chunk_bytes });
        }
        let of_parts = config.luns.iter().find(|lun| !lun.sectors.is_multiple_of(BLOCK_SECTORS));
        if let (true, Some(lun)) = (config.format.is_durable(), of_parts) {
            return Err(InPlaceError::LunOfParts { lun_sectors: lun.sectors });
        }
        Ok(Self {
            luns,
            end_sector: lun_sectors,
            cache: WriteCache::new(lun_sectors, config.write_cache_sectors),
            contents: P::Contents::default(),
            reads: Slab::new(),
            destages: Slab::new(),
            destaged_stripes: SummaryBitmap::new(config.layout.stripes()),
            waiting_for_room: VecDeque::new(),
            partial_writes: PartialWrites::default(),
            rebuild: Rebuild::default(),
            degraded: None,
            log_has_records: false,
            checkpoint: None,
            bad_blocks: BadBlocks::default(),
            counters: Counters::default(),
            config,
        })
    }

    /// Grants distributed reserve for `rebuild.spares` failures, if the layout has any, and sets the rebuild's
    /// priority.
    #[must_use]
    pub fn with_rebuild(self, rebuild: Rebuild) -> Self {
        Self { rebuild, ..self }
    }

    /// The sectors of each LUN, as the layout numbers them.
    #[must_use]
    pub fn lun_sectors(&self) -> &[Range<u64>] {
        &self.luns
    }

    /// The LUNs' layout. Rebuilt sectors of a failed spindle lie elsewhere.
    #[must_use]
    pub fn lun_layout(&self) -> &LunLayout {
        &self.config.layout
    }

    /// There is room in the cache, and a stripe that others may have waited for.
    fn destage_ended(&mut self, driver: &mut impl Driver<P>) {
        self.admit_waiting(driver);
        if self.degraded.is_some() {
            self.stripes_are_free(driver);
        } else {
            self.destage(driver);
        }
        self.finish_checkpoint(driver);
    }

    /// A command has completed. A read has brought its data, except for the blocks that are gone.
    fn on_command_done(
        &mut self,
        now_ns: u64,
        tag: Tag,
        payload: &P,
        gone: &BlockSet,
        driver: &mut impl Driver<P>,
    ) {
        let outcome = Some((payload, gone));
        match (tag.0 & REDUNDANCY != 0, tag.0 & DESTAGE != 0) {
            (false, false) => self.on_read_done(tag, payload, gone, driver),
            (false, true) => {
                if self.on_destage_command_done(tag, outcome, driver) {
                    self.destage_ended(driver);
                }
            }
            (true, false) => self.on_recovery_command_done(tag, outcome, driver),
            (true, true) => self.on_rebuild_command_done(now_ns, tag, outcome, driver),
        }
    }

    /// How the file of a LUN that begins at `first_sector` lies, for as long as the array exists: contiguous within
    /// chunks. In blocks of 4 KiB, to be compared with a write-anywhere array.
    fn file_layout(&self, first_sector: u64, file_sectors: u64) -> FileLayout {
        let layout = &self.config.layout;
        let chunk_sectors = layout.unit_sectors();
        let (mut lowest, mut end) = (u64::MAX, 0);
        let sectors = first_sector..first_sector + file_sectors;
        for sector in sectors.step_by(chunk_sectors as usize) {
            let place = layout.locate(sector).sector_on_spindle;
            lowest = lowest.min(place);
            end = end.max(place + chunk_sectors);
        }
        let blocks = file_sectors.div_ceil(BLOCK_SECTORS);
        let extents = file_sectors.div_ceil(chunk_sectors);
        FileLayout {
            score: 1.0 - (extents - 1) as f64 / blocks.saturating_sub(1).max(1) as f64,
            extents,
            blocks,
            span: (end - lowest) as f64 / self.config.spindle_sectors as f64,
        }
    }

    #[inline(always)]
    fn send(&self, driver: &mut impl Driver<P>, command: SpindleCommand<P>) {
        driver.processor(self.config.processor.of_command(command.sectors));
        driver.command(command);
    }
}

impl<P: Payload> Array<P> for InPlace<P> {
    fn spindles(&self) -> u16 {
        self.config.layout.spindles()
    }

    fn start(&mut self, _now_ns: u64, _driver: &mut impl Driver<P>) {}

    fn host_operation(
        &mut self,
        _now_ns: u64,
        mut operation: HostOperation<P>,
        driver: &mut impl Driver<P>,
    ) {
        // From here on, the sectors of all LUNs are numbered through.
        let lun = &self.luns[usize::from(operation.lun.0)];
        operation.first_sector += lun.start;
        let end_sector = operation.first_sector + u64::from(operation.sectors);
        assert!(operation.sectors > 0 && end_sector <= lun.end, "an operation ends behind its LUN");
        driver.processor(self.config.processor.of_operation(operation.sectors));
        match operation.direction {
            Direction::Read => self.read(operation, driver),
            Direction::Write => {
                if self.config.format.is_durable() {
                    self.write_blocks(operation, driver);
                } else {
                    self.write_or_wait(operation, Acknowledge::AfterProcessor, driver);
                }
                self.destage(driver);
                if self.checkpoint.is_some() {
                    self.finish_checkpoint(driver);
                }
            }
        }
    }

    fn command_completed(
        &mut self,
        now_ns: u64,
        tag: Tag,
        payload: P,
        driver: &mut impl Driver<P>,
    ) {
        self.on_command_done(now_ns, tag, &payload, &BlockSet::EMPTY, driver);
    }

    /// `bad` has one flag for each block of the spindle that the command touches, even in part. The command's payload
    /// is the data read; its contents at a bad block are ignored. A partial write of a bad block counts as done: the
    /// block stays bad, and is computed when it is read.
    fn blocks_failed(
        &mut self,
        now_ns: u64,
        command: SpindleCommand<P>,
        bad: &[bool],
        driver: &mut impl Driver<P>,
    ) {
        if P::CARRIES_DATA {
            self.on_bad_blocks(now_ns, command, bad, driver);
        } else {
            self.command_completed(now_ns, command.tag, command.payload, driver);
        }
    }

    fn committed(&mut self, _now_ns: u64, driver: &mut impl Driver<P>) {
        self.commit_is_safe(driver);
    }

    #[inline]
    fn hint_operation(&self, lun: LunId, _direction: Direction, first_sector: u64, sectors: u32) {
        let first_sector = first_sector + self.luns[usize::from(lun.0)].start;
        // The bits of 512 sectors are a cache line: two for some operations.
        self.cache.prefetch(first_sector);
        self.cache.prefetch(first_sector + u64::from(sectors) - 1);
    }

    #[inline]
    fn hint_completion(&self, tag: Tag) {
        if tag.0 & (REDUNDANCY | DESTAGE) == DESTAGE
            && let Some(destage) = self.destages.get((tag.0 >> 32) as usize)
        {
            self.cache.prefetch(destage.sectors.start);
        }
    }

    fn spindle_failed(
        &mut self,
        now_ns: u64,
        spindle: SpindleIndex,
        driver: &mut impl Driver<P>,
    ) -> Result<(), DataLost> {
        self.on_spindle_failed(now_ns, spindle, driver)
    }

    fn command_failed(
        &mut self,
        now_ns: u64,
        command: SpindleCommand<P>,
        driver: &mut impl Driver<P>,
    ) {
        self.on_command_failed(now_ns, &command, driver);
    }

    fn failures(&self) -> &[FailedSpindle] {
        self.degraded.as_ref().map_or(&[], |degraded| &degraded.failures)
    }

    fn timer_fired(&mut self, _now_ns: u64, _driver: &mut impl Driver<P>) {}

    fn log_size(&self) -> Option<LogSize> {
        self.config.log
    }

    fn processor_costs(&self) -> &ProcessorCosts {
        &self.config.processor
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn assert_invariants(&self) {
        assert!(
            self.destages.len() <= self.config.destages_in_flight as usize,
            "more destages are in flight than may be"
        );
        let in_flight: u64 =
            self.destages.iter().map(|(_, one)| one.sectors.end - one.sectors.start).sum();
        assert_eq!(
            in_flight,
            self.cache.sectors_in_flight(),
            "sectors on their way to the spindles"
        );
    }

    fn layout(&self) -> LayoutMeasures {
        let luns = self.luns.iter().zip(&self.config.luns).map(|(sectors, lun)| {
            let file = self.file_layout(sectors.start, lun.file_sectors);
            LunLayoutMeasures { file, rewritten: None }
        });
        LayoutMeasures { luns: luns.collect(), free_space: None }
    }
}
