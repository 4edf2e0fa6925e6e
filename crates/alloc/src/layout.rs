//! What has become of a file's layout, and of free space.

use strewn_raid::{ParityGroup, SpindleIndex};

use crate::block_map::BlockMap;
use crate::free_map::FreeMap;

/// How a file lies on the spindles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FileLayout {
    /// Layout score (Smith and Seltzer, 1997): the share of a file's blocks, the first left out, that lie right
    /// behind the block before them. 1 is contiguous.
    pub score: f64,
    /// Runs of blocks that lie one behind the other on one spindle.
    pub extents: u64,
    /// Blocks that lie anywhere at all.
    pub blocks: u64,
    /// The part of the spindles, from the lowest DBN in use by the file to the highest: 0 to 1.
    pub span: f64,
}

impl FileLayout {
    /// Measures the first `file_blocks` blocks of `map` in one pass.
    #[must_use]
    pub fn measure(map: &BlockMap, file_blocks: u32, group: &ParityGroup) -> Self {
        let (mut blocks, mut follows) = (0u64, 0u64);
        let (mut lowest, mut highest) = (u64::MAX, 0u64);
        let mut previous = None;
        for block in 0..file_blocks {
            let here = map.get(block);
            if let Some(vbn) = here {
                let location = group.locate(vbn);
                blocks += 1;
                lowest = lowest.min(location.dbn.0);
                highest = highest.max(location.dbn.0);
                // The first block of a spindle has the number after the last block of the one before.
                follows +=
                    u64::from(previous == Some(vbn.0.wrapping_sub(1)) && location.dbn.0 != 0);
            }
            previous = here.map(|vbn| vbn.0);
        }
        Self {
            score: if blocks < 2 { 1.0 } else { follows as f64 / (blocks - 1) as f64 },
            extents: blocks - follows,
            blocks,
            span: if blocks == 0 {
                0.0
            } else {
                (highest - lowest + 1) as f64 / group.stripes() as f64
            },
        }
    }
}

/// How free space lies on the spindles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FreeSpace {
    /// Free-space score, the layout score of free space: the share of free blocks, the first of each spindle left
    /// out, that lie right behind another free block. 1 is one run a spindle.
    pub score: f64,
    /// The longest run of free blocks on one spindle.
    pub largest_run_blocks: u64,
    /// Free blocks.
    pub free_blocks: u64,
}

impl FreeSpace {
    /// Measures `map` in one pass over its words.
    #[must_use]
    pub fn measure(map: &FreeMap) -> Self {
        let (mut runs, mut largest, mut spindles_with_free) = (0u64, 0u64, 0u64);
        for spindle in 0..map.group().data_spindles() {
            let before = runs;
            for run in map.free_runs(SpindleIndex(spindle), 0..map.group().stripes()) {
                runs += 1;
                largest = largest.max(run.end - run.start);
            }
            spindles_with_free += u64::from(runs > before);
        }
        let free_blocks = map.free_blocks();
        let followers = free_blocks - spindles_with_free;
        Self {
            score: if followers == 0 {
                1.0
            } else {
                (free_blocks - runs) as f64 / followers as f64
            },
            largest_run_blocks: largest,
            free_blocks,
        }
    }
}
