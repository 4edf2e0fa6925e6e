//! Top-level vdevs: how large their allocatable space is, how it is divided into metaslabs, and what a block takes.

use std::ops::Range;

use strewn_base::SECTOR_BYTES;
use strewn_base::state::SavedValue;

use crate::allocation_class::AllocationClass;
use crate::draid::{Draid, DraidLayout};
use crate::raid_z::{Column, RaidZ};
use crate::stripe::Striped;

/// Bytes at the front of a drive that are not allocatable: two labels and the boot block.
pub const LABEL_START_BYTES: u64 = 4 << 20;

/// Bytes at its end: two labels.
pub const LABEL_END_BYTES: u64 = 512 << 10;

/// Sizes of drives are rounded down to the size of a label.
const LABEL_BYTES: u64 = 256 << 10;

/// The largest block, and so the least metaslab: 16 MiB.
const LARGEST_BLOCK_SHIFT: u8 = 24;

/// A vdev with more metaslabs than this keeps one for the intent log (`zfs_embedded_slog_min_ms`).
const LEAST_FOR_EMBEDDED_LOG: u32 = 64;

/// The block by which raw space is told as space for data (`SPA_OLD_MAXBLOCKSIZE`).
const TYPICAL_BLOCK_BYTES: u64 = 128 << 10;

/// A metaslab of a pool that is scaled down has at least so many sectors: 2^8.
const LEAST_METASLAB_SECTORS_SHIFT: u8 = 8;

/// What protects the blocks of a top-level vdev.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub enum Redundancy {
    /// Each block is on all drives: one for no redundancy.
    Mirror {
        /// Drives with the same contents.
        drives: u8,
    },
    /// RAID-Z.
    RaidZ {
        /// Drives, parity included.
        drives: u8,
        /// Drives that may fail.
        parity: u8,
    },
    /// dRAID.
    Draid(Draid),
}

/// A top-level vdev.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub struct Vdev {
    /// What protects its blocks.
    pub redundancy: Redundancy,
    /// Binary logarithm of the bytes in a sector.
    pub ashift: u8,
    /// Bytes of its smallest drive.
    pub drive_bytes: u64,
    /// What a pool is divided by that has as many metaslabs: each is smaller by the power of two in it. 1 for a pool of
    /// its own size.
    pub scale_down: u32,
}

/// How a vdev is divided into metaslabs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub struct MetaslabSize {
    /// Metaslabs; a remainder at the end is not used.
    pub count: u32,
    /// Binary logarithm of the bytes of each.
    pub shift: u8,
}

impl Vdev {
    /// Drives.
    #[must_use]
    pub fn drives(&self) -> u8 {
        match self.redundancy {
            Redundancy::Mirror { drives } | Redundancy::RaidZ { drives, .. } => drives,
            Redundancy::Draid(draid) => draid.children,
        }
    }

    /// Its blocks' columns, if they have parity; a mirror has none.
    #[must_use]
    pub fn striped(&self) -> Option<Striped> {
        match self.redundancy {
            Redundancy::Mirror { .. } => None,
            Redundancy::RaidZ { drives: width, parity } => {
                Some(Striped::RaidZ(RaidZ { width, parity, ashift: self.ashift }))
            }
            Redundancy::Draid(_) => self.draid().map(Striped::Draid),
        }
    }

    /// Its dRAID, if it is one.
    #[must_use]
    pub fn draid(&self) -> Option<DraidLayout> {
        match self.redundancy {
            Redundancy::Draid(draid) => Some(draid.layout(self.ashift, self.scale_down)),
            _ => None,
        }
    }

