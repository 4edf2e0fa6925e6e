//! Reads and writes of blocks as commands to drives.

mod redundancy;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::ops::Range;

use rustc_hash::FxHashMap;
use strewn_array::{
    Counters, Direction, Driver, ProcessorCosts, ProcessorWork, Slots, SpindleCommand, Tag,
};
use strewn_base::SECTOR_BYTES;
use strewn_base::state::SavedValue;
use strewn_raid::SpindleIndex;

use super::resilver::MissingBlocks;
use crate::dva::{Dva, Piece};
use crate::io_scheduler::{Class, IoScheduler, Request, SchedulerOptions};
use crate::raid_z::Column;
use crate::vdev::{LABEL_END_BYTES, LABEL_START_BYTES, Vdev};
use redundancy::Copy;

/// Marks the requests of parity, written or read for what is lost, which have no data of the block.
const PARITY: u32 = 1 << 31;

/// What a transaction group's writes are known by: it counts them, and does not tell one from another.
const NO_KEY: u64 = u64::MAX;

/// Within this distance of its last position, a drive of a mirror is preferred a little
/// (`zfs_vdev_mirror_rotating_seek_offset`), in sectors.
const NEAR_SECTORS: u64 = (1 << 20) / SECTOR_BYTES;

/// Equally loaded drives of a mirror take turns of 2 MiB (`vdev_mirror_shift`).
const MIRROR_TURN_SHIFT: u32 = 21;

/// What a block is read or written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub enum Purpose {
    /// A host reads it.
    Read,
    /// A host overwrites it in part.
    Edge,
    /// An indirect block is needed.
    Metadata,
    /// It is to be rewritten.
    Rewrite,
    /// It is to be sent away.
    Send,
    /// A stream of reads will need it.
    Prefetch,
    /// A transaction group writes it.
    Sync,
    /// The intent log writes it.
    Log,
    /// A resilver or a scrub reads it, or writes it to a new drive.
    Resilver,
}

/// A block that is being read or written.
#[derive(Debug, Clone, Copy, SavedValue)]
pub struct BlockIo {
    /// What its owner knows it by.
    pub key: u64,
    /// What for.
    pub purpose: Purpose,
    class: Class,
    vdev: u16,
    offset: u64,
    bytes: u32,
    /// Whether its parity is read too.
    reads_parity: bool,
    /// Requests that are not done.
    left: u32,
}

impl BlockIo {
    fn new(key: u64, purpose: Purpose, class: Class, at: (u16, u64), bytes: u32) -> Self {
        let (vdev, offset) = at;
        Self { key, purpose, class, vdev, offset, bytes, reads_parity: false, left: 0 }
    }
}

#[derive(Debug, Clone, SavedValue)]
struct Command {
    drive: u16,
    class: Class,
    owners: Vec<u32>,
}

/// The drives of a pool and their queues.
#[derive(Debug, Clone, SavedValue)]
pub struct Drives {
    vdevs: Vec<Vdev>,
    first_drive: Vec<u16>,
    queues: Vec<IoScheduler>,
    failed: Vec<bool>,
    any_failed: bool,
    /// The distributed spare of a failed drive's vdev that replaces it.
    spared: Vec<Option<u8>>,
    /// What a drive that has replaced a failed one does not hold yet.
    missing: Vec<Option<MissingBlocks>>,
    /// Columns of host reads, partial writes and metadata that were lost, and that have not been counted yet.
    lost_columns: [u64; 3],
    blocks: Slots<BlockIo>,
    /// What is to be read yet of blocks in pieces.
    later: FxHashMap<u32, VecDeque<Vec<Piece>>>,
    /// Blocks that are read ahead, by key.
    prefetches: FxHashMap<u64, u32>,
    commands: Slots<Command>,
    /// Drives whose queue has changed.
    touched: Vec<u16>,
    members: Vec<Request>,
    unused: Vec<Vec<u32>>,
    done: Vec<BlockIo>,
}

