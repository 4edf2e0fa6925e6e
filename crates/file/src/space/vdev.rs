//! The vdevs of a ZFS pool.

use super::Piece;

/// Bytes of two labels and the boot block at the beginning of every device; address 0 comes after them
/// (`VDEV_LABEL_START_SIZE`, include/sys/vdev_impl.h of OpenZFS).
const LABEL_START_BYTES: u64 = 4 << 20;

/// Bit of the offset by which RAID-Z1 puts its parity on one column or the other (`vdev_raidz_map_alloc`).
const PARITY_SWAP: u64 = 1 << 20;

/// How a top-level vdev spreads blocks over devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VdevKind {
    /// A disk or a file.
    Disk,
    /// The same bytes on every device.
    Mirror,
    /// RAID-Z with this many parity sectors a row, 1 to 3.
    RaidZ {
        /// Parity sectors a row.
        parity: u8,
    },
    /// A log device that was removed, or one that is not there: no block is on it.
    Hole,
    /// Strewn cannot tell where its bytes lie: its name, and why. RAID-Z to which devices were added later is one,
    /// because its blocks have several widths.
    Unsupported(String),
}

/// How a top-level vdev of a ZFS pool lays out its blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VdevShape {
    /// How blocks are spread.
    pub kind: VdevKind,
    /// Sectors are of `1 << ashift` bytes.
    pub ashift: u8,
    /// Its devices.
    pub children: u16,
}

impl VdevShape {
    /// Bytes of the vdev's addresses that a block of `stored_bytes` takes: with parity, and on RAID-Z with the padding
    /// that keeps free space a multiple of one more sector than there is parity (`vdev_raidz_psize_to_asize` in
    /// OpenZFS). `None` if the vdev's kind is not supported.
    #[must_use]
    pub fn allocated_bytes(&self, stored_bytes: u64) -> Option<u64> {
        let sector_bytes = 1u64 << self.ashift.min(MAX_ASHIFT);
        let data = stored_bytes.div_ceil(sector_bytes);
        let sectors = match self.kind {
            VdevKind::RaidZ { parity } => {
                let (parity, columns) = (u64::from(parity), u64::from(self.children));
                let rows = data.div_ceil(columns.saturating_sub(parity).max(1));
                let all = data.saturating_add(parity.saturating_mul(rows));
                all.checked_next_multiple_of(parity + 1).unwrap_or(all)
            }
            VdevKind::Disk | VdevKind::Mirror => data,
            VdevKind::Hole | VdevKind::Unsupported(_) => return None,
        };
        Some(sectors.saturating_mul(sector_bytes))
    }

    /// The vdev whose first device is device `first_device` of an address space.
    pub(super) fn map(&self, first_device: u16) -> VdevMap {
        let (parity, columns) = match self.kind {
            VdevKind::Disk | VdevKind::Mirror => (0, u64::from(self.children.min(1))),
            VdevKind::RaidZ { parity } if u16::from(parity) < self.children => {
                (parity, u64::from(self.children))
            }
            _ => (0, 0),
        };
        VdevMap {
            ashift: self.ashift.min(MAX_ASHIFT),
            parity: parity.into(),
            columns,
            first_device,
        }
    }
}

/// `ASHIFT_MAX` of OpenZFS.
pub(crate) const MAX_ASHIFT: u8 = 16;

/// A vdev whose devices are consecutive ones of an address space.
#[derive(Debug, Clone, Copy)]
pub(super) struct VdevMap {
    ashift: u8,
    /// Parity sectors a row; 0 where one device has all bytes.
    parity: u64,
    /// Devices that blocks are spread over: 1 of a mirror, 0 if no block can be found.
    columns: u64,
    first_device: u16,
}

impl VdevMap {
    /// Appends the pieces of a block; returns how many of its bytes have a device.
    pub(super) fn read(&self, offset: u64, bytes: u64, pieces: &mut Vec<Piece>) -> u64 {
        if self.columns == 0 {
            return 0;
        }
        if self.parity == 0 {
            let byte = offset.saturating_add(LABEL_START_BYTES);
            pieces.push(Piece { device: self.first_device, byte, bytes });
        } else {
            self.read_raid_z(offset, bytes, pieces);
        }
        bytes
    }

