//! Defragmentation: of files, and of free space.
//!
//! A plan states the expected [`Gain`] and changes nothing. The work comes in items of bounded size: [`Move`]s that the
//! caller passes to [`Volumes::relocate`](crate::Volumes::relocate) in the consistency points of its choice. An item
//! stays valid while files change: blocks that have been overwritten or moved since are skipped.
//!
//! Blocks move physically: the maps of files, snapshots and clones do not change or grow, and all of them gain.
//!
//! ```
//! use strewn_alloc::{Aggregate, AggregateOptions};
//! use strewn_volume::{Fbn, FileReallocation, Volumes};
//! use strewn_raid::{Parity, ParityGroup};
//!
//! let group = ParityGroup::new(Parity::RaidDp, 4, 65_536)?;
//! let mut volumes = Volumes::new(Aggregate::new([group], AggregateOptions::default())?)?;
//! let volume = volumes.create_volume(10_000)?;
//! volumes.begin(1_000)?;
//! let file = volumes.create_file(volume)?;
//! // Written backwards.
//! let fbns: Vec<Fbn> = (0..1_000).rev().map(Fbn).collect();
//! volumes.write_all(volume, file, &fbns)?;
//! volumes.discard_plan();
//! volumes.commit()?;
//!
//! let mut reallocation = FileReallocation::full(&volumes, volume, file)?;
//! println!("{}", reallocation.gain());
//! assert!(reallocation.gain().is_worthwhile());
//! while let Some(item) = reallocation.next_item(&volumes, 256) {
//!     volumes.begin(u64::MAX)?;
//!     volumes.relocate(&item)?;
//!     for tetris in volumes.finish()? {
//!         // Read what `BlockSource::Moved` names, write it where the tetris says.
//!     }
//!     volumes.commit()?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cleaning;
mod reallocation;

use std::fmt;

pub use cleaning::{CleaningPlan, SegmentCleaning};
pub use reallocation::FileReallocation;

/// The expected gain and cost of a defragmentation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gain {
    /// Blocks that would be read and written.
    pub blocks_to_move: u64,
    /// Extents of the file now: runs of its blocks that are consecutive on one spindle. Reading the file in order takes
    /// as many spindle commands.
    pub extents_before: u64,
    /// Extents expected afterwards, if the blocks move, in consistency points of many tetrises, into the emptiest
    /// areas. A policy that does not choose those (`first-fit`) may leave more.
    pub extents_after: u64,
    /// Allocation areas that become empty, if only volumes use them.
    pub areas_emptied: u64,
}

impl Gain {
    /// Whether extents or used areas decrease.
    #[must_use]
    pub fn is_worthwhile(&self) -> bool {
        self.extents_after < self.extents_before || self.areas_emptied > 0
    }
}

impl fmt::Display for Gain {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} blocks to move", self.blocks_to_move)?;
        if self.extents_before > 0 {
            write!(formatter, ", {} extents to {}", self.extents_before, self.extents_after)?;
        }
        if self.areas_emptied > 0 {
            write!(formatter, ", {} allocation areas emptied", self.areas_emptied)?;
        }
        Ok(())
    }
}