impl Drives {
    /// The drives of these vdevs.
    pub fn new(vdevs: &[Vdev]) -> Self {
        let first_drive = vdevs.iter().scan(0, |next, vdev| {
            let first = *next;
            *next += u16::from(vdev.drives());
            Some(first)
        });
        let first_drive: Vec<u16> = first_drive.collect();
        let drives = vdevs.iter().map(|vdev| usize::from(vdev.drives())).sum();
        Self {
            vdevs: vdevs.to_vec(),
            first_drive,
            queues: vec![IoScheduler::new(SchedulerOptions::default()); drives],
            failed: vec![false; drives],
            any_failed: false,
            spared: vec![None; drives],
            missing: vec![None; drives],
            lost_columns: [0; 3],
            blocks: Slots::new(),
            later: FxHashMap::default(),
            prefetches: FxHashMap::default(),
            commands: Slots::new(),
            touched: Vec::new(),
            members: Vec::new(),
            unused: Vec::new(),
            done: Vec::new(),
        }
    }

    /// Drives in all.
    pub fn count(&self) -> u16 {
        self.queues.len() as u16
    }

    /// The first drive of a vdev.
    pub fn first_of(&self, vdev: u16) -> u16 {
        self.first_drive[usize::from(vdev)]
    }

    /// The drives of a vdev.
    fn of_vdev(&self, vdev: u16) -> Range<u16> {
        let first = self.first_of(vdev);
        first..first + u16::from(self.vdevs[usize::from(vdev)].drives())
    }

    /// The vdev of a drive.
    pub fn vdev_of(&self, drive: u16) -> usize {
        self.first_drive.partition_point(|first| *first <= drive) - 1
    }

    /// Whether a drive has failed, or a new one in its place does not hold all yet.
    pub fn is_failed_or_resilvered(&self, drive: u16) -> bool {
        let drive = usize::from(drive);
        self.failed[drive] || self.missing[drive].is_some()
    }

    /// Reads a block: what is there, and then what that leads to, step by step.
    pub fn read(
        &mut self,
        now_ns: u64,
        key: u64,
        purpose: Purpose,
        (at, bytes): ((u16, u64), u32),
        later: Option<VecDeque<Vec<Piece>>>,
    ) {
        let class = match purpose {
            Purpose::Prefetch | Purpose::Send => Class::AsyncRead,
            _ => Class::SyncRead,
        };
        let id = self.blocks.insert(BlockIo::new(key, purpose, class, at, bytes));
        if purpose == Purpose::Prefetch {
            self.prefetches.insert(key, id as u32);
        }
        let id = id as u32;
        self.push_read(now_ns, id, at, bytes);
        if let Some(later) = later {
            self.later.insert(id, later);
        }
        self.finish_if_done(id);
    }

    /// Somebody waits for a block that is read ahead, if it is. Its drives go on with their next commands, not at once
    /// (`vdev_queue_change_io_priority` issues nothing), so that others that are waited for meanwhile can join it.
    pub fn hurry(&mut self, now_ns: u64, key: u64) {
        let Some(id) = self.prefetches.remove(&key) else { return };
        for drive in self.of_vdev(self.block(id).vdev) {
            self.queues[usize::from(drive)].change_class(now_ns, id, Class::SyncRead);
        }
    }

