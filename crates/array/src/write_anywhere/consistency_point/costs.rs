//! What a consistency point costs the processor besides its commands: placing blocks, freeing them, computing parity.
//!
//! All of it is charged tetris by tetris, so that host operations get their turns in between.

use strewn_alloc::Tetris;
use strewn_raid::{ParityGroup, SpindleSet};

use crate::driver::Driver;
use crate::payload::Payload;
use crate::processor::{ProcessorWork, WriteBackCosts};

use super::super::context::Context;
use super::super::space::SUPERBLOCK;
use super::ConsistencyPoint;

/// Blocks XORed into the parities of the stripes that a tetris writes in full. Of n data blocks, each parity takes one
/// as it is, and n - 1 are XORed into it; for the diagonal parity of RAID-DP that is the optimum (Corbett et al.,
/// "Row-Diagonal Parity for Double Disk Failure Correction", FAST 2004), 2 - 2/n for each data block.
pub(super) fn xored_in_full_stripes(group: &ParityGroup, tetris: &Tetris<u32>) -> u64 {
    let per_stripe = u64::from(group.data_spindles()).saturating_sub(1);
    u64::from(tetris.stripes_full().count_ones()) * per_stripe * parities(group)
}

/// The same for a stripe that is written in part: each parity takes the new blocks and what was read for it.
pub(super) fn xored_in_stripe(group: &ParityGroup, changed: SpindleSet, read: SpindleSet) -> u64 {
    let of_data = |set: SpindleSet| {
        set.iter().filter(|spindle| spindle.0 < group.data_spindles()).count() as u64
    };
    let reads_parity = of_data(read) < read.iter().count() as u64;
    let taken = of_data(changed) + of_data(read) + u64::from(reads_parity);
    taken.saturating_sub(1) * parities(group)
}

fn parities(group: &ParityGroup) -> u64 {
    group.parity().spindles().into()
}

impl<P: Payload> ConsistencyPoint<P> {
    /// Charges for placing the blocks of a tetris, and for its share of the blocks that its consistency point frees.
    #[inline]
    pub(super) fn charge_placement(
        &mut self,
        tetris: &Tetris<u32>,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        if cx.costs().write_back != WriteBackCosts::NONE {
            self.charge_blocks(tetris, cx);
        }
    }

    #[cold]
    fn charge_blocks(&mut self, tetris: &Tetris<u32>, cx: &mut Context<'_, P, impl Driver<P>>) {
        let costs = cx.costs().write_back;
        let first_metadata = cx.space.keys.indirect().start;
        let placed = tetris.contents.iter().filter(|key| **key != SUPERBLOCK);
        let (mut blocks, mut metadata) = (0, 0);
        for key in placed {
            blocks += 1;
            metadata += u64::from(*key >= first_metadata);
        }
        cx.counters.allocated_blocks += blocks;
        cx.counters.changed_metadata_blocks += metadata;
        let cost_ns = blocks * costs.allocated_block_ns + metadata * costs.metadata_block_ns;
        if cost_ns > 0 {
            cx.driver.processor(ProcessorWork::Allocation, cost_ns);
        }
        let tetrises = self.tetrises.len() as u64 + 1;
        let freed = self.frees_to_charge.div_ceil(tetrises);
        self.frees_to_charge -= freed;
        cx.counters.freed_blocks += freed;
        if freed * costs.freed_block_ns > 0 {
            cx.driver.processor(ProcessorWork::Frees, freed * costs.freed_block_ns);
        }
    }
}

/// Charges for XORing so many sectors into parities.
#[cold]
pub(super) fn charge_parity<P: Payload>(sectors: u64, cx: &mut Context<'_, P, impl Driver<P>>) {
    cx.counters.parity_sectors += sectors;
    let cost_ns = cx.costs().write_back.of_parity(sectors);
    cx.driver.processor(ProcessorWork::Parity, cost_ns);
}
