//! Consistency points: all dirty blocks are written together, with the metadata that records where.

use std::collections::{BTreeMap, VecDeque};

use crate::slots::Slots;
use strewn_alloc::{GroupIndex, Tetris};
use strewn_base::ROW_STRIPES;
use strewn_base::state::SavedValue;
use strewn_raid::{SpindleIndex, Vbn};
use strewn_volume::VolumeId;

use crate::driver::{Driver, Work};
use crate::payload::{Contents, Payload};
use crate::units::BLOCK_SECTORS;

use super::prefetch::BLOCKS_AHEAD;
use super::stored::{OldLocation, Stored};
use super::tag::{Owner, TagFields};
use super::tetris_bytes::StripeReads;
use super::{Run, WriteAnywhere};

/// Metadata reads of a consistency point in flight at once.
const METADATA_READS_IN_FLIGHT: u32 = 32;

/// A consistency point in progress. Its blocks are placed; it reads the metadata that it changes and the cache lacks,
/// then writes tetris after tetris, the superblock last.
#[derive(SavedValue)]
pub(super) struct ConsistencyPoint<P> {
    /// Data blocks, ascending.
    pub(super) data: Vec<u32>,
    /// Blocks of the file that lose their places, ascending.
    pub(super) unmapped: Vec<u32>,
    /// Metadata blocks that it writes.
    pub(super) metadata: Vec<u32>,
    /// Metadata to read, from its old places.
    pub(super) to_read: VecDeque<(u32, Vbn)>,
    pub(super) reads_out: u32,
    pub(super) tetrises: VecDeque<Tetris<u32>>,
    pub(super) in_flight: Slots<TetrisInFlight<P>>,
    pub(super) superblock_written: bool,
    /// Whether the driver is making it durable.
    pub(super) commit_asked: bool,
    /// The volumes of which a snapshot is taken with its commit.
    pub(super) snapshots_of: Vec<VolumeId>,
    /// The contents, as of its beginning, of blocks written to since; and the bytes of its metadata.
    pub(super) frozen: BTreeMap<u32, P>,
    /// Where blocks were before, in an array with bytes.
    pub(super) old_locations: BTreeMap<u32, OldLocation>,
    /// The blocks that it frees, in an array with bytes.
    pub(super) freed: Vec<Vbn>,
    /// Blocks that it frees and that the processor has not been charged for.
    pub(super) frees_to_charge: u64,
    began_ns: u64,
}

/// A tetris in flight: it reads what parity needs, then writes.
#[derive(SavedValue)]
pub(super) struct TetrisInFlight<P> {
    pub(super) tetris: Tetris<u32>,
    pub(super) reading: bool,
    pub(super) awaited: u32,
    /// A spindle failed during its reads: they are sent again.
    pub(super) again: bool,
    /// Blocks XORed into its parities, if that costs anything.
    pub(super) xored_blocks: u64,
    /// What its reads have brought: contents that parity is computed from.
    pub(super) old: StripeReads<P>,
}

impl<P: Payload> ConsistencyPoint<P> {
    /// The run that a tetris's read asked for.
    pub(super) fn read_of_tetris(&self, fields: TagFields) -> Option<Run> {
        let in_flight = self.in_flight.get(fields.slot as usize).filter(|one| one.reading)?;
        let (spindle, stripe) = StripeReads::<P>::named(fields);
        let dbn = in_flight.tetris.first_stripe + u64::from(stripe);
        let group = in_flight.tetris.group;
        Some(Run { group, spindle: SpindleIndex(spindle), dbn, blocks: fields.blocks })
    }

    /// Whether nothing is left to read or to write.
    fn is_written(&self) -> bool {
        self.to_read.is_empty()
            && self.reads_out == 0
            && self.tetrises.is_empty()
            && self.in_flight.is_empty()
            && self.superblock_written
    }

    /// The rows of the tetrises in flight in `group`.
    pub(super) fn rows_in_flight(&self, group: GroupIndex) -> Vec<u64> {
        let tetrises = self.in_flight.iter().map(|(_, one)| &one.tetris);
        let of_group = tetrises.filter(|tetris| tetris.group == group);
        of_group.map(|tetris| tetris.first_stripe / ROW_STRIPES).collect()
    }
}

