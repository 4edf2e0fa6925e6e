//! dRAID: which sectors of which drives a block takes.
//!
//! The rules are those of OpenZFS 2.3, `vdev_draid.c`. Redundancy groups of data and parity lie across the drives, less
//! the distributed spares, in rows of 16 MiB of each drive. As many groups as end with a row are a slice; each slice
//! has the drives in another order, so that parity and spares are on all of them. A block takes whole stripes of its
//! group, so that any range can be rebuilt without knowing its blocks.

mod seeds;

use std::sync::OnceLock;

use strewn_base::state::SavedValue;

use crate::raid_z::Column;
use seeds::SEEDS;

/// Bytes of each drive in a row (`VDEV_DRAID_ROWHEIGHT`), which is the largest block.
pub const ROW_BYTES: u64 = 16 << 20;

/// Rows at the end of each drive that are kept for a later expansion (`VDEV_DRAID_REFLOW_RESERVE`).
const RESERVED_ROWS: u64 = 2;

/// The rows of a pool that is scaled down are smaller by as much, but not smaller than a rebuild's longest read, so
/// that the rebuild's commands keep their length. Chosen.
const LEAST_SCALED_ROW_BYTES: u64 = 1 << 20;

/// First word of the generator's state (`VDEV_DRAID_SEED`).
const GENERATOR: u64 = 0xd_7a1d_5eed;

/// The longest part of a rebuild on each data drive (`zfs_rebuild_max_segment`).
const REBUILD_SEGMENT_BYTES: u64 = 1 << 20;

/// The largest block (`SPA_MAXBLOCKSIZE`), and so the longest part of a rebuild.
const LARGEST_BLOCK_BYTES: u64 = 16 << 20;

/// A dRAID top-level vdev: its drives, and how its groups are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub struct Draid {
    /// Drives, spare capacity included: `c` of `draid2:8d:20c:1s`.
    pub children: u8,
    /// Drives of a redundancy group that hold data: `d`.
    pub data: u8,
    /// Drives of a group that may fail: 1 to 3.
    pub parity: u8,
    /// Distributed spares: `s`.
    pub spares: u8,
}

/// A dRAID vdev with the size of its sectors and rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DraidLayout {
    draid: Draid,
    ashift: u8,
    row_sectors: u64,
}

/// Part of a block in one group: parity first, then data.
#[derive(Debug, Clone, Copy)]
pub struct DraidColumns {
    layout: DraidLayout,
    /// Number of the slice.
    slice: u64,
    /// Position of the group's first drive in the slice's order of drives.
    start: u64,
    /// Its first sector on the drives of the group's first row.
    sector: u64,
    /// Sectors of the longest column.
    height: u32,
    /// Columns with so many sectors; all others have one less. Parity included.
    longer: u8,
}

/// The map for so many drives: rows of the order in which they come (`vdev_draid_generate_perms`).
fn permutations(children: u8) -> &'static [u8] {
    static MAPS: [OnceLock<Box<[u8]>>; 256] = [const { OnceLock::new() }; 256];
    MAPS[usize::from(children)].get_or_init(|| generate(children))
}

fn generate(children: u8) -> Box<[u8]> {
    let seed = &SEEDS[usize::from(children) - 2];
    assert_eq!(seed.children, children, "seeds are in the order of drives");
    let mut state = (GENERATOR, seed.seed);
    let mut row: Vec<u8> = (0..children).collect();
    let mut map = Vec::with_capacity(row.len() * usize::from(seed.permutations));
    for _ in 0..seed.permutations {
        // Fisher and Yates, from the row before.
        for last in (1..row.len()).rev() {
            let other = next_random(&mut state) % (last as u64 + 1);
            row.swap(last, other as usize);
        }
        map.extend_from_slice(&row);
    }
    map.into()
}

/// xoroshiro128++ (`vdev_draid_rand`).
fn next_random((first, second): &mut (u64, u64)) -> u64 {
    let result = first.wrapping_add(*second).rotate_left(17).wrapping_add(*first);
    let mixed = *second ^ *first;
    *first = first.rotate_left(49) ^ mixed ^ (mixed << 21);
    *second = mixed.rotate_left(28);
    result
}

impl Draid {
    /// Drives of a redundancy group.
    #[must_use]
    pub fn group_width(&self) -> u64 {
        u64::from(self.data) + u64::from(self.parity)
    }

    /// Drives without the spares.
    #[must_use]
    pub fn disks(&self) -> u64 {
        u64::from(self.children) - u64::from(self.spares)
    }

    /// Groups of a slice: the fewest that fill whole rows (`draid_config_by_type`).
    fn slice_groups(&self) -> u64 {
        let (mut divisor, mut rest) = (self.disks(), self.group_width());
        while rest > 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        self.disks() / divisor
    }

