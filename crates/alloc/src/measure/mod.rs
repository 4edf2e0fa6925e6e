//! Measures of fragmentation, of files and of free space.
//!
//! Running counters cost next to nothing: [`LayoutCounter`], [`FullStripes`] and the scores of areas. Passes over a
//! file or over the maps are exact, in steps of as many blocks or rows as the caller has time for: [`FilePass`],
//! [`FreeSpacePass`].

mod expected;
mod file;
mod free_space;
mod picture;
mod requests;
mod stripes;

use std::ops::Range;

use strewn_raid::{ParityGroup, Vbn};

use crate::aggregate::{Aggregate, AggregateLocation};
use crate::block_map::{BlockMap, BlockMapPart};
use crate::group_index::GroupIndex;

pub use expected::expected_runs;
pub use file::{FileLayout, FilePass, LayoutCounter};
pub use free_space::{FreeRunCounter, FreeSpace, FreeSpacePass, RUN_CLASSES, RunHistogram};
pub use picture::{MAP_LEVELS, MapPicture, SpindleLevels};
pub use requests::{RequestMix, RequestMixError};
pub use stripes::FullStripes;

/// Where the blocks of a file lie: a [`BlockMap`], or a closure from the number of a block within its file.
pub trait FileBlocks {
    /// The VBN of `block` of the file; `None` if it was never written.
    fn vbn(&self, block: u64) -> Option<Vbn>;

    /// The VBNs of `blocks` as a slice, if the file has one, with `u32::MAX` for an unwritten block. It makes a pass
    /// ten times as fast.
    fn vbns(&self, blocks: Range<u64>) -> Option<&[u32]> {
        let _ = blocks;
        None
    }
}

impl<F: Fn(u64) -> Option<Vbn>> FileBlocks for F {
    fn vbn(&self, block: u64) -> Option<Vbn> {
        self(block)
    }
}

impl FileBlocks for BlockMapPart<'_> {
    fn vbn(&self, block: u64) -> Option<Vbn> {
        u32::try_from(block).ok().and_then(|block| self.get(block))
    }

    fn vbns(&self, blocks: Range<u64>) -> Option<&[u32]> {
        let is_in = blocks.end <= self.blocks;
        is_in.then(|| self.map.entries(self.first + blocks.start..self.first + blocks.end))?
    }
}

impl FileBlocks for BlockMap {
    fn vbn(&self, block: u64) -> Option<Vbn> {
        u32::try_from(block).ok().and_then(|block| self.get(block))
    }

    fn vbns(&self, blocks: Range<u64>) -> Option<&[u32]> {
        self.entries(blocks)
    }
}

/// Where VBNs lie: an [`Aggregate`], or a single parity group.
pub trait Geometry {
    /// Where `vbn` lies; `None` if there is no such block.
    fn place(&self, vbn: Vbn) -> Option<AggregateLocation>;

    /// The parity group `group`; `None` if there is no such group.
    fn group(&self, group: GroupIndex) -> Option<&ParityGroup>;

    /// The single parity group, if there is only one, so that its VBNs are those of the whole.
    fn only_group(&self) -> Option<&ParityGroup> {
        None
    }
}

impl Geometry for ParityGroup {
    fn place(&self, vbn: Vbn) -> Option<AggregateLocation> {
        let exists = vbn.0 < self.total_blocks();
        exists.then(|| AggregateLocation { group: GroupIndex(0), location: self.locate(vbn) })
    }

    fn group(&self, group: GroupIndex) -> Option<&ParityGroup> {
        (group.0 == 0).then_some(self)
    }

    fn only_group(&self) -> Option<&ParityGroup> {
        Some(self)
    }
}

impl<T: Copy> Geometry for Aggregate<T> {
    fn place(&self, vbn: Vbn) -> Option<AggregateLocation> {
        self.locate(vbn)
    }

    fn group(&self, group: GroupIndex) -> Option<&ParityGroup> {
        self.free_maps().nth(group.index()).map(|map| map.group())
    }

    fn only_group(&self) -> Option<&ParityGroup> {
        (self.groups() == 1).then(|| self.free_map(GroupIndex(0)).group())
    }
}

/// Whether `next` directly follows `previous` on the same spindle.
fn is_behind(geometry: &impl Geometry, previous: Option<Vbn>, next: Vbn) -> bool {
    // The first block of a spindle follows the last block of the previous spindle in number only.
    previous.is_some_and(|previous| previous.0.checked_add(1) == Some(next.0))
        && geometry.place(next).is_some_and(|place| place.location.dbn.0 != 0)
}
