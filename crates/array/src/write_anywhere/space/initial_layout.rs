//! The initial layout: superblock, LUNs and metadata, and other data around them.

use std::ops::Range;

use strewn_alloc::REGION_BLOCKS;
use strewn_volume::{Region, VolumeId};

use crate::error::ArrayConfigError;

use super::config::{OtherData, VolumeConfig, WriteAnywhereConfig};
use super::{NoRoom, SUPERBLOCK, Space, keys};

impl Space {
    /// A space whose LUNs have just been laid out in full, one after another, followed by their metadata.
    ///
    /// # Errors
    /// If a size is zero or the LUNs do not fit.
    pub(crate) fn laid_out(
        config: WriteAnywhereConfig,
        bytes: bool,
    ) -> Result<Self, ArrayConfigError> {
        let mut space = Self::bare(config, bytes)?;
        space.lay_out().map_err(|full| space.does_not_fit(&full))?;
        space.add_other_data()?;
        space.check_reservations()?;
        space.begin_to_count();
        Ok(space)
    }

    /// Allocates the superblock's two places, the first of the aggregate.
    pub(crate) fn place_superblock(&mut self) -> Result<(), NoRoom> {
        self.aggregate.begin(self.superblock.len() as u64)?;
        for block in &mut self.superblock {
            *block = self.aggregate.allocate(SUPERBLOCK)?;
        }
        self.commit_layout();
        Ok(())
    }

    /// Places superblock, LUNs and metadata on an empty aggregate, without writing anything.
    pub(crate) fn lay_out(&mut self) -> Result<(), NoRoom> {
        self.place_superblock()?;
        let later = self.later_bitmap_blocks() + self.blocks_not_laid_out();
        self.aggregate.begin(u64::from(self.keys.end() - later))?;
        for (volume, keys) in self.laid_out_files() {
            for key in keys {
                self.place_in_volume(
                    key,
                    Some(volume.unwrap_or_else(|| self.keys.volume_of(key))),
                )?;
                // The tetrises are not needed here, and would take four bytes for each block until the commit.
                while self.aggregate.next_tetris().is_some() {}
            }
        }
        // The blocks of the volumes' bitmaps and container maps that describe the numbers assigned so far, and the
        // first number to come.
        let mut used: Vec<Region> = Vec::new();
        for volume in (0..self.keys.inodes().len() as u32).map(VolumeId) {
            let numbers = |region| u64::from(self.volumes.numbers_used(region));
            let taken: u64 = self.volumes.regions_in(volume).map(numbers).sum();
            let regions = 1 + (taken / REGION_BLOCKS) as usize;
            used.extend(self.volumes.regions_in(volume).take(regions));
        }
        for region in &used {
            self.place(self.keys.volume_bitmap_of(*region))?;
        }
        for region in &used {
            for block in 0..keys::CONTAINER_BLOCKS_PER_REGION {
                self.place(self.keys.container_of(*region, 0) + block)?;
            }
        }
        // The bitmap of a group that is added later has no place until something lies there.
        for key in self.keys.aggregate_bitmap_below(self.aggregate.total_blocks()) {
            self.place(key)?;
        }
        for key in self.keys.aggregate_bitmap().end..self.keys.end() {
            self.place(key)?;
        }
        self.commit_layout();
        Ok(())
    }

    /// The files' keys that get a place before the run.
    fn laid_out_files(&self) -> Vec<(Option<VolumeId>, Range<u32>)> {
        let volumes = self.config.volumes.iter();
        let blocks = volumes
            .flat_map(|volume| (0..volume.luns.len()).map(move |lun| volume.laid_out_of(lun)));
        let mut files = self.keys.of_files();
        // Those of the LUNs come first.
        for ((_, keys), blocks) in files.iter_mut().zip(blocks) {
            keys.end = keys.start + blocks;
        }
        files
    }

    fn blocks_not_laid_out(&self) -> u32 {
        let all = self.keys.of_files().into_iter().zip(self.laid_out_files());
        all.map(|((_, all), (_, laid_out))| all.end - laid_out.end).sum()
    }

    /// Refuses reservations that cannot be kept beside what has been laid out.
    pub(crate) fn check_reservations(&self) -> Result<(), ArrayConfigError> {
        let unwritten = |volume: &VolumeConfig| {
            let laid_out = (0..volume.luns.len()).map(|lun| u64::from(volume.laid_out_of(lun)));
            volume.reservation().saturating_sub(laid_out.sum())
        };
        let reserved: u64 = self.config.volumes.iter().map(unwritten).sum();
        let free = self.aggregate.free_blocks().saturating_sub(self.metadata_blocks());
        match reserved > 0 && reserved > free {
            true => Err(ArrayConfigError::ReservedTooMuch { reserved, free }),
            false => Ok(()),
        }
    }

    /// Commits what has been placed. Nothing of it is written.
    fn commit_layout(&mut self) {
        self.aggregate.discard_plan();
        self.aggregate.commit().expect("the layout has begun, and its plan is discarded");
    }

    /// Scatters other data over the blocks that the LUNs leave free.
    pub(crate) fn add_other_data(&mut self) -> Result<(), ArrayConfigError> {
        let Some(OtherData { full_to_blocks, run_blocks, seed }) = self.config.other_data else {
            return Ok(());
        };
        let free = self.aggregate.free_blocks();
        let used = self.aggregate.total_blocks() - free;
        if full_to_blocks < used {
            return Err(ArrayConfigError::FullerAlready { used, asked: full_to_blocks });
        }
        let share = ((full_to_blocks - used) as f64 / free as f64).min(1.0);
        let taken = self.aggregate.set_aside_at_random(share, run_blocks, seed)?;
        // With less, no consistency point could begin.
        let needed = self.metadata_blocks();
        let free = free - taken;
        if free < needed { Err(ArrayConfigError::TooFull { free, needed }) } else { Ok(()) }
    }

    /// The metadata of everything placed so far.
    pub(crate) fn placed_metadata(&self) -> Vec<u32> {
        let mut warm: Vec<u32> = (self.keys.indirect().start..self.keys.aggregate_bitmap().start)
            .filter(|key| self.map.get(*key).is_some())
            .collect();
        let mut describes_something = vec![false; self.keys.aggregate_bitmap().len()];
        for vbn in (0..self.keys.end()).filter_map(|key| self.map.get(key)) {
            describes_something[(vbn.0 / REGION_BLOCKS) as usize] = true;
        }
        let bitmap = self.keys.aggregate_bitmap().zip(describes_something);
        warm.extend(bitmap.filter_map(|(key, describes)| describes.then_some(key)));
        warm.extend(self.keys.aggregate_bitmap().end..self.keys.end());
        warm
    }
}
