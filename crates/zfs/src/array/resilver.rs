//! Resilvers: how the blocks of a failed drive get onto the spare that replaces it. And scrubs.
//!
//! **Healing**, for RAID-Z and mirrors (`dsl_scan.c`). The scan sorts all blocks with a column on the new drive by
//! their places in the vdev. It reads each block (in RAID-Z all columns that are left, in a mirror one copy) and writes
//! what the new drive lacks. A pool has one scan for all of its new drives. It runs in passes, one in each transaction
//! group, after the data and before the space maps: the group ends only after the pass has ended and its blocks are
//! written. So hosts feel a resilver twice, in the queues of drives and in longer transaction groups.
//!
//! **Sequential**, for mirrors (`vdev_rebuild.c`). The rebuild copies what is allocated, metaslab by metaslab, whatever
//! blocks are there. It waits for no transaction group. A scrub follows, since a rebuild checks nothing.
//!
//! A drive that is resilvered gets all writes from the beginning. Until the end, hosts read from it only what was
//! written since, as the log of its missing transaction groups says (`vdev_dtl_contains`). What is resilvered is read
//! only if another drive fails and nothing else is left.
//!
//! A drive that comes during a resilver waits for its end (`resilver_defer`). If less than a tenth is done, the
//! resilver begins again for both.
//!
//! # What is left out
//!
//! - **Finding the blocks** costs nothing here. A real scan reads all indirect blocks, about one for a thousand blocks.
//! - **Memory** for sorting has no limit (`zfs_scan_mem_lim_fact`, a twentieth of memory). A real scan with more blocks
//!   than fit begins with the longest extents, and sorts less well.
//! - **Checkpoints** are not written (`zfs_scan_checkpoint_intval`, two hours).
//! - **A metaslab that is rebuilt** may be allocated from (`metaslab_disable`). The rebuild does not wait for a
//!   transaction group after it, and copies freed blocks that may not be allocated yet.
//! - **The intent log** is not resilvered.
//! - **Data loss** is judged by the blocks of volumes, not by metadata, which has more copies.

mod missing;
mod rebuild;

use std::collections::VecDeque;

use strewn_array::{Driver, Slots};
use strewn_base::SECTOR_BYTES;
use strewn_base::state::SavedValue;
use strewn_raid::SpindleIndex;

use super::config::ResilverKind;
use super::{BlockKey, Space, ZfsArray};
use crate::BlockWrite;
use crate::block::{Block, Stage};
use crate::io_scheduler::Class;
use crate::stripe::Striped;
use crate::vdev::{Redundancy, Vdev};
use missing::ListedBlock;
pub use missing::MissingBlocks;
use rebuild::Rebuild;

/// Bytes of blocks that a scan has under way, for each data drive of a vdev (`zfs_scan_vdev_limit`).
const SCAN_BYTES: u64 = 16 << 20;

/// The least time of a resilver's pass in a transaction group (`zfs_resilver_min_time_ms`, 1,500), in percent of the
/// longest time that one stays open (`zfs_txg_timeout`, 5 s), so that a scaled run keeps the proportion.
const RESILVER_PASS_PERCENT: u64 = 30;

/// The same for a scrub (`zfs_scrub_min_time_ms`, 750).
const SCRUB_PASS_PERCENT: u64 = 15;

/// A pass ends when so much is dirty, in percent (`zfs_vdev_async_write_active_min_dirty_percent`).
const PASS_DIRTY_PERCENT: u32 = 30;

/// A resilver that is not this far begins again together with the next drive, in percent
/// (`zfs_resilver_defer_percent`). Else the drive waits for the end.
const DEFER_PERCENT: u64 = 10;

/// The level of a block that only snapshots hold. Its number is its sectors.
const HELD_LEVEL: u8 = u8::MAX - 1;

/// The volume of the pool's own objects.
const POOL_OBJECTS: u8 = u8::MAX;

/// A vdev, and a byte of it.
type Place = (u16, u64);

