//! What of freed space drives are told of (`autotrim=on`), counted.
//!
//! `vdev_trim.c` of OpenZFS: `vdev_autotrim_thread`, `vdev_trim_range_add`, `vdev_trim_ranges`. A metaslab collects the
//! ranges that were freed and may be allocated again, less those that have been. Each top-level vdev goes through its
//! metaslabs, a 32nd in each turn. A range is divided among the drives, and parts that lie side by side
//! are joined.
//!
//! Nothing is sent to drives here. In OpenZFS, a metaslab is closed to allocation while it is trimmed, for at least
//! five transaction groups.

use std::collections::BTreeMap;

use strewn_base::state::SavedValue;

use crate::stripe::Striped;
use crate::vdev::Vdev;

/// The metaslabs of a vdev have their turns in so many parts (`zfs_trim_txg_batch`).
const PARTS: u32 = 32;

/// Transaction groups until a metaslab is trimmed, and the next may be (`TXG_CONCURRENT_STATES` + `TXG_DEFER_SIZE`).
const GROUPS_OF_A_TRIM: u32 = 5;

/// Shorter parts of a drive are not trimmed (`zfs_trim_extent_bytes_min`).
const LEAST_BYTES: u64 = 32 << 10;

/// Longer parts are trimmed in several (`zfs_trim_extent_bytes_max`).
const MOST_BYTES: u64 = 128 << 20;

/// What was trimmed of drives, and what was not because it is too short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Trimmed {
    /// Commands.
    pub ranges: u64,
    /// Bytes of them, of all drives together.
    pub bytes: u64,
    /// Bytes of drives in ranges that are too short.
    pub skipped_bytes: u64,
}

impl Trimmed {
    fn add(&mut self, bytes: u64) {
        if bytes >= LEAST_BYTES {
            self.ranges += bytes.div_ceil(MOST_BYTES);
            self.bytes += bytes;
        } else {
            self.skipped_bytes += bytes;
        }
    }
}

/// Ranges of sectors, neighbours joined: the end of each by its start.
#[derive(Debug, Clone, Default, PartialEq, Eq, SavedValue)]
pub struct Ranges(BTreeMap<u32, u32>);

impl Ranges {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds sectors that are in none.
    pub fn add(&mut self, start: u32, sectors: u32) {
        let (mut first, mut end) = (start, start + sectors);
        if let Some((&before, &its_end)) = self.0.range(..=start).next_back() {
            debug_assert!(its_end <= start, "sectors {start} to {end} are freed twice");
            if its_end == start {
                first = before;
            }
        }
        if let Some(its_end) = self.0.remove(&end) {
            end = its_end;
        }
        self.0.insert(first, end);
    }

    /// Takes out what there is of these sectors.
    pub fn clear(&mut self, start: u32, sectors: u32) {
        let end = start + sectors;
        if let Some((_, its_end)) = self.0.range_mut(..start).next_back()
            && *its_end > start
        {
            let after = std::mem::replace(its_end, start);
            if after > end {
                self.0.insert(end, after);
                return;
            }
        }
        while let Some((&first, &its_end)) = self.0.range(start..end).next() {
            self.0.remove(&first);
            if its_end > end {
                self.0.insert(end, its_end);
            }
        }
    }

    /// Them, in order: first sector and the one after the last.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.0.iter().map(|(start, end)| (*start, *end))
    }
}

/// Whose turn it is among the metaslabs of a vdev.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, SavedValue)]
pub struct TrimTurn {
    part: u32,
    next_metaslab: u32,
    /// Transaction groups until it goes on.
    waits: u32,
}

impl TrimTurn {
    /// A transaction group is synced. Returns the metaslab to be trimmed, if there is one: `has_ranges` tells whether
    /// one of `metaslabs` has anything to trim.
    pub fn next(&mut self, metaslabs: u32, has_ranges: impl Fn(u32) -> bool) -> Option<u32> {
        self.waits = self.waits.saturating_sub(1);
        if self.waits > 0 {
            return None;
        }
        while self.next_metaslab < metaslabs {
            let metaslab = self.next_metaslab;
            self.next_metaslab += PARTS;
            if has_ranges(metaslab) {
                self.waits = GROUPS_OF_A_TRIM;
                return Some(metaslab);
            }
        }
        // The end of a part is a transaction group of its own.
        self.part = (self.part + 1) % PARTS;
        self.next_metaslab = self.part;
        None
    }
}

/// What is trimmed of a vdev's drives for freed ranges of sectors, in order. Drives of `is_skipped` are left out.
pub fn trim(
    vdev: &Vdev,
    ranges: impl Iterator<Item = (u64, u64)>,
    is_skipped: impl Fn(u8) -> bool,
) -> Trimmed {
    let mut trimmed = Trimmed::default();
    let mut open: Vec<(u64, u64)> = vec![(0, 0); vdev.drives().into()];
    let bytes = |(first, end): (u64, u64)| (end - first) << vdev.ashift;
    for range in ranges {
        for_each_part(vdev, range, |drive, (first, end)| {
            if first == end || is_skipped(drive) {
                return;
            }
            let open = &mut open[usize::from(drive)];
            if open.1 == first {
                open.1 = end;
            } else {
                trimmed.add(bytes(std::mem::replace(open, (first, end))));
            }
        });
    }
    open.into_iter().for_each(|part| trimmed.add(bytes(part)));
    trimmed
}

/// Tells the part of each drive in a range of a vdev (`vdev_mirror_xlate`, `vdev_raidz_xlate`, `vdev_draid_xlate`), in
/// sectors from the start of its allocatable space.
fn for_each_part(vdev: &Vdev, (first, end): (u64, u64), mut tell: impl FnMut(u8, (u64, u64))) {
    match vdev.striped() {
        None => (0..vdev.drives()).for_each(|drive| tell(drive, (first, end))),
        Some(Striped::RaidZ(raid_z)) => {
            let width = u64::from(raid_z.width);
            for drive in 0..raid_z.width {
                // The rows whose sector of this drive lies before one of the vdev.
                let rows = |sector: u64| (sector + width - 1 - u64::from(drive)) / width;
                tell(drive, (rows(first), rows(end)));
            }
        }
        Some(Striped::Draid(layout)) => {
            let data = layout.data_bytes((end - first) << vdev.ashift);
            for columns in layout.columns(first << vdev.ashift, data) {
                for number in 0..layout.draid().group_width() as u8 {
                    let column = columns.full_column(number);
                    let first = column.first_sector;
                    tell(column.drive, (first, first + u64::from(column.sectors)));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