impl<P: Payload> WriteAnywhere<P> {
    /// Begins a consistency point with all that is dirty now. None may be in progress.
    #[inline(never)]
    pub(super) fn begin_consistency_point(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        self.consistency_point_due_ns = now_ns + self.config.consistency_point_interval_ns;
        self.set_timer(now_ns, driver);
        let unmapped = self.stored.as_mut().map(Stored::take_unmapped).unwrap_or_default();
        let for_snapshots = self.snapshots.as_ref().is_some_and(|snapshots| snapshots.has_work());
        let has_changed = self.stored.as_ref().is_some_and(|stored| stored.has_changed);
        if self.dirty.is_empty() && unmapped.is_empty() && !for_snapshots && !has_changed {
            return;
        }
        let before = driver.turn_to(Work::WriteBack);
        driver.consistency_point_begins();
        self.reads.begin_epoch();
        let mut data = Vec::with_capacity(self.dirty.count() as usize);
        self.dirty.drain(|block| data.push(block as u32));
        for (index, &block) in data.iter().enumerate() {
            self.prefetch_buffer_ahead(&data, index);
            if let Some(&coming) = data.get(index + BLOCKS_AHEAD) {
                self.rewritten.prefetch(coming.into());
            }
            self.cache.begin_flush(block);
            let relocation = self.relocation.as_ref();
            if !relocation.is_some_and(|relocation| relocation.is_why_dirty(block)) {
                self.rewritten.insert(u64::from(block));
            }
        }
        if let Some(relocation) = &mut self.relocation {
            relocation.on_consistency_point(data.len() as u64);
        }
        assert!(
            self.dirty.is_empty() && self.cache.dirty_blocks() == 0,
            "a consistency point leaves dirty blocks behind"
        );
        let mut consistency_point = ConsistencyPoint {
            data,
            unmapped,
            metadata: Vec::new(),
            to_read: VecDeque::new(),
            reads_out: 0,
            tetrises: VecDeque::new(),
            in_flight: Slots::new(),
            superblock_written: false,
            commit_asked: false,
            snapshots_of: self.take_snapshot_request(),
            frozen: BTreeMap::new(),
            old_locations: BTreeMap::new(),
            freed: Vec::new(),
            frees_to_charge: 0,
            began_ns: now_ns,
        };
        self.account_frees(now_ns);
        if let Err(full) = self.place_all(&mut consistency_point) {
            panic!("{full} during a consistency point, though each write was admitted by its room");
        }
        self.note_room();
        self.seal(&mut consistency_point);
        self.consistency_point = Some(consistency_point);
        self.advance_consistency_point(now_ns, driver);
        driver.turn_to(before);
    }

    /// Saves the contents of `block` for the consistency point that is writing it, before they are overwritten in
    /// memory.
    pub(super) fn freeze_for_consistency_point(&mut self, block: u32) {
        let sector = u64::from(block) * u64::from(BLOCK_SECTORS);
        if P::CARRIES_DATA
            && self.map.get(block).is_some()
            && let Some(consistency_point) = &mut self.consistency_point
        {
            let contents = &self.contents;
            consistency_point
                .frozen
                .entry(block)
                .or_insert_with(|| contents.load(sector, BLOCK_SECTORS));
        }
    }

    /// A metadata block that the consistency point changes has been read, or cannot be.
    pub(super) fn on_metadata_read(
        &mut self,
        now_ns: u64,
        fields: TagFields,
        payload: Option<&P>,
        driver: &mut impl Driver<P>,
    ) {
        if let Some(payload) = payload {
            self.fill(fields.first_key, fields.blocks, payload, false);
        }
        let Some(consistency_point) = &mut self.consistency_point else {
            unreachable!("metadata was read for a consistency point, and none is in progress")
        };
        assert!(consistency_point.reads_out > 0, "metadata was read that was not asked for");
        consistency_point.reads_out -= 1;
        self.advance_consistency_point(now_ns, driver);
    }