/// How far a scan is in the blocks of a new drive or, for a scrub, of a vdev.
#[derive(Debug, Clone, SavedValue)]
struct Lane {
    vdev: u16,
    /// The new drive, which has the blocks; none for a scrub.
    drive: Option<u16>,
    /// The blocks of a scrub.
    blocks: Vec<ListedBlock>,
    next: usize,
}

/// A scan of the pool: a healing resilver, or a scrub.
#[derive(Debug, Clone, SavedValue)]
struct Scan {
    is_scrub: bool,
    lanes: Vec<Lane>,
}

/// A new drive that lacks what is read, and where that is in its blocks.
#[derive(Debug, Clone, Copy, SavedValue)]
struct Target {
    drive: u16,
    serial: u32,
    position: u64,
}

/// A block or segment that is read, then written.
#[derive(Debug, Clone, SavedValue)]
struct Piece {
    vdev: u16,
    offset: u64,
    bytes: u32,
    class: Class,
    targets: Vec<Target>,
    is_read: bool,
}

/// A failed drive, and what replaces it: a distributed spare of its vdev, or else a spare.
#[derive(Debug, Clone, Copy, SavedValue)]
struct FailedDrive {
    drive: u16,
    distributed: Option<u8>,
}

/// Where the scan is in the transaction group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
enum Pass {
    /// Its turn has not come.
    Before,
    /// It issues blocks, since then.
    Running { began_ns: u64 },
    /// It waits for them.
    Draining,
    /// The transaction group may go on.
    Over,
}

/// The resilvers and the scrub of a pool.
#[derive(Debug, Clone, SavedValue)]
pub struct Resilver {
    /// Spares that are left.
    spares: u16,
    /// Failed drives that a spare replaces once no transaction group is being written.
    failed: Vec<FailedDrive>,
    /// Distributed spares that have been used, by vdev.
    distributed_used: Vec<u8>,
    /// New drives that wait for the end of another resilver.
    deferred: Vec<u16>,
    scan: Option<Scan>,
    pass: Pass,
    /// Bytes that a scan may have under way for each data drive of a vdev: [`SCAN_BYTES`], but for tests.
    scan_bytes: u64,
    /// Bytes of blocks that scans have under way, by vdev.
    under_way: Vec<u64>,
    rebuilds: Vec<Rebuild>,
    pieces: Slots<Piece>,
    /// Spares that have been used.
    replaced: u32,
}

impl Resilver {
    /// No resilver, of a pool with so many vdevs.
    pub fn new(spares: u16, vdevs: usize) -> Self {
        Self {
            spares,
            failed: Vec::new(),
            distributed_used: vec![0; vdevs],
            deferred: Vec::new(),
            scan: None,
            pass: Pass::Before,
            scan_bytes: SCAN_BYTES,
            under_way: vec![0; vdevs],
            rebuilds: Vec::new(),
            pieces: Slots::new(),
            replaced: 0,
        }
    }

    fn is_active(&self) -> bool {
        self.scan.is_some() || !(self.failed.is_empty() && self.rebuilds.is_empty())
    }

    /// Whether the transaction group waits for a scan before it writes space maps.
    pub fn holds_sync(&self) -> bool {
        self.scan.is_some() && self.pass != Pass::Over
    }

    /// Whether a scan issues blocks or waits for them.
    pub fn is_passing(&self) -> bool {
        self.scan.is_some() && matches!(self.pass, Pass::Running { .. } | Pass::Draining)
    }

    /// A drive has failed. A distributed spare replaces it if its vdev has one left, or else a spare.
    pub fn on_failed(&mut self, drive: u16, vdev: usize, redundancy: Redundancy) {
        self.deferred.retain(|other| *other != drive);
        self.rebuilds.retain(|rebuild| rebuild.drive != drive);
        if let Some(scan) = &mut self.scan {
            scan.lanes.retain(|lane| lane.drive != Some(drive));
        }
        let used = &mut self.distributed_used[vdev];
        if let Redundancy::Draid(draid) = redundancy
            && *used < draid.spares
        {
            self.failed.push(FailedDrive { drive, distributed: Some(*used) });
            *used += 1;
        } else if self.spares > 0 {
            self.spares -= 1;
            self.failed.push(FailedDrive { drive, distributed: None });
        }
    }
}