    /// `vdev_raidz_map_alloc`: parity columns come first, then the data, column after column.
    fn read_raid_z(&self, offset: u64, bytes: u64, pieces: &mut Vec<Piece>) {
        let first = offset >> self.ashift;
        let sectors = bytes.div_ceil(1 << self.ashift);
        let parity = self.parity;
        let data_columns = self.columns - parity;
        let (full_rows, in_last_row) = (sectors / data_columns, sectors % data_columns);
        // Columns with a sector in the last row, if that is not full.
        let longer = if in_last_row == 0 { 0 } else { in_last_row + parity };
        // Zero if the block has less than a row, and columns behind `longer` nothing.
        let used = if full_rows == 0 { longer } else { self.columns };
        for column in parity..used {
            // RAID-Z1 changes its one parity column with the first data column.
            let column_sectors = full_rows + u64::from(column < longer);
            let swapped = parity == 1 && column == 1 && offset & PARITY_SWAP != 0;
            let place = first % self.columns + if swapped { 0 } else { column };
            let row = first / self.columns + place / self.columns;
            let device = self.first_device.saturating_add((place % self.columns) as u16);
            let byte = (row << self.ashift).saturating_add(LABEL_START_BYTES);
            pieces.push(Piece { device, byte, bytes: column_sectors << self.ashift });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::{AddressSpace, Device, LocatedDevice};
    use super::*;
    use crate::Address;

    type Vdev = (VdevShape, Vec<LocatedDevice>);

    fn devices(count: u16) -> Vec<LocatedDevice> {
        (0..count)
            .map(|number| {
                let name = format!("disk{number}");
                Device { name, bytes: None, rotational: None, stack: Vec::new(), queue: None }
                    .into()
            })
            .collect()
    }

    fn vdev_of(kind: VdevKind, children: u16, ashift: u8) -> Vdev {
        (VdevShape { kind, ashift, children }, devices(children))
    }

    fn vdev(parity: u8, columns: u16, ashift: u8) -> Vdev {
        vdev_of(VdevKind::RaidZ { parity }, columns, ashift)
    }

    fn read(space: &AddressSpace, volume: u16, byte: u64, bytes: u64) -> Vec<Piece> {
        let mut pieces = Vec::new();
        assert_eq!(space.read(Address { volume, byte }, bytes, &mut pieces), 0);
        pieces
    }

    #[test]
    fn a_mirror_is_read_from_its_first_disk_behind_the_labels() {
        let mirror = vdev_of(VdevKind::Mirror, 2, 12);
        let disk = vdev_of(VdevKind::Disk, 1, 12);
        let space = AddressSpace::pool(vec![mirror, disk]);
        assert_eq!(
            read(&space, 0, 8192, 4096),
            [Piece { device: 0, byte: (4 << 20) + 8192, bytes: 4096 }]
        );
        assert_eq!(read(&space, 1, 0, 4096), [Piece { device: 2, byte: 4 << 20, bytes: 4096 }]);
        assert_eq!(space.devices().len(), 3);
    }

    /// The block lists of a real pool have 24,576 bytes for blocks of 8 KiB on six drives with two parities.
    #[test]
    fn a_block_of_8_kib_on_six_drives_with_two_parities_reads_two_drives() {
        let z2 = vdev(2, 6, 12);
        assert_eq!(z2.0.allocated_bytes(8192), Some(24_576));
        assert_eq!(z2.0.allocated_bytes(128 << 10), Some((32 + 2 * 8) * 4096));
        let space = AddressSpace::pool(vec![z2]);
        let sector = |device, row: u64| Piece { device, byte: (4 << 20) + row * 4096, bytes: 4096 };
        // Parity is on disks 0 and 1, data on 2 and 3; padding is on 4 and 5.
        assert_eq!(read(&space, 0, 98_304, 8192), [sector(2, 4), sector(3, 4)]);
        // From disk 4 on: parity on 4 and 5, data on 0 and 1 of the next row.
        assert_eq!(read(&space, 0, 4 * 4096, 8192), [sector(0, 1), sector(1, 1)]);
    }

    #[test]
    fn raid_z1_changes_columns_every_mib() {
        let space = AddressSpace::pool(vec![vdev(1, 4, 12)]);
        let sector = |device, row: u64| Piece { device, byte: (4 << 20) + row * 4096, bytes: 4096 };
        assert_eq!(read(&space, 0, 0, 4096), [sector(1, 0)]);
        assert_eq!(read(&space, 0, 1 << 20, 4096), [sector(0, 64)]);
        assert_eq!(read(&space, 0, (1 << 20) + (3 << 12), 8192), [sector(3, 64), sector(1, 65)]);
    }

    /// Sectors of one block by disk and row, parity included, told independently: addresses go from disk to disk, row
    /// by row, and the block has the next `allocated_bytes` of them.
    #[test]
    fn every_sector_is_mapped_once_and_within_the_block() {
        for (parity, columns) in [(1, 2), (1, 3), (1, 5), (2, 4), (2, 6), (3, 5), (3, 11)] {
            for ashift in [9, 12] {
                let vdev = vdev(parity, columns, ashift);
                let space = AddressSpace::pool(vec![vdev.clone()]);
                let columns = u64::from(columns);
                for first in (0..3 * columns).chain([256, 2048, 2049, 4095]) {
                    for sectors in 1..4 * columns {
                        let pieces = read(&space, 0, first << ashift, sectors << ashift);
                        check(&vdev, first, sectors, &pieces, u64::from(parity));
                    }
                }
            }
        }
    }

    fn check((vdev, _): &Vdev, first: u64, sectors: u64, pieces: &[Piece], parity: u64) {
        let columns = u64::from(vdev.children);
        let allocated = vdev.allocated_bytes(sectors << vdev.ashift).unwrap() >> vdev.ashift;
        let mut seen = BTreeSet::new();
        let mut rows = std::collections::BTreeMap::<u64, u64>::new();
        for piece in pieces {
            let row = (piece.byte - LABEL_START_BYTES) >> vdev.ashift;
            for sector in 0..piece.bytes >> vdev.ashift {
                let address = (row + sector) * columns + u64::from(piece.device);
                assert!((first..first + allocated).contains(&address), "outside of the block");
                assert!(seen.insert(address), "mapped twice");
                *rows.entry((address - first) / columns).or_default() += 1;
            }
        }
        assert_eq!(seen.len() as u64, sectors, "every data sector has a disk");
        assert!(rows.values().all(|data| *data <= columns - parity), "a row has its parity");
    }
}
