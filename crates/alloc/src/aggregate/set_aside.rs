//! Blocks set aside for other uses.

use strewn_raid::{ROW_STRIPES, SpindleIndex, Vbn};

use super::{Aggregate, SetAsideError};
use crate::group_index::GroupIndex;
use crate::random::Random;

impl<T: Copy> Aggregate<T> {
    /// Sets aside a block for another use, such as a superblock, outside of any consistency point.
    ///
    /// # Errors
    /// [`SetAsideError::NotFree`] if it is in use or does not exist.
    pub fn set_aside(&mut self, vbn: Vbn) -> Result<(), SetAsideError> {
        let place = self.locate(vbn).ok_or(SetAsideError::NotFree(vbn))?;
        if self.is_used(place) {
            return Err(SetAsideError::NotFree(vbn));
        }
        let (row, bit) = (place.location.dbn.0 / ROW_STRIPES, place.location.dbn.0 % ROW_STRIPES);
        self.set_mask_aside(place.group, place.location.spindle, row, 1 << bit);
        Ok(())
    }

    /// Sets aside `share` (0 to 1, in steps of 1/65,536) of the free blocks at random, as if other data were scattered
    /// in runs of `run_blocks` (a power of two, at most 64) on each spindle. The same seed gives the same blocks.
    /// Returns how many were set aside.
    ///
    /// # Errors
    /// [`SetAsideError`] if a consistency point is open, or for a share or length of runs that is none.
    pub fn set_aside_at_random(
        &mut self,
        share: f64,
        run_blocks: u32,
        seed: u64,
    ) -> Result<u64, SetAsideError> {
        self.nothing_open()?;
        if !(0.0..=1.0).contains(&share) {
            return Err(SetAsideError::Share);
        }
        if !run_blocks.is_power_of_two() || run_blocks > 64 {
            return Err(SetAsideError::RunBlocks(run_blocks));
        }
        let before = self.free_blocks();
        let mut random = Random::new(seed);
        for index in 0..self.groups.len() {
            let group = GroupIndex(index as u16);
            let (rows, spindles) = {
                let group = self.groups[index].map.group();
                (group.stripes().div_ceil(ROW_STRIPES), group.data_spindles())
            };
            for row in 0..rows {
                for spindle in (0..spindles).map(SpindleIndex) {
                    let mask = random.bits_in_runs(share, run_blocks)
                        & self.groups[index].map.free_word(spindle, row);
                    if mask != 0 {
                        self.set_mask_aside(group, spindle, row, mask);
                    }
                }
            }
        }
        Ok(before - self.free_blocks())
    }

    fn set_mask_aside(&mut self, group: GroupIndex, spindle: SpindleIndex, row: u64, mask: u64) {
        let of_group = &mut self.groups[group.index()];
        of_group.map.take_mask(spindle, row, mask);
        of_group.map.blocks_taken(row, mask.count_ones());
        of_group.forget_available(spindle, row, mask);
    }
}