impl Space {
    /// The places and bytes of a copy of a block: one, or those of its header and pieces.
    pub(super) fn parts(&self, block: Block, bytes: u32) -> impl Iterator<Item = (Place, u32)> {
        let (vdev, offset) = block.place();
        let pieces = self.pool.pieces(vdev, offset);
        let bytes = if pieces.is_some() { SECTOR_BYTES as u32 } else { bytes };
        let pieces = pieces.unwrap_or_default().iter();
        let pieces = pieces.map(|piece| ((piece.dva.vdev, piece.dva.offset), piece.bytes as u32));
        std::iter::once(((vdev, offset), bytes)).chain(pieces)
    }

    fn for_each_written(&self, mut tell: impl FnMut(u64, Place, u32)) {
        let mut tell_parts = |key, block, bytes| {
            self.parts(block, bytes).for_each(|(place, bytes)| tell(key, place, bytes));
        };
        for (volume, blocks) in (0..).zip(&self.volumes) {
            blocks.for_each_written(|level, number, block, bytes| {
                tell_parts(BlockKey { volume, level, number }.encode(), block, bytes);
            });
            blocks.snapshots().for_each_held(|block, bytes| {
                let number = bytes.div_ceil(SECTOR_BYTES as u32);
                tell_parts(BlockKey { volume, level: HELD_LEVEL, number }.encode(), block, bytes);
            });
        }
        let key = BlockKey { volume: POOL_OBJECTS, level: 0, number: 0 }.encode();
        self.objects.written().for_each(|(block, bytes)| tell_parts(key, block, bytes));
    }

    /// The bytes of a listed block, unless it has been freed or written elsewhere since.
    fn bytes_at(&self, key: u64, place: Place) -> Option<u32> {
        let BlockKey { volume, level, number } = BlockKey::decode(key);
        let part_at = |block, bytes| {
            self.parts(block, bytes).find(|(at, _)| *at == place).map(|(_, bytes)| bytes)
        };
        if volume == POOL_OBJECTS {
            return self.objects.written().find_map(|(block, bytes)| part_at(block, bytes));
        }
        // A snapshot may hold it whatever has become of the volume; what is free is not read.
        let held = |bytes| {
            let is_in_use = self.pool.is_in_use(place.0, place.1);
            self.parts(Block::at_place(place), bytes).next().filter(|_| is_in_use)
        };
        if level == HELD_LEVEL {
            return held(number * SECTOR_BYTES as u32).map(|(_, bytes)| bytes);
        }
        let volume = &self.volumes[usize::from(volume)];
        let (copies, bytes) = volume.copies_of(level, number);
        let mut copies = copies.iter().filter(|copy| !copy.is_hole());
        let live = copies.find_map(|copy| part_at(*copy, bytes));
        let snapshots = volume.snapshots();
        let may_be_held = snapshots.held_blocks() > 0 || snapshots.is_clone();
        live.or_else(|| held(bytes).filter(|_| may_be_held).map(|(_, bytes)| bytes))
    }

    /// The blocks of a vdev that are meant, by place and bytes, in the order of their places.
    fn list(&self, vdev: u16, is_meant: impl Fn(u64, u32) -> bool) -> Vec<ListedBlock> {
        let mut listed = Vec::new();
        self.for_each_written(|key, (of_vdev, offset), bytes| {
            if of_vdev == vdev && is_meant(offset, bytes) {
                listed.push(ListedBlock { offset, key });
            }
        });
        listed.sort_unstable();
        listed.dedup_by_key(|block| block.offset);
        listed
    }
}