    /// The layout on drives of `1 << ashift` bytes a sector, of a pool that is scaled down by so much.
    ///
    /// # Panics
    /// If a group has more drives than there are without spares.
    #[must_use]
    pub fn layout(self, ashift: u8, scale_down: u32) -> DraidLayout {
        assert!(self.group_width() <= self.disks(), "{self:?}: a group has drives");
        let scaled = ROW_BYTES >> scale_down.max(1).ilog2();
        let row_bytes = scaled.max(LEAST_SCALED_ROW_BYTES);
        DraidLayout { draid: self, ashift, row_sectors: row_bytes >> ashift }
    }
}

impl DraidLayout {
    /// The vdev.
    #[must_use]
    pub fn draid(&self) -> Draid {
        self.draid
    }

    fn group_sectors(&self) -> u64 {
        self.row_sectors * self.draid.group_width()
    }

    fn slice_rows(&self) -> u64 {
        self.draid.slice_groups() * self.draid.group_width() / self.draid.disks()
    }

    /// Allocatable bytes of the vdev, of drives with so many (`vdev_draid_open`): whole rows without the reserve, then
    /// whole groups.
    #[must_use]
    pub fn bytes(&self, drive_bytes: u64) -> u64 {
        let rows = ((drive_bytes >> self.ashift) / self.row_sectors).saturating_sub(RESERVED_ROWS);
        let sectors = rows * self.row_sectors * self.draid.disks();
        (sectors / self.group_sectors() * self.group_sectors()) << self.ashift
    }

    /// Bytes that a block of `bytes` takes: whole stripes (`vdev_draid_asize`).
    #[must_use]
    pub fn allocated_bytes(&self, bytes: u64) -> u64 {
        let stripes = bytes.div_ceil(u64::from(self.draid.data) << self.ashift).max(1);
        (stripes * self.draid.group_width()) << self.ashift
    }

    /// Data bytes of whole stripes (`vdev_draid_asize_to_psize`).
    pub(crate) fn data_bytes(&self, allocated_bytes: u64) -> u64 {
        allocated_bytes / self.draid.group_width() * u64::from(self.draid.data)
    }

    /// The allocatable part of a metaslab: it begins with a stripe and has whole stripes (`vdev_draid_metaslab_init`).
    /// Takes and returns the first sector and sectors.
    #[must_use]
    pub fn trim_metaslab(&self, first: u64, sectors: u64) -> (u64, u64) {
        let width = self.draid.group_width();
        let start = first.next_multiple_of(width);
        (start, (sectors - (start - first)) / width * width)
    }

    /// Data bytes of the next part of a sequential rebuild in a range of the vdev (`vdev_draid_rebuild_asize`): of one
    /// group, whole stripes, and at most 1 MiB of each drive.
    #[must_use]
    pub fn rebuild_bytes(&self, offset: u64, bytes: u64) -> u64 {
        let data = u64::from(self.draid.data) << self.ashift;
        let most = (REBUILD_SEGMENT_BYTES * u64::from(self.draid.data)).min(LARGEST_BLOCK_BYTES);
        let group = self.group_sectors() << self.ashift;
        let left = (offset / group + 1) * group - offset;
        self.data_bytes(bytes.min(left)).min(most / data * data)
    }

    /// Where a block of `bytes` at `offset` of the vdev lies (`vdev_draid_map_alloc`): in one group, or at the end of
    /// one and the start of the next.
    pub fn columns(&self, offset: u64, bytes: u64) -> DraidStripes {
        DraidStripes { layout: *self, next: Some((offset, bytes)) }
    }

    /// `vdev_draid_map_alloc_row` and `vdev_draid_logical_to_physical`.
    fn columns_in_group(&self, offset: u64, bytes: u64) -> DraidColumns {
        let (width, disks) = (self.draid.group_width(), self.draid.disks());
        let (sector, groups) = (offset >> self.ashift, self.draid.slice_groups());
        let (group, in_group) = (sector / self.group_sectors(), sector % self.group_sectors());
        debug_assert_eq!(in_group % width, 0, "a block begins with a stripe");
        let slice = group / groups;
        let row = slice * self.slice_rows() + group % groups * width / disks;
        let sectors = bytes.div_ceil(1 << self.ashift);
        let data = u64::from(self.draid.data);
        let rest = sectors % data;
        let longer = if rest == 0 { width } else { rest + u64::from(self.draid.parity) };
        DraidColumns {
            layout: *self,
            slice,
            start: group * width % disks,
            sector: row * self.row_sectors + in_group / width,
            height: sectors.div_ceil(data) as u32,
            longer: longer as u8,
        }
    }

