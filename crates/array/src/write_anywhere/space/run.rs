//! Consecutive blocks of one spindle, as a command reads or writes them.

use std::ops::Range;

use strewn_alloc::GroupIndex;
use strewn_base::state::SavedValue;
use strewn_raid::{SpindleIndex, Vbn};

use crate::driver::SpindleCommand;
use crate::units::BLOCK_SECTORS;

use super::Space;

/// Most blocks of one spindle command. A longer run takes several.
pub(crate) const COMMAND_BLOCKS: u32 = 128;

/// Consecutive blocks of one spindle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub(crate) struct Run {
    pub(crate) group: GroupIndex,
    /// Numbered within the group.
    pub(crate) spindle: SpindleIndex,
    pub(crate) dbn: u64,
    pub(crate) blocks: u32,
}

impl Run {
    /// The block behind the run.
    pub(crate) fn end(&self) -> u64 {
        self.dbn + u64::from(self.blocks)
    }
}

impl Space {
    /// The block at `vbn` as a run of one.
    #[inline(always)]
    pub(crate) fn run_at(&self, vbn: Vbn) -> Run {
        let place = self.aggregate.place_of(vbn);
        let (spindle, dbn) = (place.location.spindle, place.location.dbn.0);
        Run { group: place.group, spindle, dbn, blocks: 1 }
    }

    /// The blocks of a command.
    pub(crate) fn run_of<P>(&self, command: &SpindleCommand<P>) -> Run {
        let (group, spindle) = self.first_spindles.in_group(command.spindle);
        Run {
            group,
            spindle,
            dbn: command.first_sector / u64::from(BLOCK_SECTORS),
            blocks: command.sectors / BLOCK_SECTORS,
        }
    }

    /// The longest run of consecutive places from `vbn` on, those of `blocks`, that fits one command. It goes on as
    /// long as `goes_on` says that the next block has the next place.
    #[inline(always)]
    pub(crate) fn longest_run(
        &self,
        vbn: Vbn,
        blocks: Range<u32>,
        goes_on: impl Fn(u32, Vbn) -> bool,
    ) -> Run {
        let (mut run, most) = self.first_of_run(vbn, blocks.end - blocks.start);
        while run.blocks < most {
            let behind = Vbn(vbn.0 + u64::from(run.blocks));
            if !goes_on(blocks.start + run.blocks, behind) {
                break;
            }
            run.blocks += 1;
        }
        run
    }

    /// The first block of a run of at most `blocks` from `vbn` on, and the most that the run may have.
    #[inline(always)]
    pub(crate) fn first_of_run(&self, vbn: Vbn, blocks: u32) -> (Run, u32) {
        let run = self.run_at(vbn);
        // The next VBN after a spindle's last block is on the next spindle.
        let on_spindle = self.group(run.group).blocks_per_spindle() - run.dbn;
        (run, u64::from(COMMAND_BLOCKS.min(blocks)).min(on_spindle) as u32)
    }
}