/// Whether a block has anything on a drive of its vdev (`vdev_raidz_need_resilver`).
fn has_column_on(vdev: &Vdev, offset: u64, bytes: u32, drive: u8) -> bool {
    let Some(Striped::RaidZ(raid_z)) = vdev.striped() else { return true };
    let width = u64::from(raid_z.width);
    let columns = u64::from(bytes).div_ceil(1 << raid_z.ashift) + u64::from(raid_z.parity);
    let first = (offset >> raid_z.ashift) % width;
    (u64::from(drive) + width - first) % width < columns
}

impl ZfsArray {
    /// Whether the open transaction group is to be written now. While a scan runs, one follows the other, each with a
    /// pass of the scan (`txg_sync_thread`).
    pub(super) fn is_sync_due(&self, now_ns: u64) -> bool {
        let transactions = &self.transactions;
        match self.resilver.scan {
            None => transactions.is_due(now_ns),
            Some(_) => {
                transactions.syncing.is_none()
                    && (transactions.open_bytes > 0 || transactions.is_forced())
                    && !self.resilver.is_passing()
            }
        }
    }

    /// The blocks of a transaction group have their places: drives that are resilvered get them with all others.
    pub(super) fn note_placed(&mut self, writes: &VecDeque<BlockWrite>) {
        if self.resilver.is_active() {
            writes.iter().for_each(|write| self.drives.on_placed((write.vdev, write.offset)));
        }
    }

    /// Begins to read all blocks, parity and all copies included, and to check them. Nothing is found to be wrong here.
    /// Returns whether it has begun: not while a resilver or another scrub runs.
    #[cfg(test)]
    fn begin_scrub(&mut self, now_ns: u64, driver: &mut impl Driver<()>) -> bool {
        let may = !self.resilver.is_active();
        if may {
            self.list_for_scrub();
            self.advance(now_ns, driver);
        }
        may
    }

    /// Whether a resilver or a scrub runs.
    #[must_use]
    pub fn is_scanning(&self) -> bool {
        self.resilver.is_active()
    }

    fn list_for_scrub(&mut self) {
        let lane =
            |vdev| Lane { vdev, drive: None, blocks: self.space.list(vdev, |_, _| true), next: 0 };
        let lanes = (0..self.config.vdevs.len() as u16).map(lane).collect();
        self.begin_scan(Scan { is_scrub: true, lanes });
    }

    fn begin_scan(&mut self, scan: Scan) {
        self.resilver.scan = Some(scan);
        self.end_pass();
    }

    /// A pass is over. Without a transaction group that it was part of, the next may begin.
    fn end_pass(&mut self) {
        let is_syncing = self.transactions.syncing.is_some();
        self.resilver.pass = if is_syncing { Pass::Over } else { Pass::Before };
    }

    /// Resilvers, rebuilds and scrubs go on. Returns whether others can, too.
    pub(super) fn go_on_resilvering(&mut self, now_ns: u64, driver: &mut impl Driver<()>) -> bool {
        if !self.resilver.is_active() {
            return false;
        }
        let mut goes_on = false;
        // What a transaction group has begun to write is on the old drives; then all is in the trees of blocks.
        if self.transactions.syncing.is_none() && !self.resilver.failed.is_empty() {
            let failed = std::mem::take(&mut self.resilver.failed);
            failed.iter().for_each(|failed| self.replace(now_ns, *failed, driver));
            let drives: Vec<u16> = failed.iter().map(|failed| failed.drive).collect();
            self.begin_resilvers(&drives);
            goes_on = true;
        }
        self.go_on_rebuilding(now_ns);
        self.go_on_scanning(now_ns) || goes_on
    }

