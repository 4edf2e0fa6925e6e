//! Sequential rebuilds, of mirrors' drives and onto distributed spares of dRAID.

use std::collections::{BTreeSet, VecDeque};

use strewn_base::state::SavedValue;

use super::super::ZfsArray;
use super::{Piece, Target};
use crate::Pool;
use crate::io_scheduler::Class;
use crate::vdev::Vdev;

/// The longest read of a sequential rebuild (`zfs_rebuild_max_segment`).
const REBUILD_SEGMENT_BYTES: u64 = 1 << 20;

/// Bytes that a rebuild has under way, for each drive of its vdev (`zfs_rebuild_vdev_limit`).
const REBUILD_BYTES: u64 = 64 << 20;

/// The least that a rebuild may have under way.
const LEAST_REBUILD_BYTES: u64 = 1 << 20;

/// A sequential rebuild of a drive.
#[derive(Debug, Clone, SavedValue)]
pub(super) struct Rebuild {
    pub(super) vdev: u16,
    pub(super) drive: u16,
    next_metaslab: u32,
    /// What is left of the metaslab.
    ranges: VecDeque<(u64, u64)>,
    /// Up to where the vdev is read.
    position: u64,
    /// Where the segments that are under way begin.
    under_way: BTreeSet<u64>,
    under_way_bytes: u64,
    bytes_done: u64,
    bytes_in_all: u64,
    /// Blocks that are resilvered, from the first.
    blocks_done: usize,
}

impl Rebuild {
    pub(super) fn new(pool: &Pool, vdev: u16, drive: u16, metaslabs: u32) -> Self {
        let ranges = (0..metaslabs).flat_map(|metaslab| pool.ranges_in_use(vdev, metaslab));
        Self {
            vdev,
            drive,
            next_metaslab: 0,
            position: 0,
            under_way: BTreeSet::new(),
            under_way_bytes: 0,
            bytes_done: 0,
            bytes_in_all: ranges.map(|(start, end)| end - start).sum(),
            ranges: VecDeque::new(),
            blocks_done: 0,
        }
    }

    /// Takes the next segment that the drive has a part in: its place, and its bytes without parity. A mirror's
    /// metaslab waits until the one before is done; one of dRAID does not (`vdev_rebuild_thread`).
    fn next_segment(
        &mut self,
        pool: &Pool,
        vdev: &Vdev,
        is_needed: impl Fn(u64, u32) -> bool,
    ) -> Option<(u64, u32)> {
        let metaslabs = vdev.metaslabs().count;
        loop {
            while self.ranges.is_empty() {
                let waits = vdev.draid().is_none() && !self.under_way.is_empty();
                if waits || self.next_metaslab == metaslabs {
                    return None;
                }
                self.ranges = pool.ranges_in_use(self.vdev, self.next_metaslab).into();
                self.next_metaslab += 1;
            }
            let (start, end) = self.ranges.front_mut()?;
            let (offset, left) = (*start, *end - *start);
            let bytes = match vdev.draid() {
                None => left.min(REBUILD_SEGMENT_BYTES),
                Some(layout) => layout.rebuild_bytes(offset, left),
            };
            let allocated_bytes = vdev.allocated_bytes(bytes);
            *start += allocated_bytes;
            if start == end {
                self.ranges.pop_front();
            }
            self.position = offset + allocated_bytes;
            if is_needed(offset, bytes as u32) {
                self.under_way.insert(offset);
                self.under_way_bytes += bytes;
                return Some((offset, bytes as u32));
            }
            self.bytes_done += allocated_bytes;
        }
    }

    fn is_done(&self, metaslabs: u32) -> bool {
        self.next_metaslab == metaslabs && self.ranges.is_empty() && self.under_way.is_empty()
    }
}

impl ZfsArray {
    /// Rebuilds go on.
    pub(super) fn go_on_rebuilding(&mut self, now_ns: u64) {
        let vdevs = self.config.vdevs.len() as u64;
        for number in 0..self.resilver.rebuilds.len() {
            let Rebuild { vdev, drive, .. } = self.resilver.rebuilds[number];
            let Some(serial) = self.drives.missing(drive).map(|missing| missing.serial) else {
                continue;
            };
            let drives = u64::from(self.config.vdevs[usize::from(vdev)].drives());
            let shape = self.config.vdevs[usize::from(vdev)];
            // Parts of dRAID are as long at any scale, and so are as many under way.
            let scale = if shape.draid().is_some() { u64::from(shape.scale_down) } else { 1 };
            let limit = (REBUILD_BYTES * drives)
                .min(self.config.arc_bytes * scale / 2 / vdevs)
                .max(LEAST_REBUILD_BYTES);
            loop {
                let (rebuild, drives) = (&mut self.resilver.rebuilds[number], &self.drives);
                let is_needed = |offset: u64, bytes: u32| {
                    shape.draid().is_none() || drives.is_block_on((vdev, offset), bytes, drive)
                };
                if rebuild.under_way_bytes >= limit {
                    break;
                }
                let next = rebuild.next_segment(&self.space.pool, &shape, is_needed);
                let Some((offset, bytes)) = next else { break };
                let targets = vec![Target { drive, serial, position: 0 }];
                let class = Class::Rebuild;
                let piece = Piece { vdev, offset, bytes, class, targets, is_read: false };
                let key = self.resilver.pieces.insert(piece) as u64;
                self.drives.scan(now_ns, key, class, (vdev, offset), bytes, false);
            }
        }
        let is_done = |rebuild: &Rebuild| rebuild.is_done(self.metaslabs(rebuild.vdev));
        let done = self.resilver.rebuilds.iter().filter(|rebuild| is_done(rebuild));
        let done: Vec<u16> = done.map(|rebuild| rebuild.drive).collect();
        if done.is_empty() {
            return;
        }
        self.resilver.rebuilds.retain(|rebuild| !done.contains(&rebuild.drive));
        done.iter().for_each(|drive| self.make_whole(now_ns, *drive));
        self.begin_deferred();
        // It checks what has been copied (`zfs_rebuild_scrub_enabled`).
        if self.resilver.rebuilds.is_empty() && self.resilver.scan.is_none() {
            self.list_for_scrub();
        }
    }

    /// A segment of a drive is rebuilt.
    pub(super) fn on_rebuilt(&mut self, drive: u16, offset: u64, bytes: u32) {
        let mut rebuilds = self.resilver.rebuilds.iter_mut();
        let Some(rebuild) = rebuilds.find(|rebuild| rebuild.drive == drive) else { return };
        rebuild.under_way.remove(&offset);
        rebuild.under_way_bytes -= u64::from(bytes);
        let vdev = &self.config.vdevs[usize::from(rebuild.vdev)];
        rebuild.bytes_done += vdev.allocated_bytes(bytes.into());
        let share = rebuild.bytes_done as f64 / rebuild.bytes_in_all.max(1) as f64;
        let up_to = rebuild.under_way.first().copied().unwrap_or(rebuild.position);
        if let Some(missing) = self.drives.missing_mut(drive) {
            // A block is there once the next one's beginning is.
            let after = |at: usize| missing.blocks.get(at + 1).map_or(u64::MAX, |next| next.offset);
            let first = rebuild.blocks_done;
            while after(rebuild.blocks_done) <= up_to {
                rebuild.blocks_done += 1;
            }
            (first..rebuild.blocks_done).for_each(|at| missing.on_resilvered(at));
        }
        self.note_resilvered(drive, share.min(1.0));
    }
}