    fn push_read(&mut self, now_ns: u64, id: u32, (vdev_number, offset): (u16, u64), bytes: u32) {
        let BlockIo { purpose, class, .. } = *self.block(id);
        let vdev = self.vdevs[usize::from(vdev_number)];
        let Some(striped) = vdev.striped() else {
            let drive = self.least_loaded(self.of_vdev(vdev_number), offset, class);
            let place = mirror_place(&vdev, offset, bytes);
            self.push(now_ns, drive, id, Direction::Read, class, place, false);
            return;
        };
        let is_scan = purpose == Purpose::Resilver;
        let at = (vdev_number, offset);
        for stripe in striped.stripes(offset, bytes.into()) {
            let push = |this: &mut Self, column: Column, owner: u32| {
                this.push_column(now_ns, at.0, column, owner, Direction::Read, class, false);
            };
            if !self.any_failed {
                if is_scan {
                    stripe.full_data().for_each(|column| push(self, column, id));
                    stripe.parity().for_each(|column| push(self, column, id));
                } else {
                    stripe.data().for_each(|column| push(self, column, id));
                }
                continue;
            }
            let trusts = self.lost_in(at, &stripe, false) > striped.parity().into();
            let holds = |this: &Self, column: &Column| match class {
                Class::Rebuild => this.is_column_whole(at.0, column),
                _ => this.holds_column(at, column, trusts),
            };
            let lost = |column: &Column| !holds(self, column);
            let lost_data = stripe.full_data().filter(lost).count() as u64;
            let lost_parity = stripe.parity().any(|column| lost(&column));
            if !is_scan && lost_data > 0 {
                self.block_mut(id).reads_parity = true;
                let kind = match purpose {
                    Purpose::Edge => 1,
                    Purpose::Metadata => 2,
                    _ => 0,
                };
                self.lost_columns[kind] += lost_data;
            }
            // With a data column lost, parity is read too, and the column computed.
            if is_scan || lost_data > 0 {
                let owner = if is_scan { id } else { id | PARITY };
                for column in stripe.parity() {
                    if holds(self, &column) {
                        push(self, column, owner);
                    }
                }
            }
            let mut push_if_held = |column: Column| {
                if holds(self, &column) {
                    push(self, column, id);
                }
            };
            if is_scan || lost_data > 0 || lost_parity {
                stripe.full_data().for_each(&mut push_if_held);
            } else {
                stripe.data().for_each(&mut push_if_held);
            }
        }
    }

    /// Which of a mirror's drives is to read (`vdev_mirror_load`, `vdev_mirror_child_select`).
    ///
    /// A sequential rebuild reads only drives that hold all: what it reads is no block.
    fn least_loaded(&self, drives: Range<u16>, offset: u64, class: Class) -> u16 {
        let sector = (LABEL_START_BYTES + offset) / SECTOR_BYTES;
        let (mut least, mut among) = (u32::MAX, 0u16);
        let loads = |drive: u16| {
            let queue = &self.queues[usize::from(drive)];
            let seek = match queue.last_sector().abs_diff(sector) {
                0 => 0,
                distance if distance < NEAR_SECTORS => 2,
                _ => 5,
            };
            match self.copy_on(drive, offset, class) {
                Copy::Lost => u32::MAX,
                // Only if no other drive has it.
                Copy::Resilvered => u32::MAX / 2 + queue.active() + seek,
                Copy::Held => queue.active() + seek,
            }
        };
        for drive in drives.clone() {
            match loads(drive) {
                load if load < least => (least, among) = (load, 1),
                load if load == least => among += 1,
                _ => {}
            }
        }
        let turn = (offset >> MIRROR_TURN_SHIFT) % u64::from(among.max(1));
        let first = drives.start;
        let mut best = drives.filter(|drive| loads(*drive) == least);
        best.nth(turn as usize).unwrap_or(first)
    }

    /// Writes a block of a transaction group.
    pub fn write(&mut self, now_ns: u64, at: (u16, u64), bytes: u32) {
        self.write_block(now_ns, NO_KEY, (Purpose::Sync, Class::AsyncWrite), at, bytes);
    }

    /// Writes a block of the intent log.
    pub fn write_log(&mut self, now_ns: u64, key: u64, at: (u16, u64), bytes: u32) {
        self.write_block(now_ns, key, (Purpose::Log, Class::SyncWrite), at, bytes);
    }

    fn write_block(
        &mut self,
        now_ns: u64,
        key: u64,
        (purpose, class): (Purpose, Class),
        at: (u16, u64),
        bytes: u32,
    ) {
        let (vdev_number, offset) = at;
        let io = BlockIo::new(key, purpose, class, at, bytes);
        let id = self.blocks.insert(io) as u32;
        let vdev = self.vdevs[usize::from(vdev_number)];
        match vdev.striped() {
            None => {
                let place = mirror_place(&vdev, offset, bytes);
                for drive in self.of_vdev(vdev_number) {
                    self.push(now_ns, drive, id, Direction::Write, class, place, false);
                }
            }
            Some(striped) => {
                let direction = Direction::Write;
                let mut push = |column: Column, owner: u32, is_optional: bool| {
                    let number = vdev_number;
                    self.push_column(now_ns, number, column, owner, direction, class, is_optional);
                };
                for stripe in striped.stripes(offset, bytes.into()) {
                    stripe.parity().for_each(|column| push(column, id | PARITY, false));
                    stripe.full_data().for_each(|column| push(column, id, false));
                    stripe.skipped().for_each(|column| push(column, id, true));
                }
            }
        }
        self.finish_if_done(id);
    }