    /// A spare takes a failed drive's place.
    fn replace(&mut self, now_ns: u64, failed: FailedDrive, driver: &mut impl Driver<()>) {
        let FailedDrive { drive, distributed } = failed;
        let vdev = self.drives.vdev_of(drive) as u16;
        let in_vdev = (drive - self.drives.first_of(vdev)) as u8;
        let shape = &self.config.vdevs[usize::from(vdev)];
        let blocks = self.space.list(vdev, |offset, bytes| match shape.draid() {
            None => has_column_on(shape, offset, bytes, in_vdev),
            Some(_) => self.drives.is_block_on((vdev, offset), bytes, drive),
        });
        self.resilver.replaced += 1;
        let missing = MissingBlocks::new(self.resilver.replaced, blocks, distributed.is_some());
        match distributed {
            Some(spare) => self.drives.replace_by_spare(drive, spare, missing),
            None => {
                driver.take_spare(SpindleIndex(drive));
                self.drives.replace(drive, missing);
            }
        }
        let failures = self.failures.iter_mut();
        let latest = failures.rev().find(|failure| failure.spindle.0 == drive);
        if let Some(failure) = latest {
            failure.rebuild_began_ns = Some(now_ns);
        }
    }

    /// Resilvers of new drives begin, or wait for others to end.
    fn begin_resilvers(&mut self, drives: &[u16]) {
        let vdev = |drive: u16| self.drives.vdev_of(drive);
        // Onto a distributed spare always, as zed asks for (`replace_with_spare`).
        let is_rebuilt = |drive: u16| {
            let of_raid_z =
                matches!(self.config.vdevs[vdev(drive)].redundancy, Redundancy::RaidZ { .. });
            self.drives.is_spared(drive)
                || self.config.resilver == ResilverKind::Sequential && !of_raid_z
        };
        let (rebuilt, mut healed): (Vec<u16>, Vec<u16>) =
            drives.iter().copied().partition(|drive| is_rebuilt(*drive));
        for drive in rebuilt {
            let vdev = self.drives.vdev_of(drive) as u16;
            if self.resilver.rebuilds.iter().any(|rebuild| rebuild.vdev == vdev) {
                self.resilver.deferred.push(drive);
            } else {
                let rebuild = Rebuild::new(&self.space.pool, vdev, drive, self.metaslabs(vdev));
                self.resilver.rebuilds.push(rebuild);
            }
        }
        // A scrub ends as a resilver begins.
        let resilvers = self.resilver.scan.as_ref().is_some_and(|scan| !scan.is_scrub);
        if healed.is_empty() {
            if !self.resilver.rebuilds.is_empty() && !resilvers {
                self.resilver.scan = None;
            }
            return;
        }
        if resilvers && !self.is_resilver_early() {
            self.resilver.deferred.append(&mut healed);
            return;
        }
        let scanned = self.resilver.scan.take().filter(|scan| !scan.is_scrub);
        for lane in scanned.iter().flat_map(|scan| &scan.lanes) {
            healed.extend(lane.drive);
        }
        let mut lanes = Vec::new();
        for drive in healed {
            if let Some(missing) = self.drives.missing_mut(drive) {
                missing.begin_again();
            }
            let vdev = self.drives.vdev_of(drive) as u16;
            lanes.push(Lane { vdev, drive: Some(drive), blocks: Vec::new(), next: 0 });
        }
        self.begin_scan(Scan { is_scrub: false, lanes });
    }

    /// Whether so little is resilvered that it may as well begin again.
    fn is_resilver_early(&self) -> bool {
        let (mut done, mut in_all) = (0, 0);
        for lane in self.resilver.scan.iter().flat_map(|scan| &scan.lanes) {
            if let Some(missing) = lane.drive.and_then(|drive| self.drives.missing(drive)) {
                done += missing.done;
                in_all += missing.blocks.len() as u64;
            }
        }
        done * 100 < in_all * DEFER_PERCENT
    }

    fn metaslabs(&self, vdev: u16) -> u32 {
        self.config.vdevs[usize::from(vdev)].metaslabs().count
    }