    /// Allocatable bytes of the vdev, parity included.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let drive = self.drive_bytes / LABEL_BYTES * LABEL_BYTES;
        let drive = drive.saturating_sub(LABEL_START_BYTES + LABEL_END_BYTES);
        match self.striped() {
            None => drive,
            Some(Striped::RaidZ(raid_z)) => drive * u64::from(raid_z.width),
            Some(Striped::Draid(layout)) => layout.bytes(drive),
        }
    }

    /// The allocatable sectors of a metaslab, relative to its start: the first, and how many.
    #[must_use]
    pub fn metaslab_sectors(&self, metaslab: u32) -> (u32, u32) {
        let sectors = 1 << (self.metaslabs().shift - self.ashift);
        match self.draid() {
            None => (0, sectors as u32),
            Some(layout) => {
                let start = u64::from(metaslab) * sectors;
                let (first, sectors) = layout.trim_metaslab(start, sectors);
                ((first - start) as u32, sectors as u32)
            }
        }
    }

    /// How it is divided into metaslabs (`vdev_metaslab_set_size`): some 200 of at most 16 GiB, and at least 16 MiB.
    #[must_use]
    pub fn metaslabs(&self) -> MetaslabSize {
        if self.scale_down > 1 {
            let full = Self {
                drive_bytes: self.drive_bytes.saturating_mul(self.scale_down.into()),
                scale_down: 1,
                ..*self
            };
            let smaller = full.metaslabs().shift.saturating_sub(self.scale_down.ilog2() as u8);
            let shift = smaller.max(self.ashift + LEAST_METASLAB_SECTORS_SHIFT);
            return MetaslabSize { count: (self.bytes() >> shift) as u32, shift };
        }
        // 512 MiB, unless that gives fewer than 16 or more than 200.
        let (bytes, count) = (self.bytes(), self.bytes() >> 29);
        let shift_for = |parts: u64| (bytes / parts).checked_ilog2().map_or(0, |log| log as u8 + 1);
        let shift = match count {
            0..16 => shift_for(16),
            201.. => shift_for(200),
            _ => 29,
        };
        let mut shift = shift.max(LARGEST_BLOCK_SHIFT);
        if shift > 34 {
            shift = if bytes >> 34 > 1 << 17 { shift_for(1 << 17) } else { 34 };
        }
        MetaslabSize { count: (bytes >> shift) as u32, shift }
    }

    /// Whether it has room for two metaslabs, as a pool needs them. On dRAID with more than a hundred drives to a
    /// group, the least ones may have no whole stripe.
    #[must_use]
    pub fn has_metaslabs(&self) -> bool {
        let count = self.metaslabs().count;
        let is_empty = |metaslab: u32| self.metaslab_sectors(metaslab).1 == 0;
        count >= 2 && !(matches!(self.redundancy, Redundancy::Draid(_)) && (0..count).any(is_empty))
    }

    /// Metaslabs that it keeps for the intent log if it is of the normal class, from the first one on.
    #[must_use]
    pub fn log_metaslabs(&self) -> u32 {
        (self.metaslabs().count > LEAST_FOR_EMBEDDED_LOG).into()
    }

    /// Bytes that blocks may have on it if it is of this class, parity included.
    #[must_use]
    pub fn class_bytes(&self, class: AllocationClass) -> u64 {
        let first = if class == AllocationClass::Normal { self.log_metaslabs() } else { 0 };
        self.metaslab_bytes(first..self.metaslabs().count)
    }

    /// Bytes in some of its metaslabs, parity included.
    #[must_use]
    pub fn metaslab_bytes(&self, metaslabs: Range<u32>) -> u64 {
        let sectors = match self.draid() {
            // Whole stripes of each.
            Some(_) => metaslabs.map(|of| u64::from(self.metaslab_sectors(of).1)).sum(),
            None => (metaslabs.len() as u64) << (self.metaslabs().shift - self.ashift),
        };
        sectors << self.ashift
    }

    /// Bytes of data in blocks of 128 KiB that so many bytes have room for (`vdev_deflate_ratio`), which is what
    /// `zfs list` calls space.
    #[must_use]
    pub fn deflated_bytes(&self, bytes: u64) -> u64 {
        let sectors = self.allocated_bytes(TYPICAL_BLOCK_BYTES) / SECTOR_BYTES;
        bytes / SECTOR_BYTES * (TYPICAL_BLOCK_BYTES / sectors)
    }

    /// Bytes of the vdev that a block of `bytes` on disk takes.
    #[must_use]
    pub fn allocated_bytes(&self, bytes: u64) -> u64 {
        match self.striped() {
            Some(striped) => striped.allocated_bytes(bytes),
            None => bytes.next_multiple_of(1 << self.ashift),
        }
    }

    /// Tells where the data of a block lies: a drive of the vdev, the first byte from the start of its allocatable
    /// space, and bytes.
    pub fn for_each_piece(&self, offset: u64, bytes: u32, mut tell: impl FnMut(u8, u64, u64)) {
        match self.striped() {
            None => tell(0, offset, bytes.into()),
            Some(striped) => {
                let in_bytes = |sectors: u64| sectors << self.ashift;
                let stripes = striped.stripes(offset, bytes.into());
                for Column { drive, first_sector, sectors } in stripes.flat_map(|of| of.data()) {
                    tell(drive, in_bytes(first_sector), in_bytes(sectors.into()));
                }
            }
        }
    }

    /// Drives that have data at once: all but parity and distributed spares (`vdev_get_ndisks`, `vdev_get_nparity`).
    #[must_use]
    pub fn data_drives(&self) -> u64 {
        match self.redundancy {
            Redundancy::Mirror { .. } => 1,
            Redundancy::RaidZ { drives, parity } => u64::from(drives - parity),
            Redundancy::Draid(draid) => draid.disks() - u64::from(draid.parity),
        }
    }

    /// Bytes of the vdev for each byte of data in wide blocks, as a fraction: drives of a stripe, and those with data.
    #[must_use]
    pub fn stripe_drives(&self) -> (u64, u64) {
        match self.redundancy {
            Redundancy::Mirror { .. } => (1, 1),
            Redundancy::RaidZ { drives, parity } => (drives.into(), u64::from(drives - parity)),
            Redundancy::Draid(draid) => (draid.group_width(), draid.data.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metaslabs(drive_bytes: u64, redundancy: Redundancy) -> (u32, u64) {
        let MetaslabSize { count, shift } =
            Vdev { redundancy, ashift: 12, drive_bytes, scale_down: 1 }.metaslabs();
        (count, 1 << shift)
    }

    /// Read back from real pools (`zage`): 11 to 15 on small vdevs, 100 to 200 on large ones.
    #[test]
    fn metaslabs_are_those_of_real_pools() {
        let raid_z2 = Redundancy::RaidZ { drives: 6, parity: 2 };
        assert_eq!(metaslabs(512 << 20, raid_z2), (11, 256 << 20));
        assert_eq!(metaslabs(256 << 20, raid_z2), (11, 128 << 20));
        // A drive of 20 TB: 16 GiB each.
        let mirror = Redundancy::Mirror { drives: 2 };
        assert_eq!(metaslabs(20_000_000_000_000, mirror), (1_164, 16 << 30));
        assert_eq!(metaslabs(1 << 40, mirror), (127, 8 << 30));
    }

    #[test]
    fn a_pool_that_is_scaled_down_has_as_many_metaslabs() {
        let redundancy = Redundancy::Mirror { drives: 2 };
        let full = Vdev { redundancy, ashift: 12, drive_bytes: 1 << 40, scale_down: 1 };
        let small = Vdev { drive_bytes: 1 << 34, scale_down: 64, ..full };
        assert_eq!(full.metaslabs(), MetaslabSize { count: 127, shift: 33 });
        assert_eq!(small.metaslabs(), MetaslabSize { count: 127, shift: 27 });
    }
}