    /// The drive at a position of a slice's order (`vdev_draid_get_perm`, `vdev_draid_permute_id`).
    fn drive_at(&self, slice: u64, position: u64) -> u8 {
        let children = u64::from(self.draid.children);
        let map = permutations(self.draid.children);
        let within = slice % map.len() as u64;
        let (row, turn) = (within / children, within % children);
        ((u64::from(map[(row * children + position) as usize]) + turn) % children) as u8
    }

    /// The drive that holds what a distributed spare, from 0, has at this sector (`vdev_draid_spare_get_child`): it
    /// lies at the same sector there.
    #[must_use]
    pub fn spare_drive(&self, spare: u8, sector: u64) -> u8 {
        let slice = sector / (self.slice_rows() * self.row_sectors);
        self.drive_at(slice, u64::from(self.draid.children - 1 - spare))
    }
}

/// The parts of a block: one for each redundancy group that it lies in.
#[derive(Debug, Clone)]
pub struct DraidStripes {
    layout: DraidLayout,
    /// Offset and bytes of what is left.
    next: Option<(u64, u64)>,
}

impl Iterator for DraidStripes {
    type Item = DraidColumns;

    #[inline]
    fn next(&mut self) -> Option<DraidColumns> {
        let (layout, (offset, bytes)) = (&self.layout, self.next?);
        let group = layout.group_sectors() << layout.ashift;
        let left = (offset / group + 1) * group - offset;
        let here = bytes.min(layout.data_bytes(left));
        self.next = (here < bytes).then(|| (offset + left, bytes - here));
        Some(layout.columns_in_group(offset, here))
    }
}

impl DraidColumns {
    /// A column, parity first, with what it has of the block: none if the block is too small to reach it.
    #[must_use]
    pub fn column(&self, number: u8) -> Column {
        let full = self.full_column(number);
        Column { sectors: self.height - u32::from(number >= self.longer), ..full }
    }

    /// A column with the zeros behind it, which are written too: all columns are of one height.
    #[must_use]
    pub fn full_column(&self, number: u8) -> Column {
        let disks = self.layout.draid.disks();
        let position = self.start + u64::from(number);
        // A group that does not end in its row goes on in the next.
        let rows = position / disks;
        Column {
            drive: self.layout.drive_at(self.slice, position % disks),
            first_sector: self.sector + rows * self.layout.row_sectors,
            sectors: self.height,
        }
    }

    /// Parity columns.
    #[must_use]
    pub fn parity_count(&self) -> u8 {
        self.layout.draid.parity
    }

    /// All columns.
    #[must_use]
    pub fn count(&self) -> u8 {
        self.layout.draid.group_width() as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first word of fletcher-4 is the sum of a map's little-endian words of 32 bits; the tail of a map that has no
    /// whole number of them is left out (`fletcher_4_native_varsize`).
    #[test]
    fn each_map_has_the_checksum_of_the_table() {
        for seed in &SEEDS {
            let map = generate(seed.children);
            let words =
                map.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
            let sum = words.fold(0_u64, |sum, word| sum.wrapping_add(word.into()));
            assert_eq!(sum, seed.checksum, "{} drives", seed.children);
            for row in map.chunks(seed.children.into()) {
                let mut drives = row.to_vec();
                drives.sort_unstable();
                assert!(drives.into_iter().eq(0..seed.children), "{} drives", seed.children);
            }
        }
    }

    /// Blocks of a vdev cover each sector of its rows once; spares have all others.
    #[test]
    fn stripes_and_spares_cover_each_sector_once() {
        for (children, data, parity, spares) in
            [(11, 4, 2, 1), (20, 8, 1, 2), (9, 3, 3, 0), (4, 1, 1, 2)]
        {
            let draid = Draid { children, data, parity, spares };
            // Rows of one sector.
            let layout = DraidLayout { draid, ashift: 12, row_sectors: 1 };
            let stripes = layout.slice_rows() * 3 * draid.disks() / draid.group_width();
            let mut covered = std::collections::BTreeSet::new();
            for stripe in 0..stripes {
                let offset = (stripe * draid.group_width()) << 12;
                let bytes = u64::from(data) << 12;
                let columns = layout.columns(offset, bytes).next().unwrap();
                for number in 0..columns.count() {
                    let Column { drive, first_sector, sectors } = columns.column(number);
                    assert_eq!(sectors, 1);
                    assert!(
                        covered.insert((drive, first_sector)),
                        "{draid:?}: {drive} {first_sector}"
                    );
                }
            }
            let rows = 3 * layout.slice_rows();
            for spare in 0..spares {
                for sector in 0..rows {
                    assert!(
                        covered.insert((layout.spare_drive(spare, sector), sector)),
                        "{draid:?}"
                    );
                }
            }
            assert_eq!(covered.len() as u64, rows * u64::from(children), "{draid:?}");
        }
    }
}