    /// Writes the uberblock into the four labels of each drive of `vdevs`.
    pub fn write_uberblocks(&mut self, now_ns: u64, vdevs: &[u16]) {
        let io = BlockIo::new(NO_KEY, Purpose::Sync, Class::SyncWrite, (0, 0), 0);
        let id = self.blocks.insert(io) as u32;
        const LABEL_SECTORS: u64 = (256 << 10) / SECTOR_BYTES;
        for number in vdevs {
            let vdev = self.vdevs[usize::from(*number)];
            let end =
                vdev.drive_bytes / (256 << 10) * LABEL_SECTORS - LABEL_END_BYTES / SECTOR_BYTES;
            let sectors = (1 << vdev.ashift.max(10)) / SECTOR_BYTES;
            for drive in self.of_vdev(*number) {
                for label in [0, LABEL_SECTORS, end, end + LABEL_SECTORS] {
                    // The second half of a label is a ring of uberblocks.
                    let at = (label + LABEL_SECTORS / 2, sectors);
                    self.push(now_ns, drive, id, Direction::Write, Class::SyncWrite, at, false);
                }
            }
        }
        self.finish_if_done(id);
    }

    /// Asks the drive that has a column, or that stands in for a distributed spare there.
    #[allow(clippy::too_many_arguments)]
    fn push_column(
        &mut self,
        now_ns: u64,
        vdev: u16,
        column: Column,
        owner: u32,
        direction: Direction,
        class: Class,
        is_optional: bool,
    ) {
        let place = column_place(&self.vdevs[usize::from(vdev)], column);
        let drive = self.drive_of(vdev, &column);
        self.push(now_ns, drive, owner, direction, class, place, is_optional);
    }

    #[allow(clippy::too_many_arguments)]
    fn push(
        &mut self,
        now_ns: u64,
        drive: u16,
        owner: u32,
        direction: Direction,
        class: Class,
        (first_sector, sectors): (u64, u64),
        is_optional: bool,
    ) {
        if self.failed[usize::from(drive)] {
            return;
        }
        if !is_optional {
            self.block_mut(owner & !PARITY).left += 1;
        }
        let sectors = sectors as u32;
        let request = Request { owner, first_sector, sectors, direction, class, is_optional };
        self.queues[usize::from(drive)].push(now_ns, request);
        self.touched.push(drive);
    }

    fn block(&self, id: u32) -> &BlockIo {
        &self.blocks[id as usize]
    }

    fn block_mut(&mut self, id: u32) -> &mut BlockIo {
        &mut self.blocks[id as usize]
    }

    /// With no drive left to wait for, a block is done at once.
    fn finish_if_done(&mut self, id: u32) {
        if self.block(id).left == 0 {
            let io = self.blocks.remove(id as usize);
            self.later.remove(&id);
            if io.purpose == Purpose::Prefetch {
                self.prefetches.remove(&io.key);
            }
            self.done.push(io);
        }
    }

    /// Sends what drives may have of their queues.
    pub fn issue(
        &mut self,
        dirty_percent: u32,
        costs: &ProcessorCosts,
        counters: &mut Counters,
        driver: &mut impl Driver<()>,
    ) {
        if self.lost_columns != [0; 3] {
            let [data, edges, metadata] = std::mem::take(&mut self.lost_columns);
            counters.data_reads += data;
            counters.edge_reads += edges;
            counters.metadata_reads += metadata;
            counters.degraded_reads += data + edges + metadata;
        }
        while let Some(drive) = self.touched.pop() {
            while let Some(issued) =
                self.queues[usize::from(drive)].pop(dirty_percent, &mut self.members)
            {
                let mut owners = self.unused.pop().unwrap_or_default();
                let needed = self.members.iter().filter(|member| !member.is_optional);
                owners.extend(needed.map(|member| member.owner));
                count(&self.blocks, &owners, issued.direction, counters);
                let tag = self.commands.insert(Command { drive, class: issued.class, owners });
                driver.processor(ProcessorWork::Command, costs.of_command(issued.sectors));
                driver.command(SpindleCommand {
                    tag: Tag::new(tag as u64),
                    spindle: SpindleIndex(drive),
                    direction: issued.direction,
                    first_sector: issued.first_sector,
                    sectors: issued.sectors,
                    payload: (),
                    all_or_none: false,
                });
            }
        }
    }