    /// The scan goes on. Returns whether others can, too.
    fn go_on_scanning(&mut self, now_ns: u64) -> bool {
        if self.resilver.scan.is_none() {
            return false;
        }
        let is_syncing = self.transactions.syncing.is_some();
        if self.resilver.pass == Pass::Over && !is_syncing {
            self.resilver.pass = Pass::Before;
        }
        if self.resilver.pass == Pass::Before {
            if !self.may_pass() {
                // With nothing being written, the open transaction group is to be.
                return !is_syncing;
            }
            self.resilver.pass = Pass::Running { began_ns: now_ns };
        }
        if let Pass::Running { began_ns } = self.resilver.pass {
            if self.is_pass_over(now_ns, began_ns) {
                self.resilver.pass = Pass::Draining;
            } else if self.issue_blocks(now_ns) {
                return self.end_if_scanned(now_ns);
            }
        }
        let is_drained = self.resilver.under_way.iter().all(|bytes| *bytes == 0);
        let ends = self.resilver.pass == Pass::Draining && is_drained;
        if ends {
            self.end_pass();
        }
        ends
    }

    /// Whether the scan's turn in the transaction group has come: its data and first pool objects are written.
    fn may_pass(&self) -> bool {
        match &self.transactions.syncing {
            None => self.transactions.open_bytes == 0,
            Some(syncing) => {
                let next = syncing.writes.front();
                syncing.under_way == 0
                    && syncing.stage < Stage::SpaceMaps
                    && next.is_none_or(|write| write.stage >= Stage::SpaceMaps)
            }
        }
    }

    /// Whether a pass has had its time (`scan_io_queue_check_suspend`).
    fn is_pass_over(&self, now_ns: u64, began_ns: u64) -> bool {
        let is_scrub = self.resilver.scan.as_ref().is_some_and(|scan| scan.is_scrub);
        let percent = if is_scrub { SCRUB_PASS_PERCENT } else { RESILVER_PASS_PERCENT };
        let interval_ns = self.config.txg_interval_ns;
        let syncing = self.transactions.syncing.as_ref();
        let sync_began_ns = syncing.map_or(began_ns, |syncing| syncing.began_ns);
        now_ns - began_ns > interval_ns * percent / 100
            && (self.transactions.dirty_percent() >= PASS_DIRTY_PERCENT
                || self.transactions.is_enough()
                || now_ns - sync_began_ns >= interval_ns)
    }

    /// Reads blocks, as many as may be under way. Returns whether all have been read.
    fn issue_blocks(&mut self, now_ns: u64) -> bool {
        let mut is_through = true;
        for vdev in 0..self.config.vdevs.len() as u16 {
            let limit =
                self.resilver.scan_bytes * self.config.vdevs[usize::from(vdev)].data_drives();
            loop {
                let under_way = self.resilver.under_way[usize::from(vdev)];
                if under_way >= limit {
                    is_through = false;
                    break;
                }
                let Some(piece) = self.next_block(vdev) else {
                    is_through &= under_way == 0;
                    break;
                };
                let Piece { offset, bytes, .. } = piece;
                self.resilver.under_way[usize::from(vdev)] += u64::from(bytes);
                // Of a mirror that is resilvered, no copy can be told to be wrong.
                let all = piece.targets.is_empty() && self.drives.is_whole(vdev);
                let key = self.resilver.pieces.insert(piece) as u64;
                self.drives.scan(now_ns, key, Class::Scrub, (vdev, offset), bytes, all);
            }
        }
        is_through
    }

