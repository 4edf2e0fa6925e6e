//! What of an array is measured: how its volumes and its free space are laid out.

use strewn_alloc::{FileLayout, FreeRunCounter, MapPicture};
use strewn_array::{DataLost, LayoutMeasures, LunLayoutMeasures, PoolMeasures};
use strewn_base::BLOCK_BYTES;
use strewn_raid::SpindleIndex;

use super::ZfsArray;
use crate::allocation_class::AllocationClass;
use crate::vdev::LABEL_START_BYTES;

impl ZfsArray {
    /// FRAG, as `zpool list` prints it, 0 to 100.
    #[must_use]
    pub fn fragmentation(&self) -> u64 {
        self.space.pool.fragmentation()
    }

    /// Records where the first `files[n]` blocks of 4 KiB of volume `n` lie, without parity: in a mirror, on its first
    /// drive.
    #[must_use]
    pub fn map_picture(&self, columns: u32, blocks_per_spindle: u64, files: &[u64]) -> MapPicture {
        let drives = self.drives.count();
        let mut picture = MapPicture::new(drives, columns, blocks_per_spindle, false);
        for ((volume, config), file) in
            self.space.volumes.iter().zip(&self.config.volumes).zip(files)
        {
            let blocks = file * BLOCK_BYTES / u64::from(config.block_bytes);
            let mut end_of_previous = None;
            for block in volume.blocks().iter().take(blocks as usize) {
                if block.is_hole() {
                    continue;
                }
                let (vdev, offset) = block.place();
                let distance = end_of_previous.map_or(0, |end: u64| offset.abs_diff(end));
                end_of_previous = Some(offset + u64::from(config.stored_bytes));
                let first_drive = self.drives.first_of(vdev);
                let add = |drive: u8, byte: u64, bytes: u64| {
                    let first = (LABEL_START_BYTES + byte) / BLOCK_BYTES;
                    let blocks = bytes.div_ceil(BLOCK_BYTES);
                    let drive = first_drive + u16::from(drive);
                    picture.add_run(drive, first, blocks, distance / BLOCK_BYTES);
                };
                let vdev = &self.config.vdevs[usize::from(vdev)];
                vdev.for_each_piece(offset, config.stored_bytes, add);
            }
        }
        picture
    }

    pub(super) fn measure(&self) -> LayoutMeasures {
        let luns = (0..self.config.volumes.len()).map(|lun| self.measure_lun(lun)).collect();
        let mut runs = FreeRunCounter::default();
        self.space.pool.for_each_free_segment(|bytes| runs.add(bytes / BLOCK_BYTES));
        let frag_percent = Some(self.fragmentation() as u8);
        let free_space = Some(runs.free_space());
        let (l2arc_bytes, l2arc_header_bytes) = self.arc.l2arc_sizes();
        let spilled_blocks = self.spilled().blocks();
        let has_l2arc = self.arc.has_l2arc();
        let pool = PoolMeasures { spilled_blocks, has_l2arc, l2arc_bytes, l2arc_header_bytes };
        LayoutMeasures { luns, free_space, frag_percent, pool }
    }

    fn measure_lun(&self, lun: usize) -> LunLayoutMeasures {
        let (volume, config) = (&self.space.volumes[lun], &self.config.volumes[lun]);
        let stored = u64::from(config.stored_bytes);
        let (mut extents, mut blocks, mut rewritten) = (0, 0u64, 0u64);
        let mut expected = None;
        // The same for all blocks of a vdev.
        let taken: Vec<u64> =
            self.config.vdevs.iter().map(|vdev| vdev.allocated_bytes(stored)).collect();
        let mut spans: Vec<Option<(u64, u64)>> = vec![None; self.config.vdevs.len()];
        for (number, block) in volume.blocks().iter().enumerate() {
            if block.is_hole() {
                expected = None;
                continue;
            }
            let (vdev, offset) = block.place();
            let end = offset + taken[usize::from(vdev)];
            extents += u64::from(expected != Some((vdev, offset)));
            expected = Some((vdev, end));
            blocks += 1;
            rewritten += u64::from(u64::from(volume.birth(number as u32)) > self.filled_in_txg);
            let span = spans[usize::from(vdev)].get_or_insert((offset, end));
            *span = (span.0.min(offset), span.1.max(end));
        }
        let spanned: u64 = spans.iter().flatten().map(|(first, end)| end - first).sum();
        let span = spanned as f64 / self.space.pool.bytes() as f64;
        // In blocks of 4 KiB, as of any array: those within a block follow each other. Of smaller blocks each has its
        // break.
        let block_bytes = u64::from(config.block_bytes);
        let in_units = |bytes: u64| (blocks * block_bytes / bytes).max(1);
        let measured = in_units(block_bytes.min(BLOCK_BYTES));
        let of_units = FileLayout::of_extents(measured, extents, span.min(1.0));
        let file = FileLayout { blocks: in_units(BLOCK_BYTES), ..of_units };
        let share = rewritten as f64 / blocks.max(1) as f64;
        LunLayoutMeasures { file, rewritten: Some(share) }
    }

    /// What the failure of a spindle has lost, if its vdev does not make up for it.
    pub(super) fn data_lost(&self, at_ns: u64, spindle: SpindleIndex) -> Option<DataLost> {
        let vdev = self.drives.vdev_of(spindle.0);
        let of_vdev = |failed: &SpindleIndex| self.drives.vdev_of(failed.0) == vdev;
        let open = self.failures.iter().filter(|failure| failure.is_open());
        let mut spindles: Vec<SpindleIndex> = Vec::new();
        for spindle in open.map(|failure| failure.spindle).filter(of_vdev) {
            // One that failed again while it was resilvered is lost once.
            spindles.retain(|other| *other != spindle);
            spindles.push(spindle);
        }
        let is_gone = self.drives.is_gone(vdev as u16);
        if !is_gone && spindles.len() < 2 {
            return None;
        }
        // Each block is written in the final place of its transaction group too: a lost log vdev loses nothing.
        let class = self.config.class_of(vdev);
        if class == AllocationClass::Log {
            return None;
        }
        // Without metadata no block is found.
        let loses_all = class == AllocationClass::Special && is_gone;
        let (mut stripes, mut stripes_in_all, mut lun_bytes) = (0, 0, 0);
        for (volume, config) in self.space.volumes.iter().zip(&self.config.volumes) {
            for block in volume.blocks().iter().filter(|block| !block.is_hole()) {
                stripes_in_all += 1;
                let mut parts = self.space.parts(*block, config.stored_bytes);
                if loses_all || parts.any(|(place, bytes)| self.drives.is_lost(place, bytes)) {
                    stripes += 1;
                    lun_bytes += u64::from(config.block_bytes);
                }
            }
        }
        (is_gone || stripes > 0).then_some(DataLost {
            at_ns,
            spindles,
            stripes,
            stripes_in_all,
            lun_bytes,
        })
    }
}