    /// Sends the commands that the consistency point can send now. Commits it when all is written and no read is in
    /// flight to a block that the commit frees.
    #[inline(never)]
    pub(super) fn advance_consistency_point(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        let Some(mut consistency_point) = self.consistency_point.take() else { return };
        while consistency_point.reads_out < METADATA_READS_IN_FLIGHT {
            let Some((key, vbn)) = consistency_point.to_read.pop_front() else { break };
            let fields = TagFields {
                owner: Owner::ConsistencyPointRead,
                slot: 0,
                first_key: key,
                blocks: 1,
                epoch_parity: false,
            };
            self.send_read(driver, fields, self.run_at(vbn));
            self.counters.metadata_reads += 1;
            consistency_point.reads_out += 1;
        }
        if consistency_point.reads_out == 0 {
            while consistency_point.in_flight.len() < self.config.tetrises_in_flight as usize {
                let Some(tetris) = self.next_tetris(&mut consistency_point.tetrises) else { break };
                self.begin_tetris(&mut consistency_point, tetris, driver);
            }
            if consistency_point.in_flight.is_empty() && consistency_point.tetrises.is_empty() {
                if !consistency_point.superblock_written {
                    if self.config.format.is_durable() {
                        driver.commit(self.root());
                        consistency_point.superblock_written = true;
                        consistency_point.commit_asked = true;
                        self.consistency_point = Some(consistency_point);
                        return;
                    }
                    let superblock = self.superblock_tetris();
                    if self.may_write(&superblock) {
                        consistency_point.superblock_written = true;
                        self.begin_tetris(&mut consistency_point, superblock, driver);
                    }
                } else if self.reads.are_back() && !consistency_point.commit_asked {
                    self.commit(now_ns, consistency_point, driver);
                    return;
                }
            }
        }
        self.consistency_point = Some(consistency_point);
    }

    /// The driver has made the consistency point durable.
    pub(super) fn on_committed(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        if let Some(consistency_point) = &mut self.consistency_point {
            consistency_point.commit_asked = false;
        }
        self.advance_consistency_point(now_ns, driver);
    }

    /// Everything is on the spindles, the superblock last: frees the blocks that the consistency point no longer uses.
    fn commit(
        &mut self,
        now_ns: u64,
        consistency_point: ConsistencyPoint<P>,
        driver: &mut impl Driver<P>,
    ) {
        assert!(
            consistency_point.is_written(),
            "a consistency point commits before all of it is written"
        );
        self.aggregate.commit().expect("the plan of an open consistency point has been written");
        for (index, &block) in consistency_point.data.iter().enumerate() {
            self.prefetch_buffer_ahead(&consistency_point.data, index);
            let evicted = self.cache.end_flush(block);
            self.forget(evicted);
        }
        for (index, &metadata) in consistency_point.metadata.iter().enumerate() {
            self.prefetch_buffer_ahead(&consistency_point.metadata, index);
            let evicted = self.cache.release(metadata);
            self.forget(evicted);
        }
        self.on_snapshots_committed(&consistency_point.snapshots_of);
        self.counters.consistency_points += 1;
        self.counters.consistency_point_ns += now_ns.saturating_sub(consistency_point.began_ns);
        self.counters.consistency_point_blocks +=
            (consistency_point.data.len() + consistency_point.metadata.len()) as u64;
        self.counters.consistency_point_data_blocks += consistency_point.data.len() as u64;
        self.note_room();
        driver.consistency_point_ends();
        let before = driver.turn_to(Work::Service);
        self.admit_waiting(now_ns, driver);
        if self.relocation.is_some() {
            self.relocate_after_commit(now_ns, driver);
        }
        driver.turn_to(before);
        if self.consistency_point.is_some() {
            self.counters.back_to_back_consistency_points += 1;
        } else if now_ns >= self.consistency_point_due_ns
            || self.is_much_dirty()
            || self.snapshots.as_ref().is_some_and(|snapshots| snapshots.is_asked())
        {
            self.begin_consistency_point(now_ns, driver);
        }
    }
}