    /// The next block of a vdev that is still where it was, with the new drives that lack it.
    fn next_block(&mut self, vdev: u16) -> Option<Piece> {
        let scan = self.resilver.scan.as_mut()?;
        loop {
            let drives = &self.drives;
            let block_of = |lane: &Lane| {
                let missing = lane.drive.and_then(|drive| drives.missing(drive));
                let blocks = missing.map_or(&lane.blocks, |missing| &missing.blocks);
                blocks.get(lane.next).copied()
            };
            let lanes = scan.lanes.iter().filter(|lane| lane.vdev == vdev);
            let offset = lanes.filter_map(block_of).map(|block| block.offset).min()?;
            let mut bytes_there = None;
            let mut targets = Vec::new();
            for lane in scan.lanes.iter_mut().filter(|lane| lane.vdev == vdev) {
                let missing = lane.drive.and_then(|drive| self.drives.missing_mut(drive));
                let blocks = missing.as_ref().map_or(&lane.blocks, |missing| &missing.blocks);
                let block = blocks.get(lane.next).filter(|block| block.offset == offset);
                let Some(ListedBlock { key, .. }) = block.copied() else { continue };
                let position = lane.next;
                lane.next += 1;
                let bytes = self.space.bytes_at(key, (vdev, offset));
                let Some((missing, drive)) = missing.zip(lane.drive) else {
                    bytes_there = bytes;
                    continue;
                };
                if bytes.is_none() || missing.is_replaced(position) {
                    missing.done += 1;
                    continue;
                }
                bytes_there = bytes;
                let serial = missing.serial;
                targets.push(Target { drive, serial, position: position as u64 });
            }
            if let Some(bytes) = bytes_there {
                let class = Class::Scrub;
                return Some(Piece { vdev, offset, bytes, class, targets, is_read: false });
            }
        }
    }

    /// All blocks have been read and written. Returns true, as others go on.
    fn end_if_scanned(&mut self, now_ns: u64) -> bool {
        if let Some(scan) = self.resilver.scan.take() {
            let drives = scan.lanes.iter().filter_map(|lane| lane.drive);
            drives.for_each(|drive| self.make_whole(now_ns, drive));
        }
        self.end_pass();
        self.begin_deferred();
        true
    }

    /// Drives that have waited for other resilvers have their turn.
    fn begin_deferred(&mut self) {
        let deferred = std::mem::take(&mut self.resilver.deferred);
        if !deferred.is_empty() {
            self.begin_resilvers(&deferred);
        }
    }

    /// A drive has all of its blocks.
    fn make_whole(&mut self, now_ns: u64, drive: u16) {
        self.drives.make_whole(drive);
        for failure in &mut self.failures {
            if failure.spindle.0 == drive && failure.is_open() {
                failure.rebuilt = 1.0;
                failure.rebuilt_ns = Some(now_ns);
            }
        }
    }

    fn note_resilvered(&mut self, drive: u16, share: f64) {
        let mut failures = self.failures.iter_mut().rev();
        if let Some(failure) = failures.find(|failure| failure.spindle.0 == drive) {
            failure.rebuilt = share;
        }
    }

    /// What a scan or rebuild has read or written is done.
    pub(super) fn on_resilver_io(&mut self, now_ns: u64, key: u64) {
        let piece = &mut self.resilver.pieces[key as usize];
        let Piece { vdev, offset, bytes, class, .. } = *piece;
        let drives = &self.drives;
        piece.targets.retain(|target| {
            drives.missing(target.drive).is_some_and(|missing| missing.serial == target.serial)
        });
        if !std::mem::replace(&mut piece.is_read, true) && !piece.targets.is_empty() {
            let drives: Vec<u16> = piece.targets.iter().map(|target| target.drive).collect();
            // What heals is written as transaction groups write (`vdev_raidz_io_done`, `vdev_mirror_io_done`).
            let class = if class == Class::Rebuild { class } else { Class::AsyncWrite };
            self.drives.repair(now_ns, key, class, (vdev, offset), bytes, &drives);
            return;
        }
        let piece = self.resilver.pieces.remove(key as usize);
        if class == Class::Rebuild {
            for target in piece.targets {
                self.on_rebuilt(target.drive, offset, bytes);
            }
            return;
        }
        self.resilver.under_way[usize::from(vdev)] -= u64::from(bytes);
        for Target { drive, position, .. } in piece.targets {
            if let Some(missing) = self.drives.missing_mut(drive) {
                missing.on_resilvered(position as usize);
                let share = missing.done as f64 / missing.blocks.len() as f64;
                self.note_resilvered(drive, share);
            }
        }
    }
}

#[cfg(test)]
mod tests;