    /// A command is done.
    pub fn complete(&mut self, now_ns: u64, tag: Tag) {
        let Command { drive, class, mut owners } = self.commands.remove(tag.number() as usize);
        self.queues[usize::from(drive)].completed(class);
        self.touched.push(drive);
        for owner in owners.drain(..) {
            let id = owner & !PARITY;
            self.block_mut(id).left -= 1;
            self.go_on_reading(now_ns, id);
            self.finish_if_done(id);
        }
        self.unused.push(owners);
    }

    /// Reads what a header has led to, if a block in pieces has been read that far.
    fn go_on_reading(&mut self, now_ns: u64, id: u32) {
        if self.later.is_empty() || self.block(id).left > 0 {
            return;
        }
        let pieces = self.later.get_mut(&id).and_then(VecDeque::pop_front).unwrap_or_default();
        for Piece { dva: Dva { vdev, offset, .. }, bytes, .. } in pieces {
            self.push_read(now_ns, id, (vdev, offset), bytes as u32);
        }
    }

    /// A command failed with its drive: what it was to read is read from others.
    pub fn command_failed(&mut self, now_ns: u64, tag: Tag, direction: Direction) {
        let Command { drive, class, mut owners } = self.commands.remove(tag.number() as usize);
        self.queues[usize::from(drive)].completed(class);
        self.touched.push(drive);
        for owner in owners.drain(..) {
            self.request_failed(now_ns, owner, direction);
        }
        self.unused.push(owners);
    }

    /// Whether there is one.
    pub fn has_done(&self) -> bool {
        !self.done.is_empty()
    }

    /// The next block that is read or written in full.
    pub fn next_done(&mut self) -> Option<BlockIo> {
        self.done.pop()
    }
}

/// First sector and sectors of a block on each drive of a mirror.
fn mirror_place(vdev: &Vdev, offset: u64, bytes: u32) -> (u64, u64) {
    let sectors = u64::from(bytes).next_multiple_of(1 << vdev.ashift) / SECTOR_BYTES;
    ((LABEL_START_BYTES + offset) / SECTOR_BYTES, sectors)
}

/// First sector and sectors of a column on its drive.
fn column_place(vdev: &Vdev, column: Column) -> (u64, u64) {
    let shift = vdev.ashift - SECTOR_BYTES.ilog2() as u8;
    let first = (LABEL_START_BYTES / SECTOR_BYTES) + (column.first_sector << shift);
    (first, u64::from(column.sectors) << shift)
}

fn count(blocks: &Slots<BlockIo>, owners: &[u32], direction: Direction, counters: &mut Counters) {
    let only_parity = owners.iter().all(|owner| owner & PARITY != 0);
    let purpose = owners.first().map(|owner| blocks[(owner & !PARITY) as usize].purpose);
    match (direction, purpose) {
        (Direction::Write, Some(Purpose::Resilver)) => counters.rebuild_writes += 1,
        (Direction::Read, Some(Purpose::Resilver)) => counters.rebuild_reads += 1,
        (Direction::Read, _) if only_parity => counters.recovery_reads += 1,
        (Direction::Write, _) if only_parity => counters.parity_writes += 1,
        (Direction::Write, _) => counters.data_writes += 1,
        (Direction::Read, Some(Purpose::Edge)) => counters.edge_reads += 1,
        (Direction::Read, Some(Purpose::Metadata)) => counters.metadata_reads += 1,
        (Direction::Read, Some(Purpose::Rewrite | Purpose::Send)) => counters.scan_reads += 1,
        (Direction::Read, _) => counters.data_reads += 1,
    }
}
